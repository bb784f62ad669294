# SPDX-License-Identifier: BSD-3-Clause
"""Options that several commands share, or that a table declares, added to a command's own.

typer reads the options of a command from the signature of its function.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import typer

Command = Callable[..., None]


def option(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    """Return an option as the parameter of a command."""
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def with_options(options: Sequence[inspect.Parameter]) -> Callable[[Command], Command]:
    """Give a command `options`, in the place of its `**` parameter, which gets their values."""

    def add(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]

        @functools.wraps(command)
        def wrapped(**values: Any) -> None:
            command(**values)

        parameters = [*own, *options]
        setattr(wrapped, "__signature__", signature.replace(parameters=parameters))  # noqa: B010
        wrapped.__annotations__ = {one.name: one.annotation for one in parameters}
        return wrapped

    return add


def given(context: typer.Context) -> dict[str, str]:
    """Return the parameters that stand on the command line, by name, each as one writes it."""
    found: dict[str, str] = {}
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            found[name] = max(parameter.opts, key=len)
    return found
