# SPDX-License-Identifier: BSD-3-Clause
"""Platform: what was learnt of a machine, fitted from samples and asked for predictions.

platform = lanewise.fit(lanewise.read("pairs.jsonl", "triplets.jsonl"))
print(platform)                                   # how far each model is off, then its parameters
platform.predict("scatter", "binomial", ranks=4096, message_bytes=65536)
"""

from __future__ import annotations

import json
import operator
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from lanewise.errors import RequestError, cut
from lanewise.files.platform import load as load_platform
from lanewise.files.whole import write_whole
from lanewise.model.predict import Question, read_prediction
from lanewise.model.program import PREDICT, ask, file_word
from lanewise.results.records import SCHEMA_NAME, SCHEMA_VERSION

OF_PAIRS = ("peer", "second_peer", "reply_bytes")
# Columns of a data frame that a fit looks at; launch_repetitions only where launches are several.
NEEDED = ("file", "operation", "root", "message_bytes", *OF_PAIRS, "samples_s", "launches")
AS_READ = "take it as lanewise.read gave it"


@runtime_checkable
class Measured(Protocol):
    """A measurement, of operations, which writes its samples to a file."""

    @property
    def operations(self) -> tuple[str, ...]:
        """Return the names of what was measured."""

    def save(self, path: str | Path) -> None:
        """Write all samples."""


File = str | os.PathLike[str]
Samples = Measured | pd.DataFrame | File | Sequence[File]


@dataclass(frozen=True)
class Platform:
    """A fitted platform: `values` is platform.json, `text` what lanewise model fit prints."""

    values: dict[str, Any]
    text: str = ""

    def __str__(self) -> str:
        return self.text or f"platform of {self.values['ranks']} ranks, best {self.best}"

    @property
    def best(self) -> str:
        """Return the model that predicts held-out points best, or fits best if there are none."""
        return str(self.values["best"])

    def save(self, path: str | Path) -> None:
        """Write platform.json, whole or not at all; RequestError where it cannot be written."""
        write_whole(Path(path), json.dumps(self.values, indent=1) + "\n")

    def predict(  # noqa: PLR0913
        self,
        collective: str,
        algorithm: str,
        *,
        message_bytes: int | str,
        ranks: int | None = None,
        model: str = "",
        root: int = 0,
    ) -> float:
        """Return the seconds that a collective takes by an algorithm, NAME[:SEGMENT[:LANES]].

        `message_bytes` is the block of one rank, or the vector, in bytes or as "64K", as lanewise
        measure counts.  Without `model` the best is asked, without `ranks` it is as many as were
        fitted.
        Raises RequestError for what cannot be asked.
        """
        if algorithm in ("", "all") or "," in algorithm:
            raise RequestError(f"algorithm is one NAME[:SEGMENT[:LANES]], not {algorithm!r}")
        size = size_of(message_bytes)
        with tempfile.TemporaryDirectory(prefix="lanewise-platform-") as folder:
            path = Path(folder) / "platform.json"
            self.save(path)
            question = Question(
                platform=str(path), collective=collective, ranks=ranks, algorithms=(algorithm,),
                sizes=size, model=model, root=root,
            )  # fmt: skip
            prediction = read_prediction(ask(*question.arguments(), name=PREDICT))
        if prediction.left_out:
            refused = prediction.left_out[0]
            raise RequestError(f"{collective} {refused.name}: {refused.reason}")
        return prediction.candidates[0].predicted_s[0]


def size_of(message_bytes: int | str) -> str:
    """Return one size as lanewise-predict takes it; RequestError for several, and what is none.

    Whether a text is a size is for lanewise-predict to say.
    """
    if isinstance(message_bytes, str):
        if not message_bytes or "," in message_bytes or ":" in message_bytes:
            raise RequestError(f"message_bytes={message_bytes!r} is not one size, such as 65536")
        return message_bytes
    try:
        size = operator.index(message_bytes)
    except TypeError:
        raise RequestError(f"message_bytes={message_bytes!r} is not a whole number") from None
    if size < 0:
        raise RequestError(f"message_bytes={size} is not 0 or more")
    return str(size)


