# SPDX-License-Identifier: BSD-3-Clause
"""The docstrings that the reference of Python shows tell errors, shapes of arrays, and units."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = (ROOT / "docs" / "site" / "api" / "python.md").read_text(encoding="utf-8")
# How the package writes the types of arrays.
ARRAYS = re.compile(r"\b(NDArray|Floats|Integers|Array)\b")
# What parameters with a unit are called, and the word for it; another function may say it as well.
UNITS = {
    re.compile(r"memory|sizes?|\w+_bytes"): "bytes",
    re.compile(r"\w*(time|timeout|delay|budget|interval)|\w+_s"): "seconds",
}
ELSEWHERE = re.compile(r"\b(as for|those of) `|`[\w.]+` with these arguments")


def functions() -> Iterator[tuple[str, Callable[..., Any], str]]:
    """Yield the functions, methods and properties of the reference: name, function, docstring.

    What a method does not say, its class may.
    """
    for place, name in re.findall(r"^\.\. auto\w+:: ([\w.]+)\.(\w+)$", REFERENCE, re.M):
        described = getattr(import_module(place), name)
        if not inspect.isclass(described):
            yield name, inspect.unwrap(described), inspect.getdoc(described) or ""
            continue
        for member in (one for one in vars(described) if not one.startswith("_")):
            plain = inspect.getattr_static(described, member)
            function = getattr(plain, "fget", None) or getattr(plain, "__func__", plain)
            if inspect.isfunction(function):
                told = f"{inspect.getdoc(described)}\n{inspect.getdoc(function)}"
                yield f"{name}.{member}", function, told


def raised(function: Callable[..., Any]) -> set[str]:
    """Return the errors that a function raises itself."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    calls = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    return {ast.unparse(call.func) for call in calls if isinstance(call, ast.Call)}


ALL = list(functions())


def test_the_reference_has_functions_with_errors_and_with_arrays() -> None:
    assert len(ALL) > 80
    assert sum(bool(raised(function)) for _, function, _ in ALL) > 10


@pytest.mark.parametrize(("name", "function", "told"), ALL, ids=[name for name, _, _ in ALL])
def test_a_docstring_names_the_errors_and_the_shape(
    name: str, function: Callable[..., Any], told: str
) -> None:
    assert [error for error in raised(function) if error not in told] == []
    if ARRAYS.search(str(function.__annotations__.get("return", ""))):
        assert re.search(r"\bshape\b|\barray in memory\b", told), f"{name}: of which shape?"


@pytest.mark.parametrize(("name", "function", "told"), ALL, ids=[name for name, _, _ in ALL])
def test_a_docstring_gives_the_units_of_sizes_and_times(
    name: str, function: Callable[..., Any], told: str
) -> None:
    for parameter in inspect.signature(function).parameters:
        units = [unit for named, unit in UNITS.items() if named.fullmatch(parameter)]
        given = ELSEWHERE.search(told) or all(re.search(rf"\b{unit}\b", told) for unit in units)
        assert given, f"{name}: {parameter} in {' or '.join(units)}?"
