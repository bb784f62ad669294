# SPDX-License-Identifier: BSD-3-Clause
"""Conditions that differ between two runs are told, and no others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lanewise.results.differing import differing
from lanewise.results.records import PLAIN_BUFFERS, Context

MPI = "Open MPI v4.1.4, package"
CONTEXT = Context(
    "0.2.0", {"library": MPI}, 4, "local", "barrier", "barrier", {"rule": "median", "error": 0.025},
    launcher="openmpi", launcher_args="", kernel="6.1", cores=2, governor="performance",
    clocksource="tsc",
    placement=[{"rank": rank, "host": host, "cpus": "0-1"} for rank, host in enumerate("aabb")],
)  # fmt: skip


def placed(hosts: str, cpus: str = "0-1") -> list[dict[str, Any]]:
    return [{"rank": rank, "host": host, "cpus": cpus} for rank, host in enumerate(hosts)]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, []),
        ({"seed": 7, "started": "later"}, []),
        ({"transport": "openmpi-tcp"}, ["transports differ: openmpi and openmpi-tcp"]),
        ({"mpi": {"library": "MPICH 4.0"}}, [f"MPIs differ: {MPI} and MPICH 4.0"]),
        ({"mpi": {"library": f"{MPI} 2"}}, [f"MPIs differ: {MPI} and {MPI} 2"]),
        ({"mpi": {"library": MPI, "device": "ch4:ucx"}}, [f"MPIs differ: {MPI} and {MPI} ch4:ucx"]),
        ({"placement": placed("aabb", "1")}, ["affinities differ: 0-1 0-1 0-1 0-1 and 1 1 1 1"]),
        ({"governor": "powersave"}, ["governors differ: performance and powersave"]),
        ({"clocksource": "hpet"}, ["clock sources differ: tsc and hpet"]),
        (
            {"stopping": {"rule": "student", "error": 0.025}},
            ["stopping rules differ: median and student"],
        ),
        (
            {"stopping": {"rule": "median", "error": 0.01, "batches_min": 1}},
            ["errors asked for differ: 0.025 and 0.01"],
        ),
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
        (
            {"launcher_args": "--bind-to core"},
            ["launcher arguments differ: none and --bind-to core"],
        ),
        ({"window": 64}, ["windows differ: 160 and 64"]),
        ({"imported": {"tool": "osu"}, "transport": "x"}, []),
    ],
)  # fmt: skip
def test_conditions_that_differ_are_told(change: dict[str, Any], told: list[str]) -> None:
    assert differing(CONTEXT, replace(CONTEXT, **change)) == told


@pytest.mark.parametrize(
    "change",
    [
        {"launcher_args": None},
        {"governor": "unknown"},
        {"clocksource": "unknown"},
        {"cores": 0},
        {"kernel": ""},
        {"mpi": {}},
        {"placement": []},
        {"placement": [{"rank": rank, "host": host} for rank, host in enumerate("aabb")]},
        {"stopping": {"rule": "median"}},
    ],
    ids=str,
)
def test_what_one_run_does_not_record_is_no_difference(change: dict[str, Any]) -> None:
    lacking = replace(CONTEXT, **change)

    assert differing(CONTEXT, lacking) == differing(lacking, CONTEXT) == []


def test_of_long_texts_the_place_is_shown_where_they_differ() -> None:
    one = replace(CONTEXT, placement=placed("a" * 32 + "b" * 32))
    other = replace(CONTEXT, placement=placed("a" * 48 + "b" * 16))

    assert differing(one, other) == [
        "placements differ: ...0 0 0 0 0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1 1 1 1 1... and "
        "...0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0...",
    ]