def fit(samples: Samples) -> Platform:
    """Fit the models to samples: a `Measurement`, what `lanewise.read` gave, or files.

    Raises RequestError for samples that no model can be fitted to, with what to measure.
    """
    with tempfile.TemporaryDirectory(prefix="lanewise-fit-") as folder:
        path = Path(folder) / "platform.json"
        text = ask(*map(file_word, files_of(samples, Path(folder))), "-o", str(path))
        return Platform(json.loads(path.read_text(encoding="utf-8")), text)


def read_platform(path: str | Path) -> Platform:
    """Read a platform that `lanewise model fit` wrote.

    Raises RequestError for a file that is missing or does not follow the schema.
    """
    return Platform(load_platform(path))


def files_of(samples: Samples, folder: Path) -> list[str]:
    """Return the files that hold `samples`; what is no file yet is written into `folder`."""
    if isinstance(samples, pd.DataFrame):
        return written(samples, folder)
    if isinstance(samples, Measured):
        samples.save(folder / "samples.jsonl")
        return [str(folder / "samples.jsonl")]
    if isinstance(samples, (str, os.PathLike)):
        return [os.fspath(samples)]
    files: list[Any] = list(samples) if isinstance(samples, Iterable) else [samples]
    if not all(isinstance(path, (str, os.PathLike)) for path in files):
        raise RequestError(
            f"{cut(repr(samples))} holds no samples; give a measurement, a data frame of "
            "lanewise.read, or files"
        )
    return [os.fspath(path) for path in files]


def written(frame: pd.DataFrame, folder: Path) -> list[str]:
    """Write a data frame as one file for each that its rows are of, and return these files."""
    contexts = frame.attrs.get("contexts")
    if not contexts:
        raise RequestError(f"the data frame has lost its contexts; {AS_READ}")
    for column in (column for column in NEEDED if column not in frame):
        raise RequestError(f"the data frame has no column {column}; {AS_READ}")
    names = []
    for number, (name, rows) in enumerate(frame.groupby("file", sort=False)):
        if name not in contexts:
            raise RequestError(f"the data frame has no context of the file {name}; {AS_READ}")
        path = folder / f"{number}.jsonl"
        head = {"record": "context", "schema": SCHEMA_NAME, "version": SCHEMA_VERSION}
        points = (record for _, row in rows.iterrows() for record in records_of(row))
        lines = [{**head, **contexts[name]}, *points]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        names.append(str(path))
    return names


def records_of(row: pd.Series[Any]) -> list[dict[str, Any]]:
    """Return a row of the data frame as point records, one for each launch.

    They have what a fit looks at.
    """
    point: dict[str, Any] = {"record": "point", "operation": row["operation"]}
    for key in ("root", "message_bytes"):
        point[key] = int(row[key])
    for key in OF_PAIRS:
        if not pd.isna(row[key]):
            point[key] = int(row[key])
    return [{**point, "samples_s": samples_s.tolist()} for samples_s in samples_by_launch(row)]


def samples_by_launch(row: pd.Series[Any]) -> list[Any]:
    """Return the samples of each launch; RequestError where the row no longer tells them apart."""
    samples_s = np.asarray(row["samples_s"], dtype=np.float64)
    if int(row["launches"]) == 1:
        return [samples_s]
    counts = np.asarray(row.get("launch_repetitions", []), dtype=np.int64)
    if counts.sum() != len(samples_s):
        raise RequestError(
            f"launch_repetitions of {row['operation']} with {row['message_bytes']} bytes are "
            f"{counts.sum()}, not the {len(samples_s)} of samples_s; change both, "
            "or give lanewise.fit the files"
        )
    return np.split(samples_s, np.cumsum(counts)[:-1])
