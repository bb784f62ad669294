# SPDX-License-Identifier: BSD-3-Clause
"""Experiment: what a paper shows, and what came out here.

An `Experiment` is data and one function `run(workspace) -> Outcome`.  Figures
are numbers under the keys that the issues name; a target holds one figure to
a bound.  A missed target is said plainly and is no error: the experiment ran.
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
    """One table or figure of a paper; `paper` names both, as in `000 Table 1`."""

    name: str
    paper: str
    summary: str
    run: Callable[[Workspace], Outcome]
    targets: tuple[Target, ...] = ()
