# SPDX-License-Identifier: BSD-3-Clause
"""The reference pages in docs/reference: every command with its options, as the program has them.

`python -m lanewise.cli.reference docs schema` writes them to docs/reference as Markdown, and to
docs/man for the command `man`.  A page is what --help prints.  The pages of the schemas, in
docs/reference/files, are written as well.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from lanewise.cli.described import Described, Groups, commands
from lanewise.cli.man_pages import OF_PROGRAMS, man_pages, status_of_program
from lanewise.cli.schema_pages import schema_pages

WRITTEN = (".md", ".1")
LINE = 90


def pages(described: dict[str, list[Described]]) -> dict[str, str]:
    """Return the text of each page by its file name."""
    texts = {"README.md": "\n".join(index(described)) + "\n"}
    for title, sections in described.items():
        first, *below = sections
        lines = [*command_lines(first, "#")]
        for one in below:
            lines += command_lines(one, "##")
        texts[page_of(title)] = "\n".join(lines) + "\n"
    return texts


def page_of(title: str) -> str:
    """Return the file name of a command's page."""
    return f"{title.replace(' ', '-')}.md"


def index(described: dict[str, list[Described]]) -> Iterator[str]:
    """Yield the lines of the page that lists the others."""
    yield from (
        "# Command reference", "",
        "These pages are generated from the programs; `make reference` writes them. They list",
        "every command with its options, as `lanewise COMMAND --help` does. Where Lanewise is",
        "installed, `man lanewise-COMMAND` shows the same.", "",
        "| command | what it does |", "|---|---|",
    )  # fmt: skip
    for title, sections in described.items():
        yield f"| [`{title}`]({page_of(title)}) | {sections[0].paragraphs[0]} |"
    yield from (
        "", "Every command takes `-h` and `--help`. It ends with status 0 if it succeeded, 1 if it",
        "failed while working or what it checked did not pass, 2 if the arguments or files cannot",
        "be used and nothing was started, and 130 if it was interrupted.",
        *textwrap.wrap(status_of_program(OF_PROGRAMS), LINE),
    )  # fmt: skip


def command_lines(command: Described, heading: str) -> Iterator[str]:
    """Yield the lines about a command."""
    yield from (f"{heading} {command.title}", "", "```")
    yield from command.example
    yield from (f"usage: {command.title} {command.usage}".rstrip(), "```", "")
    for paragraph in command.paragraphs:
        yield from (paragraph, "")
    yield from tables(command.groups)


def tables(groups: Groups) -> Iterator[str]:
    """Yield one table for each group of options."""
    for heading, rows in groups.items():
        yield from (f"| {heading.lower()} | meaning |", "|---|---|", *map(row, rows), "")


def row(cells: Sequence[str]) -> str:
    """Return a row of a table."""
    left, right = (" ".join(cell.split()).replace("|", "\\|") for cell in cells)
    return f"| `{left}` | {right} |"


def write(folder: Path, texts: Iterable[tuple[str, str]]) -> None:
    """Write the pages, and remove those of commands that are gone."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = dict(texts)
    for path in folder.iterdir():
        if path.suffix in WRITTEN and path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    docs, schemas = map(Path, sys.argv[1:])
    told = commands()
    write(docs / "reference", pages(told).items())
    write(docs / "man", man_pages(told).items())
    write(docs / "reference" / "files", schema_pages(schemas).items())
