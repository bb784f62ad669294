# SPDX-License-Identifier: BSD-3-Clause
"""The options of a native program, as the program itself describes them with --describe.

Each option is declared once, natively.  Whatever shows, passes on or documents options on the
Python side reads their names, types, defaults and help from here.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lanewise.errors import RunError
from lanewise.launch.native import build_command

SCHEMA = "lanewise-options"
VERSION = 1
TIMEOUT_S = 60.0


@dataclass(frozen=True)
class OptionDescription:
    """One option.

    `names` has the long one last, without dashes where the place on the line says what it is.
    `type` is flag, text, number, size, sizes, duration, rate, percentage, repetitions or choice;
    only a choice has `choices`.  `default` is written as it would be typed, None where there is
    none.
    """

    names: tuple[str, ...]
    type: str
    metavar: str
    default: str | None
    help: str
    group: str
    required: bool
    repeatable: bool
    choices: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return the long name without dashes, such as time-limit."""
        return self.names[-1].lstrip("-")

    @property
    def positional(self) -> bool:
        """Tell whether the place on the command line says what it is."""
        return not self.names[-1].startswith("-")


@dataclass(frozen=True)
class ProgramDescription:
    """A native program or one of its subcommands, with the options in the order declared."""

    name: str
    summary: str
    options: tuple[OptionDescription, ...]
    subcommands: tuple[ProgramDescription, ...] = ()

    def option(self, name: str) -> OptionDescription:
        """Return the option with this name, dashes or not; KeyError where there is none."""
        for option in self.options:
            if name in option.names or name == option.name:
                return option
        raise KeyError(f"{self.name} has no option {name}")

    def subcommand(self, name: str) -> ProgramDescription:
        """Return the subcommand with this name; KeyError where there is none."""
        for subcommand in self.subcommands:
            if subcommand.name == name:
                return subcommand
        raise KeyError(f"{self.name} has no subcommand {name}")


def describe(command: Sequence[str]) -> ProgramDescription:
    """Run `command` with --describe and return what it says; asked once for each build of it."""
    return _described(tuple(command), Path(command[0]).stat().st_mtime_ns)


@cache
def _described(command: tuple[str, ...], _built_ns: int) -> ProgramDescription:
    try:
        done = subprocess.run(
            [*command, "--describe"], capture_output=True, text=True, check=False,
            timeout=TIMEOUT_S, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RunError(f"{' '.join(command)} --describe cannot be run: {error}") from None
    if done.returncode != 0:
        raise RunError(f"{' '.join(command)} --describe failed: {done.stderr.strip()}")
    return read_description(done.stdout)


def read_description(text: str) -> ProgramDescription:
    """Read what --describe printed; RunError where it is of another version or damaged."""
    try:
        values = json.loads(text)
        if (values["schema"], values["version"]) != (SCHEMA, VERSION):
            raise RunError(
                f"--describe printed version {values['version']} of {values['schema']}; "
                f"the native programs are of another version: {build_command()}"
            )
        return _program(values)
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(
            f"--describe printed no description ({error!r}): {build_command()}"
        ) from None


def _program(values: dict[str, Any]) -> ProgramDescription:
    return ProgramDescription(
        name=values["name"],
        summary=values["summary"],
        options=tuple(_option(option) for option in values["options"]),
        subcommands=tuple(_program(one) for one in values.get("subcommands", ())),
    )


def _option(values: dict[str, Any]) -> OptionDescription:
    return OptionDescription(
        names=tuple(values["names"]),
        type=values["type"],
        metavar=values["metavar"],
        default=values["default"],
        help=values["help"],
        group=values["group"],
        required=values["required"],
        repeatable=values["repeatable"],
        choices=tuple(values.get("choices", ())),
    )
