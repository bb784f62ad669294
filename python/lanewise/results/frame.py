# SPDX-License-Identifier: BSD-3-Clause
"""Result files as one data frame, for those who go on in Python.

Apart from read.py, since pandas takes longer to import than most commands to do their work.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lanewise.errors import RequestError
from lanewise.results.compare import printed_by
from lanewise.results.intervals import CONFIDENCE
from lanewise.results.launches import medians_of, repetitions_of
from lanewise.results.read import Samples, load
from lanewise.results.records import Point

CONTEXT_COLUMNS = ("file", "launcher", "ranks", "method")
# What tells apart how rows were measured, and what their intervals are; behind the columns above.
MORE_COLUMNS = ("transport", "mpi")
INTERVAL_COLUMNS = ("number", "confidence")


def read(*paths: str | Path) -> pd.DataFrame:
    """Read result files into one data frame, one row per point.

    The columns are those of a point with the units in their names (`message_bytes`, `median_s`),
    `samples_s` as an array of all repetitions, `launch_medians_s` as an array with the median of
    each launch of the ranks (the mean with `--rule student`, and where another tool printed no
    medians), `launch_repetitions` as an array that says how many of `samples_s` are of each launch,
    one launch after the other, `launches` as their number, `number` for what `low_s` and `high_s`
    bound ("median", "mean", or what another tool printed), `confidence` for how surely (NaN where
    there is no interval), and `file`, `launcher`, `ranks`, `method`, `transport`, `mpi` of the
    file's context; `attrs["contexts"]` has the whole context of each file.  Where there are several
    launches, centre and interval are over launches.  Warns of a file whose run was interrupted or
    whose last line is cut off.
    Raises RequestError for a file that is missing or does not follow the schema.
    """
    if not paths:
        raise RequestError("no result file given; name at least one samples.jsonl")
    files = [load(path) for path in paths]
    for sentence in (sentence for samples in files for sentence in samples.warnings):
        warnings.warn(sentence, stacklevel=2)
    return frame_of(files)


def frame_of(files: list[Samples]) -> pd.DataFrame:
    """Return the points of loaded files as the data frame that `read` describes."""
    rows = [
        {
            **row_of(samples, point),
            "launches": point.launch_count,
            "launch_medians_s": np.asarray(medians_of(point)),
            "launch_repetitions": np.asarray(repetitions_of(point)),
            "number": printed_by(samples) if math.isnan(point.median_s) else point.number,
            "confidence": math.nan if math.isnan(point.low_s) else confidence_of(samples),
        }
        for samples in files
        for point in samples.points
    ]
    names = [name for name in columns_of_point() if name != "launch"]
    names += ["launches", "launch_medians_s", "launch_repetitions"]
    return framed(files, rows, [*names, *INTERVAL_COLUMNS, *MORE_COLUMNS])


def confidence_of(samples: Samples) -> float:
    """Return how surely the intervals of a file hold."""
    return float(samples.context.stopping.get("confidence", CONFIDENCE))


def launch_frame_of(files: list[Samples]) -> pd.DataFrame:
    """Return the points of each launch apart, one row per point and launch: `launch` from 1.

    Loops of other tools are left out, as they are from the points over launches.
    """
    rows = [
        row_of(samples, point)
        for samples in files
        for point in samples.launch_points
        if not point.definition
    ]
    return framed(files, rows, [*columns_of_point(), *MORE_COLUMNS])


def columns_of_point() -> list[str]:
    """Return the columns that a point and its file's context have."""
    return [*CONTEXT_COLUMNS, *(item.name for item in fields(Point))]


def framed(files: list[Samples], rows: list[dict[str, Any]], names: Sequence[str]) -> pd.DataFrame:
    """Return rows as a data frame with the columns `names` and the contexts of `files`."""
    frame = pd.DataFrame({name: column_of([row[name] for row in rows]) for name in names})
    for name in ("peer", "second_peer", "reply_bytes"):
        frame[name] = frame[name].astype("Int64")
    frame.attrs["contexts"] = {str(samples.path): vars(samples.context) for samples in files}
    return frame


def column_of(values: list[Any]) -> pd.Series[Any]:
    """Return values as a column; texts as objects, since the name of a file need not be text."""
    is_text = any(isinstance(value, str) for value in values)
    return pd.Series(values, dtype=object if is_text or not values else None)


def row_of(samples: Samples, point: Point) -> dict[str, Any]:
    """Return one point with its file's context as a row."""
    context = samples.context
    row: dict[str, Any] = {
        "file": str(samples.path),
        "launcher": context.launcher,
        "ranks": context.ranks,
        "method": context.method,
        "transport": context.transport,
        "mpi": context.library,
    }
    row.update(vars(point))
    row["samples_s"] = np.asarray(point.samples_s, dtype=np.float64)
    return row
