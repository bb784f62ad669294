# SPDX-License-Identifier: BSD-3-Clause
"""A verdict of the gate as a table, as data, as Markdown and as JUnit XML."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from xml.etree import ElementTree

from lanewise.results.gate import METHOD, Finding, Verdict
from lanewise.results.gate_reference import OPERATION as REFERENCE
from lanewise.results.printable import printable
from lanewise.results.quantity import size_text
from lanewise.results.table import UNLIMITED, fitted, line, microseconds

CLASS = "lanewise.gate"


def share_text(share: float) -> str:
    """Write a slowdown with one decimal, `7.1 %`, so that 4.9 % does not appear as 5 %."""
    return f"{100 * share:.1f} %"


def change_text(share: float) -> str:
    """Write a change with its sign, `+7.1 %`."""
    return f"{100 * share:+.1f} %"


def name_of(finding: Finding) -> str:
    """Name what was tested, `bcast 8 B`, or `bcast` over all of its sizes."""
    size = "" if finding.message_bytes is None else size_text(finding.message_bytes)
    return " ".join(filter(None, (finding.operation, finding.ranks, size)))


def rate_text(share: float) -> str:
    """Write a share that was chosen, `5 %`."""
    return f"{100 * share:.3g} %"


def rule_text(verdict: Verdict) -> str:
    """Say what raises an alarm, and how often one is false."""
    rule = verdict.rule
    gate, rate = rate_text(rule.gate), rate_text(rule.false_alarms)
    return f"gate {gate}; false alarms {rate} over all points together ({METHOD})"


def reference_text(verdict: Verdict) -> str:
    """Say what became of the reference; empty where there was none."""
    told = {
        "none": "",
        "used": f"launches are compared with those of a similar {REFERENCE}",
        "differs": f"base and candidate differ in {REFERENCE}, which no MPI takes part in, so "
        "times are compared as they are",
    }
    return told[verdict.reference]


def looks_text(verdict: Verdict) -> str:
    """Say which look this is, and what is left of the false alarms for it; empty for one look."""
    rule = verdict.rule
    if rule.looks == 1:
        return ""
    return f"look {verdict.look} of {rule.looks}, which may use {rate_text(rule.level)}"


def launches_text(verdict: Verdict) -> str:
    """Say how many launches were compared, and whether they were interleaved."""
    base, candidate = verdict.counts
    order = "in blocks of random order" if verdict.interleaved else "not interleaved"
    told = [f"{base} and {candidate} launches", order, looks_text(verdict)]
    return ", ".join(filter(None, told))


def reach_text(verdict: Verdict, operation: str = "") -> str:
    """Say which slowdown would not have been missed."""
    power = rate_text(verdict.rule.power)
    least = verdict.least_visible[operation] if operation else verdict.least_visible_anywhere
    if math.isinf(least):
        return (
            "could not have seen one operation alone slow down, however much: launches are too few "
            "for so many points; measure more of each side, with --launches"
        )
    found = f"found in {power} of cases"
    where = found if operation else f"slower at all sizes of one operation; {found}"
    return f"could not have seen less than {share_text(least)} ({where})"


def sentence(verdict: Verdict, shown: Callable[[str], str] = str) -> str:
    """Return the verdict as one sentence, names of points being `shown`."""
    gate = rate_text(verdict.rule.gate)
    if verdict.alarms:
        worst = sorted(verdict.alarms, key=lambda one: -one.slowdown)
        names = ", ".join(f"{shown(name_of(one))} {change_text(one.slowdown)}" for one in worst[:3])
        more = f" and {len(worst) - 3} more" if len(worst) > 3 else ""
        return f"slower by more than {gate}: {names}{more}"
    return f"passed: nothing is slower by more than {gate}; {reach_text(verdict)}"


def lines_of(verdict: Verdict, columns: int = UNLIMITED) -> list[str]:
    """Return the tables for a terminal of so many columns."""
    told = [launches_text(verdict), rule_text(verdict), reference_text(verdict)]
    lines = [f"# {text}" for text in told if text]
    for operation in verdict.operations:
        found = [one for one in verdict.findings if one.operation == operation]
        lines += ["", f"# {operation}", *table_of(found, columns)]
        lines += [summary(found, columns), f"# {reach_text(verdict, operation)}"]
    if verdict.notes:
        lines += ["", *(f"! {note}" for note in verdict.notes)]
    return [*lines, "", sentence(verdict)]


def table_of(found: Sequence[Finding], columns: int) -> list[str]:
    """Return heading and rows of one operation, whose last finding is over its sizes."""
    names = headings(found)
    widths = fitted(names, columns)
    return [line(names[0], names[1:], widths), *(row(one, widths) for one in found[:-1])]


def headings(found: Sequence[Finding]) -> list[str]:
    """Return the headings of one operation's table."""
    columns = ["A median(us)", "B median(us)", "B slower by", "p (adjusted)", "Alarm"]
    return ["# Pair", "Size", *columns] if found[0].ranks else ["# Size", *columns]


