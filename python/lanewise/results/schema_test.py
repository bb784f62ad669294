# SPDX-License-Identifier: BSD-3-Clause
"""The JSON schema and the reader agree on every key."""

import json
from dataclasses import MISSING, fields
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

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
