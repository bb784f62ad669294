# SPDX-License-Identifier: BSD-3-Clause
"""Experiment: what a paper shows, and what came out here.

An `Experiment` is data and one function `run(workspace) -> Outcome`.  Figures are numbers under
keys that do not change, so that runs of different days can be compared; a target holds one figure
to a bound.  An experiment that misses a target did run: its outcome is kept and shown, and the
command ends with status 1.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from experiments.workspace import Workspace

Relation = Literal["<=", ">="]

# How people know the papers; the keys stand in Experiment.paper.
PAPERS = {
    "000": "MPIBlib 2008",
    "001": "multilane Scatter/Gather 2008",
    "002": "out-of-core wavefront 2008",
    "003": "automatic path migration 2007",
    "004": "InfiniPath and XD1 2006",
}

_RELATIONS: dict[Relation, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Target:
    """The bound that the figure `key` should keep."""

    key: str
    op: Relation
    value: float

    def met_by(self, figures: Mapping[str, float]) -> bool:
        """Say whether the figure keeps the bound; a missing one does not."""
        return self.key in figures and _RELATIONS[self.op](figures[self.key], self.value)


@dataclass(frozen=True)
class Row:
    """One line of the table: what, the paper's value and this machine's, as text."""

    what: str
    paper: str
    here: str


@dataclass(frozen=True)
class Outcome:
    """What a run gave: numbers by key, rows for the table, conditions, and the files written."""

    figures: dict[str, float]
    rows: list[Row]
    conditions: dict[str, object]
    files: list[Path]
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper; `paper` is the key of the paper and the place: 000 Table 1.

    `old_names` are still accepted on the command line.
    """

    name: str
    paper: str
    summary: str
    run: Callable[[Workspace], Outcome]
    targets: tuple[Target, ...] = ()
    old_names: tuple[str, ...] = ()

    @property
    def citation(self) -> str:
        """Return the paper by its name, and the place: MPIBlib 2008, Table 1."""
        key, _, place = self.paper.partition(" ")
        return f"{PAPERS[key]}, {place}"
