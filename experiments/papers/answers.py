# SPDX-License-Identifier: BSD-3-Clause
"""Answers: what runs gave for each item, and papers.json."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeGuard

from experiments import results
from experiments.papers.catalogue import ITEMS
from experiments.papers.item import Condition, Here, Item, Measured, Quantity
from experiments.results import six_digits

Verdict = Literal["holds", "does not hold", "not resolved", "not measured"]
SCHEMA, VERSION = "lanewise-papers", 2


@dataclass(frozen=True)
class Run:
    """One run of an experiment: what it measured, or why there is nothing; and how it was made."""

    measured: Measured | None
    conditions: Mapping[str, Any]
    date: str = ""
    quick: bool = False
    why: str = ""

    def sentence(self) -> str:
        """Say when and on what it ran, with the load."""
        known = self.conditions
        parts = ["a quick run" if self.quick else "a run"]
        if self.date:
            parts.append(f"of {self.date[:10]}")
        if "cores" in known:
            parts.append(
                f"on {known['cores']} cores of {known.get('processor', 'an unrecorded processor')}"
            )
        if "load_average" in known:
            parts.append(f"with a load average of {known['load_average']:g}")
        return " ".join(parts)


@dataclass(frozen=True)
class Answer:
    """An item and the run that answers it."""

    item: Item
    run: Run
    others: Mapping[str, Run] = field(default_factory=dict)
    """Runs of other experiments that measure some of its numbers."""
    kept: Sequence[Run] = ()
    """All kept runs of the experiment, where the answer is that of the newest of them."""

    def value(self, quantity: Quantity) -> float | None:
        """Return our number beside a quantity of the paper."""
        run = self.run_of(quantity)
        return None if run is None or run.measured is None else quantity.here.value(run.measured)

    def run_of(self, quantity: Quantity) -> Run | None:
        """Return the run that measures a quantity, None where there is none."""
        return self.others.get(quantity.experiment) if quantity.experiment else self.run

    def why_missing(self, quantity: Quantity) -> str:
        """Say why there is no number of ours beside a quantity; empty where there is one."""
        if self.value(quantity) is not None:
            return ""
        name, run = quantity.experiment or self.item.experiment, self.run_of(quantity)
        if run is None:
            return f"there is no run of {name}"
        if run.why:
            return run.why
        return _why_none(name, quantity.here, run.measured)

    def measured(self, quantity: Quantity) -> Measured | None:
        """Return what the run of a quantity measured, None where there is none."""
        run = self.run_of(quantity)
        return None if run is None else run.measured

    @property
    def missing(self) -> list[Quantity]:
        """Return what is drawn beside the headline without a number of ours, if the run ended."""
        if self.run.measured is None:
            return []
        headline = self.item.finding.quantity
        return [one for one in self.item.quantities if one != headline and self.value(one) is None]

    @property
    def here(self) -> float | None:
        """Return our number of the headline."""
        return self.value(self.item.finding.quantity)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Return the ends of the interval of our number of the headline."""
        quantity = self.item.finding.quantity
        run = self.run_of(quantity)
        return None if run is None or run.measured is None else quantity.here.interval(run.measured)

    @property
    def met(self) -> bool | None:
        """Say whether the finding holds here; None where that was not measured or not resolved."""
        finding = self.item.finding
        run = self.run_of(finding.quantity)
        if run is None:
            return None
        headline = finding.quantity.here.keeps(finding.holds, run.measured)
        if headline is None and self.here is None:
            return None
        parts = [headline]
        parts += [one.here.keeps(one.holds, self.run.measured) for one in finding.besides]
        if False in parts:
            return False
        return None if None in parts else True

    @property
    def verdict(self) -> Verdict:
        """Say whether the finding holds here, or why that is not known."""
        if self.met is not None:
            return "holds" if self.met else "does not hold"
        values = [self.here, *map(self.value_besides, self.item.finding.besides)]
        return "not measured" if None in values else "not resolved"

    @property
    def held(self) -> tuple[int, int]:
        """Return in how many of the kept runs that measured it the finding held."""
        each = (replace(self, run=run, kept=()) for run in self.kept)
        measured = [answer for answer in each if answer.verdict != "not measured"]
        return sum(answer.met is True for answer in measured), len(measured)

    def value_besides(self, condition: Condition) -> float | None:
        """Return our number of a condition."""
        measured = self.run.measured
        return None if measured is None else condition.here.value(measured)

    def interval_besides(self, condition: Condition) -> tuple[float, float] | None:
        """Return the ends of the interval of our number of a condition."""
        measured = self.run.measured
        return None if measured is None else condition.here.interval(measured)

    def why_besides(self, condition: Condition) -> str:
        """Say why there is no number of ours of a condition; empty where there is one."""
        if self.value_besides(condition) is not None:
            return ""
        return self.run.why or _why_none(self.item.experiment, condition.here, self.run.measured)

    @property
    def why_null(self) -> str:
        """Say why there is no number; empty where there is one."""
        return self.why_missing(self.item.finding.quantity)

    @property
    def why_not_measured(self) -> list[str]:
        """Say what the verdict lacks; empty where the number and all conditions were measured."""
        whys = [self.why_null, *map(self.why_besides, self.item.finding.besides)]
        return list(dict.fromkeys(filter(None, whys)))

    def plain(self) -> dict[str, Any]:
        """Return the item as papers.json has it."""
        item, finding = self.item, self.item.finding
        told = finding.quantity.paper
        return {
            "paper": item.paper,
            "item": item.item,
            "title": item.title,
            "experiment": item.experiment,
            "finding": finding.says,
            "quantity": finding.quantity.label,
            "unit": finding.unit,
            "here": _rounded(self.here),
            **_ends(self.interval),
            "why_null": self.why_null or None,
            "paper_value": None if told is None else told.plain(),
            "place": finding.quantity.place,
            "holds": {**finding.holds.plain(), "bound": finding.bound},
            "besides": [
                {
                    "label": one.label,
                    "here": _rounded(self.value_besides(one)),
                    **_ends(self.interval_besides(one)),
                    "why_null": self.why_besides(one) or None,
                    **one.holds.plain(),
                }
                for one in finding.besides
            ],
            "met": self.met,
            "verdict": self.verdict,
            "kept_runs": dict(zip(("held", "of"), self.held, strict=True)) if self.kept else None,
            "quick": self.run.quick,
            "date": self.run.date or None,
            "load_average": self.run.conditions.get("load_average"),
            "difference": item.difference,
            "numbers": [
                {
                    "chart": chart.title,
                    "label": one.label,
                    "unit": chart.unit,
                    "paper": None if one.paper is None else one.paper.plain(),
                    "place": one.place or None,
                    "experiment": one.experiment or item.experiment,
                    "here": _rounded(self.value(one)),
                    "why_null": self.why_missing(one) or None,
                }
                for chart in item.charts
                for one in chart.quantities
            ],
        }


