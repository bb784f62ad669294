# SPDX-License-Identifier: BSD-3-Clause
"""Read the fenced blocks of a Markdown page: the commands that it shows, and its code.

A command is a line that begins with `$ `, with the lines that a backslash at the end joins to it
and without the comment at its end.  A block whose fence names another language is code.  A comment
`<!-- not run: REASON -->` before a block, which readers do not see, gives the reason why no test
runs what is in it.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from pathlib import Path

PROMPT = "$ "
# Blocks of these languages without a prompt are scripts, and so code.
SHELLS = ("sh", "bash")
# Blocks without a language, or with one of these, have commands and what they print.
TERMINALS = ("", "console", "text")

# The pages of the project, the guides, and what says how a part is worked on.
WRITTEN = ("*.md", "docs/*.md", "docs/site/api/*.md", "experiments/*.md", "src/**/README.md")

_FENCE = re.compile(r"^ {0,3}```\s*([\w+-]*)")
_MARKER = re.compile(r"^\s*<!--\s*not run:\s*(.*?)\s*-->\s*$")
_COMMENT = re.compile(r"""((?:[^'"#]|'[^']*'|"[^"]*"|(?<!\s)\#)*?)\s+\#(?:\s.*)?$""")


@dataclass(frozen=True)
class Command:
    """A command as a reader types it; `not_run` is the reason that the page itself gives.

    `shown` is what the page has below it, up to the next command.
    """

    line: int
    text: str
    not_run: str = ""
    shown: str = ""

    def printed_in(self, output: str) -> bool:
        """Tell whether the output has what is shown, in which `...` stands for anything."""
        parts = (re.escape(" ".join(part.split())) for part in self.shown.split("..."))
        return re.search(".*".join(parts), " ".join(output.split())) is not None


@dataclass(frozen=True)
class Snippet:
    """A block of code, known by how it begins."""

    line: int
    language: str
    text: str
    not_run: str = ""

    @property
    def begins(self) -> str:
        """Return the first line that is not empty."""
        return next((line.strip() for line in self.text.splitlines() if line.strip()), "")

    def starts_with(self, text: str) -> bool:
        """Tell whether these are the first lines of the snippet, or the beginning of them."""
        return self.text.strip().startswith(text.strip())


@dataclass(frozen=True)
class Page:
    """What a page shows, in the order in which it shows it."""

    name: str
    commands: tuple[Command, ...]
    snippets: tuple[Snippet, ...]


def pages(root: Path) -> list[Page]:
    """Return all pages that people write; those under docs/reference are generated."""
    paths = [path for pattern in WRITTEN for path in sorted(root.glob(pattern))]
    return [
        read(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")) for path in paths
    ]


def read(name: str, text: str) -> Page:
    """Return what the page of this name and text shows."""
    commands: list[Command] = []
    snippets: list[Snippet] = []
    lines = text.splitlines()
    reason = ""
    at = 0
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if fence is None:
            marker = _MARKER.match(lines[at])
            if marker or lines[at].strip():
                reason = marker[1] if marker else ""
            at += 1
            continue
        end = _end(lines, at + 1)
        shown = _commands(lines, at + 1, end, reason)
        if fence[1] in TERMINALS or (fence[1] in SHELLS and shown):
            commands += shown
        else:
            code = "\n".join(lines[at + 1 : end]) + "\n"
            snippets.append(Snippet(at + 2, fence[1], code, reason))
        reason = ""
        at = end + 1
    return Page(name, tuple(commands), tuple(snippets))


def _end(lines: list[str], begin: int) -> int:
    """Return where the block that begins at `begin` ends."""
    ends = (at for at in range(begin, len(lines)) if lines[at].strip() == "```")
    return next(ends, len(lines))


def _commands(lines: list[str], begin: int, end: int, reason: str) -> list[Command]:
    found = []
    at = begin
    while at < end:
        first = at
        typed = lines[at].strip()
        at += 1
        if not typed.startswith(PROMPT):
            continue
        while typed.endswith("\\") and at < end:
            typed = f"{typed[:-1].rstrip()} {lines[at].strip()}"
            at += 1
        text = _without_comment(typed[len(PROMPT) :])
        below = itertools.takewhile(lambda line: not line.startswith(PROMPT), lines[at:end])
        found.append(Command(first + 1, text, reason, "\n".join(below)))
    return found


def _without_comment(typed: str) -> str:
    commented = _COMMENT.fullmatch(typed)
    return (commented[1] if commented else typed).strip()
