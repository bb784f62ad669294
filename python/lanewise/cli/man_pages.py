# SPDX-License-Identifier: BSD-3-Clause
"""The man pages in docs/man, one for each command, in the macros of man(7).

A page has no date and no version, so that it changes only when the command does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lanewise.cli.described import Described, Groups

_CODE = re.compile(r"`([^`]+)`")
_ESCAPES = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "^": "\\(ha", "~": "\\(ti"}

STATUS = (
    ("0", "It succeeded."),
    ("1", "It failed while working, or what it checked did not pass."),
    ("2", "The arguments or files cannot be used, and nothing was started."),
    ("130", "It was interrupted."),
)

# The commands that run a program of the user.
OF_PROGRAMS = ("lanewise run", "lanewise rdma run", "lanewise rdma protect", "lanewise testbed run")


def man_pages(described: dict[str, list[Described]]) -> dict[str, str]:
    """Return the text of each man page by its file name."""
    texts = {"lanewise.1": "\n".join(overview(described)) + "\n"}
    for title, sections in described.items():
        texts[f"{name_of(title)}.1"] = "\n".join(page(title, sections)) + "\n"
    return texts


def name_of(title: str) -> str:
    """Return the name by which `man` finds a command."""
    return title.replace(" ", "-")


def overview(described: dict[str, list[Described]]) -> Iterator[str]:
    """Yield the lines of the page that lists the commands."""
    summary = "measure, tune and fault-test the communication of parallel programs"
    yield from head("lanewise", summary)
    yield from (".SH SYNOPSIS", bold("lanewise"), "COMMAND [OPTIONS] ...", ".SH COMMANDS")
    for title, sections in described.items():
        yield from (".TP", bold(title), plain(sections[0].paragraphs[0]))
    yield from status()
    yield from (".SH SEE ALSO", *see_also([name_of(title) for title in described]))


def page(title: str, sections: list[Described]) -> Iterator[str]:
    """Yield the lines of the page of one command and those below it."""
    first, *below = sections
    summary = first.paragraphs[0].rstrip(".")
    yield from head(name_of(title), summary[0].lower() + summary[1:])
    yield ".SH SYNOPSIS"
    yield from synopsis(first)
    yield ".SH DESCRIPTION"
    yield from paragraphs(first)
    yield from groups(first.groups, ".SH")
    if below:
        yield ".SH COMMANDS"
    for one in below:
        yield f'.SS "{plain(one.title)}"'
        yield from synopsis(one)
        yield from paragraphs(one)
        yield from groups(one.groups, ".PP")
    yield from example(first)
    yield from status()
    titles = [one.title for one in (first, *below)]
    if running := [title for title in OF_PROGRAMS if title in titles]:
        yield from (".PP", plain(status_of_program(running)))
    yield from (".SH SEE ALSO", *see_also(["lanewise"]))


def head(name: str, summary: str) -> Iterator[str]:
    """Yield the lines that every page begins with."""
    yield from (
        '.\\" SPDX-License-Identifier: BSD-3-Clause',
        f'.TH "{name.upper()}" "1" "" "Lanewise" "Lanewise"',
        ".SH NAME",
        f"{escaped(name)} \\- {plain(summary)}",
    )


def synopsis(command: Described) -> Iterator[str]:
    """Yield how a command is typed."""
    yield bold(command.title)
    if command.usage:
        yield plain(command.usage)


def example(command: Described) -> Iterator[str]:
    """Yield the example that the help of a command opens with."""
    if command.example:
        yield from (".SH EXAMPLE", ".nf", *map(plain, command.example), ".fi")


def paragraphs(command: Described) -> Iterator[str]:
    """Yield what a command does."""
    for text in command.paragraphs:
        yield from (".PP", plain(text))


def groups(found: Groups, heading: str) -> Iterator[str]:
    """Yield arguments and options under their headings."""
    for name, rows in found.items():
        title = plain(name.upper())
        yield from ([f".SH {title}"] if heading == ".SH" else [".PP", f"\\fI{plain(name)}\\fR"])
        for left, right in rows:
            yield from (".TP", bold(left), plain(right))


def status() -> Iterator[str]:
    """Yield what the exit status says."""
    yield ".SH EXIT STATUS"
    for number, meaning in STATUS:
        yield from (".TP", bold(number), meaning)


def status_of_program(commands: Sequence[str]) -> str:
    """Return the sentence about the exit status of commands that run a program."""
    *most, last = (f"`{command}`" for command in commands)
    named, end = (f"{', '.join(most)} and {last}", "end") if most else (last, "ends")
    return f"{named} {end} with the status of the program, unless Lanewise itself fails."


def see_also(names: list[str]) -> Iterator[str]:
    """Yield references to other pages."""
    for name in names:
        yield f".BR {plain(name)} (1){'' if name == names[-1] else ','}"


def bold(text: str) -> str:
    """Return text that is typed as it stands."""
    return f"\\fB{escaped(text)}\\fR"


def plain(text: str) -> str:
    """Return text in which what stands between backticks is bold."""
    marked = _CODE.sub(lambda code: f"\\fB{code[1]}\\fR", escaped(text))
    # A line that begins with one of these would be a request.
    return f"\\&{marked}" if marked[:1] in (".", "'") else marked


def escaped(text: str) -> str:
    """Return text without what roff gives a meaning; a hyphen can then be copied as one."""
    return "".join(_ESCAPES.get(letter, letter) for letter in text)
