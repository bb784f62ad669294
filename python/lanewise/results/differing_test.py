# SPDX-License-Identifier: BSD-3-Clause
"""Conditions that differ between two runs are told, and no others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lanewise.results.differing import differing
from lanewise.results.records import PLAIN_BUFFERS, Context

CONTEXT = Context(
    "0.2.0", {"library": "Open MPI v4.1.4, package"}, 4, "local", "barrier", "barrier", {},
    launcher="openmpi", kernel="6.1", cores=2,
    placement=[{"rank": rank, "host": host} for rank, host in enumerate("aabb")],
)  # fmt: skip


def placed(hosts: str) -> list[dict[str, Any]]:
    return [{"rank": rank, "host": host} for rank, host in enumerate(hosts)]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, []),
        ({"seed": 7, "started": "later"}, []),
        ({"transport": "openmpi-tcp"}, ["transports differ: openmpi and openmpi-tcp"]),
        ({"mpi": {"library": "MPICH 4.0"}}, ["MPIs differ: Open MPI v4.1.4 and MPICH 4.0"]),
        ({"placement": placed("abab")}, ["placements differ: 0 0 1 1 and 0 1 0 1"]),
        ({"placement": placed("ccdd")}, ["hosts differ: a, b and c, d"]),
        (
            {"buffers": {**PLAIN_BUFFERS, "caches": "cold"}},
            ["caches of buffers differ: warm and cold"],
        ),
        (
            {"buffers": {**PLAIN_BUFFERS, "turns": 8}},
            ["numbers of rotating sets differ: 1 and 8"],
        ),
        ({"buffers": {"else": 1}}, []),
        ({"window": 64}, ["windows differ: 160 and 64"]),
        ({"imported": {"tool": "osu"}, "transport": "x"}, []),
    ],
)  # fmt: skip
def test_conditions_that_differ_are_told(change: dict[str, Any], told: list[str]) -> None:
    assert differing(CONTEXT, replace(CONTEXT, **change)) == told


def test_of_long_texts_the_place_is_shown_where_they_differ() -> None:
    one = replace(CONTEXT, placement=placed("a" * 32 + "b" * 32))
    other = replace(CONTEXT, placement=placed("a" * 48 + "b" * 16))

    assert differing(one, other) == [
        "placements differ: ...0 0 0 0 0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1 1 1 1 1... and "
        "...0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0...",
    ]
