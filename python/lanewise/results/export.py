# SPDX-License-Identifier: BSD-3-Clause
"""Export results for other programs: CSV with one line per point or repetition, or Parquet."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pandas as pd

from lanewise.errors import RequestError
from lanewise.files.whole import whole_file
from lanewise.results.frame import MORE_COLUMNS


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the points without their repetitions."""
    return frame.drop(columns=["samples_s", "launch_medians_s", "launch_repetitions"])


def repetitions(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row a repetition, in the order measured: `repetition` from 0, and `sample_s`.

    Behind these are transport and MPI of its file.  `frame` has the points of each launch apart
    (frame.launch_frame_of); those without repetitions, of which a tool printed one number, have no
    row.
    """
    keys = ["file", "launcher", "ranks", "method", "launch", "operation", "root"]
    keys += ["peer", "second_peer", "message_bytes", "reply_bytes"]
    repeated = frame[frame["samples_s"].map(len) > 0]
    long = repeated[[*keys, "samples_s", *MORE_COLUMNS]].explode("samples_s")
    long = long.rename(columns={"samples_s": "sample_s"})
    long.insert(len(keys), "repetition", long.groupby(level=0).cumcount())
    return long.reset_index(drop=True)


def write_csv(frame: pd.DataFrame, target: str) -> None:
    """Write `frame` as CSV to the file `target`, or to standard output for `-`."""
    plain = with_text(frame.drop(columns="file"))
    plain.insert(0, "file", frame["file"])
    if target == "-":
        plain.to_csv(sys.stdout, index=False, float_format="%.9g")
        return
    with whole_file(Path(target)) as path:
        # The name of a file need not be text, and is written as it is.
        plain.to_csv(path, index=False, float_format="%.9g", errors="surrogateescape")


def json_of(frame: pd.DataFrame) -> str:
    """Return `frame` as one JSON object, `points` being a list with an object for each row.

    Numbers have all their digits, of which pandas would write ten after the point.
    """
    plain = frame.astype(object)
    rows = plain.where(plain.notna(), None).to_dict(orient="records")
    return json.dumps({"points": rows}, allow_nan=False, separators=(",", ":")) + "\n"


def write_parquet(frame: pd.DataFrame, target: str) -> None:
    """Write `frame`, repetitions as a list column, as Parquet to the file `target`."""
    if target == "-":
        raise RequestError("Parquet is a binary file; name it, -o samples.parquet")
    with whole_file(Path(target)) as path:
        plain = with_text(frame)
        plain.attrs = {}
        plain.to_parquet(path, index=False)


def with_text(frame: pd.DataFrame) -> pd.DataFrame:
    """Return `frame` with "?" for what is no text, such as half a pair of surrogates, in it."""
    plain = frame.copy()
    for name in plain.select_dtypes(object).columns:
        plain[name] = plain[name].map(as_text)
    return plain


def as_text(value: object) -> object:
    """Return a string with "?" for what is no text, and any other value as it is."""
    if not isinstance(value, str) or value.isascii():
        return value
    return value.encode("utf-8", "replace").decode()
