# SPDX-License-Identifier: BSD-3-Clause
"""The schemas of our files, and the sentence that says where a value does not follow one."""

from __future__ import annotations

import difflib
import errno
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanewise.errors import RequestError, cut, unusable_in
from lanewise.files.check import TYPES, Check, compiled, one_of

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

Place = Iterable[str | int]
FAULTS_MAX = 1000  # each takes a moment to find, and a list of samples may have millions
DEPTH_MAX = 64  # as native programs have it
UPGRADE = "upgrade lanewise"
TOO_DEEP = "values are nested too deeply"
KINDS = {
    "object": "an object",
    "array": "a list",
    "string": "a string",
    "boolean": "true or false",
    "number": "a number",
    "integer": "an integer",
    "null": "null",
}
LIMITS = {
    "minimum": "below",
    "maximum": "above",
    "exclusiveMinimum": "not above",
    "exclusiveMaximum": "not below",
}


@dataclass(frozen=True)
class Fault:
    """What is wrong in a value: the path of the key, and the sentence."""

    path: tuple[str | int, ...]
    sentence: str


class TwiceError(ValueError):
    """A key that an object has twice, of which one would be lost."""


def folder() -> Path:
    """Return where the schemas are: in the package where it is installed, else in the source."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "schema"
    return installed if installed.is_dir() else package.parents[1] / "schema"


@cache
def schema_of(name: str, definition: str = "") -> dict[str, Any]:
    """Return the schema called `name`, or one of its definitions as a schema of its own."""
    text = (folder() / f"{name}.schema.json").read_text(encoding="utf-8")
    whole: dict[str, Any] = json.loads(text)
    return {**whole["$defs"][definition], "$defs": whole["$defs"]} if definition else whole


@cache
def explainer() -> Callable[[Any], Validator]:
    """Return the validator of jsonschema, with the types as the compiled checks know them."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415 (slow, and seldom needed)
    from jsonschema.validators import extend  # noqa: PLC0415

    known = {name: partial(_is, holds) for name, holds in TYPES.items()}
    types = Draft202012Validator.TYPE_CHECKER.redefine_many(known)
    found: Callable[[Any], Validator] = extend(  # type: ignore[no-untyped-call]
        Draft202012Validator, type_checker=types
    )
    return found


def _is(holds: Check, _checker: object, value: Any) -> bool:
    return holds(value)


@cache
def check_of(name: str, definition: str = "") -> Check:
    """Return the compiled check of a schema."""
    schema = schema_of(name, definition)
    return compiled(schema, schema)


def fault_in(value: Any, name: str, definition: str = "") -> Fault | None:
    """Return the first thing in `value` that does not follow a schema, None where all does."""
    if check_of(name, definition)(value):
        return None
    found = explainer()(schema_of(name, definition)).iter_errors(value)
    errors = list(islice(found, FAULTS_MAX))
    if not errors:
        return Fault((), f"it does not follow {name}.schema.json")
    first = min(errors, key=lambda error: (len(error.absolute_path), str(error.absolute_path)))
    return Fault(tuple(first.absolute_path), sentence_of(first))


def require(
    value: Mapping[str, Any],
    name: str,
    where: str | Callable[[Place], str],
    *,
    definition: str = "",
    remedy: str = "",
) -> None:
    """Raise RequestError where `value` does not follow a schema.

    `where` is the file, or tells the file and line of a path in it.
    """
    if not definition and (sentence := newer(value, name)):
        place = where if isinstance(where, str) else where(("version",))
        raise RequestError(f"{place}: {sentence}; {UPGRADE}")
    fault = fault_in(value, name, definition)
    if fault is not None:
        place = where if isinstance(where, str) else where(fault.path)
        raise RequestError(f"{place}: {with_remedy(fault.sentence, remedy)}")


def newer(value: Mapping[str, Any], name: str) -> str:
    """Return what is wrong with a file of a later version than its schema, empty for others."""
    known = schema_of(name)["properties"]
    latest = known["version"]["const"]
    version = value.get("version")
    if value.get("schema") != known["schema"]["const"]:
        return ""
    if type(version) is not int or version <= latest:
        return ""
    return f"version {version} is newer than version {latest}, which this lanewise reads"


def with_remedy(sentence: str, remedy: str) -> str:
    """Return a sentence with its remedy, unless it asks for one already."""
    return sentence if sentence.endswith("?") or not remedy else f"{sentence}; {remedy}"


