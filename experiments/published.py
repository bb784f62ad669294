# SPDX-License-Identifier: BSD-3-Clause
"""Published: the pages that quote what experiments measured, written from all kept runs.

    python -m experiments.published

docs/experiments.md has every figure of every experiment.  A guide quotes some figures between two
comments, and what stands there is replaced:

    <!-- experiments: hca-latency hca-bandwidth: ratio write_64KiB_gbps -->
    <!-- end of experiments -->

An experiment without figures behind it has all of its figures.  Ranges are over all runs that are
kept, whatever they gave, so there is nothing to select.  `lanewise reproduce` writes the pages
again after each run, and a test of the house holds them to the kept runs.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from experiments import results, show
from experiments.experiment import Experiment, Figure, Target
from experiments.registry import EXPERIMENTS, find_experiment
from experiments.results import DIRTY, UNKNOWN
from experiments.run import interval_of
from lanewise.errors import RunError
from lanewise.files.whole import write_whole
from lanewise.results.quantity import three_digits

ROOT = Path(__file__).resolve().parents[1]
PAGE = Path("docs/experiments.md")
# Commits that runs name and that were replaced by others before they came into the repository.
GONE = {
    "16bf7868529f", "296d3442b67c", "352dba4c6ee0", "3c54b59b7912", "41e6c79dd882",
    "424c62b43348", "48ca408c225d", "562b7d1145ee", "64817ef64922", "660b442cfc2d",
    "73ddb45ce7ed", "8e5bf2016282", "9308bbf30c40", "963a03f53fba", "a17c0ab867aa",
    "a269b792d279", "a8b0f6658aef", "ab5ce03dde07", "b2449601cc38", "b2c01774739a",
    "b2dbea79d06f", "b5e6f6c1a7e5", "d677a6354c6f", "e86aaff3271b", "f63cfcf0101c",
}  # fmt: skip
_AS_DECLARED, _OTHERWISE, _UNSAID = "as declared", "otherwise", "unsaid"
_ESTIMATED = {_OTHERWISE: "had others", _UNSAID: "did not record them for all figures"}
UNITLESS = ("ratio", "0 or 1")
END = "<!-- end of experiments -->"
_BLOCK = re.compile(rf"(<!-- experiments: ([^>]+) -->\n).*?{END}", re.DOTALL)

_INTRODUCTION = """\
# What the experiments measured

This page has every figure of the [experiments](../experiments/README.md): how it is estimated, its
target or the reason why it has none, and the range over all runs that are kept in
`experiments/results`. `lanewise reproduce` writes this page from all of these runs; none is left
out. To measure the same on your machine, run `lanewise reproduce NAME` in a clone.

