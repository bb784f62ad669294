# SPDX-License-Identifier: BSD-3-Clause
"""A tuning as a value: its rules, and the times that justify them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lanewise.files.whole import require_new
from lanewise.measurement import html
from lanewise.tuning.content import CollectiveTuning, Point, Rule, Tuning
from lanewise.tuning.read import load
from lanewise.tuning.rule_text import algorithm_text, ratio_text, sizes_text
from lanewise.tuning.write import save

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

HEADINGS = ("collective", "sizes", "algorithm", "of", "time/default")


@dataclass(frozen=True, repr=False)
class TuningResult:
    """Rules for collectives: at which sizes which algorithm is faster than the MPI's default.

    `tuning` has the rules with all measurements.  `complete` tells that the budget sufficed for all
    sizes and launches, `notice` what to know of the launches, such as that ranks shared cores.
    """

    tuning: Tuning
    complete: bool = True
    notice: str = ""

    @staticmethod
    def load(path: str | Path) -> TuningResult:
        """Return what `save` or `lanewise tune -o` wrote, for one layout of ranks.

        Times and ratios have six significant digits there.
        Raises RequestError for a file that is missing or does not follow the schema.
        """
        return TuningResult(load(Path(path)))

    def save(self, path: str | Path) -> None:
        """Write a tuning file for `lanewise run`.

        Raises RequestError where the file exists, or cannot be written.
        """
        require_new(Path(path))
        save(self.tuning, Path(path))

    @property
    def collectives(self) -> tuple[str, ...]:
        """Return the names of what was tuned."""
        return tuple(self.tuning.collectives)

    @property
    def frame(self) -> pd.DataFrame:
        """Return the measured times as a data frame, one row for each candidate at each size.

        Columns: `collective`, `message_bytes`, `algorithm` ("default" for the MPI's choice),
        `origin` ("lanewise" or "mpi"), `segment_bytes`, `lanes`, `median_s`, `low_s`, `high_s` and
        `repetitions`.
        """
        import pandas as pd  # noqa: PLC0415

        rows = [
            {"collective": name, "message_bytes": point.message_bytes, **row}
            for name, content in self.tuning.collectives.items()
            for point in content.points
            for row in _measured(point)
        ]
        return pd.DataFrame(rows)

    def plot(self) -> Figure:
        """Draw the times of the default and of each algorithm that has a rule, against the size.

        Returns a figure of matplotlib with a panel for each collective.
        """
        from lanewise.measurement.drawing import figure_of_tuning  # noqa: PLC0415

        return figure_of_tuning(self.tuning)

    def __repr__(self) -> str:
        """Return in one line what was tuned."""
        return f"<TuningResult: {', '.join(self.collectives)}, {self.tuning.placed}>"

    def __str__(self) -> str:
        """Return a line for each rule, and for each collective that keeps the default."""
        rows = [HEADINGS, *self._rows()]
        widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
        cells = [[f"{text:<{width}}" for text, width in zip(row, widths, strict=True)]
                 for row in rows]  # fmt: skip
        return "\n".join(["  ".join(row).rstrip() for row in cells] + self._notes())

    def _repr_html_(self) -> str:
        """Return the rules as an HTML table, for notebooks."""
        caption = f"{self.tuning.placed}, {self.tuning.mpi_library.split(',')[0]}"
        return html.block(html.table(caption, HEADINGS, self._rows()), self._notes())

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            row for name, content in self.tuning.collectives.items()
            for row in self._rows_of(name, content)
        ]  # fmt: skip

    def _rows_of(self, name: str, content: CollectiveTuning) -> list[tuple[str, ...]]:
        found: list[tuple[Rule, str]] = [(rule, "lanewise") for rule in content.rules]
        found += [(rule, "mpi") for rule in content.mpi_rules]
        if not found:
            kept = f"{len(content.points)} measured"
            return [(name, kept, "default", self.tuning.mpi_family, "1.00")]
        return [
            (
                name,
                sizes_text(rule),
                algorithm_text(rule),
                "lanewise" if origin == "lanewise" else self.tuning.mpi_family,
                ratio_text(content, rule, origin, self.tuning.margin),
            )
            for rule, origin in found
        ]

    def _notes(self) -> list[str]:
        unfinished = "" if self.complete else "the budget was used up before all was measured"
        return [*self.notice.splitlines(), *filter(None, [unfinished])]


def _measured(point: Point) -> list[dict[str, object]]:
    default = {"algorithm": "default", "origin": "mpi", "segment_bytes": 0, "lanes": 1}
    return [
        {**default, **vars(point.default)},
        *({**vars(one.choice), **vars(one.figures)} for one in point.candidates),
    ]
