# SPDX-License-Identifier: BSD-3-Clause
"""A schema compiled to one function that says whether a value follows it, and nothing more.

A file of samples has millions of numbers, for which jsonschema, which can also say what is wrong,
takes minutes.  So values are checked here, and jsonschema is asked only about those that fail.
A keyword that is not known here is refused when the schema is compiled.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Check = Callable[[Any], bool]

ANNOTATIONS = {"$schema", "$id", "$defs", "$comment", "title", "description", "examples", "default"}


def is_number(value: Any) -> bool:
    """Tell whether a value is a number that can be computed with.

    True and false are none in JSON, nor is there a NaN or an infinity.
    """
    return type(value) in (float, int) and all_finite([value])


def all_finite(values: Iterable[float]) -> bool:
    """Tell whether numbers are finite, and whole ones not too large for what computes with them."""
    try:
        return all(map(math.isfinite, values))
    except OverflowError:
        return False


def is_integer(value: Any) -> bool:
    """Tell whether a value is a whole number that can be computed with."""
    return is_number(value) and value == int(value)


TYPES: dict[str, Check] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": is_number,
    "integer": is_integer,
}

# Limits hold for what they are about, and say nothing of other values.
LIMITS: dict[str, Callable[[Any, Any], bool]] = {
    "minimum": lambda value, limit: not is_number(value) or value >= limit,
    "maximum": lambda value, limit: not is_number(value) or value <= limit,
    "exclusiveMinimum": lambda value, limit: not is_number(value) or value > limit,
    "exclusiveMaximum": lambda value, limit: not is_number(value) or value < limit,
    "minLength": lambda value, limit: not isinstance(value, str) or len(value) >= limit,
    "pattern": lambda value, text: not isinstance(value, str) or bool(re.search(text, value)),
    "minItems": lambda value, limit: not isinstance(value, list) or len(value) >= limit,
    "maxItems": lambda value, limit: not isinstance(value, list) or len(value) <= limit,
}
OBJECT = {"properties", "required", "additionalProperties", "propertyNames"}


def compiled(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Check:
    """Return the check of `schema`, a part of `root`; ValueError for a keyword not known here."""
    return Compiler(root).check(schema)


class Compiler:
    """Compiles the parts of one schema, each of its definitions once."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self.definitions: dict[str, Check] = {}

    def check(self, schema: Mapping[str, Any]) -> Check:
        """Return the check of a part."""
        checks: list[Check] = []
        for keyword, argument in schema.items():
            if keyword == "$ref":
                checks.append(self.definition(argument.removeprefix("#/$defs/")))
            elif keyword == "type":
                checks.append(of_type(argument))
            elif keyword in ("const", "enum"):
                checks.append(one_of([argument] if keyword == "const" else argument))
            elif keyword == "items":
                checks.append(of_items(self.check(argument)))
            elif keyword == "oneOf":
                checks.append(exactly_one([self.check(each) for each in argument]))
            elif keyword == "anyOf":
                checks.append(at_least_one([self.check(each) for each in argument]))
            elif keyword in LIMITS:
                checks.append(limited(LIMITS[keyword], argument))
            elif keyword not in ANNOTATIONS | OBJECT:
                raise ValueError(f"the keyword '{keyword}' of a schema is not known here")
        if OBJECT & schema.keys():
            checks.append(self.of_object(schema))
        return checks[0] if len(checks) == 1 else lambda value: all(one(value) for one in checks)

    def definition(self, name: str) -> Check:
        """Return the check of a definition, which may lead back to itself."""
        if name not in self.definitions:

            def later(value: Any) -> bool:
                return self.definitions[name](value)

            self.definitions[name] = later
            self.definitions[name] = self.check(self.root["$defs"][name])
        return self.definitions[name]

    def of_object(self, schema: Mapping[str, Any]) -> Check:
        """Return the check of the keys of an object and of what they hold."""
        known = {key: self.check(each) for key, each in schema.get("properties", {}).items()}
        required = frozenset(schema.get("required", ()))
        named = self.check(schema.get("propertyNames", {}))
        others = schema.get("additionalProperties", {})
        further = None if others is False else self.check({} if others is True else others)

        def check(value: Any) -> bool:
            if not isinstance(value, dict):
                return True
            if not required <= value.keys() or not all(map(named, value)):
                return False
            for key, held in value.items():
                fits = known.get(key, further)
                if fits is None or not fits(held):
                    return False
            return True

        return check


def of_type(names: str | list[str]) -> Check:
    """Return the check of `type`."""
    if isinstance(names, str):
        return TYPES[names]
    return at_least_one([TYPES[name] for name in names])


def one_of(values: list[Any]) -> Check:
    """Return the check of `enum`; 1 and 1.0 are the same number, and 1 and true are not."""
    return lambda value: any(kind_of(value) is kind_of(one) and value == one for one in values)


def kind_of(value: Any) -> type:
    """Return the type of a value in JSON, which has one type of numbers."""
    return float if type(value) is int else type(value)


def exactly_one(checks: list[Check]) -> Check:
    """Return the check of `oneOf`."""
    return lambda value: sum(check(value) for check in checks) == 1


def at_least_one(checks: list[Check]) -> Check:
    """Return the check of `anyOf`."""
    return lambda value: any(check(value) for check in checks)


def limited(holds: Callable[[Any, Any], bool], limit: Any) -> Check:
    """Return the check of a limit."""
    return lambda value: holds(value, limit)


def of_items(check: Check) -> Check:
    """Return the check of the items of a list."""
    if check is is_number:  # of samples, of which there are many
        return lambda value: (
            not isinstance(value, list)
            or ({*map(type, value)} <= {float, int} and all_finite(value))
        )
    return lambda value: not isinstance(value, list) or all(map(check, value))
