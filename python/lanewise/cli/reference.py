# SPDX-License-Identifier: BSD-3-Clause
"""The reference pages in docs/reference: every command with its options, as the program has them.

`python -m lanewise.cli.reference docs/reference` writes them.  A page is what --help prints, as
Markdown; the native program's own description is the source for `lanewise wavefront`, which passes
its words on.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

from lanewise.cli import BELOW, COMMANDS, HIDDEN, make_app, make_app_below
from lanewise.cli.example import ARGUMENTS, option_groups
from lanewise.cli.native_options import help_of
from lanewise.launch.describe import OptionDescription, ProgramDescription, describe
from lanewise.launch.native import find_program

WAVEFRONT = "lanewise-wavefront"
# The option that every command has, told once on the index page.
COMMON = "--help"


def pages() -> dict[str, str]:
    """Return the text of each page by its file name."""
    root: Any = typer.main.get_command(make_app([*COMMANDS, *HIDDEN]))
    texts = {"README.md": "\n".join(index(root)) + "\n"}
    for name in (*COMMANDS, *HIDDEN):
        lines = [*command_lines(f"lanewise {name}", root.commands[name], "#")]
        for below in (words for words in BELOW if words.split()[0] == name):
            inner: Any = typer.main.get_command(make_app_below(below))
            lines += command_lines(f"lanewise {below}", inner.commands[below.split()[1]], "##")
        if name == "wavefront":
            described = describe([str(find_program(WAVEFRONT, os.environ))])
            lines += (line for one in described.subcommands for line in native_lines(one))
        texts[f"lanewise-{name}.md"] = "\n".join(lines) + "\n"
    for below in alone():
        inner = typer.main.get_command(make_app_below(below))
        lines = [*command_lines(f"lanewise {below}", inner.commands[below.split()[1]], "#")]
        texts[f"lanewise-{below.replace(' ', '-')}.md"] = "\n".join(lines) + "\n"
    return texts


def index(root: Any) -> Iterator[str]:
    """Yield the lines of the page that lists the others."""
    yield from (
        "# Command reference", "",
        "These pages are generated from the programs; `make reference` writes them. They list",
        "every command with its options, as `lanewise COMMAND --help` prints them.", "",
        "| command | what it does |", "|---|---|",
    )  # fmt: skip
    for name in COMMANDS:
        yield index_row(name, root.commands[name])
    for below in alone():
        inner: Any = typer.main.get_command(make_app_below(below))
        yield index_row(below, inner.commands[below.split()[1]])
    for name in HIDDEN:
        yield index_row(name, root.commands[name])
    yield from (
        "", "Every command takes `-h` and `--help`. It ends with status 0 when it is done, 1 when",
        "it failed while working, 2 when its arguments or files cannot be used and nothing was",
        "started, and 130 when it was interrupted.",
    )  # fmt: skip


def index_row(words: str, command: Any) -> str:
    """Return the row of a command that has a page of its own."""
    page = f"lanewise-{words.replace(' ', '-')}.md"
    return f"| [`lanewise {words}`]({page}) | {first_sentence(command)} |"


def alone() -> list[str]:
    """Return the commands of two words whose first is no command with a page."""
    return [below for below in BELOW if below.split()[0] not in (*COMMANDS, *HIDDEN)]


def first_sentence(command: Any) -> str:
    """Return the first paragraph of a command's help on one line."""
    return " ".join((command.help or "").split("\n\n")[0].split())


def command_lines(title: str, command: Any, heading: str) -> Iterator[str]:
    """Yield the lines about a command, and about those below it."""
    context = typer.Context(command, info_name=title)
    usage = " ".join(part for part in command.collect_usage_pieces(context) if part)
    yield from (f"{heading} {title}", "", "```")
    yield from (line.strip() for line in command.example.splitlines())
    yield from (f"usage: {title} {usage}", "```", "")
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        yield from (" ".join(paragraph.split()), "")
    yield from tables(option_groups(command, context))
    for name, inner in sorted(getattr(command, "commands", {}).items()):
        if not inner.hidden:
            yield from command_lines(f"{title} {name}", inner, "##")


def native_lines(program: ProgramDescription) -> Iterator[str]:
    """Yield the lines about a subcommand of a native program."""
    words = " ".join(
        (one.metavar if one.required else f"[{one.metavar}]") + ("..." if one.repeatable else "")
        for one in program.options
        if one.positional
    )
    yield from (f"## lanewise wavefront {program.name}", "", "```")
    yield from (f"usage: lanewise wavefront {program.name} [OPTIONS] {words}".rstrip(), "```", "")
    yield from (f"{program.summary}.", "")
    groups: dict[str, list[tuple[str, str]]] = {}
    for one in program.options:
        heading = ARGUMENTS if one.positional else one.group
        groups.setdefault(heading, []).append((left_of(one), help_of(one)))
    yield from tables(groups)


def left_of(one: OptionDescription) -> str:
    """Return an option as it is typed, such as `-o, --output FILE`."""
    return one.metavar if one.positional else f"{', '.join(one.names)} {one.metavar}".strip()


def tables(groups: dict[str, list[tuple[str, str]]]) -> Iterator[str]:
    """Yield one table for each group of options, without those that every command has."""
    for heading, rows in groups.items():
        told = [cells for cells in rows if COMMON not in cells[0]]
        if told:
            yield from (f"| {heading.lower()} | meaning |", "|---|---|", *map(row, told), "")


def row(cells: Sequence[str]) -> str:
    """Return a row of a table."""
    left, right = (" ".join(cell.split()).replace("|", "\\|") for cell in cells)
    return f"| `{left}` | {right} |"


def write(folder: Path, texts: Iterable[tuple[str, str]]) -> None:
    """Write the pages, and remove those of commands that are gone."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = dict(texts)
    for path in folder.glob("*.md"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]), pages().items())