A *launch* is whatever is started anew for one value of a figure, such as an MPI job, a pair of
programs, a round, or a simulation. Each launch makes a *batch* of measurements. The estimate over
all launches is compared with the target, and the run also prints how many of its launches are
within it.
In the last column, *met* counts the runs whose estimate kept the target, of all runs that were to
keep it; one that did not come to measure the figure has missed it. *launches* counts the launches
within the target, of all runs that recorded them. If the interval of an estimate reaches beyond the
target, the column says in how many runs, and from where to where all intervals reach. The load
average is that of the minute before a run began. A run names the commit of its sources; how many
runs were made with uncommitted changes, or on a commit that is no longer in the repository, is
written with them: what they measured cannot be checked out.
"""


@dataclass(frozen=True)
class Runs:
    """All kept runs of an experiment, the oldest first."""

    experiment: Experiment
    records: Sequence[Mapping[str, Any]]

    @property
    def keys(self) -> list[str]:
        """Return the keys that have been measured, in the order in which they are declared."""
        measured = dict.fromkeys(key for record in self.records for key in record["figures"])
        places = {figure.name: place for place, figure in enumerate(self.experiment.figures)}
        return sorted(measured, key=lambda key: places[self.figure(key).name])

    def figure(self, key: str) -> Figure:
        """Return what is declared of a key; RunError where nothing is."""
        figure = self.experiment.figure(key)
        if figure is None:
            raise RunError(
                f"{self.experiment.name} declares no figure {key}, which a run or a guide names"
            )
        return figure

    def values(self, key: str) -> list[float]:
        """Return the value of a key in each run that has it."""
        found = (record["figures"].get(key) for record in self.records)
        return [value for value in found if value is not None]

    def verdict(self, key: str) -> str:
        """Say in how many runs the target was met, and by how many of their launches."""
        target = self.figure(key).target
        judged = self.judged(key)
        if target is None or not judged:
            return ""
        met = sum(target.met_by(record["figures"].get(key)) for record in judged)
        text = f"met in {met} of {len(judged)}"
        launches = [
            value for record in self.records for value in record.get("launches", {}).get(key, [])
        ]
        within = sum(map(target.met_by, launches))
        text += f", launches {within} of {len(launches)}" if launches else ""
        return text + self._beyond(key, target)

    def judged(self, key: str) -> list[Mapping[str, Any]]:
        """Return the runs that were to keep a target, those that did not come to measure it too.

        The ends of an interval are no figures that a target is for.
        """
        if self.figure(key).name != key:
            return []
        return [
            record
            for record in self.records
            if key in record.get("targets", {}) or record["figures"].get(key) is not None
        ]

    def why_none(self, key: str) -> str:
        """Say why no run has a value of a key."""
        if any(key in record["figures"] for record in self.records):
            return "undefined"
        name = self.figure(key).name
        known = any(
            name in record.get(told, {})
            for record in self.records
            for told in ("figures_as", "targets")
        )
        return "not measured" if known or not self.records else "not recorded in these runs"

    def _beyond(self, key: str, target: Target) -> str:
        """Say between what the intervals of all runs lie, if some reach beyond the target."""
        found = (interval_of(record["figures"], key) for record in self.records)
        intervals = [ends for ends in found if ends is not None]
        over = sum(not all(map(target.met_by, ends)) for ends in intervals)
        if not over:
            return ""
        reached = range_text([end for ends in intervals for end in ends])
        return f", interval beyond the target in {over} of {len(intervals)} ({reached})"

    def estimators(self) -> str:
        """Say how many runs were estimated otherwise than is declared now, or do not say how."""
        found = Counter(map(self._estimated, self.records))
        others = [
            f"{_runs_text(number)} {said}"
            for kind, said in _ESTIMATED.items() if (number := found[kind])
        ]  # fmt: skip
        if not others:
            return ""
        return f" The estimators below are the current ones; {' and '.join(others)}."

    def _estimated(self, record: Mapping[str, Any]) -> str:
        """Tell whether a run was estimated as declared, otherwise, or does not say it of all."""
        figures = {self.figure(key).name: self.figure(key) for key in record["figures"]}
        found = _AS_DECLARED
        for name, figure in figures.items():
            declared = show.estimated(figure)
            known = record.get("figures_as", record.get("targets", {})).get(name, {})
            if any(known[key] != value for key, value in declared.items() if key in known):
                return _OTHERWISE
            if not declared.keys() <= known.keys():
                found = _UNSAID
        return found

    def conditions(self) -> str:
        """Say how many runs there are, when and on what they were made."""
        if not self.records:
            return "No run is kept."
        number = "One run" if len(self.records) == 1 else _runs_text(len(self.records))
        days = sorted({record["date"][:10] for record in self.records})
        loads = [
            record["conditions"]["load_average"]
            for record in self.records
            if "load_average" in record["conditions"]
        ]
        load = span([f"{end:.1f}" for end in (min(loads), max(loads))]) if loads else "not recorded"
        machines = sorted({machine_of(record["conditions"]) for record in self.records})
        return (
            f"{number}, {span([day_text(days[0]), day_text(days[-1])])}, load average {load}, on "
            f"{' and '.join(machines)}{self._provenance()}."
        )

    def _provenance(self) -> str:
        """Say how many runs were of sources that nobody else can check out; empty for none."""
        commits = [str(record.get("commit", UNKNOWN)) for record in self.records]
        kinds = {
            "with uncommitted changes": [one for one in commits if one.endswith(DIRTY)],
            "on a commit that is no longer in the repository": [
                one for one in commits if one.removesuffix(DIRTY) in GONE
            ],
            "on a commit that was not recorded": [one for one in commits if one == UNKNOWN],
        }
        return "".join(
            f", {len(found)} of {len(commits)} {what}" for what, found in kinds.items() if found
        )


def _runs_text(number: int) -> str:
    return "1 run" if number == 1 else f"{number} runs"


def machine_of(conditions: Mapping[str, Any]) -> str:
    """Return the processor and the number of cores."""
    processor = conditions.get("processor", "a processor that was not recorded")
    return f"{conditions['cores']} cores of {processor}"


def day_text(day: str) -> str:
    """Return 2026-11-23 as people write it."""
    date = datetime.fromisoformat(day)
    return f"{date.day} {date:%B %Y}"


def span(ends: Sequence[str]) -> str:
    """Return two ends as a range, as one where they are equal."""
    low, high = ends
    return low if low == high else f"{low} to {high}"


def range_text(values: Sequence[float]) -> str:
    """Return the least and the largest value."""
    return span([number_text(min(values)), number_text(max(values))])


def number_text(value: float) -> str:
    """Return a number with three digits, whole numbers below 100000 as they are."""
    if abs(value) >= 1e5:
        return f"{float(f'{value:.3g}'):,.0f}"
    if value == int(value):
        return f"{value:.0f}"
    return three_digits(value) if abs(value) >= 1e-2 else f"{value:.3g}"


def runs_of(experiment: Experiment, folder: Path) -> Runs:
    """Return the kept runs of an experiment."""
    return Runs(experiment, results.read(experiment.name, folder))


def page(folder: Path) -> str:
    """Return docs/experiments.md."""
    return "\n".join([_INTRODUCTION, *(_section(runs_of(one, folder)) for one in EXPERIMENTS)])


def _section(runs: Runs) -> str:
    experiment = runs.experiment
    lines = [
        f"## {experiment.name}", "",
        f"{experiment.summary[0].upper()}{experiment.summary[1:]} ({experiment.citation}). "
        f"{runs.conditions()}{runs.estimators()}", "",
        "| figure | estimator | target | all runs |", "|---|---|---|---|",
    ]  # fmt: skip
    measured = runs.keys
    for figure in experiment.figures:
        keys = [key for key in measured if runs.figure(key) is figure]
        judged = str(figure.target) if figure.target else f"none: {figure.why_none}"
        how = f"{figure.estimator.text}; {figure.estimator.counts}"
        for key in keys or [figure.name]:
            # No target is for the ends of an interval.
            target = judged if runs.figure(key).name == key or not figure.target else ""
            lines.append(f"| `{key}` | {how} | {target} | {_found(runs, key)} |")
            how, judged = ('"', '"') if len(keys) > 1 else (how, judged)
    return "\n".join([*lines, ""])


def _found(runs: Runs, key: str) -> str:
    values = runs.values(key)
    unit = runs.figure(key).unit
    if values:
        text = range_text(values) + ("" if unit in UNITLESS else f" {unit}")
    else:
        text = runs.why_none(key)
    verdict = runs.verdict(key)
    return f"{text}; {verdict}" if verdict else text


def block(wanted: str, folder: Path) -> str:
    """Return what a guide quotes for `NAME` or `NAME: KEY KEY`, several of them in a row."""
    lines = ["| `lanewise reproduce` | figure | target | all runs |", "|---|---|---|---|"]
    said = []
    for name, keys in _quoted(wanted):
        runs = runs_of(find_experiment(name), folder)
        said.append(f"`{name}`: {runs.conditions()}")
        for key in keys or runs.keys or [figure.name for figure in runs.experiment.figures]:
            figure = runs.figure(key)
            target = figure.target if figure.name == key else None
            lines.append(f"| `{name}` | `{key}` | {target or ''} | {_found(runs, key)} |")
    return "\n".join(["", *lines, "", " ".join(said), ""])


def _quoted(wanted: str) -> Iterator[tuple[str, list[str]]]:
    name, keys = "", list[str]()
    for word in wanted.split():
        names = [experiment.name for experiment in EXPERIMENTS]
        if word.removesuffix(":") in names:
            if name:
                yield name, keys
            name, keys = word.removesuffix(":"), []
        else:
            keys.append(word)
    yield name, keys


def pages(root: Path) -> dict[Path, str]:
    """Return what each page that quotes figures should be, by its path in the repository."""
    folder = root / results.FOLDER.relative_to(ROOT)
    found = {PAGE: page(folder)}
    for path in sorted((root / "docs").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        if path.relative_to(root) != PAGE and _BLOCK.search(text):
            found[path.relative_to(root)] = _BLOCK.sub(
                lambda match: match[1] + block(match[2], folder) + "\n" + END, text
            )
    return found


def stale(root: Path) -> list[Path]:
    """Return the pages that are not what the kept runs say."""
    return [
        path
        for path, text in pages(root).items()
        if not (root / path).is_file() or (root / path).read_text(encoding="utf-8") != text
    ]


def write(root: Path) -> list[Path]:
    """Write the pages that are not current, and return them."""
    wanted = pages(root)
    changed = stale(root)
    for path in changed:
        write_whole(root / path, wanted[path])
    return changed


if __name__ == "__main__":
    for changed_page in write(ROOT):
        sys.stdout.write(f"wrote {changed_page}\n")
