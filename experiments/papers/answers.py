# SPDX-License-Identifier: BSD-3-Clause
"""Answers: what runs gave for each item, and papers.json."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

from experiments import results
from experiments.papers.catalogue import ITEMS
from experiments.papers.item import Condition, Item, Measured, Quantity

SCHEMA, VERSION = "lanewise-papers", 1


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
        return f"the run of {name} did not measure {', '.join(quantity.here.keys)}"

    @property
    def missing(self) -> list[Quantity]:
        """Return what is drawn without a number of ours, though the run came to its end."""
        if self.here is None:
            return []
        return [one for one in self.item.quantities if self.value(one) is None]

    @property
    def here(self) -> float | None:
        """Return our number of the headline."""
        return self.value(self.item.finding.quantity)

    @property
    def met(self) -> bool | None:
        """Say whether the finding holds here; None where it was not measured."""
        if self.here is None:
            return None
        finding = self.item.finding
        besides = all(one.met_in(self.run.measured) for one in finding.besides)
        return finding.holds.met_by(self.here) and besides

    def value_besides(self, condition: Condition) -> float | None:
        """Return our number of a condition."""
        measured = self.run.measured
        return None if measured is None else condition.here.value(measured)

    @property
    def why_null(self) -> str:
        """Say why there is no number; empty where there is one."""
        return self.why_missing(self.item.finding.quantity)

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
            "why_null": self.why_null or None,
            "paper_value": None if told is None else told.plain(),
            "place": finding.quantity.place,
            "holds": {"op": finding.holds.op, "value": finding.holds.value, "bound": finding.bound},
            "besides": [
                {
                    "label": one.label,
                    "here": _rounded(self.value_besides(one)),
                    "op": one.holds.op,
                    "value": one.holds.value,
                }
                for one in finding.besides
            ],
            "met": self.met,
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


def answers(runs: Mapping[str, Run], items: Iterable[Item] = ITEMS) -> list[Answer]:
    """Return an answer to each item; `runs` are those of the experiments by name."""
    return [
        Answer(
            item,
            runs[item.experiment],
            {name: runs[name] for name in item.experiments[1:] if name in runs},
        )
        for item in items
    ]


def papers_json(found: Sequence[Answer]) -> dict[str, Any]:
    """Return papers.json."""
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "items": [answer.plain() for answer in found],
    }


def newest_kept(name: str, folder: Path = results.FOLDER) -> Run:
    """Return the newest run of an experiment that is kept."""
    kept = results.read(name, folder)
    if not kept:
        why = f"no run of {name} is kept; run: lanewise reproduce {name}"
        return Run(None, {}, why=why)
    newest = kept[-1]
    return Run(
        measured_in(newest["figures"], newest.get("curves", {})),
        newest["conditions"],
        str(newest["date"]),
    )


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
    )


def _defined(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")