def row(one: Finding, widths: Sequence[int]) -> str:
    """Return the row of one point."""
    columns = [microseconds(one.base_s), microseconds(one.candidate_s), *judged(one)]
    size = str(one.message_bytes)
    return line(one.ranks or size, [size, *columns] if one.ranks else columns, widths)


def summary(found: Sequence[Finding], columns: int) -> str:
    """Return the row of an operation over its sizes."""
    names = headings(found)
    cells = judged(found[-1])
    blank = [""] * (len(names) - 1 - len(cells))
    return line("# all", [*blank, *cells], fitted(names, columns))


def judged(one: Finding) -> list[str]:
    """Return the columns that say what was found."""
    return [change_text(one.slowdown), f"{one.p_value:.2g}", "SLOWER" if one.alarm else "-"]


def as_object(verdict: Verdict) -> dict[str, object]:
    """Return a verdict as plain data; a number that does not exist becomes null."""
    values = {
        "verdict": "slower" if verdict.alarms else "passed",
        "sentence": sentence(verdict),
        "method": METHOD,
        **asdict(verdict),
        "least_visible_anywhere": verdict.least_visible_anywhere,
    }
    values["rule"]["level"] = verdict.rule.level
    plain: dict[str, object] = json.loads(json.dumps(values), parse_constant=lambda _: None)
    return plain


def markdown(verdict: Verdict) -> str:
    """Return a summary for a pull request."""
    title = "slower" if verdict.alarms else "passed"
    lines = [
        f"### Communication: {title}", "", f"{capitalised(sentence(verdict, as_code))}.", "",
        "| operation | slower by | p (adjusted) | could not have seen less than | |",
        "|---|---:|---:|---:|---|",
    ]  # fmt: skip
    for operation in verdict.operations:
        found = [one for one in verdict.findings if one.operation == operation]
        least = verdict.least_visible[operation]
        shown = [one for one in found[:-1] if one.alarm]
        lines.append(markdown_row(found[-1], "any" if math.isinf(least) else share_text(least)))
        lines += [markdown_row(one, "") for one in shown]
    told = [launches_text(verdict), rule_text(verdict), reference_text(verdict)]
    lines += ["", f"<sub>{'; '.join(filter(None, told))}.</sub>"]
    lines += [f"<br><sub>{as_code(capitalised(note))}.</sub>" for note in verdict.notes]
    return "\n".join(lines) + "\n"


def markdown_row(one: Finding, least: str) -> str:
    """Return one row of the summary."""
    mark = "**slower**" if one.alarm else ""
    change = change_text(one.slowdown)
    return f"| {in_cell(as_code(name_of(one)))} | {change} | {one.p_value:.2g} | {least} | {mark} |"


def as_code(text: str) -> str:
    """Return a text in one line as a span of code, whatever a file calls things.

    There is no markup in it, and GitHub makes no links, mentions and formulas of it.
    """
    told = printable(" ".join(text.split()))
    fence = "`" * (1 + max(map(len, re.findall("`+", told)), default=0))
    blank = " " if "`" in told else ""
    return f"{fence}{blank}{told}{blank}{fence}"


def in_cell(text: str) -> str:
    """Return a text whose bars end no cell of a table, where they are escaped in code as well."""
    return re.sub(r"(\\*)\|", r"\1\1\\|", text)


def capitalised(text: str) -> str:
    """Return text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def junit(verdict: Verdict) -> str:
    """Return JUnit XML with a test case for each operation."""
    cases = []
    for operation in verdict.operations:
        found = [one for one in verdict.findings if one.operation == operation]
        case = ElementTree.Element("testcase", classname=CLASS, name=operation)
        alarms = [one for one in found if one.alarm]
        if alarms:
            told = ", ".join(f"{name_of(one)} {change_text(one.slowdown)}" for one in alarms)
            failure = ElementTree.SubElement(case, "failure", type="slower", message=told)
            failure.text = "\n".join(table_of(found, UNLIMITED))
        output = ElementTree.SubElement(case, "system-out")
        output.text = f"{reach_text(verdict, operation)}\n{rule_text(verdict)}"
        cases.append(case)
    failed = sum(case.find("failure") is not None for case in cases)
    suite = ElementTree.Element(
        "testsuite", name=CLASS, tests=str(len(cases)), failures=str(failed), errors="0",
        skipped="0",
    )  # fmt: skip
    suite.extend(cases)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    written = ElementTree.tostring(root, encoding="unicode", xml_declaration=True)
    # XML has no way to write most of what is not printable.
    return "".join(f"{printable(line)}\n" for line in written.split("\n"))
