# SPDX-License-Identifier: BSD-3-Clause
"""Options of the native program as keywords of Python.

A value may be the text of the command line, or a number in the option's unit: seconds, bytes, or a
fraction for a share.  The native program has the one parser, and refuses what it cannot use.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from lanewise.launch.describe import OptionDescription
from lanewise.launch.native_arguments import INTERNAL, parameter_name

# What `lanewise.measure` and `lanewise.tune` have arguments for or decide by themselves, and what
# has no meaning in Python.
OWN = ("operations", "collectives", "budget", "output", "resume", "list", "as")


def texts_of(values: Mapping[str, Any], described: Iterable[OptionDescription]) -> dict[str, Any]:
    """Return values as the command line has them, by parameter name; None and False are left out.

    Raises TypeError for a name that is no option, with one that is near, and for a flag that is
    neither true nor false.
    """
    options = {parameter_name(one): one for one in described if one.name not in (*INTERNAL, *OWN)}
    for name in values:
        if name not in options:
            close = difflib.get_close_matches(name, options, n=1)
            hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(options)}"
            raise TypeError(f"unknown option '{name}'; {hint}")
    return {name: text_of(value, options[name]) for name, value in values.items()}


def text_of(value: Any, option: OptionDescription) -> Any:
    """Return one value as the command line has it; a list where the option may be repeated.

    Raises TypeError for a flag that is neither true nor false.
    """
    if option.type == "flag" and value is not None:
        if not isinstance(value, (bool, np.bool_)):
            raise TypeError(f"{parameter_name(option)}={value!r} is neither True nor False")
        return bool(value)
    if option.repeatable and value is not None:
        return [value] if isinstance(value, str) else [str(part) for part in value]
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (Sequence, np.ndarray)):
        separator = ":" if option.type == "repetitions" else ","
        return separator.join(str(part) for part in value)
    return f"{float(value)!r}s" if option.type == "duration" else str(value)
