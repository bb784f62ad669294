# SPDX-License-Identifier: BSD-3-Clause
"""Several tuning files as one, and what may not stand together."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from lanewise.errors import RequestError
from lanewise.tuning.content import Tuning
from lanewise.tuning.merge import merge, replacements
from lanewise.tuning.read import load, load_all
from lanewise.tuning.specimen import ours, tuning
from lanewise.tuning.write import save, values_of


def at(ranks: int, algorithm: str = "ring", collective: str = "bcast") -> Tuning:
    return replace(tuning({collective: {8: [ours(algorithm)]}}, ranks=ranks), launches=7)


def test_a_file_has_all_layouts_by_the_number_of_ranks(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    cyclic = replace(at(4), hosts=(0, 1, 0, 1))

    merged = merge({"a": [at(8), at(4)], "b": [cyclic]})
    save(merged, path)

    assert [one.hosts for one in merged] == [(0, 0, 0, 0), (0, 1, 0, 1), (0,) * 8]
    assert values_of(load_all(path)) == values_of(merged)


def test_a_file_with_several_layouts_is_not_read_as_one(tmp_path: Path) -> None:
    save([at(4), at(8)], tmp_path / "t.json")

    with pytest.raises(RequestError, match="several layouts \\(4 ranks on one host; 8 ranks"):
        load(tmp_path / "t.json")


def test_of_one_layout_the_newer_measurement_of_a_collective_counts() -> None:
    newer = replace(at(4, "chain"), created="2026-11-22T15:00:00Z")
    other = replace(at(4, "binomial", "scatter"), created="2026-11-20T15:00:00Z")

    [only] = merge({"newer": [newer], "older": [at(4, "ring")], "other": [other]})

    algorithms = {name: one.rules[0].algorithm for name, one in only.collectives.items()}
    assert algorithms == {"bcast": "chain", "scatter": "binomial"}
    assert only.created == newer.created


def test_each_collective_that_a_newer_file_replaces_is_named() -> None:
    newer = replace(at(4, "chain"), created="2026-11-22T15:00:00Z")
    other = replace(at(4, "binomial", "scatter"), created="2026-11-23T15:00:00Z")

    assert replacements({"newer": [newer], "older": [at(4), at(8)], "other": [other]}) == [
        "bcast for 4 ranks on one host: newer replaces older, which is older"
    ]


def test_no_file_is_called_older_that_was_measured_in_the_same_second() -> None:
    assert replacements({"a": [at(4, "chain")], "b": [at(4)]}) == [
        "bcast for 4 ranks on one host: b replaces a, which is as old"
    ]


@pytest.mark.parametrize("order", itertools.permutations("abc"))
def test_the_newer_measurement_counts_in_any_order_of_the_files(order: tuple[str, ...]) -> None:
    files = {
        "a": [replace(at(4, "binomial"), created="2026-11-20T10:00:00Z")],
        "b": [replace(at(4, "ring", "allreduce"), created="2026-11-20T12:00:00Z")],
        "c": [replace(at(4, "ring"), created="2026-11-20T11:00:00Z")],
    }

    [only] = merge({name: files[name] for name in order})

    assert only.collectives["bcast"].rules[0].algorithm == "ring"
    assert only.created == "2026-11-20T12:00:00Z"


def test_a_file_in_which_nothing_was_judged_is_merged(tmp_path: Path) -> None:
    nothing = replace(at(4), hosts=(0, 0, 1, 1), launches=0)
    save(nothing, tmp_path / "t.json")

    merged = merge({"a": [at(4)], "b": load_all(tmp_path / "t.json")})

    assert [one.hosts for one in merged] == [(0, 0, 0, 0), (0, 0, 1, 1)]


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (replace(at(8), mpi_library="Open MPI 9"), "b is for openmpi \\(Open MPI 9\\), a for "),
        (replace(at(8), mpi_family="mpich", mpi_library=""), "b is for mpich, a for openmpi "),
        (replace(at(4), margin=0.1), "b has margin 0.1"),
        (replace(at(8), same_bits="order"), "only one of b and a is for lanewise run --same-bits"),
        (replace(at(4), hosts=(0, 0, 1, 1), in_any_order=True), "b does not say in which order"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(other: Tuning, named: str) -> None:
    with pytest.raises(RequestError, match=named):
        merge({"a": [at(4)], "b": [other]})
