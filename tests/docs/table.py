# SPDX-License-Identifier: BSD-3-Clause
"""The table commands.toml: what the tests do with each command and each snippet of a page.

A page has a table of its own, with these keys.  A command stands in exactly one of the first five,
unless the page marks its block as not run:

    run        [COMMAND, ...]: run as typed, expecting status 0
    status     [[COMMAND, NUMBER], ...]: run as typed, expecting this status
    instead    [[COMMAND, VARIANT], ...]: run this variant, which has all options of the command,
               with other values where the command takes minutes, or waits for another command
    parse      [COMMAND, ...]: add --print-command, which refuses unknown options and bad values
    not_run    [[COMMAND, REASON], ...]: not run
    tested_by  [[COMMAND, "FILE::TEST"], ...]: another suite runs it
    printed    [COMMAND, ...]: what the page shows below the command is in what it prints, in which
               `...` stands for anything; true for all commands of the page
    thorough   why make test-all runs the page, and make test not: what proves the same every day
    setup      shell lines that run in the page's empty folder first
    snippet    a list of tables, one a block of code: see Code
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markdown import Command, Page, Snippet

try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib

FILE = Path(__file__).with_name("commands.toml")
SHOWN = "tests/docs/commands.toml"

CLASSES = ("run", "status", "instead", "parse", "not_run", "tested_by")
_KEYS = {*CLASSES, "printed", "setup", "snippet", "thorough"}
_NOTHING = re.compile(r"(?:^|(?<=[;&|]))\s*:\s[^;&|]*")  # what a shell passes over
_OPTION = re.compile(r"""(?<![^\s"'])--?[A-Za-z][\w-]*""")


@dataclass(frozen=True)
class Code:
    """How a snippet is checked.

    begins     the first line of the snippet, or as many lines as tell it from the others
    file       the name of the file to write it to, in the page's folder, before its commands run
    before     lines to write before the line that begins with `body` (default: before the first
               line that is no #include), such as the head of a function
    after      lines to write at the end
    check      a command that reads the file, run in the page's folder; C, C++, Python and shell
               scripts have one, and where a command of the page names the file, none is needed
    tested_by  "FILE::TEST": another suite runs it
    """

    begins: str
    file: str = ""
    before: str = ""
    body: str = ""
    after: str = ""
    check: str = ""
    tested_by: str = ""

    def source(self, snippet: Snippet) -> str:
        """Return the text of the file."""
        lines = snippet.text.splitlines()
        at = next((number for number, line in enumerate(lines) if self._is_body(line)), len(lines))
        added = [*lines[:at], *self.before.splitlines(), *lines[at:], *self.after.splitlines()]
        return "\n".join(added) + "\n"

    def _is_body(self, line: str) -> bool:
        if self.body:
            return line.startswith(self.body)
        return bool(line.strip()) and not line.startswith("#include")


@dataclass(frozen=True)
class Entry:
    """What the table says of one page."""

    classes: dict[str, dict[str, Any]] = field(default_factory=dict)
    setup: str = ""
    snippets: tuple[Code, ...] = ()
    printed: bool | tuple[str, ...] = False
    thorough: str = ""

    def compares(self, command: Command) -> bool:
        """Tell whether what the command prints is compared with what the page shows below it."""
        return self.printed if isinstance(self.printed, bool) else command.text in self.printed

    def classes_of(self, command: Command) -> list[str]:
        """Return the classes that a command is in; one, if all is well."""
        marked = ["marked"] if command.not_run else []
        return marked + [name for name in CLASSES if command.text in self.classes.get(name, {})]

    def code_of(self, snippet: Snippet) -> Code | None:
        """Return how a snippet is checked, None where nothing says so."""
        fitting = (code for code in self.snippets if snippet.starts_with(code.begins))
        return next(fitting, None)

    def shell_lines(self) -> list[str]:
        """Return what the shell of the page is given, for all of its commands."""
        classes = self.classes
        typed = [*classes.get("run", {}), *classes.get("status", {})]
        return [*typed, *map(str, classes.get("instead", {}).values())]


def load(path: Path = FILE) -> dict[str, Entry]:
    """Read the table: an entry for each page."""
    return {name: entry(keys) for name, keys in tomllib.loads(path.read_text("utf-8")).items()}


def entry(keys: dict[str, Any]) -> Entry:
    """Return the entry that the keys of a page make; ValueError for a key that means nothing."""
    unknown = sorted(set(keys) - _KEYS)
    if unknown:
        raise ValueError(f"{SHOWN}: {unknown[0]}: use one of {', '.join(sorted(_KEYS))}")
    classes = {name: _by_command(keys.get(name, [])) for name in CLASSES}
    return Entry(
        classes,
        keys.get("setup", ""),
        tuple(Code(**one) for one in keys.get("snippet", [])),
        _printed(keys),
        keys.get("thorough", ""),
    )


def _printed(keys: dict[str, Any]) -> bool | tuple[str, ...]:
    given = keys.get("printed", False)
    return given if isinstance(given, bool) else tuple(map(_joined, given))


def _by_command(given: list[Any]) -> dict[str, Any]:
    pairs = ([each, None] if isinstance(each, str) else each for each in given)
    return {_joined(text): _joined(value) for text, value in pairs}


def _joined(value: Any) -> Any:
    """Return a command without the backslashes that join its lines."""
    return re.sub(r"\s*\\\n\s*", " ", value).strip() if isinstance(value, str) else value


def offences(found: list[Page], table: dict[str, Entry], root: Path) -> list[str]:
    """Return what is wrong with the pages and the table, each a line with its remedy."""
    names = {page.name for page in found}
    gone = [
        f"{SHOWN}: {name}: there is no such page; remove it" for name in table if name not in names
    ]
    for page in found:
        about = table.get(page.name, Entry())
        gone += _unsettled(page, about)
        gone += _stale(page, about)
        gone += _lacking_tests(page, about, root)
        gone += _changed_options(page, about)
    return gone


def _unsettled(page: Page, about: Entry) -> Iterator[str]:
    for command in page.commands:
        classes = about.classes_of(command)
        if not classes:
            yield (
                f"{page.name}:{command.line}: no test runs `{command.text}`; add it to {SHOWN}, or "
                "write <!-- not run: REASON --> before its block"
            )
        if len(classes) > 1:
            yield (
                f"{page.name}:{command.line}: `{command.text}` is in {' and '.join(classes)} of "
                f"{SHOWN}; keep one"
            )
    for snippet in page.snippets:
        code = about.code_of(snippet)
        if not snippet.not_run and (code is None or not _is_checked(snippet, code, about)):
            yield (
                f"{page.name}:{snippet.line}: nothing checks the snippet `{snippet.begins}`; add a "
                f"snippet to {SHOWN}, or write <!-- not run: REASON --> before its block"
            )
        if snippet.not_run and code:
            yield (
                f"{page.name}:{snippet.line}: `{snippet.begins}` is marked as not run and is in "
                f"{SHOWN}; keep one"
            )


def _stale(page: Page, about: Entry) -> Iterator[str]:
    shown = {command.text for command in page.commands}
    for name, commands in about.classes.items():
        for text in commands:
            if text not in shown:
                yield f"{SHOWN}: {page.name} no longer shows `{text}`; remove it from {name}"
    compared = about.printed if isinstance(about.printed, tuple) else ()
    below = {command.text for command in page.commands if command.shown.strip()}
    for text in compared:
        if text not in below:
            yield f"{SHOWN}: {page.name} shows nothing below `{text}`; remove it from printed"
    for code in about.snippets:
        if not any(snippet.starts_with(code.begins) for snippet in page.snippets):
            yield f"{SHOWN}: no snippet of {page.name} begins with `{code.begins}`; remove it"


def _is_checked(snippet: Snippet, code: Code, about: Entry) -> bool:
    used = code.file and any(code.file in line for line in about.shell_lines())
    return bool(used or code.tested_by or check_of(snippet, code))


def _lacking_tests(page: Page, about: Entry, root: Path) -> Iterator[str]:
    named = {
        code.begins: re.sub(r"[\\\s]", "", code.tested_by)
        for code in about.snippets
        if code.tested_by
    }
    for text, test in {**about.classes.get("tested_by", {}), **named}.items():
        file, _, name = test.partition("::")
        said = (root / file).read_text("utf-8") if (root / file).is_file() else ""
        lost = sorted(option for option in _options_of_lanewise(text) if option not in said)
        if not re.search(rf"^def {name}\(", said, re.M):
            yield f"{SHOWN}: {page.name}: `{text}`: there is no test {test}; name one that runs it"
        elif lost:
            yield f"{SHOWN}: {page.name}: `{text}`: {file} has no {lost[0]}; name its test"


def _changed_options(page: Page, about: Entry) -> Iterator[str]:
    for text, variant in about.classes.get("instead", {}).items():
        lost = sorted(_options(text) - _options(_NOTHING.sub("", variant)))
        if lost:
            yield f"{SHOWN}: {page.name}: the variant of `{text}` lacks {lost[0]}; keep all options"


def _options_of_lanewise(text: str) -> set[str]:
    found = re.search(r"(?:^|\s)lanewise .*", text)
    return _options(found[0]) if found else set()


def _options(text: str) -> set[str]:
    return set(_OPTION.findall(text))


def check_of(snippet: Snippet, code: Code) -> str:
    """Return the command that checks a snippet, empty where there is none."""
    return code.check or CHECKS.get(snippet.language, "").format(file=file_of(snippet, code))


def file_of(snippet: Snippet, code: Code) -> str:
    """Return the name of the file that a snippet is written to."""
    return code.file or f"snippet-{snippet.line}.{snippet.language}"


_COMPILE = '-fsyntax-only -Wall -Werror -Wno-unused -I "$ROOT/include"'
CHECKS = {
    "c": f"mpicc {_COMPILE} -std=c11 -x c {{file}}",
    "cpp": f"mpicxx {_COMPILE} -std=c++20 -x c++ {{file}}",
    "bash": "bash -n {file}",
    "sh": "sh -n {file}",
    "python": 'python -m py_compile "{file}"',
}


def parsed(text: str) -> str:
    """Return a command with --print-command among the options of lanewise."""
    ours, separator, theirs = text.partition(" -- ")
    return f"{ours} --print-command{separator}{theirs}"


def typed(command: Command, about: Entry) -> tuple[str, int] | None:
    """Return what the shell is given for a command and the status it should end with.

    None where no shell runs it.
    """
    (name,) = about.classes_of(command)
    entries = about.classes.get(name, {})
    if name == "run":
        return command.text, 0
    if name == "status":
        return command.text, int(entries[command.text])
    if name == "instead":
        return str(entries[command.text]), 0
    if name == "parse":
        return parsed(command.text), 0
    return None
