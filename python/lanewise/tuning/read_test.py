# SPDX-License-Identifier: BSD-3-Clause
"""tuning.json: written and read back, fits its schema, refused by name where it does not."""

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from lanewise.errors import RequestError
from lanewise.tuning.content import Tuning
from lanewise.tuning.evidence import layout_of
from lanewise.tuning.read import load
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

    assert load(path) == specimen()
    assert [found.name for found in tmp_path.iterdir()] == ["tuning.json"]


def test_what_is_written_fits_the_schema() -> None:
    jsonschema.validate(json.loads(json.dumps(values_of(specimen()))), SCHEMA)


CHANGES: list[tuple[tuple[Any, ...], Any, str]] = [
    (("schema",), "other", "schema is 'other'"),
    (("version",), 2, "version is '2'"),
    (("rank",), 4, "unknown key 'rank'"),
    (("ranks",), 5, "layout places 4 ranks of 5"),
    (("ranks",), True, "key 'ranks' is true, not an integer"),
    (("mpi", "vendor"), "x", "mpi: unknown key 'vendor'"),
    (("layout",), [4, 0], r"key 'layout\[1\]' is 0, below 1"),
    (("collectives", "scater"), {}, "unknown key 'scater'; did you mean scatter"),
    (("collectives", "scatter", "rule"), [], "unknown key 'rule'"),
    (("collectives", "scatter", "rules", 0, "size"), 1, r"rules\[0\]: unknown key 'size'"),
    (("collectives", "scatter", "rules", 0, "to_bytes"), 1, "8 to 1 is out of order"),
    (
        ("collectives", "scatter", "rules", 0, "from_bytes"),
        -1,
        "from_bytes' is -1, below 0",
    ),
    (("collectives", "scatter", "points", 0, "default"), 1, "default' is 1, not an object"),
    (
        ("collectives", "scatter", "points", 0, "candidates", 0, "origin"),
        "x",
        'origin\' is "x", none of lanewise, mpi',
    ),
    (("collectives", "scatter", "points", 0, "confirmation", "when"), 1, "unknown key 'when'"),
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


def test_what_is_not_json_or_not_there_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    with pytest.raises(RequestError, match="does not exist"):
        load(path)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(RequestError, match="is not JSON"):
        load(path)


def test_hosts_are_numbered_by_their_first_ranks() -> None:
    assert layout_of(["b", "a", "b", "a", "c"]) == (2, 2, 1)