def answers(
    runs: Mapping[str, Run],
    items: Iterable[Item] = ITEMS,
    kept: Mapping[str, Sequence[Run]] | None = None,
) -> list[Answer]:
    """Return an answer to each item by the runs of the experiments; `kept` are all kept ones."""
    return [
        Answer(
            item,
            runs[item.experiment],
            {name: runs[name] for name in item.experiments[1:] if name in runs},
            (kept or {}).get(item.experiment, ()),
        )
        for item in items
    ]


def answers_of_kept(
    experiments: Iterable[str], folder: Path = results.FOLDER
) -> tuple[list[Answer], dict[str, Run]]:
    """Return the answers of the newest kept runs, and these runs by experiment."""
    kept = {name: all_kept(name, folder) for name in experiments}
    newest = {name: newest_of(name, runs) for name, runs in kept.items()}
    return answers(newest, kept=kept), newest


def papers_json(found: Sequence[Answer]) -> dict[str, Any]:
    """Return papers.json."""
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "items": [answer.plain() for answer in found],
    }


def newest_of(name: str, kept: Sequence[Run]) -> Run:
    """Return the newest of the kept runs of an experiment."""
    if not kept:
        why = f"no run of {name} is kept; run: lanewise reproduce {name}"
        return Run(None, {}, why=why)
    return kept[-1]


def all_kept(name: str, folder: Path = results.FOLDER) -> list[Run]:
    """Return all runs of an experiment that are kept, the oldest first."""
    return [
        Run(
            measured_in(run["figures"], run.get("curves", {})),
            run["conditions"],
            str(run["date"]),
        )
        for run in results.read(name, folder)
    ]


def measured_in(
    figures: Mapping[str, float | None],
    curves: Mapping[str, Sequence[Sequence[float | None]]],
) -> Measured:
    """Return what a run gave, without what is not defined."""
    return Measured(
        {key: value for key, value in figures.items() if _defined(value)},
        {
            name: [(x, y) for x, y in points if _defined(x) and _defined(y)]
            for name, points in curves.items()
        },
        frozenset(key for key, value in figures.items() if not _defined(value)),
    )


def _defined(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def _why_none(experiment: str, here: Here, measured: Measured | None) -> str:
    if measured is not None and here.lost(measured):
        lost = [key for key in here.keys if key in measured.lost]
        return f"the run of {experiment} has no value of {', '.join(lost)}"
    absent = here.keys if measured is None else here.absent(measured)
    if not absent:
        keys = ", ".join(here.keys)
        return f"the run of {experiment} measured {keys}, which give no value of this number"
    return f"the run of {experiment} did not measure {', '.join(absent)}"


def _ends(interval: tuple[float, float] | None) -> dict[str, float | None]:
    low, high = interval or (None, None)
    return {"low": _rounded(low), "high": _rounded(high)}


def _rounded(value: float | None) -> float | None:
    return None if value is None else six_digits(value)
