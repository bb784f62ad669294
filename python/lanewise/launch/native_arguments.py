# SPDX-License-Identifier: BSD-3-Clause
"""The arguments of a native program, from values by the names of its options.

The program describes its options (describe.py) and has the one parser of their values; here a value
merely becomes text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from keyword import iskeyword
from typing import Any

from lanewise.launch.describe import OptionDescription

# What only other programs ask of a native program, and what a launch of ranks says by itself.
INTERNAL = (
    "events", "finalists", "plan", "ranks", "launch", "launches", "launcher", "transport",
    "launcher-args",
)  # fmt: skip


def parameter_name(described: OptionDescription) -> str:
    """Return the name of the parameter that gets an option's value, such as time_limit or as_."""
    name = described.name.replace("-", "_")
    return f"{name}_" if iskeyword(name) else name


def arguments_of(options: Iterable[OptionDescription], values: Mapping[str, Any]) -> list[str]:
    """Return the arguments for `values` by parameter name; what was not given is left out."""
    return [word for one in options for word in _words(one, values.get(parameter_name(one)))]


def _words(one: OptionDescription, value: Any) -> list[str]:
    if value is None or value is False or value == "":
        return []
    if one.positional:
        return [str(part) for part in value] if one.repeatable else [str(value)]
    long = one.names[-1]
    if one.type == "flag":
        return [long]
    return [f"{long}={part}" for part in (value if one.repeatable else [value])]
