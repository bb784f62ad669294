# SPDX-License-Identifier: BSD-3-Clause
"""The compiled check and jsonschema agree on every schema that is read."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lanewise.files import schemas
from lanewise.files.check import compiled

NAMES = ("interleaved", "platform", "samples", "suite", "transport", "tuning")
ODD: list[Any] = [None, True, 0, -1, 2.0, 2.5, "", "x", [], [True], ["x"], [1.5, 2], {}, {"x": 1}]


def agree(value: Any, name: str) -> None:
    schema = schemas.schema_of(name)
    assert schemas.check_of(name)(value) == Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_one_and_can_be_compiled(name: str) -> None:
    Draft202012Validator.check_schema(schemas.schema_of(name))

    for value in ODD:
        agree(value, name)


def test_a_keyword_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="patternProperties"):
        compiled({"patternProperties": {}}, {})


def test_a_definition_may_lead_back_to_itself() -> None:
    tree: dict[str, Any] = {"type": "object", "properties": {"below": {"$ref": "#/$defs/tree"}}}
    check = compiled({"$ref": "#/$defs/tree"}, {"$defs": {"tree": tree}})

    assert check({"below": {"below": {}}})
    assert not check({"below": {"below": 1}})


@pytest.mark.parametrize(
    ("value", "follows"),
    [(1, True), (1.0, True), (2.0, False), (True, False), ("1", False), (None, False)],
)
@pytest.mark.parametrize("schema", [{"const": 1}, {"enum": [1, "x"]}])
def test_a_number_is_the_same_with_and_without_a_point(
    schema: dict[str, Any], value: Any, *, follows: bool
) -> None:
    assert compiled(schema, {})(value) == follows
    assert Draft202012Validator(schema).is_valid(value) == follows
