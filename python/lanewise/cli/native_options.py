# SPDX-License-Identifier: BSD-3-Clause
"""Options that a command takes from a native program, as the program itself describes them.

The native program owns their names, help and defaults, and has the one parser of their values; a
command shows them, completes them and passes on those that were given.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from lanewise.cli.example import SETTINGS
from lanewise.cli.shared_options import Command, option, with_options
from lanewise.errors import RequestError
from lanewise.launch.describe import OptionDescription, describe
from lanewise.launch.native import find_program
from lanewise.launch.native_arguments import INTERNAL, arguments_of, parameter_name

# How a command is parsed that takes whatever it is given.
ANYTHING = {**SETTINGS, "ignore_unknown_options": True, "allow_extra_args": True}


@dataclass(frozen=True)
class NativeOptions:
    """The options of a native program that a command offers.

    Those in `without` are the command's own; where `only` names some, it offers no others.
    """

    program: str
    without: tuple[str, ...] = ()
    only: tuple[str, ...] = ()

    def offered(self) -> list[OptionDescription]:
        """Return the options in the order of the program; RequestError where it is not built."""
        described = describe([str(find_program(self.program, os.environ))]).options
        wanted = [one for one in described if not self.only or one.name in self.only]
        return [one for one in wanted if one.name not in (*INTERNAL, *self.without)]

    def parameters(self) -> list[inspect.Parameter]:
        """Return the options as parameters of a command, those without a name first."""
        offered = self.offered()
        words = [parameter_of(one) for one in offered if one.positional]
        return words + [parameter_of(one) for one in offered if not one.positional]

    def value(self, name: str, values: Mapping[str, Any]) -> str:
        """Return the text of one option among parsed `values`, its default where not given."""
        given = values.get(name.replace("-", "_"))
        default = next(one.default for one in self.offered() if one.name == name)
        return str(given if given is not None else default or "")

    def add_to(self, app: typer.Typer, name: str, command: Command, **named: Any) -> None:
        """Add `command` with the options, whose values its `**` parameter gets, to `app`.

        `named` goes to `typer.Typer.command`.  Where nothing is built, the command says so,
        whatever its options are.
        """
        try:
            parameters = self.parameters()
        except RequestError as error:
            app.command(name, context_settings=ANYTHING)(_without_build(command, error))
            return
        app.command(name, **named)(with_options(parameters)(command))

    def arguments(self, values: Mapping[str, Any]) -> list[str]:
        """Return the program's arguments for parsed `values`; what was not given is left out."""
        return arguments_of(self.offered(), values)


def help_of(described: OptionDescription) -> str:
    """Return the help of an option as a sentence with its default."""
    default = f" (default: {described.default})" if described.default is not None else ""
    required = " (required)" if described.required and not described.positional else ""
    return f"{described.help}{default}{required}."


def parameter_of(one: OptionDescription) -> Any:
    """Return an option, or a word, as the parameter of a command."""
    if one.positional:
        kind: Any = list[str] | None if one.repeatable else str
        word = typer.Argument(metavar=one.metavar, help=help_of(one), show_default=False)
        without: Any = None if one.repeatable else ""
        default = inspect.Parameter.empty if one.required else without
        return option(parameter_name(one), Annotated[kind, word], default)
    declared = typer.Option(
        *reversed(one.names), metavar=one.metavar or None, help=help_of(one),
        rich_help_panel=one.group, show_default=False,
        autocompletion=_completion(one) if one.choices else None,
    )  # fmt: skip
    if one.type == "flag":
        return option(parameter_name(one), Annotated[bool, declared], False)
    kind = list[str] | None if one.repeatable else str | None
    return option(parameter_name(one), Annotated[kind, declared], None)


def _completion(one: OptionDescription) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [choice for choice in one.choices if choice.startswith(incomplete)]

    return complete


def _without_build(command: Command, error: RequestError) -> Command:
    def unbuilt(context: typer.Context) -> None:
        raise error

    unbuilt.__doc__ = f"{command.__doc__}\n\n    The options are missing here: {error}."
    return unbuilt
