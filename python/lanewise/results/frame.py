# SPDX-License-Identifier: BSD-3-Clause
"""Result files as one data frame, for those who go on in Python.

Apart from read.py, since pandas takes longer to import than most commands to do their work.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lanewise.errors import RequestError
from lanewise.results.read import Samples, load
from lanewise.results.records import Point

CONTEXT_COLUMNS = ("file", "launcher", "ranks", "method")


def read(*paths: str | Path) -> pd.DataFrame:
    """Read result files into one data frame, a row a point.

    The columns are those of a point with the units in their names (`message_bytes`, `median_s`),
    `samples_s` as an array of all repetitions, and `file`, `launcher`, `ranks`, `method` of the
    file's context; `attrs["contexts"]` has the whole context of each file.
    Raises RequestError for a file that is missing or does not follow the schema.
    """
    if not paths:
        raise RequestError("no result file given; name at least one samples.jsonl")
    return frame_of([load(path) for path in paths])


def frame_of(files: list[Samples]) -> pd.DataFrame:
    """Return the points of loaded files as the data frame that `read` describes."""
    rows = [row_of(samples, point) for samples in files for point in samples.points]
    names = [*CONTEXT_COLUMNS, *(item.name for item in fields(Point))]
    frame = pd.DataFrame(rows, columns=pd.Index(names))
    for name in ("peer", "second_peer", "reply_bytes"):
        frame[name] = frame[name].astype("Int64")
    frame.attrs["contexts"] = {str(samples.path): vars(samples.context) for samples in files}
    return frame


def row_of(samples: Samples, point: Point) -> dict[str, Any]:
    """Return one point with its file's context as a row."""
    context = samples.context
    row: dict[str, Any] = {
        "file": str(samples.path),
        "launcher": context.launcher,
        "ranks": context.ranks,
        "method": context.method,
    }
    row.update(vars(point))
    row["samples_s"] = np.asarray(point.samples_s, dtype=np.float64)
    return row
