# SPDX-License-Identifier: BSD-3-Clause
"""tuning.json: written and read back, fits its schema, refused by name where it does not."""

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from lanewise.errors import RequestError
from lanewise.tuning.content import Tuning
from lanewise.tuning.read import load, number_hosts
from lanewise.tuning.specimen import ours, own, tuning
from lanewise.tuning.write import save, values_of

SCHEMA = json.loads(
    (Path(__file__).parents[3] / "schema/tuning.schema.json").read_text(encoding="utf-8")
)


def specimen() -> Tuning:
    return tuning(
        {
            "scatter": {8: [ours("binomial"), own("linear_nb")], 64: [ours("binomial")]},
            "allgatherv": {8: [ours("ring", 8192)]},
            "barrier": {0: []},
        }
    )


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"

    save(specimen(), path)

    assert values_of(load(path)) == values_of(specimen())
    assert load(path).collectives["scatter"].rules == specimen().collectives["scatter"].rules
    assert [found.name for found in tmp_path.iterdir()] == ["tuning.json"]


def test_numbers_are_written_with_six_digits(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    scatter = specimen().collectives["scatter"]
    exact = replace(scatter.points[0].default, median_s=1.23456789e-5)
    point = replace(scatter.points[0], default=exact)
    content = replace(scatter, points=(point,))

    save(replace(specimen(), collectives={"scatter": content}), path)

    assert load(path).collectives["scatter"].points[0].default.median_s == 1.23457e-5


def test_sizes_that_are_written_as_reals_remain_what_they_are(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    values = values_of(specimen())
    rule = values["layouts"][0]["collectives"]["scatter"]["rules"][0]
    rule |= {"from_bytes": 8.0, "to_bytes": 1048577.0, "lanes": 1.0}
    path.write_text(json.dumps(values), encoding="utf-8")

    save(load(path), path)

    (read, *_) = load(path).collectives["scatter"].rules
    assert (repr(read.from_bytes), repr(read.to_bytes), repr(read.lanes)) == ("8", "1048577", "1")


def test_a_margin_and_a_confidence_are_not_rounded(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"

    save(replace(specimen(), margin=0.03000001, confidence=0.9999999), path)

    assert (load(path).margin, load(path).confidence) == (0.03000001, 0.9999999)


def test_what_is_written_fits_the_schema() -> None:
    jsonschema.validate(json.loads(json.dumps(values_of(specimen()))), SCHEMA)


LAYOUT = ("layouts", 0)
CHANGES: list[tuple[tuple[Any, ...], Any, str]] = [
    (("schema",), "other", "schema is 'other'"),
    (("version",), 0, "version is '0'"),
    (("version",), True, "version is 'True'"),
    (("version",), 3, "version 3 is newer than version 2, which .* reads; upgrade lanewise$"),
    (("rank",), 4, "unknown key 'rank'"),
    (("mpi", "vendor"), "x", "mpi: unknown key 'vendor'"),
    (("layouts",), [], "layouts"),
    ((*LAYOUT, "ranks"), 4, "unknown key 'ranks'"),
    ((*LAYOUT, "hosts"), [0, 2, 1], "does not number hosts by their first ranks"),
    ((*LAYOUT, "hosts"), [0, True], r"hosts\[1\]' is true, not an integer"),
    ((*LAYOUT, "hosts"), [0, -1], r"hosts\[1\]' is -1, below 0"),
    ((*LAYOUT, "collectives", "scater"), {}, "unknown key 'scater'; did you mean scatter"),
    ((*LAYOUT, "collectives", "scatter", "rule"), [], "unknown key 'rule'"),
    ((*LAYOUT, "collectives", "scatter", "rules", 0, "size"), 1, r"rules\[0\]: unknown key 'size'"),
    ((*LAYOUT, "collectives", "scatter", "rules", 0, "to_bytes"), 1, "8 to 1 is out of order"),
    (
        (*LAYOUT, "collectives", "scatter", "rules", 0, "from_bytes"),
        -1,
        "from_bytes' is -1, below 0",
    ),
    (
        (*LAYOUT, "collectives", "allgatherv", "rules", 0, "to_bytes"),
        8,
        r"allgatherv\.rules must be one rule from 0 to 18446744073709551615: ranks do not know",
    ),
    (
        (*LAYOUT, "collectives", "scatter", "points", 0, "default"),
        1,
        "default' is 1, not an object",
    ),
    (
        (*LAYOUT, "collectives", "scatter", "points", 0, "candidates", 0, "origin"),
        "x",
        'origin\' is "x", none of lanewise, mpi',
    ),
    (
        (*LAYOUT, "collectives", "scatter", "points", 0, "confirmation", "when"),
        1,
        "unknown key 'when'",
    ),
]


@pytest.mark.parametrize(("place", "value", "sentence"), CHANGES)
def test_what_does_not_fit_is_refused_by_name(
    tmp_path: Path, place: tuple[Any, ...], value: object, sentence: str
) -> None:
    values = copy.deepcopy(values_of(specimen()))
    inner: Any = values
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    path = tmp_path / "tuning.json"
    path.write_text(json.dumps(values), encoding="utf-8")

    with pytest.raises(RequestError, match=sentence) as refused:
        load(path)

    assert str(path) in str(refused.value)


@pytest.mark.parametrize("key", sorted(values_of(specimen())))
def test_each_key_of_the_file_is_needed(tmp_path: Path, key: str) -> None:
    values = values_of(specimen())
    del values[key]
    path = tmp_path / "tuning.json"
    path.write_text(json.dumps(values), encoding="utf-8")

    with pytest.raises(RequestError, match=f"key '{key}' is missing"):
        load(path)


def version_1() -> dict[str, Any]:
    """Return the specimen as version 1 has it, of four ranks on two hosts."""
    values = values_of(specimen())
    layout = values.pop("layouts")[0]
    del layout["hosts"], layout["launches"]
    return {**values, **layout, "version": 1, "ranks": 4, "layout": [2, 2]}


def test_a_file_of_version_1_is_read(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    path.write_text(json.dumps(version_1()), encoding="utf-8")

    found = load(path)

    assert values_of(replace(found, in_any_order=False)) == values_of(
        replace(specimen(), hosts=(0, 0, 1, 1))
    )
    assert found.launches == 0
    assert found.in_any_order
    assert found.collectives["scatter"].rules


def test_a_layout_whose_order_is_not_known_is_not_written_as_if_it_were(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    path.write_text(json.dumps(version_1()), encoding="utf-8")

    with pytest.raises(RequestError, match="in which order its 4 ranks are on their hosts"):
        values_of(load(path))


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("ranks", 5, "layout places 4 ranks of 5"),
        ("layout", [4, 0], "layout is \\[4, 0\\]"),
        ("layout", [2_000_000_000], "layout places 2000000000 ranks, more than 16777216"),
        ("layout", None, "key 'layout' is missing"),
        ("collectives", None, "key 'collectives' is missing"),
    ],
)
def test_a_file_of_version_1_that_does_not_fit_is_refused(
    tmp_path: Path, key: str, value: object, sentence: str
) -> None:
    values = version_1()
    values.pop(key)
    path = tmp_path / "tuning.json"
    more = {} if value is None else {key: value}
    path.write_text(json.dumps({**values, **more}), encoding="utf-8")

    with pytest.raises(RequestError, match=sentence):
        load(path)


def test_what_is_not_json_or_not_there_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    with pytest.raises(RequestError, match="does not exist"):
        load(path)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(RequestError, match="is not JSON"):
        load(path)


def test_hosts_are_numbered_by_their_first_ranks() -> None:
    assert number_hosts(["b", "a", "b", "a", "c"]) == (0, 1, 0, 1, 2)