def sentence_of(error: ValidationError) -> str:
    """Return what is wrong, with the key and what would be right."""
    instance: Any = error.instance
    wanted: Any = error.validator_value
    schema: Any = error.schema
    path = path_text(error.absolute_path)
    within = f"{path}: " if path else ""
    if "propertyNames" in error.absolute_schema_path:
        return within + unknown_key([instance], wanted)
    if error.validator == "additionalProperties":
        return within + unknown_key(instance, schema.get("properties", {}))
    if error.validator == "required":
        missing = next(key for key in wanted if key not in instance)
        return f"{within}key '{missing}' is missing"
    key = f"key '{path}'" if path else "the file"
    return f"{key} is {shown(instance)}, {expected(str(error.validator), wanted, instance, schema)}"


def expected(keyword: str, wanted: Any, instance: Any, schema: Mapping[str, Any]) -> str:
    """Return what a value should be."""
    if keyword == "type":
        return other_type([wanted] if isinstance(wanted, str) else wanted, instance)
    if keyword == "const":
        return f"not {shown(wanted)}"
    if keyword == "enum":
        return f"none of {', '.join(str(one) for one in wanted if one != '')}" + hint(
            str(instance), map(str, wanted)
        )
    if keyword in LIMITS:
        return f"{LIMITS[keyword]} {wanted}"
    if keyword in ("minItems", "maxItems"):
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        return f"not a list of {least} {f'to {most}' if most else 'or more'}"
    return "which does not follow the schema"


def other_type(names: Iterable[str], instance: Any) -> str:
    """Return what a value of another type should be."""
    if type(instance) is int and {"number", "integer"} & {*names}:
        return "outside the range of a double"
    return f"not {' or '.join(KINDS[name] for name in names)}"


def hint(name: str, known: Iterable[str]) -> str:
    """Return what somebody may have meant by `name`, empty where nothing is close."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def unknown_key(keys: Iterable[str], known: Collection[str]) -> str:
    """Return the sentence about the first key that is not known."""
    key = next(key for key in keys if key not in known)
    return f"unknown key {cut(repr(key))}{hint(key, known)}"


def path_text(path: Place) -> str:
    """Write a path as in `collectives.bcast.rules[0]`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return re.sub(r"^\.", "", text)


def shown(value: Any) -> str:
    """Write a value as JSON, a long one cut off; a date of TOML as a string."""
    return cut(json.dumps(value, default=str))


def parsed(text: str) -> Any:
    """Return the value of a JSON text; ValueError says why there is none, whatever the text is."""
    try:
        value = json.loads(text, object_pairs_hook=_object_of)
    except (json.JSONDecodeError, TwiceError):
        raise
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    except ValueError:
        raise ValueError("a number has too many digits") from None
    if text.count("[") + text.count("{") > DEPTH_MAX and _is_too_deep(value):
        raise ValueError(TOO_DEEP)
    return value


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEPTH_MAX):
        level = [
            inner
            for one in level
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, (dict, list))
        ]
    return bool(level)


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise TwiceError(f"the key {cut(repr(key))} is there twice")
            seen.add(key)
    return values


def has_version(values: Mapping[str, Any], version: int) -> bool:
    """Tell whether a file says that it is of a version; true is no 1."""
    return one_of([version])(values.get("version"))


def text_in(path: Path) -> str:
    """Return the text of a file; OSError where there is none, as in a device without an end."""
    if unusable := unusable_in(str(path)):
        raise OSError(errno.EINVAL, f"its name contains {unusable}")
    if path.is_char_device():
        raise OSError(errno.EINVAL, "it is a device")
    return path.read_text(encoding="utf-8-sig")


def object_in(path: Path, *, missing: str, damaged: str) -> dict[str, Any]:
    """Return the JSON object in a file; RequestError with a remedy for each way it can fail."""
    try:
        values = parsed(text_in(path))
    except FileNotFoundError:
        raise RequestError(f"{path} does not exist; {missing}") from None
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror}; {missing}") from None
    except ValueError as error:
        raise RequestError(f"{path} is not JSON ({error}); {damaged}") from None
    if not isinstance(values, dict):
        raise RequestError(f"{path} is not a JSON object; {damaged}")
    return values
