# SPDX-License-Identifier: BSD-3-Clause
"""Gallery: docs/papers.md, the map from each item to its experiment, with pictures of kept runs.

    python -m experiments.papers.gallery

The pictures lie in docs/papers/; that of what programs gain, which the README shows, is drawn with
them.  Each carries a mark of the numbers that it shows and of how they are drawn, so that a test
can say whether it is current whatever version of the drawing library made it.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure

from experiments import gain_picture, results
from experiments.experiment import PAPERS
from experiments.papers.answers import Answer, answers_of_kept
from experiments.papers.catalogue import NO_ITEMS, experiments_of
from experiments.papers.draw import draw_both, draw_lines, svg
from experiments.papers.item import curves_of
from experiments.papers.page import (
    alt_of,
    bound_of,
    held_text,
    lacks_text,
    unread_text,
    verdict_of,
)
from lanewise.files.whole import write_whole

ROOT = Path(__file__).resolve().parents[2]
PAGE = Path("docs/papers.md")
PICTURES = Path("docs/papers")
DRAWING = Path(__file__).with_name("draw.py")
_MARK = re.compile(r"numbers ([0-9a-f]{16})")

_INTRODUCTION = """\
# The papers' figures, there and here

This page has every table and figure of the five papers that shows a result, and the results that
appear only in their text: 35 items, each with the paper's numbers beside ours and the experiment
that measures it. To make the same page from measurements of your machine, run in a clone:

```
$ make experiments MPI="openmpi mpich"
$ lanewise reproduce --all --quick -o papers.html
```

This took 8 minutes on two cores of an AMD EPYC that had little other work (load average 1 to 3,
29 November 2026), and 20 minutes where other programs used the cores as well (load average 2 to
15). Experiments that have no smaller scale run whole. Without `--quick` all of them do, and are
kept in `experiments/results`. To run nothing and draw the newest kept run of each experiment, as
was done for this page:

```
$ lanewise reproduce --all --from-results -o papers.html
```

`papers.json` in the same folder has the same as data.

