# SPDX-License-Identifier: BSD-3-Clause
"""The compiled check and jsonschema agree, on every schema and on values that almost follow it."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from lanewise.files import schemas
from lanewise.files.check import compiled
from lanewise.results import specimen

NAMES = sorted(path.name.removesuffix(".schema.json") for path in schemas.folder().glob("*.json"))
RECORDS = [
    *specimen.records(sizes_bytes=[8]),
    specimen.point_record("pairs", 8, [1e-6], peer=1, reply_bytes=8, low_s=None),
]
ODD: list[Any] = [None, True, 0, -1, 2.0, 2.5, "", "x", [], [True], ["x"], [1.5, 2], {}, {"x": 1}]


def agree(value: Any, name: str) -> None:
    schema = schemas.schema_of(name)
    assert schemas.check_of(name)(value) == Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize("name", NAMES)
def test_every_schema_is_one_and_can_be_compiled(name: str) -> None:
    Draft202012Validator.check_schema(schemas.schema_of(name))

    for value in ODD:
        agree(value, name)


def paths_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    pairs: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        pairs = list(value.items())
    elif isinstance(value, list):
        pairs = list(enumerate(value))[:2]
    return [path, *(deeper for key, held in pairs for deeper in paths_in(held, (*path, key)))]


@given(st.sampled_from(RECORDS), st.data())
def test_they_agree_on_records_with_one_change(record: dict[str, Any], data: st.DataObject) -> None:
    changed = copy.deepcopy(record)
    path = data.draw(st.sampled_from(paths_in(record)[1:]))
    inner: Any = changed
    for key in path[:-1]:
        inner = inner[key]
    if isinstance(inner, dict) and data.draw(st.booleans()):
        del inner[path[-1]]
    else:
        inner[path[-1]] = data.draw(st.sampled_from(ODD))

    agree(changed, "samples")


@pytest.mark.parametrize("record", RECORDS, ids=json.dumps)
def test_records_follow_the_schema(record: dict[str, Any]) -> None:
    assert schemas.fault_in(record, "samples") is None


def test_a_keyword_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="patternProperties"):
        compiled({"patternProperties": {}}, {})
