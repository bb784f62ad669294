# SPDX-License-Identifier: BSD-3-Clause
"""The pages in docs/reference/files: each JSON schema as tables of keys, values and meanings.

A table has the keys of one object, with those of objects inside it as `outer.inner`, `list[]` and
`map.*`.  What a schema defines as an object of its own has a table of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

SUFFIX = ".schema.json"
DEFINITION = "#/$defs/"
# How a bound is said, by the key that has it.
BOUNDS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "below {}",
    "pattern": "that matches {}",
}


def schema_pages(folder: Path) -> dict[str, str]:
    """Return the text of each page by its file name: one of each schema, and their list."""
    texts = {"README.md": "\n".join(index(folder)) + "\n"}
    for path in schemas_in(folder):
        schema = json.loads(path.read_text("utf-8"))
        texts[page_of(path)] = "\n".join(Page(schema).lines(path.name)) + "\n"
    return texts


def schemas_in(folder: Path) -> list[Path]:
    """Return the schemas in the order of their names."""
    return sorted(folder.glob(f"*{SUFFIX}"))


def page_of(path: Path) -> str:
    """Return the file name of the page of a schema."""
    return f"{path.name.removesuffix(SUFFIX)}.md"


def index(folder: Path) -> Iterator[str]:
    """Yield the lines of the page that lists the others."""
    yield from (
        "# Files", "",
        "These pages list every key of the files that Lanewise writes and reads. `make reference`",
        "writes them from the schemas in `schema/`, with which the readers check files.",
        "", "| page | file |", "|---|---|",
    )  # fmt: skip
    for path in schemas_in(folder):
        title = capital(json.loads(path.read_text("utf-8"))["title"])
        yield f"| [{path.name.removesuffix(SUFFIX)}]({page_of(path)}) | {title} |"


# Keys whose value is fixed, and what they mean.
CONSTANTS = {
    "record": "Kind of the line",
    "schema": "Name of the format",
    "version": "Version of the format",
}


def name_behind(value: Schema) -> str:
    """Return the name of the definition that a value refers to; nothing where it is none."""
    return str(value.get("$ref", "")).removeprefix(DEFINITION)


class Page:
    """The page of one schema."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.definitions: dict[str, Schema] = schema.get("$defs", {})

    def lines(self, name: str) -> Iterator[str]:
        """Yield the lines of the page."""
        title = str(self.schema["title"])
        yield from (f"# {capital(title)}", "")
        if "description" in self.schema:
            yield from (sentence(self.schema["description"]), "")
        yield from (f"Programs can use [the schema itself](../../../schema/{name}).", "")
        if "properties" in self.schema:
            yield from self.table(self.schema)
        elif "oneOf" in self.schema or "$ref" in self.schema:
            yield from (f"It is: {self.value(self.schema)}.", "")
        for own in self.definitions:
            if self.has_table(own):
                yield from (f"## {own}", "")
                if "description" in self.definitions[own]:
                    yield from (sentence(self.definitions[own]["description"]), "")
                yield from self.table(self.described(own))

    def has_table(self, name: str) -> bool:
        """Tell whether a definition is an object with keys, or a list of them: it has a table."""
        return "properties" in self.described(name)

    def described(self, name: str) -> Schema:
        """Return the object that the table of a definition is about."""
        definition = self.definitions[name]
        items = definition.get("items", {})
        return items if "properties" in items else definition

    def table(self, schema: Schema) -> Iterator[str]:
        """Yield the table of an object."""
        yield from ("| key | value | meaning |", "|---|---|---|")
        yield from self.rows("", schema)
        yield ""

    def rows(self, above: str, schema: Schema) -> Iterator[str]:
        """Yield a row for each key of an object, and for those of the objects inside it."""
        required = schema.get("required", [])
        for key, value in schema.get("properties", {}).items():
            optional = "" if key in required else "optional: "
            meaning = cell(sentence(self.meaning(key, value)))
            yield f"| `{above}{key}` | {optional}{cell(self.value(value))} | {meaning} |"
            yield from self.rows_inside(f"{above}{key}", value)

    def meaning(self, key: str, value: Schema) -> str:
        """Return what a value means: as it says, or the definition that it refers to."""
        constant = CONSTANTS.get(key, "") if "const" in value else ""
        return str(value.get("description", constant or self.behind(value).get("description", "")))

    def behind(self, value: Schema) -> Schema:
        """Return the definition that a value refers to."""
        name = name_behind(value)
        return self.definitions[name] if name else {}

    def rows_inside(self, key: str, value: Schema) -> Iterator[str]:
        """Yield the rows of an object, a list of objects or a map of objects that is a value."""
        name = name_behind(value)
        if name and not self.has_table(name):
            yield from self.rows_inside(key, self.definitions[name])
        yield from self.rows(f"{key}.", value)
        for inner, where in (("items", "[]"), ("additionalProperties", ".*")):
            if isinstance(value.get(inner), dict):
                yield from self.rows_inside(f"{key}{where}", value[inner])
        for one in (*value.get("oneOf", []), *value.get("anyOf", [])):
            yield from self.rows_inside(key, one)

    def value(self, schema: Schema) -> str:
        """Return what a value may be, in words."""
        if "$ref" in schema:
            return self.referred(name_behind(schema))
        if "const" in schema:
            return code(schema["const"])
        if "enum" in schema:
            return alternatives([code(one) for one in schema["enum"]])
        for key in ("oneOf", "anyOf"):
            each = [self.value(one) for one in schema.get(key, [])]
            if any(each):
                return alternatives(each)
        said = self.of_type(schema)
        bounds = [BOUNDS[key].format(code(schema[key])) for key in BOUNDS if key in schema]
        examples = [code(one) for one in schema.get("examples", [])]
        such = [f"such as {alternatives(examples)}"] if examples and said else []
        return ", ".join([" ".join([said, " and ".join(bounds)]).strip(), *count(schema), *such])

    def of_type(self, schema: Schema) -> str:
        """Return the type of a value; of a list and of a map also what is in it."""
        kinds = schema.get("type", [])
        said = []
        for kind in [kinds] if isinstance(kinds, str) else kinds:
            inside = {"array": "items", "object": "additionalProperties"}.get(kind, "")
            content = schema.get(inside)
            inner = self.value(content) if isinstance(content, dict) else ""
            if kind == "array":
                said.append(f"list of ({inner})" if " " in inner else f"list of {inner}")
            elif kind == "object" and inner:
                said.append(f"object with any keys, each {inner}")
            else:
                said.append("text" if kind == "string" else kind)
        return alternatives(said)

    def referred(self, name: str) -> str:
        """Return what a definition is: a link to its table, or its value."""
        if self.has_table(name):
            listed = "" if "properties" in self.definitions[name] else "list of "
            return f"{listed}[{name}](#{name})"
        return self.value(self.definitions[name])


def count(schema: Schema) -> list[str]:
    """Return how many values a list may have, none where it may have any number."""
    least, most = schema.get("minItems", 0), schema.get("maxItems")
    if least and least == most:
        return [f"{least} of them"]
    said = [f"at least {least}"] if least else []
    said += [f"at most {most}"] if most is not None else []
    return [" and ".join(said)] if said else []


def capital(title: str) -> str:
    """Return a title with a capital letter, unless it begins with the name of a file."""
    return title if "." in title.split(maxsplit=1)[0] else title[:1].upper() + title[1:]


def alternatives(said: list[str]) -> str:
    """Return alternatives as one would say them."""
    *first, last = said or [""]
    return f"{', '.join(first)} or {last}" if first else last


def code(value: Any) -> str:
    """Return a value as it stands in a file."""
    return f"`{json.dumps(value, ensure_ascii=False)}`"


def sentence(text: str) -> str:
    """Return text with a full stop if it has none."""
    return text if not text or text.endswith((".", "?")) else f"{text}."


def cell(text: str) -> str:
    """Return text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")
