# SPDX-License-Identifier: BSD-3-Clause
"""Functions and lines of the places from which collectives were called, by addr2line.

The ranks write only offsets in files, which costs them nothing.  Where there is no addr2line, or a
file has no symbols, the offsets stay.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lanewise.files.whole import write_whole

TIMEOUT_S = 60.0
UNKNOWN = "??"
ADDRESS = re.compile("0x[0-9a-f]+")
# As tuned/call_site.hpp writes what is not UTF-8.
ESCAPED = re.compile(r"\\x([89a-f][0-9a-f])")

Names = Mapping[str, str]
NamesOf = Callable[[str, Sequence[int]], list[Names]]


def add_sources(path: Path, program: str, names_of: NamesOf | None = None) -> None:
    """Add the launch line to a profile, and to its sites the names that can be found."""
    values = json.loads(path.read_text(encoding="utf-8"))
    values["program"] = program
    name_sites(values.get("sites", []), names_of or names_in)
    write_whole(path, json.dumps(values, indent=1) + "\n")


def name_sites(sites: Sequence[dict[str, Any]], names_of: NamesOf) -> None:
    """Add `function`, `source` and `inlined_into` to the sites, asking once for each file."""
    by_file: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for site in sites:
        by_file[site["object"]].append(site)
    for name, ours in by_file.items():
        # A call returns to the instruction behind it, which may belong to the next line.
        names = names_of(name, [max(0, site["offset"] - 1) for site in ours])
        for site, found in zip(ours, names, strict=False):
            site.update(found)


def names_in(file: str, offsets: Sequence[int]) -> list[Names]:
    """Ask addr2line for the function and the line at each offset; nothing where it cannot tell."""
    program = shutil.which("addr2line")
    path = path_of(file)
    try:
        if program is None or not Path(path).is_file():
            return []
        done = subprocess.run(
            [program, "-a", "-i", "-f", "-C", "-e", path, *map(hex, offsets)],
            capture_output=True, text=True, errors="replace", check=False, timeout=TIMEOUT_S,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return []
    return names_from(done.stdout)


def path_of(file: str) -> str:
    """Return the path of a file that ranks named, where bytes that are not UTF-8 are escaped."""
    # An escaped name may be too long for a file: Path.exists() then raises OSError.
    if os.access(file, os.F_OK):
        return file
    return ESCAPED.sub(lambda found: os.fsdecode(bytes.fromhex(found[1])), file)


def names_from(output: str) -> list[Names]:
    """Return the names in what addr2line prints.

    A line with the address precedes two lines, with the function and the place, for the call and
    for each function that it was inlined into.
    """
    found: list[list[str]] = []
    for line in output.splitlines():
        if ADDRESS.fullmatch(line):
            found.append([])
        elif found:
            found[-1].append(line)
    return [_names(lines) for lines in found]


def _names(lines: Sequence[str]) -> Names:
    own, *outer = [_frame(*pair) for pair in zip(lines[::2], lines[1::2], strict=False)] or [{}]
    into = " in ".join(" ".join(frame.values()) for frame in outer if frame)
    return {**own, "inlined_into": into} if into else own


def _frame(function: str, place: str) -> Names:
    found = {}
    if function != UNKNOWN:
        found["function"] = function
    file, _, line = place.partition(" (discriminator")[0].rpartition(":")
    if file != UNKNOWN and line.isdigit() and line != "0":
        found["source"] = f"{Path(file).name}:{line}"
    return found
