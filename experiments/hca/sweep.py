# SPDX-License-Identifier: BSD-3-Clause
"""Faults planted in a program (planted.c), which `lanewise rdma sweep` should find.

The program without a word is sound, over a reliable transport and over one that loses messages, so
whatever is found there is false.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from lanewise.errors import RunError

SOURCE = Path(__file__).with_name("planted.c")
CHECK = "grep -qx 'sum 210'"


@dataclass(frozen=True)
class Plant:
    """A variant with a fault: its words, and the ending that gives it away."""

    words: tuple[str, ...]
    ending: str


PLANTS = (
    Plant(("leak",), "leak"),
    Plant(("unchecked",), "crash"),
    Plant(("blind",), "wrong result"),
    Plant(("skip",), "hang"),
    Plant(("no-resend", "unreliable"), "hang"),
)
SOUND: tuple[tuple[str, ...], ...] = ((), ("unreliable",))


def compiled(folder: Path) -> str:
    """Build the program, and return its path; RunError where it cannot be built."""
    program = str(folder / "planted")
    words = ["cc", "-std=gnu11", "-O1", "-Wall", "-Werror", "-o", program, str(SOURCE)]
    done = subprocess.run([*words, "-libverbs"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunError(f"{SOURCE.name}: {done.stderr.strip()[-2000:]}")
    return program
