# SPDX-License-Identifier: BSD-3-Clause
"""The old names of commands and options: each works for a release more, with a line of advice."""

from __future__ import annotations

from collections.abc import Collection, Sequence

# What a command line began with, and what it begins with now.
RENAMED: dict[str, str] = {
    "show": "report --format text",
    "fit": "model fit",
    "predict": "model predict",
    "algorithms": "model algorithms",
    "check": "model guidelines",
    "scale": "suite app",
    "hca status": "rdma status",
    "hca": "rdma run",
    "protect": "rdma protect",
    "paths discover": "rdma discover",
    "paths": "rdma discover",
}
EXPORT = "export"
# Begins like an old name, and is none.
STILL_THERE = ("check", "same-bits")
HELP = {"-h", "--help"}

# Options that have another name now.
OPTIONS: dict[str, str] = {
    "--fabric": "--launcher",
    "--fabrics": "--transports",
    "--kernels": "--benchmarks",
    "--turns": "--interleaved",
    "--fail-if-slower": "--gate",
    "-o": "--folder",
    "--output": "--folder",
}


def translate(arguments: Sequence[str]) -> tuple[list[list[str]], str]:
    """Return the command lines that `arguments` mean today, and advice where they are old.

    It is one command line for all old names but `export`, which could write two files at once.
    """
    if list(arguments[:1]) == [EXPORT]:
        lines = _reports(list(arguments[1:]))
        return lines, f"'{EXPORT}' is now '{' '.join(['lanewise', *lines[0]])}'"
    if tuple(arguments[:2]) == STILL_THERE or is_check_alone(arguments):
        return [list(arguments)], ""
    for old, new in RENAMED.items():
        words = old.split()
        if list(arguments[: len(words)]) == words:
            return [[*new.split(), *arguments[len(words) :]]], f"'{old}' is now 'lanewise {new}'"
    return [list(arguments)], ""


def is_check_alone(arguments: Sequence[str]) -> bool:
    """Tell whether a command line is `check` and does not say of what, except to ask for help."""
    return list(arguments[:1]) == ["check"] and HELP.issuperset(arguments[1:])


def _reports(words: list[str]) -> list[list[str]]:
    """Return the reports that stand for an `export`: one per file that it was to write."""
    targets: dict[str, str] = {}
    rest: list[str] = []
    while words:
        option, _, value = words.pop(0).partition("=")
        if option in ("--csv", "--parquet"):
            targets[option[2:]] = value or (words.pop(0) if words else "")
        else:
            rest.append(option + (f"={value}" if value else ""))
    return [
        ["report", "--format", kind, "-o", target, *rest] for kind, target in targets.items()
    ] or [["report", "--format", "csv", *rest]]


def translate_options(words: Sequence[str], known: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the words of a command with new names for old options, and advice where they are old.

    An option is old if the command does not know it and knows its new name.
    """
    changed, advice = list(words), []
    for place, word in enumerate(changed):
        old, equals, value = word.partition("=")
        new = OPTIONS.get(old, "")
        if old not in known and new in known:
            changed[place] = f"{new}{equals}{value}"
            advice.append(f"'{old}' is now '{new}'")
    return changed, advice
