# SPDX-License-Identifier: BSD-3-Clause
"""Item: one table or figure of a paper as data: what the paper tells, and what is beside it here.

The texts of the papers are what there is: a curve that is a picture without numbers cannot be read,
so an item holds what the text says of it (ends, ratios, where it bends), and each number has the
place where it stands.  Numbers and words are told apart.  Nothing is measured off a picture.

An item has one headline, which papers.json repeats: a finding of the paper and the bound that our
number must keep for the finding to hold here.  Where the paper gives no number, the bound is ours
and says so.  A number whose interval has the bound inside it decides nothing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from experiments.experiment import Target
from experiments.run import interval_of

Unit = Literal["ratio", "s", "%", "MB/s", "Mbit/s", "bytes", "lanes", "share"]
Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Told:
    """What a paper tells of a quantity: from `low` to `high`; infinite where it gives one end.

    With `words` it gives no number: these are its words, and what they come to is drawn dashed.
    """

    low: float
    high: float
    words: str = ""

    @property
    def exact(self) -> bool:
        """Say whether it is one number of the paper."""
        return self.low == self.high and not self.words

    def plain(self) -> object:
        """Return it as papers.json has it: a number, the ends of a range, or words."""
        if self.words:
            return self.words
        if self.exact:
            return self.low
        ends = {"low": self.low, "high": self.high}
        return {key: value for key, value in ends.items() if math.isfinite(value)}


def number(value: float) -> Told:
    """Return a number of the paper."""
    return Told(value, value)


def between(low: float, high: float) -> Told:
    """Return a range of the paper."""
    return Told(low, high)


def over(value: float) -> Told:
    """Return what the paper calls over or at least a number."""
    return Told(value, math.inf)


def words(text: str, value: float = math.nan) -> Told:
    """Return what the paper says in words; `value` is what these come to, where they do."""
    return Told(value, value, text)


@dataclass(frozen=True)
class Measured:
    """What a run of an experiment gave: its figures, and its curves by name.

    `lost` has the figures that it came to and that have no value, as those of a program that died.
    """

    figures: Mapping[str, float]
    curves: Mapping[str, Points]
    lost: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Here:
    """A number of ours: a formula over figures and curves of the experiment.

    A key that ends with "/" stands for all curves whose names begin so, by the rest of their names.
    """

    keys: tuple[str, ...]
    formula: Callable[..., float]

    def value(self, measured: Measured) -> float | None:
        """Return the number, None where a key was not measured or the formula has no value."""
        if self.absent(measured):
            return None
        return self._of([self._given(measured, key) for key in self.keys])

    def absent(self, measured: Measured) -> list[str]:
        """Return the keys that were not measured."""
        return [key for key in self.keys if self._given(measured, key) in (None, {})]

    @staticmethod
    def _given(measured: Measured, key: str) -> Any:
        return curves_of(measured, key) if key.endswith("/") else measured.figures.get(key)

    def lost(self, measured: Measured) -> bool:
        """Say whether a run came to the number and has no value of it."""
        return any(key in measured.lost for key in self.keys) and all(
            key in measured.lost or key in measured.figures or key.endswith("/")
            for key in self.keys
        )

    def _of(self, given: Sequence[Any]) -> float | None:
        try:
            value = self.formula(*given)
        except (ArithmeticError, LookupError, ValueError):
            return None  # a rate of 0, or a curve that is not there
        return value if math.isfinite(value) else None

    def interval(self, measured: Measured) -> tuple[float, float] | None:
        """Return the ends of the interval of the number; None where no figure in it has one.

        Formulas rise or fall with each of their figures: their ends are at ends of these.
        """
        if self.value(measured) is None or any(key.endswith("/") for key in self.keys):
            return None
        found = [interval_of(measured.figures, key) for key in self.keys]
        if not any(found):
            return None
        ends = (
            each or (measured.figures[key],) for key, each in zip(self.keys, found, strict=True)
        )
        values = [self._of(corner) for corner in itertools.product(*ends)]
        known = [value for value in values if value is not None]
        return (min(known), max(known)) if len(known) == len(values) else None

    def keeps(self, bound: Target, measured: Measured | None) -> bool | None:
        """Say whether the number keeps a bound; None if that is not known.

        It is not where a key was not measured, or an end of the bound lies inside the interval.
        A number that was lost keeps none.
        """
        if measured is None:
            return None
        value = self.value(measured)
        if value is None:
            return False if self.lost(measured) else None
        low, high = self.interval(measured) or (value, value)
        if any(low < end < high for end in (bound.value, bound.at_most) if end is not None):
            return None
        return bound.met_by(value)


def curves_of(measured: Measured, beginning: str) -> dict[str, Points]:
    """Return the curves whose names begin so, by the rest of their names."""
    return {
        name.removeprefix(beginning): points
        for name, points in measured.curves.items()
        if name.startswith(beginning) and points
    }


def figure(key: str) -> Here:
    """Return a figure as it is."""
    return Here((key,), lambda value: value)


def ratio(key: str, other: str) -> Here:
    """Return one figure over another."""
    return Here((key, other), lambda value, base: value / base)


@dataclass(frozen=True)
class Quantity:
    """One line of a chart; `paper` is None where the paper tells nothing of it."""

    label: str
    paper: Told | None
    place: str
    here: Here
    experiment: str = ""
    """Where it is not that of the item."""


@dataclass(frozen=True)
class Chart:
    """Quantities of one unit, drawn for the paper and for here on the same axis."""

    title: str
    unit: Unit
    quantities: tuple[Quantity, ...]
    scale: Literal["linear", "log"] = "linear"


@dataclass(frozen=True)
class Lines:
    """Curves that are drawn for here alone, as the paper's are pictures without numbers."""

    title: str
    beginning: str
    x: str
    y: str
    scale: Literal["linear", "log"] = "log"


@dataclass(frozen=True)
class Condition:
    """What must hold besides: another number of ours, and its bound."""

    label: str
    here: Here
    holds: Target


@dataclass(frozen=True)
class Finding:
    """The headline: what the paper finds, our number beside it, and when the finding holds here.

    Where one number does not say all that the paper finds, there are conditions `besides`.
    """

    says: str
    quantity: Quantity
    unit: Unit
    holds: Target
    bound: Literal["the paper's", "ours"]
    besides: tuple[Condition, ...] = ()


@dataclass(frozen=True)
class Item:
    """One table or figure, or what is told in the text alone."""

    paper: str
    item: str
    title: str
    experiment: str
    finding: Finding
    charts: tuple[Chart, ...]
    difference: str
    """Why our numbers are not the paper's, in a sentence."""
    unread: str = ""
    """What the paper gives as a picture only."""
    lines: tuple[Lines, ...] = ()

    @property
    def name(self) -> str:
        """Return a name for files and anchors: 000-fig-1."""
        place = self.item.lower().replace("§", "section ").replace(".", " ")
        return "-".join([self.paper, *place.split()])

    @property
    def experiments(self) -> list[str]:
        """Return the experiments that measure its numbers, its own first."""
        others = (one.experiment for one in self.quantities if one.experiment)
        return list(dict.fromkeys([self.experiment, *others]))

    @property
    def quantities(self) -> list[Quantity]:
        """Return all quantities, the headline first."""
        drawn = [quantity for chart in self.charts for quantity in chart.quantities]
        return [self.finding.quantity, *(one for one in drawn if one != self.finding.quantity)]
