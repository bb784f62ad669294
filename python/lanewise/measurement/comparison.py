# SPDX-License-Identifier: BSD-3-Clause
"""A comparison of two measurements as a value: ratios with intervals, as numpy arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lanewise.measurement import html
from lanewise.results.compare import Comparison, compare
from lanewise.results.quantity import size_text, time_text
from lanewise.results.read import Samples

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class MeasurementComparison:
    """How a second measurement differs from a first, at each point that both have.

    Arrays have one element for each common point: shape (points,).  A ratio is the second's time
    over the first's, without a unit: above 1 the second is slower.  The interval and the p-value
    are Welch's over launches; of single launches they are within these launches only.  `found` has
    all that the comparison gave.
    """

    found: Comparison
    confidence: float = 0.95

    @property
    def operation(self) -> tuple[str, ...]:
        """Return the operation of each point."""
        return tuple(one.operation for one in self.found.ratios)

    @property
    def message_bytes(self) -> NDArray[np.int64]:
        """Return the size of each point in bytes, shape (points,)."""
        return np.asarray([one.message_bytes for one in self.found.ratios], dtype=np.int64)

    @property
    def ratio(self) -> Floats:
        """Return the second's time over the first's, shape (points,)."""
        return np.asarray([one.ratio for one in self.found.ratios], dtype=np.float64)

    @property
    def low(self) -> Floats:
        """Return the lower end of each ratio's interval, shape (points,); NaN without one."""
        return np.asarray([one.low for one in self.found.ratios], dtype=np.float64)

    @property
    def high(self) -> Floats:
        """Return the upper end of each ratio's interval, shape (points,); NaN without one."""
        return np.asarray([one.high for one in self.found.ratios], dtype=np.float64)

    @property
    def p_value(self) -> Floats:
        """Return how likely such a difference is by chance, shape (points,); NaN without a test."""
        return np.asarray([one.p_value for one in self.found.ratios], dtype=np.float64)

    @property
    def overall(self) -> dict[str, float]:
        """Return the geometric mean of the ratios of each operation, by its name."""
        return {one.operation: one.ratio for one in self.found.overall}

    @property
    def frame(self) -> pd.DataFrame:
        """Return the ratios as a data frame, one row for each point."""
        import pandas as pd  # noqa: PLC0415

        return pd.DataFrame([vars(one) for one in self.found.ratios])

    def plot(self) -> Figure:
        """Draw the ratio against message size, a panel for each operation, a band for the interval.

        Returns a figure of matplotlib.
        """
        from lanewise.measurement.drawing import figure_of_ratios  # noqa: PLC0415

        return figure_of_ratios(self.found.ratios)

    def __repr__(self) -> str:
        """Return in one line what was compared."""
        return f"<MeasurementComparison: {len(self.found.ratios)} points, {self._summary()}>"

    def __str__(self) -> str:
        """Return one line for each point and each operation."""
        lines = ["  ".join(row) for row in self._rows()]
        return "\n".join([*lines, *self._summaries(), *(f"! {note}" for note in self.found.notes)])

    def _repr_html_(self) -> str:
        """Return the ratios as an HTML table, for notebooks."""
        headings = ["point", "first", "second", "ratio", f"{100 * self.confidence:g} % interval"]
        table = html.table("second over first", [*headings, "p-value"], self._rows())
        return html.block(table, [*self._summaries(), *self.found.notes])

    def _rows(self) -> list[list[str]]:
        return [
            [
                " ".join(filter(None, (one.operation, one.label, size_text(one.message_bytes)))),
                time_text(one.first_s),
                time_text(one.second_s),
                f"{one.ratio:.3f}",
                "—" if math.isnan(one.low) else f"{one.low:.3f} … {one.high:.3f}",
                "—" if math.isnan(one.p_value) else f"{one.p_value:.2g}",
            ]
            for one in self.found.ratios
        ]

    def _summary(self) -> str:
        return "; ".join(self._summaries())

    def _summaries(self) -> list[str]:
        return [f"{name}: geometric mean {ratio:.3f}" for name, ratio in self.overall.items()]


def comparison_of(first: Samples, second: Samples, confidence: float) -> MeasurementComparison:
    """Compare the points that both have; RequestError where there are none."""
    return MeasurementComparison(compare(first, second, confidence), confidence)
