# SPDX-License-Identifier: BSD-3-Clause
"""What a sweep found, as text for people, as an object, as JUnit XML and as a page."""

from __future__ import annotations

import re
from collections import Counter
from html import escape
from typing import Any
from xml.etree import ElementTree

from lanewise.rdma.sweep.judge import Ending, Verdict
from lanewise.rdma.sweep.runs import Judged, Sweep

CLASS = "lanewise rdma sweep"
# What XML 1.0 has no place for, whatever a program prints.
_NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PLURALS = {
    Ending.ERROR: "clean errors", Ending.CRASH: "crashes", Ending.WRONG: "wrong results",
    Ending.HANG: "hangs", Ending.LEAK: "leaks",
}  # fmt: skip


def lines_of(sweep: Sweep, columns: int) -> list[str]:
    """Return a table and the sentence below it, for so many columns of text.

    Runs that ended alike after faults of one kind share a row; findings are the last rows.
    """
    groups: dict[tuple[str, str, Verdict], list[Judged]] = {}
    for one in sorted(sweep.runs, key=lambda one: one.verdict.ending.is_finding):
        groups.setdefault((one.fault.place, one.fault.name, one.verdict), []).append(one)
    heads = [_head(group) for group in groups.values()]
    first = max(map(len, heads), default=0) + 2
    second = max(len(ending.value) for ending in Ending) + 2
    rows = [
        f"{head:<{first}}{verdict.ending.value:<{second}}{verdict.why}"[:columns].rstrip()
        for head, (_, _, verdict) in zip(heads, groups, strict=True)
    ]
    return [*rows, "", sentence(sweep)]


def _head(group: list[Judged]) -> str:
    more = f" (+{len(group) - 1})" if len(group) > 1 else ""
    return f"{group[0].fault}{more}"


def sentence(sweep: Sweep) -> str:
    """Return how many runs ended how."""
    counts = Counter(one.verdict.ending for one in sweep.runs)
    parts = [_counted(ending, counts[ending]) for ending in Ending if counts[ending]]
    left_out = f"; {sweep.left_out} more faults are possible" if sweep.left_out else ""
    return f"{_runs(len(sweep.runs))}: {', '.join(parts)}{left_out}"


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def _counted(ending: Ending, count: int) -> str:
    plural = _PLURALS.get(ending, ending.value)
    return f"{count} {ending.value if count == 1 else plural}"


def as_object(sweep: Sweep) -> dict[str, Any]:
    """Return all of it for JSON; `faults` is the script that does a run again."""
    return {
        "occurred": sweep.without_faults.occurred,
        "left_without_faults": sweep.without_faults.left,
        "left_out": sweep.left_out,
        "runs": [
            {
                "fault": str(one.fault),
                "faults": one.fault.script,
                "ending": one.verdict.ending.value,
                "finding": one.verdict.ending.is_finding,
                "why": one.verdict.why,
                "status": one.program.status,
            }
            for one in sweep.runs
        ],
    }


def junit(sweep: Sweep) -> str:
    """Return JUnit XML with a test case for each run; findings are failures."""
    suite = ElementTree.Element(
        "testsuite", name=CLASS, tests=str(len(sweep.runs)), failures=str(len(sweep.findings)),
        errors="0", skipped=str(sum(_is_skipped(one) for one in sweep.runs)),
    )  # fmt: skip
    for one in sweep.runs:
        case = ElementTree.SubElement(suite, "testcase", classname=CLASS, name=str(one.fault))
        if one.verdict.ending.is_finding:
            kind, why = one.verdict.ending.value, _text(one.verdict.why)
            failure = ElementTree.SubElement(case, "failure", type=kind, message=f"{kind}: {why}")
            failure.text = one.fault.script
        elif _is_skipped(one):
            ElementTree.SubElement(case, "skipped", message=_text(one.verdict.why))
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def page(sweep: Sweep, program: str) -> str:
    """Return one HTML file that works offline: what was found first, then all runs."""
    title = f"Faults of {_text(program)}"
    ordered = sorted(sweep.runs, key=lambda one: not one.verdict.ending.is_finding)
    rows = "\n".join(_row(one) for one in ordered)
    return f"""<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>
body {{ font: 16px/1.5 sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem }}
table {{ border-collapse: collapse; width: 100% }}
th, td {{ border-bottom: 1px solid #ccc; padding: .3rem .6rem; text-align: left;
          vertical-align: top; overflow-wrap: anywhere }}
td:nth-child(2) {{ white-space: nowrap }}
.finding td:nth-child(2) {{ color: #b00020; font-weight: bold }}
pre {{ margin: 0; white-space: pre-wrap }}
@media (max-width: 48rem) {{
  thead {{ display: none }}
  tr {{ display: block; border-bottom: 1px solid #ccc; padding: .5rem 0 }}
  td {{ display: block; border: 0; padding: .1rem 0 }}
}}
</style>
<h1>{escape(title)}</h1>
<p>{escape(sentence(sweep))}.</p>
<table>
<thead><tr><th>Fault</th><th>Ending</th><th>Why</th><th>Script</th></tr></thead>
<tbody>
{rows}
</tbody>
</table>
</html>
"""


def _text(said: str) -> str:
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", said)


def _is_skipped(one: Judged) -> bool:
    return one.verdict.ending is Ending.NOT_MET


def _row(one: Judged) -> str:
    kind = ' class="finding"' if one.verdict.ending.is_finding else ""
    cells = [str(one.fault), one.verdict.ending.value, _text(one.verdict.why)]
    texts = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
    return f"<tr{kind}>{texts}<td><pre>{escape(one.fault.script.strip())}</pre></td></tr>"
