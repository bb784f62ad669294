# SPDX-License-Identifier: BSD-3-Clause
"""The two sides whose launches the gate interleaves, as they are typed after `--`.

A side begins with any number of assignments NAME=VALUE for the environment.  After these come
either options of the measurement, or a whole command.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lanewise.errors import RequestError

BETWEEN = "--"
OUTPUT = "{output}"
TITLES = ("base", "candidate")
EXAMPLE = "-- OMPI_MCA_coll=^tuned -- OMPI_MCA_coll=tuned,basic,libnbc"
# What is loaded into every program that finds it, so only the ranks get it.
RANKS_ONLY = ("LD_PRELOAD",)

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)


@dataclass(frozen=True)
class Side:
    """One side: variables, and then either options of the measurement or a command."""

    title: str
    variables: dict[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    command: tuple[str, ...] = ()

    @property
    def of_launcher(self) -> dict[str, str]:
        """Return the variables that the launcher gets, which the ranks inherit or are given."""
        return {name: text for name, text in self.variables.items() if name not in RANKS_ONLY}

    def writing_to(self, path: Path) -> list[str]:
        """Return the command with `path` in the place of {output}."""
        return [word.replace(OUTPUT, str(path)) for word in self.command]

    @property
    def names_output(self) -> bool:
        """Tell whether the command writes a file; if not, its output is what it measured."""
        return any(OUTPUT in word for word in self.command)


def split(words: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Return the words before the first `--`, and those of each side."""
    own, *sides = parts(words)
    return own, sides


def parts(words: Sequence[str]) -> list[list[str]]:
    """Split words at each `--`."""
    found: list[list[str]] = [[]]
    for word in words:
        if word == BETWEEN:
            found.append([])
        else:
            found[-1].append(word)
    return found


def read(sides: Sequence[Sequence[str]], *, baseline: bool) -> list[Side]:
    """Return base and candidate, or the candidate alone where a baseline stands for the base.

    Raises RequestError where there are too few or too many, or where one is a command and the other
    is not.
    """
    wanted = TITLES[1:] if baseline else TITLES
    given = list(sides) or ([[]] if baseline else [])
    if len(given) > len(wanted):
        raise RequestError(
            f"{len(given)} sides after --, but {len(wanted)} can be compared; wrap a command that "
            "has a -- of its own in sh -c '...'"
        )
    if len(given) < len(wanted):
        raise RequestError(
            f"name base and candidate after --, such as {EXAMPLE}, or give --baseline FILE"
        )
    found = [side_of(title, words) for title, words in zip(wanted, given, strict=True)]
    if len({bool(side.command) for side in found}) > 1:
        lone = next(side for side in found if not side.command)
        raise RequestError(
            f"the {lone.title} is not a command, but the other side is; write a command for both"
        )
    return found


def side_of(title: str, words: Sequence[str]) -> Side:
    """Read one side."""
    rest = list(words)
    variables: dict[str, str] = {}
    while rest and (found := _ASSIGNMENT.fullmatch(rest[0])):
        variables[found[1]] = found[2]
        rest.pop(0)
    if rest and rest[0].startswith("-"):
        return Side(title, variables, options=tuple(rest))
    return Side(title, variables, command=tuple(rest))


def shown(side: Side, line: Sequence[str]) -> str:
    """Return a launch line as one would type it, with the side's variables in front."""
    assignments = [f"{name}={shlex.quote(text)}" for name, text in side.of_launcher.items()]
    return " ".join([*assignments, shlex.join(line)])
