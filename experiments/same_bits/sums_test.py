# SPDX-License-Identifier: BSD-3-Clause
"""Other bits than those of the whole vector are noticed, and so is a result that is not nearest."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from experiments.same_bits import sums
from experiments.same_bits.sums import Ran

Found = dict[Ran, dict[str, Any]]
SHOWN = 30


def nearest_float(value: Fraction) -> float:
    """Return the float of 24 bits that is nearest to a value; ties do not occur here."""
    unit = Fraction(2) ** (math.frexp(float(value))[1] - 24)
    return float(round(value / unit) * unit)


def exact_results() -> dict[str, Any]:
    return {
        "sums": [float(sums.exact_sum(at)).hex() for at in range(SHOWN)],
        "products": [float(sums.exact_product(at)).hex() for at in range(SHOWN)],
        "floats": [nearest_float(sums.exact_float(at)).hex() for at in range(SHOWN)],
    }


@pytest.fixture
def found() -> Found:
    """Results of all runs, as they should be."""
    none_other = {"tried": 3, "others": 0}
    ways = ("sizes", "splits", "collectives", "algorithms", "dealt")
    return {
        Ran(level, mpi, ranks): {
            **exact_results(),
            "hash": "of these cells" if 2 * ranks >= sums.CELLS else f"of {ranks}",
            **{way: dict(none_other) for way in ways},
        }
        for mpi in sums.MPIS
        for level, counts in sums.RANKS.items()
        for ranks in counts
    }


def test_results_as_they_should_be_are_equal_and_nearest(found: Found) -> None:
    figures = sums.figures(found)

    assert figures.pop("exact_error_ulp_max") <= 0.5
    assert set(figures.values()) == {1.0}


def one_way(way: str) -> Callable[[Found], None]:
    def change(found: Found) -> None:
        found[Ran("order", "mpich", 4)][way]["others"] = 1

    return change


def not_tried(found: Found) -> None:
    found[Ran("order", "mpich", 4)]["algorithms"]["tried"] = 0


def other_hash(level: str, ranks: int) -> Callable[[Found], None]:
    def change(found: Found) -> None:
        found[Ran(level, "mpich", ranks)]["hash"] = "another"

    return change


def other_dealing(found: Found) -> None:
    found[Ran("ranks", "mpich", 9)]["dealt"]["others"] = 1


@pytest.mark.parametrize(
    ("change", "figures"),
    [
        (one_way("sizes"), {"sizes_equal"}),
        (one_way("splits"), {"splits_equal"}),
        (one_way("collectives"), {"algorithms_equal"}),
        (one_way("algorithms"), {"algorithms_equal"}),
        (not_tried, {"algorithms_equal"}),
        (other_hash("order", 3), {"mpis_equal"}),
        (other_hash("ranks", 12), {"mpis_equal", "ranks_equal"}),
        (other_dealing, {"ranks_equal"}),
    ],
)
def test_other_bits_make_the_figure_of_their_cause_zero(
    found: Found, change: Callable[[Found], None], figures: set[str]
) -> None:
    change(found)

    assert {name for name, value in sums.figures(found).items() if value == 0.0} == figures


@pytest.mark.parametrize("name", ["sums", "products", "floats"])
def test_a_result_beside_the_nearest_one_is_further_than_half_a_unit(name: str) -> None:
    results = exact_results()
    value = float.fromhex(results[name][7])
    results[name][7] = (value * (1 + 2.0 ** (-22 if name == "floats" else -51))).hex()

    assert sums.error_ulp(results) > 0.5
