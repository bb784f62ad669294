# SPDX-License-Identifier: BSD-3-Clause
"""What the commands say of themselves, as data: the source of reference pages and man pages.

The native program's own description is the source for `lanewise wavefront`, which passes its words
on.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import typer

from lanewise.cli import BELOW, COMMANDS, HIDDEN, make_app, make_app_below
from lanewise.cli.example import ARGUMENTS, option_groups
from lanewise.cli.native_options import help_of
from lanewise.cli.wavefront import NOTES
from lanewise.launch.describe import OptionDescription, ProgramDescription, describe
from lanewise.launch.native import find_program

WAVEFRONT = "lanewise-wavefront"
# The option that every command has, told once for all.
COMMON = "--help"

# Arguments and options with what they mean, by heading.
Groups = dict[str, list[tuple[str, str]]]


@dataclass(frozen=True)
class Described:
    """A command: `title` is how it is typed, `usage` what may follow."""

    title: str
    example: tuple[str, ...]
    usage: str
    paragraphs: tuple[str, ...]
    groups: Groups


def commands() -> dict[str, list[Described]]:
    """Return each command that has a page, with the commands below it, by its title."""
    root: Any = typer.main.get_command(make_app([*COMMANDS, *HIDDEN]))
    found = {}
    for name in COMMANDS:
        found[name] = list(with_those_below(f"lanewise {name}", root.commands[name]))
        for words in (words for words in BELOW if words.split()[0] == name):
            found[name] += one_below(words)
        if name == "wavefront":
            program = describe([str(find_program(WAVEFRONT, os.environ))])
            found[name] += map(native, program.subcommands)
    for words in (words for words in BELOW if words.split()[0] not in COMMANDS):
        found[words] = list(one_below(words))
    for name in HIDDEN:
        found[name] = list(with_those_below(f"lanewise {name}", root.commands[name]))
    return {f"lanewise {name}": described for name, described in found.items()}


def one_below(words: str) -> Iterator[Described]:
    """Yield the command of two words that has an app of its own."""
    app: Any = typer.main.get_command(make_app_below(words))
    return with_those_below(f"lanewise {words}", app.commands[words.split()[1]])


def with_those_below(title: str, command: Any) -> Iterator[Described]:
    """Yield a command, then those below it."""
    context = typer.Context(command, info_name=title)
    help_text = inspect.cleandoc(command.help or "").split("\n\n")
    yield Described(
        title,
        tuple(line.strip() for line in command.example.splitlines()),
        " ".join(part for part in command.collect_usage_pieces(context) if part),
        tuple(" ".join(paragraph.split()) for paragraph in help_text),
        without_common(option_groups(command, context)),
    )
    for name, inner in sorted(getattr(command, "commands", {}).items()):
        if not inner.hidden:
            yield from with_those_below(f"{title} {name}", inner)


def native(program: ProgramDescription) -> Described:
    """Return a subcommand of a native program."""
    words = " ".join(
        (one.metavar if one.required else f"[{one.metavar}]") + ("..." if one.repeatable else "")
        for one in program.options
        if one.positional
    )
    groups: Groups = {}
    for one in program.options:
        heading = ARGUMENTS if one.positional else one.group
        groups.setdefault(heading, []).append((left_of(one), help_of(one)))
    return Described(
        f"lanewise wavefront {program.name}",
        (),
        f"[OPTIONS] {words}".rstrip(),
        (f"{program.summary}. {NOTES.get(program.name, '')}".rstrip(),),
        without_common(groups),
    )


def left_of(one: OptionDescription) -> str:
    """Return an option as it is typed, such as `-o, --output FILE`."""
    return one.metavar if one.positional else f"{', '.join(one.names)} {one.metavar}".strip()


def without_common(groups: Groups) -> Groups:
    """Return the groups without the option that every command has, on one line each."""
    told = {
        heading: [
            (" ".join(left.split()), " ".join(right.split()))
            for left, right in rows
            if COMMON not in left
        ]
        for heading, rows in groups.items()
    }
    return {heading: rows for heading, rows in told.items() if rows}
