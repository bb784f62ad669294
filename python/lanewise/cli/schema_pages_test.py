# SPDX-License-Identifier: BSD-3-Clause
"""The pages of the schemas say what each key may be, in words."""

from pathlib import Path
from typing import Any

import pytest

from lanewise.cli.schema_pages import Page, schema_pages

ROOT = Path(__file__).parents[3]

DEFINITIONS = {
    "count": {"type": "integer", "minimum": 0},
    "host": {"type": "object", "properties": {"name": {"type": "string"}}},
}


def rows(properties: dict[str, Any], *required: str) -> list[str]:
    schema = {"title": "a.json", "properties": properties, "required": list(required)}
    page = Page({**schema, "$defs": DEFINITIONS})
    return [line for line in page.table(page.schema) if line.startswith("| `")]


def test_the_pages_in_the_repository_are_those_of_the_schemas() -> None:
    if not (ROOT / "schema").is_dir():
        pytest.skip("no clone: schema is not here")
    folder = ROOT / "docs" / "reference" / "files"
    kept = {path.name: path.read_text("utf-8") for path in folder.iterdir()}

    assert kept == schema_pages(ROOT / "schema"), "out of date; write it with: make reference"


VALUES: dict[str, tuple[dict[str, Any], str]] = {
    "a constant": ({"const": 2}, "`2`"),
    "a choice": ({"enum": ["a", "b", "c"]}, '`"a"`, `"b"` or `"c"`'),
    "a range": (
        {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        "number above `0` and at most `1`",
    ),
    "two types": ({"type": ["string", "null"]}, "text or null"),
    "examples": ({"type": "string", "examples": ["3.1"]}, 'text, such as `"3.1"`'),
    "a list": (
        {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "list of text, at least 1",
    ),
    "a pair": (
        {"type": "array", "items": {"$ref": "#/$defs/count"}, "minItems": 2, "maxItems": 2},
        "list of (integer at least `0`), 2 of them",
    ),
    "a value that is defined": ({"$ref": "#/$defs/count"}, "integer at least `0`"),
    "an object that is defined": ({"$ref": "#/$defs/host"}, "[host](#host)"),
    "one of two": (
        {"oneOf": [{"type": "null"}, {"$ref": "#/$defs/host"}]},
        "null or [host](#host)",
    ),
}


@pytest.mark.parametrize(("value", "said"), VALUES.values(), ids=VALUES.keys())
def test_a_value_is_said_in_words(value: dict[str, Any], said: str) -> None:
    assert rows({"key": value}, "key") == [f"| `key` | {said} |  |"]


def test_a_key_that_may_be_left_out_is_optional() -> None:
    value = {"type": "string", "description": "a|b"}

    assert rows({"key": value}) == ["| `key` | optional: text | a\\|b. |"]


def test_keys_of_objects_in_lists_and_maps_have_rows_of_their_own() -> None:
    inner = {"type": "object", "properties": {"rank": {"type": "integer"}}, "required": ["rank"]}
    by_name = {"type": "object", "additionalProperties": inner}

    found = rows({"all": {"type": "array", "items": inner}, "of": by_name}, "all", "of")

    assert found == [
        "| `all` | list of object |  |",
        "| `all[].rank` | integer |  |",
        "| `of` | object with any keys, each object |  |",
        "| `of.*.rank` | integer |  |",
    ]


def test_a_definition_with_keys_has_a_table_of_its_own() -> None:
    page = Page({"title": "the hosts", "oneOf": [{"$ref": "#/$defs/host"}], "$defs": DEFINITIONS})

    lines = list(page.lines("a.schema.json"))

    assert lines[0] == "# The hosts"
    assert "It is: [host](#host)." in lines
    assert lines[lines.index("## host") :][-2] == "| `name` | optional: text |  |"


def test_a_definition_of_a_list_of_objects_has_a_table_of_these() -> None:
    hosts = {"type": "array", "items": DEFINITIONS["host"], "description": "all of them"}
    key = {"$ref": "#/$defs/hosts"}
    page = Page({"title": "a", "properties": {"key": key}, "$defs": {"hosts": hosts}})

    lines = list(page.lines("a.schema.json"))

    assert "| `key` | optional: list of [hosts](#hosts) | all of them. |" in lines
    assert lines[lines.index("## hosts") :][-2] == "| `name` | optional: text |  |"


def test_each_key_of_each_file_has_a_meaning() -> None:
    if not (ROOT / "schema").is_dir():
        pytest.skip("no clone: schema is not here")

    without = [
        f"{name}: {line}"
        for name, text in schema_pages(ROOT / "schema").items()
        for line in text.splitlines()
        if line.startswith("| `") and line.endswith("|  |")
    ]

    assert without == []
