# SPDX-License-Identifier: BSD-3-Clause
"""Reads the JUnit files of ctest and pytest into one kind of outcome.

The two differ where it matters.  ctest leaves the message of a failure empty and keeps what the
test printed apart; it also files what it did not run, such as a program that could not be started,
under `skipped`, which would hide a broken build, so here only what asked for it by exit status 77
or by what it printed, and a disabled test, are skips.  To ctest a program
of GoogleTest is one test, which passes although some of the tests inside were skipped: those are
found in what the program printed.  One that ran no test, such as for a filter that matches none any
more, ends with status 0, and failed here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree


class Verdict(Enum):
    """What became of one test."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Outcome:
    """One test: its name, its verdict, and the reason or output that explains it."""

    name: str
    verdict: Verdict
    text: str = ""


# The colours of a terminal, which some launchers give to what they start, as ctest writes them.
_COLOUR = re.compile(r"\[NON-XML-CHAR-0x1B\]\[[0-9;]*m")
_SKIPPED_INSIDE = re.compile(r"\[  SKIPPED \] (\S+) \(")
_BEGUN = re.compile(r"\[ RUN      \] (\S+)")
_OF_ANOTHER = re.compile(r"^rank \d+: |Sanitizer|runtime error:")
_RAN_NOTHING = "[==========] Running 0 tests"
_ENDED_WELL = re.compile(r"\[(?:       OK|  SKIPPED) \] (\S+) \(")


def read(report: Path) -> list[Outcome]:
    """Return the outcomes in `report`; raises OSError or ElementTree.ParseError."""
    cases = ElementTree.parse(report).getroot().iter("testcase")
    return [outcome for case in cases for outcome in _outcomes(case)]


def _outcomes(case: ElementTree.Element) -> list[Outcome]:
    outcome = _outcome(case)
    if outcome.verdict is not Verdict.PASSED:
        return [outcome]
    printed = _COLOUR.sub("", case.findtext("system-out") or "")
    inside = _skips_inside(outcome.name, printed.splitlines())
    ran = not inside or "[       OK ]" in printed
    return [*([outcome] if ran else []), *inside]


def _skips_inside(program: str, lines: list[str]) -> list[Outcome]:
    """Return the tests that a program of GoogleTest skipped; the line above each has the reason."""
    return [
        _skip(f"{program}: {skipped[1]}", "" if _BEGUN.match(above) else above.strip())
        for above, line in pairwise(lines)
        if (skipped := _SKIPPED_INSIDE.match(line))
    ]


def _without_tests_that_passed(printed: str) -> str:
    """Return what a program printed without what its tests printed that passed or were skipped.

    The tests of a program are many and what is shown of it are its last lines, while the one that
    failed may have been the first.  Where all passed, something else failed the program: a
    sanitizer, or another rank of an MPI job.
    """
    kept: list[str] = []
    begun: dict[str, int] = {}
    for line in printed.splitlines():
        if begins := _BEGUN.match(line):
            begun[begins[1]] = len(kept)
        ended = _ENDED_WELL.match(line)
        first = begun.pop(ended[1], None) if ended else None
        if first is None or any(_OF_ANOTHER.search(one) for one in kept[first:]):
            kept.append(line)
        else:
            del kept[first:]
    explained = begun or any("[  FAILED  ]" in line for line in kept)
    return "\n".join(kept) if explained else printed


def _outcome(case: ElementTree.Element) -> Outcome:
    name = _name(case)
    printed = _COLOUR.sub("", case.findtext("system-out") or "").strip()
    for tag in ("failure", "error"):
        found = case.find(tag)
        if found is not None:
            told = (found.text or found.get("message") or "").strip()
            failed = _without_tests_that_passed(printed)
            return Outcome(name, Verdict.FAILED, "\n".join(filter(None, (told, failed))))
    skipped = case.find("skipped")
    if skipped is not None:
        message = skipped.get("message") or ""
        return _not_run(name, message, printed) if case.get("status") else _skip(name, message)
    if case.get("status") == "disabled":
        return Outcome(name, Verdict.SKIPPED, "disabled")
    if case.get("name") is None:
        return Outcome(name, Verdict.FAILED, "it did not end")
    if _RAN_NOTHING in printed:
        return Outcome(name, Verdict.FAILED, f"it ran no test\n{printed}")
    return Outcome(name, Verdict.PASSED)


def _skip(name: str, reason: str) -> Outcome:
    return Outcome(name, Verdict.SKIPPED, reason or "no reason")


def _not_run(name: str, message: str, printed: str) -> Outcome:
    """Tell a skip of ctest from what it did not run for another reason."""
    if message.startswith(("SKIP_RETURN_CODE", "SKIP_REGULAR_EXPRESSION")):
        return _skip(name, printed.splitlines()[-1] if printed else "")
    return Outcome(name, Verdict.FAILED, printed or message)


def _name(case: ElementTree.Element) -> str:
    group, name = case.get("classname") or "", case.get("name") or "?"
    return name if group in ("", name) else f"{group}.{name}"
