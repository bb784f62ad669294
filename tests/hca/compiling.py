# SPDX-License-Identifier: BSD-3-Clause
"""Compiling: the programs of tests that call verbs themselves."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).with_name("programs")


def compiled(name: str, folder: Path, *libraries: str, options: Sequence[str] = ()) -> str:
    """Compile a program for the device, and return its path; skip where there is no compiler."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler; install build-essential")
    program = str(folder / name)
    words = ["cc", "-std=gnu11", "-O1", "-Wall", "-Werror", "-pthread", *options, "-o", program]
    source = str(PROGRAMS / f"{name}.c")
    subprocess.run([*words, source, *(f"-l{name}" for name in (*libraries, "ibverbs"))], check=True)
    return program
