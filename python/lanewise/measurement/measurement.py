# SPDX-License-Identifier: BSD-3-Clause
"""A measurement as a value: what `lanewise measure -o samples.jsonl` writes, as numpy arrays."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lanewise.errors import RequestError
from lanewise.files.whole import require_new, write_whole
from lanewise.measurement import html
from lanewise.results.cautions import cautions_of
from lanewise.results.launches import by_launch
from lanewise.results.quantity import size_text, time_text
from lanewise.results.read import Samples, parse, text_of
from lanewise.results.records import Context, Point
from lanewise.results.table import launches_of, launches_text, of_tables, ranks_of, tables

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from lanewise.measurement.comparison import MeasurementComparison

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class Measurement:
    """Times of MPI operations, over several launches of the ranks.

    Arrays have one element for each point, in the order in which operations and sizes were asked
    for: shape (points,).  Times are in seconds, sizes in bytes.  A launch is one observation: the
    median of a point is the geometric mean of the medians of its launches, and its interval is
    Student's over launches, at the confidence of `context.stopping`.  A point of one launch has the
    distribution-free interval of the median within this launch.

    `measurement["scatter"]` is the measurement of that operation alone; `in`, `len` and iteration
    are those of the operations.  `samples` has the records as they were written, `notes` what was
    said while it was measured, `only` the operation that was chosen so, of those in `text`.
    """

    samples: Samples
    text: str = ""
    notes: tuple[str, ...] = ()
    only: str = ""

    @staticmethod
    def load(path: str | Path) -> Measurement:
        """Return what `save` or `lanewise measure -o` wrote.

        Raises RequestError for a file that is missing or does not follow the schema.
        """
        text = text_of(Path(path))
        return Measurement(parse(Path(path), text), text)

    def save(self, path: str | Path) -> None:
        """Write all samples to a file that `load`, `lanewise.read` and all commands read.

        The file is written whole or not at all.  Raises RequestError where it exists, or cannot be
        written.
        """
        require_new(Path(path))
        write_whole(Path(path), text_with(self.only, self.text) if self.only else self.text)

    def __getitem__(self, operation: str) -> Measurement:
        """Return the points of one operation; KeyError where it was not measured."""
        points = [point for point in self.samples.points if point.operation == operation]
        if not points:
            raise KeyError(f"{operation}; measured were {', '.join(self.operations)}")
        samples = replace(
            self.samples,
            points=points,
            looped=[point for point in self.samples.looped if point.operation == operation],
            launch_points=[
                point for point in self.samples.launch_points if point.operation == operation
            ],
            polling=[],
            waiting=[],
        )
        return replace(self, samples=samples, only=operation)

    def __contains__(self, operation: object) -> bool:
        return operation in self.operations

    def __iter__(self) -> Iterator[str]:
        return iter(self.operations)

    def __len__(self) -> int:
        return len(self.operations)

    @property
    def context(self) -> Context:
        """Return the conditions: the MPI, the ranks and their placement, method, clock, start."""
        return self.samples.context

    @property
    def operations(self) -> tuple[str, ...]:
        """Return the names of what was measured, in the order asked for."""
        return tuple(dict.fromkeys(point.operation for point in self.samples.points))

    @property
    def ranks(self) -> int:
        """Return the number of ranks that took part."""
        return self.context.ranks

    @property
    def launches(self) -> int:
        """Return how many launches of the ranks the intervals are over."""
        return self.samples.launches

    @property
    def message_bytes(self) -> Integers:
        """Return the size of each point in bytes, shape (points,)."""
        return np.asarray([point.message_bytes for point in self.samples.points], dtype=np.int64)

    @property
    def median_s(self) -> Floats:
        """Return the median of each point in seconds, shape (points,)."""
        return self._each(lambda point: point.median_s)

    @property
    def mean_s(self) -> Floats:
        """Return the mean of each point in seconds, shape (points,)."""
        return self._each(lambda point: point.mean_s)

    @property
    def low_s(self) -> Floats:
        """Return the lower end of each interval in seconds, shape (points,); NaN without one."""
        return self._each(lambda point: point.low_s)

    @property
    def high_s(self) -> Floats:
        """Return the upper end of each interval in seconds, shape (points,); NaN without one."""
        return self._each(lambda point: point.high_s)

    @property
    def launch_medians_s(self) -> Floats:
        """Return the median of each launch in seconds, shape (points, launches).

        It is the mean of each with `rule="student"`, whose intervals are of means, and where
        another tool printed no medians.  NaN where a point was not measured in a launch, as in a
        run that was interrupted.
        """
        launches = range(1, self.launches + 1)
        found = by_launch(self.samples.points, self.samples.launch_points)
        filled = [[times_s.get(launch, math.nan) for launch in launches] for times_s in found]
        return np.asarray(filled, dtype=np.float64).reshape(len(filled), self.launches)

    @property
    def samples_s(self) -> tuple[Floats, ...]:
        """Return every repetition in seconds: for each point an array of shape (repetitions,).

        They are in the order measured, those of all launches one after the other.
        """
        return tuple(np.asarray(point.samples_s, dtype=np.float64) for point in self.samples.points)

    @property
    def frame(self) -> pd.DataFrame:
        """Return the points as `lanewise.read` does: a data frame, one row for each point."""
        from lanewise.results.frame import frame_of  # noqa: PLC0415

        return frame_of([self.samples])

    @property
    def cautions(self) -> tuple[str, ...]:
        """Return sentences with what to know before believing the numbers; empty where nothing."""
        return tuple(dict.fromkeys([*self.notes, *cautions_of(self.samples)]))

    def compare(
        self, other: Measurement | str | Path, confidence: float = 0.95
    ) -> MeasurementComparison:
        """Return how `other`, or a file of it, differs from this: ratios other/this.

        A machine that drifts shows as a difference, so interleave the two.  Raises
        RequestError where they have no point in common, or for a confidence outside (0, 1).
        """
        from lanewise.measurement.comparison import comparison_of  # noqa: PLC0415

        second = other if isinstance(other, Measurement) else Measurement.load(other)
        return comparison_of(self.samples, second.samples, confidence)

    def plot(self, *others: Measurement, labels: Sequence[str] = ()) -> Figure:
        """Draw time against message size, a panel for each operation, a band for each interval.

        Curves of `others` are drawn beside those of this one; `labels` names them, this one first.
        Returns a figure of matplotlib, which a notebook shows and `savefig` writes.  Raises
        RequestError where there is nothing to draw, or where not all curves have a label.
        """
        from lanewise.measurement.drawing import figure_of  # noqa: PLC0415

        measured = [self, *others]
        names = list(labels) or [f"{index + 1}" for index in range(len(measured))]
        if len(names) != len(measured):
            raise RequestError(f"{len(names)} labels for {len(measured)} measurements; give each")
        runs = [one.samples.points for one in measured]
        return figure_of(list(zip(names, runs, strict=True)))

    def __repr__(self) -> str:
        """Return in one line what was measured."""
        what = f"{', '.join(self.operations)}, {len(self.samples.points)} points"
        return f"<Measurement: {what}, {self.ranks} ranks, {launches_text(self.launches)}>"

    def __str__(self) -> str:
        """Return the tables that `lanewise measure` prints."""
        cautions = [f"! {sentence}" for sentence in self.cautions]
        return "\n".join([*tables(self.samples.points, self.context), *cautions])

    def _repr_html_(self) -> str:
        """Return the tables as HTML, for notebooks."""
        parts = [self._table(points) for points in of_tables(self.samples.points)]
        return html.block("".join(parts), self.cautions)

    def _table(self, points: Sequence[Point]) -> str:
        student = self.context.stopping.get("rule") == "student"
        confidence = float(self.context.stopping.get("confidence", 0.95))
        paired = points[0].peer is not None
        headings = [
            *(["ranks"] if paired else []), "size", "mean" if student else "median",
            f"{100 * confidence:g} % interval", "repetitions",
        ]  # fmt: skip
        rows = [
            [
                *([ranks_of(point)] if paired else []),
                size_text(point.message_bytes),
                time_text(point.mean_s if student else point.centre_s),
                f"{time_text(point.low_s)} … {time_text(point.high_s)}",
                str(point.repetitions or "—"),
            ]
            for point in points
        ]
        title = f"{points[0].operation}, {self.ranks} ranks, {self.context.library}"
        launches = launches_of(points)
        return html.table(f"{title}, {launches}", headings, rows)

    def _each(self, value: Callable[[Point], Any]) -> Floats:
        return np.asarray([value(point) for point in self.samples.points], dtype=np.float64)


def text_with(operation: str, text: str) -> str:
    """Return the lines of a result file without what was measured of other operations."""
    lines = [(line, json.loads(line)) for line in text.split("\n")[:-1]]
    kept = [
        (line, record)
        for line, record in lines
        if record["record"] not in ("point", "polling", "waiting")
        or record.get("operation") == operation
    ]
    count = sum(1 for _, record in kept if record["record"] == "point")
    ended = [
        json.dumps({**record, "points": count}) if record["record"] == "end" else line
        for line, record in kept
    ]
    return "".join(f"{line}\n" for line in ended)
