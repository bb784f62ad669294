# SPDX-License-Identifier: BSD-3-Clause
"""Page: one self-contained HTML page with all items, and papers.json beside it.

The page has no script and fetches nothing.  Pictures are SVG inside it.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

import lanewise.report
from experiments.experiment import PAPERS, Target
from experiments.papers.answers import Answer, Run, papers_json
from experiments.papers.draw import here_text, number_text, pictures, svg, told_text
from experiments.papers.item import Condition, Here, Measured, Unit
from lanewise import __version__
from lanewise.errors import RequestError
from lanewise.files.whole import require_places, write_whole

_FOLDER = Path(__file__).parent
_LOOK = Path(lanewise.report.__file__).parent / "page.css"
_CAPTIONS = {"paper": "Paper", "here": "Here"}


def refuse_output(output: Path) -> None:
    """Raise RequestError where the page and papers.json could not be written."""
    if output.suffix != ".html":
        raise RequestError(f"{output} is not named like a page; name it *.html, as papers.html")
    require_places(output, output.with_suffix(".json"))


def write_page(answers: Sequence[Answer], runs: Mapping[str, Run], output: Path) -> Path:
    """Write the page and the data beside it, whose path is returned."""
    data = output.with_suffix(".json")
    text = json.dumps(papers_json(answers), ensure_ascii=False, indent=1, allow_nan=False)
    write_whole(output, render(answers, runs, data.name))
    write_whole(data, text + "\n")
    return data


def render(answers: Sequence[Answer], runs: Mapping[str, Run], data: str) -> str:
    """Return the page as text."""
    environment = Environment(
        loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    shown = [_shown(answer) for answer in answers]
    styles = [path.read_text(encoding="utf-8") for path in (_LOOK, _FOLDER / "page.css")]
    return environment.get_template("page.html.j2").render(
        items=shown,
        papers=[
            {"key": key, "name": name, "entries": [one for one in shown if one["paper"] == key]}
            for key, name in PAPERS.items()
        ],
        drawn=sum(len(one["pictures"]) >= 2 for one in shown),
        quick=any(run.quick for run in runs.values()),
        failed=[(name, run.why) for name, run in runs.items() if run.measured is None],
        verdict=verdict(answers),
        style=Markup("\n".join(styles)),
        data=data,
        version=__version__,
        written=datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
    )


def verdict(answers: Sequence[Answer]) -> str:
    """Say how many findings hold here."""
    counts = Counter(answer.verdict for answer in answers)
    return (
        f"{len(answers)} tables and figures; {counts['holds']} of their findings hold here, "
        f"{counts['does not hold']} do not, {counts['not resolved']} could not be resolved, and "
        f"{counts['not measured']} were not measured."
    )


def verdict_of(answer: Answer) -> str:
    """Say whether a finding holds here."""
    here = " here" if answer.met is not None else ""
    return f"{answer.verdict}{here}"


def held_text(answer: Answer) -> str:
    """Say in how many kept runs the finding held; empty where none of them measured it."""
    held, number = answer.held
    return f"held in {held} of {number} kept run{'s' * (number > 1)}" if number else ""


def bound_of(answer: Answer) -> str:
    """Say what a finding was judged by: `4.48 in the paper, 37.0 here; bound >= 4.48`."""
    finding = answer.item.finding
    paper = told_text(finding.quantity.paper, finding.unit)
    bound = "bound" if finding.bound == "ours" else "the paper's bound"
    whose = ", which is ours" if finding.bound == "ours" else ""
    besides = "".join(f"; {_besides(answer, one)}" for one in finding.besides)
    return (
        f"{finding.quantity.label}: {paper} in {finding.quantity.place}, "
        f"{_here(finding.quantity.here, answer.measured(finding.quantity), finding.unit)}; "
        f"{bound} {_bound(finding.holds, finding.unit)}{whose}{besides}"
    )


def _here(here: Here, measured: Measured | None, unit: Unit) -> str:
    interval = None if measured is None else here.interval(measured)
    ends = "" if interval is None else " ({} to {})".format(
        *(number_text(end, unit) for end in interval)
    )  # fmt: skip
    return f"{here_text(here, measured, unit)}{ends} here"


def _besides(answer: Answer, condition: Condition) -> str:
    unit = answer.item.finding.unit
    here = _here(condition.here, answer.run.measured, unit)
    return f"besides, {condition.label}: {here}; bound {_bound(condition.holds, unit)}"


def _bound(holds: Target, unit: Unit) -> str:
    sign = {">=": "≥", "<=": "≤"}[holds.op]
    above = "" if holds.at_most is None else f" and ≤ {number_text(holds.at_most, unit)}"
    return f"{sign} {number_text(holds.value, unit)}{above}"


def _shown(answer: Answer) -> dict[str, Any]:
    item = answer.item
    drawn = pictures(answer)
    return {
        "paper": item.paper,
        "name": item.name,
        "item": item.item,
        "title": item.title,
        "quick": answer.run.quick,
        "finding": item.finding.says,
        "verdict": verdict_of(answer),
        "held": held_text(answer),
        "verdict_class": {True: "holds", False: "holds-not", None: "unknown"}[answer.met],
        "bound": bound_of(answer),
        "difference": item.difference,
        "unread": unread_text(item.unread) if item.unread else "",
        "ran": _ran(answer),
        "pictures": [
            {
                "kind": kind if kind in _CAPTIONS else "ours",
                "caption": _CAPTIONS.get(kind, "Our curves"),
                "alt": alt_of(answer, kind),
                "source": _source(svg(figure)),
            }
            for kind, figure in drawn.items()
        ],
    }


def _ran(answer: Answer) -> str:
    name = answer.item.experiment
    if answer.run.measured is None:
        return f"Experiment {name}: {'; '.join(answer.why_not_measured)}."
    text = f"Experiment {name}, {answer.run.sentence()}."
    return " ".join(filter(None, (text, lacks_text(answer))))


def lacks_text(answer: Answer) -> str:
    """Say what a run that came to its end lacks; empty where it lacks nothing.

    What the verdict lacks is told with its reason, what is only drawn by its label.
    """
    whys = "; ".join(answer.why_not_measured)
    why = f"{whys[0].upper()}{whys[1:]}." if whys else ""
    return " ".join(filter(None, (why, missing_text(answer))))


def unread_text(unread: str) -> str:
    """Say what the paper shows as a curve from which no numbers can be read."""
    what = unread.replace("The ", "the ", 1) if unread.startswith("The ") else unread
    return f"The paper shows this only as a picture: {what}"


def missing_text(answer: Answer) -> str:
    """Say which numbers beside the headline a run did not give; empty where it gave all or none."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for one in answer.missing:
        name, measured = one.experiment or answer.item.experiment, answer.measured(one)
        lost = measured is not None and one.here.lost(measured)
        found.setdefault(("Lost" if lost else "Not recorded", name), {})[one.label] = None
    return " ".join(
        f"{what} in {_run_text(answer, name)}: {'; '.join(labels)}."
        for (what, name), labels in found.items()
    )


def _run_text(answer: Answer, experiment: str) -> str:
    own = experiment == answer.item.experiment
    return "this run" if own else f"a run of {experiment}"


def alt_of(answer: Answer, kind: str) -> str:
    """Return the numbers of a picture as text."""
    if kind not in _CAPTIONS:
        return "Our curves."
    told = []
    for chart in answer.item.charts:
        for one in chart.quantities:
            here = here_text(one.here, answer.measured(one), chart.unit)
            told.append(
                f"{one.label}: {told_text(one.paper, chart.unit) if kind == 'paper' else here}"
            )
    return "; ".join(told) + "."


def _source(text: str) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(text.encode()).decode()
