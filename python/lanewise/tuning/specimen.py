# SPDX-License-Identifier: BSD-3-Clause
"""Specimen: evidence made up for tests, with intervals of a per cent on either side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lanewise.tuning.content import (
    Candidate,
    Choice,
    Confirmation,
    Figures,
    Point,
    Tuning,
)
from lanewise.tuning.decide import decide

MARGIN = 0.03


def figures(median_s: float, width: float = 0.01, repetitions: int = 40) -> Figures:
    """Return a median with an interval of so much on either side."""
    return Figures(median_s, median_s * (1 - width), median_s * (1 + width), repetitions)


def point(message_bytes: int, times_s: Mapping[Choice, float], default_s: float = 10e-6) -> Point:
    """Return a point where each choice takes so long, in race and confirmation alike."""
    default = figures(default_s)
    candidates = tuple(Candidate(choice, figures(time_s)) for choice, time_s in times_s.items())
    return Point(message_bytes, default, candidates, Confirmation(default, candidates, 3))


def tuning(
    wins: Mapping[str, Mapping[int, Sequence[Choice]]], family: str = "openmpi", ranks: int = 4
) -> Tuning:
    """Return a tuning in which, by collective and size, these choices halve the time."""
    return Tuning(
        lanewise="0.1.0",
        created="2026-11-21T15:00:00Z",
        mpi_family=family,
        mpi_library=f"{family} of a specimen",
        hosts=(0,) * ranks,
        margin=MARGIN,
        confidence=0.95,
        collectives={
            name: decide(
                name,
                [
                    point(size, {choice: 5e-6 * (1 + i / 100) for i, choice in enumerate(choices)})
                    for size, choices in by_size.items()
                ],
                MARGIN,
            )
            for name, by_size in wins.items()
        },
    )


def own(algorithm: str, segment_bytes: int = 0) -> Choice:
    """Return an algorithm of the MPI's own."""
    return Choice("mpi", algorithm, segment_bytes)


def ours(algorithm: str, segment_bytes: int = 0) -> Choice:
    """Return an algorithm of Lanewise."""
    return Choice("lanewise", algorithm, segment_bytes)
