# SPDX-License-Identifier: BSD-3-Clause
"""The JSON schema and the reader agree on every key."""

import copy
import json
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from lanewise.files.schemas import check_of, fault_in
from lanewise.results import specimen
from lanewise.results.records import (
    ClockCheck,
    Context,
    End,
    Point,
    Polling,
    Waiting,
)

SCHEMA = json.loads(
    (Path(__file__).parents[3] / "schema" / "samples.schema.json").read_text(encoding="utf-8")
)
FRAME = {"context": {"record", "schema", "version"}}


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("context", Context),
        ("point", Point),
        ("clock", ClockCheck),
        ("polling", Polling),
        ("waiting", Waiting),
        ("end", End),
    ],
)
def test_schema_and_reader_know_the_same_keys(name: str, kind: type) -> None:
    frame = FRAME.get(name, {"record"})

    assert set(SCHEMA["$defs"][name]["properties"]) == {item.name for item in fields(kind)} | frame
    needed = {
        item.name
        for item in fields(kind)
        if item.default is MISSING and item.default_factory is MISSING
    }
    assert set(SCHEMA["$defs"][name]["required"]) == needed | frame


def test_the_specimen_follows_the_schema() -> None:
    validator = Draft202012Validator(SCHEMA)

    for record in specimen.records():
        validator.validate(record)


def test_an_unknown_key_breaks_the_schema() -> None:
    point = specimen.point_record("scatter", 8, [1e-6], colour="red")

    with pytest.raises(ValidationError):
        Draft202012Validator(SCHEMA).validate(point)


RECORDS = [
    *specimen.records(sizes_bytes=[8]),
    specimen.point_record("pairs", 8, [1e-6], peer=1, reply_bytes=8, low_s=None),
]
ODD: list[Any] = [None, True, 0, -1, 2.0, 2.5, "", "x", [], [True], ["x"], [1.5, 2], {}, {"x": 1}]


def paths_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    pairs: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        pairs = list(value.items())
    elif isinstance(value, list):
        pairs = list(enumerate(value))[:2]
    return [path, *(deeper for key, held in pairs for deeper in paths_in(held, (*path, key)))]


@given(st.sampled_from(RECORDS), st.data())
def test_the_check_agrees_with_jsonschema_after_a_change(
    record: dict[str, Any], data: st.DataObject
) -> None:
    changed = copy.deepcopy(record)
    path = data.draw(st.sampled_from(paths_in(record)[1:]))
    inner: Any = changed
    for key in path[:-1]:
        inner = inner[key]
    if isinstance(inner, dict) and data.draw(st.booleans()):
        del inner[path[-1]]
    else:
        inner[path[-1]] = data.draw(st.sampled_from(ODD))

    assert check_of("samples")(changed) == Draft202012Validator(SCHEMA).is_valid(changed)


@pytest.mark.parametrize("record", RECORDS, ids=json.dumps)
def test_records_follow_the_schema(record: dict[str, Any]) -> None:
    assert fault_in(record, "samples") is None
