# SPDX-License-Identifier: BSD-3-Clause
"""Help that opens with an example, and that lists commands by their purpose.

A reader of help wants a line to copy before a list of options, so the first paragraph of a
command's docstring, when it begins with `$ `, is printed before the usage.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from lanewise.cli.renamed import translate_options

# Headings of the help: the arguments come first, what says where to run and the rest last.
ARGUMENTS = "Arguments"
LAUNCH = "Launch"
OPTIONS = "Options"


def split_example(text: str) -> tuple[str, str]:
    """Split help text into its opening example (without trailing newline) and the rest."""
    if not text.startswith("$ "):
        return "", text
    example, _, rest = text.partition("\n\n")
    return example, rest


def example_block(example: str) -> str:
    """Indent the example below the word that names it; empty without one."""
    if not example:
        return ""
    lines = "\n".join(f"  {line.strip()}" for line in example.splitlines())
    return f"Example:\n{lines}\n\n"


def with_new_options(command: Any, ctx: Any, args: list[str]) -> list[str]:
    """Return the words of a command with new names for old options; say so for each."""
    known = {name for option in command.params for name in option.opts}
    end = own_words(command, args, interspersed=ctx.allow_interspersed_args)
    words, advice = translate_options(args[:end], known)
    for sentence in advice:
        sys.stderr.write(f"{ctx.command_path}: {sentence}\n")
    return [*words, *args[end:]]


def own_words(command: Any, args: list[str], *, interspersed: bool) -> int:
    """Return how many of the words are this command's; the others are another program's."""
    switches = (one for one in command.params if getattr(one, "is_flag", False))
    flags = {name for option in switches for name in option.opts}
    value_follows = False
    for place, word in enumerate(args):
        if word == "--":
            return place
        if not (interspersed or value_follows or word.startswith("-")):
            return place
        value_follows = word.startswith("-") and "=" not in word and word not in flags
    return len(args)


def option_groups(command: Any, ctx: Any) -> dict[str, list[tuple[str, str]]]:
    """Return what the help says of a command's arguments and options, by heading."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is None:
            continue
        if parameter.param_type_name == "argument":
            row = parameter.metavar or parameter.name.upper(), record[1]
            groups.setdefault(ARGUMENTS, []).append(row)
        else:
            heading = getattr(parameter, "rich_help_panel", None) or OPTIONS
            groups.setdefault(heading, []).append(record)
    order = [ARGUMENTS, *(name for name in groups if name not in (ARGUMENTS, LAUNCH, OPTIONS))]
    return {name: groups[name] for name in (*order, LAUNCH, OPTIONS) if name in groups}


def state_default(option: Any) -> None:
    """Put the default of an option into its help, in the one form that all help has."""
    wanted, option.show_default = option.show_default, False
    text = option.help or ""
    if wanted and option.default not in (None, False, "") and "default" not in text:
        option.help = f"{text.rstrip('.')} (default: {option.default})."


def usage_of(argument: Any) -> str:
    """Return an argument as the usage line shows it; what may be left out is in brackets."""
    name = str(argument.metavar or argument.name.upper()).strip("[]")
    if name.endswith("..."):
        return name
    word = name + ("..." if argument.nargs == -1 else "")
    return word if argument.required else f"[{word}]"


# Lists of words, of which there may be none.
MAY_BE_EMPTY = ("launcher_args",)


def refuse_empty_values(command: Any, ctx: Any) -> None:
    """Refuse `--sizes ""`, which a script says where a variable that it means is not set."""
    for parameter in command.get_params(ctx):
        given = parameter.param_type_name == "option" and ctx.params.get(parameter.name) == ""
        if not given or parameter.name in MAY_BE_EMPTY:
            continue
        if ctx.get_parameter_source(parameter.name).name == "COMMANDLINE":
            raise typer.BadParameter(
                "the value is empty; give one, or leave the option out", ctx=ctx, param=parameter
            )


def refuse_missing_values(command: Any, ctx: Any, args: list[str]) -> None:
    """Refuse `--profile -- mpirun`, where -- would be taken for the value that was left out."""
    end = own_words(command, args, interspersed=ctx.allow_interspersed_args)
    last = args[end - 1] if end > 0 and args[end : end + 1] == ["--"] else ""
    for parameter in command.get_params(ctx):
        takes_value = parameter.param_type_name == "option" and not parameter.is_flag
        if takes_value and last in parameter.opts:
            raise typer.BadParameter(
                "no value before --; give one, or leave the option out", ctx=ctx, param=parameter
            )


class ExampleCommand(TyperCommand):
    """A command whose help opens with its example, and has its options in groups."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.example, self.help = split_example(self.help or "")
        for parameter in self.params:
            state_default(parameter)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the example, then the usual help."""
        formatter.write(example_block(self.example))
        super().format_help(ctx, formatter)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line, such as FILE, [NAME] and OPERATION..."""
        arguments = [one for one in self.get_params(ctx) if one.param_type_name == "argument"]
        return ["[OPTIONS]", *map(usage_of, arguments)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then one block for each group of options."""
        for heading, rows in option_groups(self, ctx).items():
            with formatter.section(heading):
                formatter.write_dl(rows)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an interrupt that it has not answered itself is told in one line."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Abort from None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words of a command, old names of options among them."""
        words = with_new_options(self, ctx, args)
        refuse_missing_values(self, ctx, words)
        rest = list(super().parse_args(ctx, words))
        refuse_empty_values(self, ctx)
        return rest


class ExampleGroup(TyperGroup):
    """A group of commands whose help opens with its example, and lists them by purpose."""

    # For each purpose the names of its commands; without any, commands are listed in one block.
    purposes: Mapping[str, Iterable[str]] = {}

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.example, self.help = split_example(self.help or "")

    def invoke(self, ctx: Any) -> Any:
        """Run a command below; an interrupt while its options are read is told as well."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Abort from None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one block of commands for each purpose."""
        if not self.purposes:
            super().format_commands(ctx, formatter)
            return
        for purpose, names in self.purposes.items():
            present = [self.commands[name] for name in names if name in self.commands]
            shown = [one for one in present if not one.hidden]
            if shown:
                room = formatter.width - 6 - max(len(str(one.name)) for one in shown)
                rows = [(str(one.name), one.get_short_help_str(room)) for one in shown]
                with formatter.section(purpose):
                    formatter.write_dl(rows)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the example, then the usual help."""
        formatter.write(example_block(self.example))
        super().format_help(ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words before the name of a command, old names of options among them."""
        rest = list(super().parse_args(ctx, with_new_options(self, ctx, args)))
        refuse_empty_values(self, ctx)
        return rest


SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class ExampleTyper(typer.Typer):
    """A `typer.Typer` whose commands show their example first, with `-h` as well as `--help`."""

    def __init__(
        self, name: str, purposes: Mapping[str, Iterable[str]] | None = None, **named: Any
    ) -> None:
        listed = type("ListedGroup", (ExampleGroup,), {"purposes": purposes or {}})
        settings = {"no_args_is_help": True, "add_completion": True, **named}
        super().__init__(
            name=name,
            cls=listed,
            context_settings=SETTINGS,
            rich_markup_mode=None,
            pretty_exceptions_enable=False,
            **settings,
        )

    def command(self, name: str | None = None, **named: Any) -> Any:
        """Add a command; like `typer.Typer.command`, with help that opens with the example."""
        named.setdefault("cls", ExampleCommand)
        named.setdefault("context_settings", SETTINGS)
        return super().command(name, **named)
