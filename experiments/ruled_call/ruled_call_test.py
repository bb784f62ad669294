# SPDX-License-Identifier: BSD-3-Clause
"""What is made of several launches of ruled calls."""

from __future__ import annotations

from typing import Any

from experiments.ruled_call.experiment import figures_by_launch, figures_of, rules
from lanewise.tuning.read import tunings_of


def launch(bcast: float, gather: float, added_ns: float = 10.0) -> dict[str, Any]:
    return {
        "collectives": {"bcast": {"ratio": bcast}, "gather": {"ratio": gather}},
        "unruled_ns": {"median": added_ns},
        "unruled_many_ns": {"median": 2 * added_ns},
    }


LAUNCHES = [launch(1.0, 1.04), launch(1.2, 1.01), launch(1.01, 1.02, added_ns=30.0)]


def test_each_collective_counts_with_its_median_and_the_worst_of_them_is_the_figure() -> None:
    assert figures_of(LAUNCHES)["ratio_8B"] == 1.02


def test_a_launch_is_within_where_all_its_collectives_are() -> None:
    assert figures_of(LAUNCHES)["fraction_of_launches_within"] == 2 / 3
    assert figures_by_launch(LAUNCHES)["fraction_of_launches_within"] == [1.0, 0.0, 1.0]


def test_what_is_added_is_the_median_over_launches() -> None:
    figures = figures_of(LAUNCHES)

    assert (figures["unruled_size_ns"], figures["unruled_ns_64_communicators"]) == (10.0, 20.0)


def test_the_rules_are_a_file_that_is_read() -> None:
    [one] = tunings_of(rules())

    assert {name: content.rules[0].algorithm for name, content in one.collectives.items()} == {
        "bcast": "binomial",
        "scatter": "binomial",
        "gather": "binomial",
        "allreduce": "recursive_doubling",
    }
