# SPDX-License-Identifier: BSD-3-Clause
"""Reads the JUnit files of ctest and pytest into one kind of outcome.

The two differ where it matters.  ctest leaves the message of a failure empty and keeps what the
test printed apart; it also files a program that could not be started under `skipped`, which would
hide a broken build, so here only exit status 77 and a disabled test are skips.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
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


def read(report: Path) -> list[Outcome]:
    """Return the outcomes in `report`; raises OSError or ElementTree.ParseError."""
    cases = ElementTree.parse(report).getroot().iter("testcase")
    return [_outcome(case) for case in cases]


def _outcome(case: ElementTree.Element) -> Outcome:
    name = _name(case)
    printed = (case.findtext("system-out") or "").strip()
    for tag in ("failure", "error"):
        found = case.find(tag)
        if found is not None:
            told = (found.text or found.get("message") or "").strip()
            return Outcome(name, Verdict.FAILED, "\n".join(filter(None, (told, printed))))
    skipped = case.find("skipped")
    if skipped is not None:
        return _skip(name, skipped.get("message") or "", printed)
    if case.get("status") == "disabled":
        return Outcome(name, Verdict.SKIPPED, "disabled")
    return Outcome(name, Verdict.PASSED)


def _skip(name: str, message: str, printed: str) -> Outcome:
    """Tell a skip from a program that ctest could not start."""
    if message.startswith("Unable to find"):
        return Outcome(name, Verdict.FAILED, printed or message)
    if message.startswith("SKIP_RETURN_CODE"):
        return Outcome(name, Verdict.SKIPPED, printed.splitlines()[-1] if printed else "no reason")
    return Outcome(name, Verdict.SKIPPED, message or "no reason")


def _name(case: ElementTree.Element) -> str:
    group, name = case.get("classname") or "", case.get("name") or "?"
    return name if group in ("", name) else f"{group}.{name}"
