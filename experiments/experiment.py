# SPDX-License-Identifier: BSD-3-Clause
"""Experiment: what a paper shows, what came out here, and how each number is judged.

An `Experiment` is data and one function `run(workspace) -> Outcome`.  Its figures are declared
once: under which key, in which unit, by which estimator over how many launches of how many
measurements, and the target, or the reason why there is none.  Keys do not change, so that runs of
different days can be compared.

A launch is whatever is started anew for one value of a figure: an MPI job, a pair of programs, a
round, or a simulation.  An estimate over several launches may meet a target that some of them miss,
so an outcome has the value that each launch gives by itself, and a run prints how many are within
the target.  An experiment that misses a target did run: its outcome is kept and shown, and the
command ends with status 1.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
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
    """The bound that a figure should keep.

    With `at_most` there is a second one above: what is beyond it cannot be, or is another finding.
    """

    op: Relation
    value: float
    at_most: float | None = None

    def met_by(self, value: float | None) -> bool:
        """Say whether a value keeps the bounds; a missing or undefined one does not."""
        if value is None or not _RELATIONS[self.op](value, self.value):
            return False
        return self.at_most is None or value <= self.at_most

    def plain(self) -> dict[str, object]:
        """Return the bounds as plain data; `at_most` is there only if there is one."""
        above = {} if self.at_most is None else {"at_most": self.at_most}
        return {"op": self.op, "value": self.value, **above}

    def __str__(self) -> str:
        """Return the bounds as people write them: `<= 1.05` or `>= 0.9 and <= 1.05`."""
        above = "" if self.at_most is None else f" and <= {self.at_most:.12g}"
        return f"{self.op} {self.value:.12g}{above}"


@dataclass(frozen=True)
class Estimator:
    """How a figure comes from measurements: `batch` of them (`of` what) in each launch."""

    text: str
    launches: int
    batch: int
    of: str

    @property
    def counts(self) -> str:
        """Return launches and batch as people write them: `7 launches of 60 rounds`."""
        number = "1 launch" if self.launches == 1 else f"{self.launches} launches"
        return f"{number} of {self.batch} {self.of}"


@dataclass(frozen=True)
class Figure:
    """One number, or a family of numbers whose keys differ in the `{words}` of the name.

    KEY_low and KEY_high are the ends of the interval of a figure, where an outcome has them.
    """

    name: str
    unit: str
    estimator: Estimator
    judged: Target | str
    """The target, or the reason why there is none."""

    @property
    def target(self) -> Target | None:
        """Return the target, None where there is a reason instead."""
        return self.judged if isinstance(self.judged, Target) else None

    @property
    def why_none(self) -> str:
        """Return the reason why there is no target; empty where there is one."""
        return "" if isinstance(self.judged, Target) else self.judged

    @property
    def literal(self) -> str:
        """Return the name without its placeholders."""
        return "".join(self._parts)

    def has(self, key: str) -> bool:
        """Say whether `key` is this figure, one of its family, or an end of its interval."""
        return self._pattern.fullmatch(key) is not None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(".+".join(map(re.escape, self._parts)) + "(_low|_high)?")

    @property
    def _parts(self) -> list[str]:
        return re.split(r"\{\w+\}", self.name)


@dataclass(frozen=True)
class Row:
    """One line of the table: what, the paper's value and this machine's, as text."""

    what: str
    paper: str
    here: str


@dataclass(frozen=True)
class Outcome:
    """What a run gave: numbers by key, rows for the table, conditions, and the files written.

    `launches` has the values that the launches of a figure give by themselves; a figure of one
    launch needs none.  `curves` are (x, y) points in base units, named KIND/SERIES; they are kept
    with the run and drawn on the page of the papers.
    """

    figures: dict[str, float]
    rows: list[Row]
    conditions: dict[str, object]
    files: list[Path]
    notes: list[str] = field(default_factory=list)
    launches: Mapping[str, Sequence[float]] = field(default_factory=dict)
    curves: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Quick:
    """The same experiment at a smaller scale, which takes about `takes_s` on two cores.

    Its figures are not those of the declared estimators, so that its runs are not kept or judged.
    """

    run: Callable[[Workspace], Outcome]
    takes_s: float


@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper; `paper` is the key of the paper and the place: 000 Table 1.

    `old_names` are still accepted on the command line.  Without `quick` it has no smaller scale: it
    is not run quickly by itself, and whole among all.
    """

    name: str
    paper: str
    summary: str
    run: Callable[[Workspace], Outcome]
    figures: tuple[Figure, ...]
    old_names: tuple[str, ...] = ()
    quick: Quick | None = None

    @property
    def citation(self) -> str:
        """Return the paper by its name, and the place: MPIBlib 2008, Table 1."""
        key, _, place = self.paper.partition(" ")
        return f"{PAPERS[key]}, {place}"

    @property
    def targets(self) -> dict[str, Target]:
        """Return the targets by figure."""
        return {figure.name: figure.target for figure in self.figures if figure.target}

    def figure(self, key: str) -> Figure | None:
        """Return the figure that `key` is, None where no such is declared.

        If several match, the most specific one counts: speedup_over_default_scatter is
        `speedup_over_default_{collective}` rather than `speedup_{collective}`.
        """
        alike = (figure for figure in self.figures if figure.has(key))
        return max(alike, key=lambda figure: len(figure.literal), default=None)


def constant(program: Path, name: str) -> int:
    """Return a constant of a native program, so that batch sizes stand in one place."""
    text = program.read_text(encoding="utf-8")
    found = re.search(rf"constexpr [\w:]+ {name} = ([\d']+);", text)
    if found is None:
        raise ValueError(f"{program} defines no number {name}")
    return int(found[1].replace("'", ""))