A paper's number is what its text or a table says, at the place that is given. If a curve is a
picture without numbers, what the text says about it is drawn: a bar that stands for a statement
without a number is hollow and dashed. A finding holds here if our number keeps the bound beside it,
which is the dashed line; if the paper has no number, the bound is ours. If one number cannot
express a finding, a second condition is named, and the finding holds only if both conditions hold.
If our number has an interval and the bound lies inside it, the finding is not resolved. The verdict
is that of the newest kept run; beside it stands in how many of the kept runs that measured it or
lost it the finding held. Where the paper has curves and our run kept its own, both are shown below.
"""


@dataclass(frozen=True)
class Picture:
    """A picture of the page: its file, its text, what draws it, and a mark of what it shows."""

    path: Path
    alt: str
    draw: Callable[[], Figure]
    mark: str


def kept_answers(root: Path) -> list[Answer]:
    """Return the answers of the newest kept runs."""
    folder = root / results.FOLDER.relative_to(ROOT)
    return answers_of_kept([one.name for one in experiments_of()], folder)[0]


def page(found: Sequence[Answer]) -> str:
    """Return docs/papers.md."""
    lines = [
        _INTRODUCTION,
        "## Map",
        "",
        "| paper | item | experiment | here |",
        "|---|---|---|---|",
    ]
    for answer in found:
        item = answer.item
        lines.append(
            f"| {PAPERS[item.paper]} | [{item.item}](#{_anchor(answer)}): {item.title} | "
            f"{', '.join(f'`{name}`' for name in item.experiments)} | "
            f"{', '.join(filter(None, (verdict_of(answer), held_text(answer))))} |"
        )
    lines += ["", "These figures and tables are left out because they show no result:", ""]
    lines += [f"- {PAPERS[paper]}, {places}: {what}." for paper, places, what in NO_ITEMS]
    for key, name in PAPERS.items():
        lines += ["", f"## {name[0].upper()}{name[1:]}"]
        for answer in found:
            if answer.item.paper == key:
                lines += ["", *_section(answer)]
    return "\n".join(lines) + "\n"


def _anchor(answer: Answer) -> str:
    heading = _heading(answer).lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def _heading(answer: Answer) -> str:
    item = answer.item
    return f"{item.item} of {PAPERS[item.paper]}: {item.title}"


def _section(answer: Answer) -> list[str]:
    item = answer.item
    unread = f" {unread_text(item.unread)}" if item.unread else ""
    run = answer.run.sentence() if answer.run.measured else answer.why_null
    lacks = f" {lacks_text(answer)}" if answer.run.measured and lacks_text(answer) else ""
    held = f" It {held_text(answer)}." if held_text(answer) else ""
    return [
        f"### {_heading(answer)}", "",
        f"{item.finding.says} It {_verdict(answer)} ({bound_of(answer)}).{held}", "",
        *(line for one in pictures(answer)
          for line in (f"![{one.alt}]({PICTURES.name}/{one.path.name})", "")),
        f"{item.difference}{unread} `lanewise reproduce {item.experiment}`: {run}.{lacks}",
    ]  # fmt: skip


def _verdict(answer: Answer) -> str:
    verbs = {"not measured": "was not measured here", "not resolved": "is not resolved here"}
    return verbs.get(answer.verdict, verdict_of(answer))


def pictures(answer: Answer) -> Iterator[Picture]:
    """Yield the pictures of an item: the paper beside here, then the curves that a run has kept."""
    item, name = answer.item, answer.item.name
    shown: list[list[object]] = [
        [chart.title, chart.unit, chart.scale, one.label, alt_of(answer, kind)]
        for chart in item.charts
        for one in chart.quantities
        for kind in ("paper", "here")
    ]
    shown.append([item.finding.holds.value, item.finding.holds.at_most])
    alt = f"Paper: {alt_of(answer, 'paper')} Here: {alt_of(answer, 'here')}"
    yield Picture(PICTURES / f"{name}.svg", alt, partial(draw_both, answer), digest(shown))
    if answer.run.measured is None:
        return
    for index, lines in enumerate(answer.item.lines, start=1):
        found = curves_of(answer.run.measured, lines.beginning)
        if found:
            alt = f"{lines.title}, over {lines.x}: {', '.join(found)}."
            drawn = [lines.title, lines.x, lines.y, lines.scale, found]
            path = PICTURES / f"{name}-curves-{index}.svg"
            yield Picture(path, alt, partial(draw_lines, lines, found), digest(drawn))


def picture_of_readme(root: Path) -> Iterator[Picture]:
    """Yield the picture of what programs gain in the newest kept run, where one is kept."""
    kept = results.read("programs-gain", root / results.FOLDER.relative_to(ROOT))
    if not kept:
        return
    panels = gain_picture.panels_of(kept[-1])
    mark = digest(gain_picture.shown(panels), Path(gain_picture.__file__))
    yield Picture(gain_picture.PICTURE, gain_picture.ALT, partial(gain_picture.draw, panels), mark)


def _all_pictures(root: Path, found: Sequence[Answer]) -> dict[Path, Picture]:
    drawn = [*(one for answer in found for one in pictures(answer)), *picture_of_readme(root)]
    return {one.path: one for one in drawn}


def digest(shown: Sequence[object], drawing: Path = DRAWING) -> str:
    """Return what tells whether a picture shows these numbers, as they are drawn now."""
    drawn = [drawing.read_text(encoding="utf-8"), *shown]
    return hashlib.sha256(json.dumps(drawn).encode()).hexdigest()[:16]


def stale(root: Path) -> list[Path]:
    """Return what is not as the kept runs say: the page, pictures, and pictures of no item."""
    found = kept_answers(root)
    known = _all_pictures(root, found)
    old = [path for path, one in known.items() if _mark_of(root / path) != one.mark]
    left = [
        path.relative_to(root)
        for path in sorted((root / PICTURES).glob("*"))
        if path.relative_to(root) not in known
    ]
    text = root / PAGE
    current = text.is_file() and text.read_text(encoding="utf-8") == page(found)
    return [*([] if current else [PAGE]), *old, *left]


def _mark_of(path: Path) -> str:
    if not path.is_file():
        return ""
    found = _MARK.search(path.read_text(encoding="utf-8"))
    return found[1] if found else ""


def write(root: Path) -> list[Path]:
    """Write what is not current, and return it."""
    found = kept_answers(root)
    changed = stale(root)
    (root / PICTURES).mkdir(parents=True, exist_ok=True)
    known = _all_pictures(root, found)
    for path in changed:
        if path == PAGE:
            write_whole(root / path, page(found))
        elif path in known:
            write_whole(root / path, svg(known[path].draw(), f"numbers {known[path].mark}"))
        else:
            (root / path).unlink()
    return changed


if __name__ == "__main__":
    for changed_path in write(ROOT):
        sys.stdout.write(f"wrote {changed_path}\n")
