# SPDX-License-Identifier: BSD-3-Clause
"""Predictions: how long a collective takes by each algorithm, priced on a fitted platform."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """What is asked of lanewise-predict; an empty value means its default.

    An algorithm is `NAME[:SEGMENT[:LANES]]`; none means all.
    """

    platform: str
    collective: str
    ranks: int | None = None
    algorithms: tuple[str, ...] = ()
    sizes: str = ""
    model: str = ""
    root: int = 0
    spans: bool = False

    def arguments(self) -> list[str]:
        """Return the command line."""
        line = ["--platform", self.platform, "--root", str(self.root)]
        line += [] if self.ranks is None else ["--ranks", str(self.ranks)]
        line += [f"--algorithm={name}" for name in self.algorithms]
        line += [f"--sizes={self.sizes}"] if self.sizes else []
        line += [f"--model={self.model}"] if self.model else []
        line += ["--spans"] if self.spans else []
        return [*line, "--", self.collective]


@dataclass(frozen=True)
class Candidate:
    """An algorithm with what was chosen of it, and its seconds at each size."""

    name: str
    predicted_s: tuple[float, ...]


@dataclass(frozen=True)
class LeftOut:
    """An algorithm that cannot serve the call, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Span:
    """A processor (of `rank`) or an interface (of its host) at work."""

    what: str
    rank: int
    peer: int
    begin_s: float
    end_s: float
    bytes: int


@dataclass(frozen=True)
class Prediction:
    """The answer of lanewise-predict."""

    platform: str
    model: str
    collective: str
    ranks: int
    message_bytes: tuple[int, ...]
    candidates: tuple[Candidate, ...]
    left_out: tuple[LeftOut, ...]
    spans: tuple[Span, ...] = ()

    def best(self, column: int) -> Candidate | None:
        """Return the candidate that is fastest at a size, the first of equals."""
        return min(self.candidates, key=lambda one: one.predicted_s[column], default=None)


def read_prediction(text: str) -> Prediction:
    """Return the answer of lanewise-predict as values; the head of its main.cpp says the form."""
    values = json.loads(text)
    return Prediction(
        platform=values["platform"],
        model=values["model"],
        collective=values["collective"],
        ranks=values["ranks"],
        message_bytes=tuple(values["message_bytes"]),
        candidates=tuple(
            Candidate(name_of(entry), tuple(entry["predicted_s"])) for entry in values["candidates"]
        ),
        left_out=tuple(LeftOut(name_of(entry), entry["reason"]) for entry in values["left_out"]),
        spans=tuple(Span(**span) for span in values.get("spans", [])),
    )


def name_of(entry: dict[str, object]) -> str:
    """Return the name of a candidate as it is asked for: `pipeline:65536`, `multilane:0:4`."""
    parts = [str(entry["algorithm"])]
    if entry["segment_bytes"] or entry["lanes"] != 1:
        parts.append(str(entry["segment_bytes"]))
    if entry["lanes"] != 1:
        parts.append(str(entry["lanes"]))
    return ":".join(parts)
