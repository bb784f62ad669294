# SPDX-License-Identifier: BSD-3-Clause
"""The command `lanewise`: one module per command, and one folder per group of commands.

Each module or folder named in `MODULES` or `BELOW` has a function
`register(app: typer.Typer) -> None` that adds its command.  The first paragraph of a command's
docstring is its example, a line `$ lanewise ...`; the help opens with it.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TextIO

import typer

import lanewise
from lanewise.cli.example import ExampleTyper
from lanewise.cli.renamed import HELP, is_check_alone, translate
from lanewise.errors import LanewiseError
from lanewise.interrupts import raise_from_now_on
from lanewise.results.printable import printable

# A command below one that takes arguments of its own; it is found by its two words.
BELOW: dict[str, str] = {
    "tune export": "tune_export",
    "check same-bits": "check_same_bits",
}
# The commands by purpose, in the order of the help, each with the module that adds it.  (A module
# called run would take the place of the function of that name below.)
PURPOSES: dict[str, dict[str, str]] = {
    "Measure": {
        "doctor": "doctor",
        "measure": "measure",
        "compare": "compare",
        "gate": "gate",
        "report": "report",
        "suite": "suite",
    },
    "Tune": {
        "tune": "tune",
        "run": "run_tuned",
        "check same-bits": BELOW["check same-bits"],
        "model": "model",
    },
    "Test against faults": {"testbed": "testbed", "rdma": "rdma"},
    "Sweep matrices larger than memory": {"wavefront": "wavefront"},
}
COMMANDS: dict[str, str] = {
    name: module
    for group in PURPOSES.values()
    for name, module in group.items()
    if name not in BELOW
}
# Commands below one that the help lists among the others, by both of their words.
LISTED_BELOW = tuple(name for group in PURPOSES.values() for name in group if name in BELOW)
# Commands that are groups of commands.
GROUPS = ("model", "testbed", "rdma")
# Commands for those who work on Lanewise itself; outside of a clone the help omits them.
FOR_DEVELOPERS: dict[str, str] = {"reproduce": "reproduce"}
# Commands that the help omits; what they do, report and compare do by themselves.
HIDDEN: dict[str, str] = {"import": "import_text"}
# All commands but those below one, each with its module.
MODULES: dict[str, str] = {**COMMANDS, **FOR_DEVELOPERS, **HIDDEN}

# What typer says of words that nobody asked for.
UNEXPECTED = re.compile(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)$", re.DOTALL)
# The remedy of a `check` that names nothing.
WHAT_TO_CHECK = (
    "name what to check: lanewise check same-bits -- mpirun -n N ./app; "
    "the check of guidelines is lanewise model guidelines"
)
# What a shell sets when it asks for completions.
COMPLETING = "_LANEWISE_COMPLETE"
# Set to anything, this shows where in Lanewise a fault is.
TRACEBACK = "LANEWISE_TRACEBACK"

# The class that all usage errors derive from has no public name in typer.
USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[2]


def version_wanted(wanted: bool) -> None:
    """Print the version and stop, if `--version` was given."""
    if wanted:
        typer.echo(f"lanewise {lanewise.__version__}")
        raise typer.Exit


def make_app(names: Sequence[str] = tuple(MODULES)) -> typer.Typer:
    """Build the command with the subcommands called `names`."""
    app = ExampleTyper(name="lanewise", purposes={**PURPOSES, "In a clone": FOR_DEVELOPERS})

    @app.callback()
    def command(
        version: bool = typer.Option(
            False, "--version", callback=version_wanted, is_eager=True, help="Print the version."
        ),
    ) -> None:
        """$ lanewise measure scatter gather -n 4 --sizes 1:1M:x2 -o samples.jsonl

        Measure, tune and fault-test the communication of parallel programs, on a laptop or a
        cluster.
        """

    for name in names:
        import_module(f"lanewise.cli.{MODULES[name]}").register(app)
    return app


def make_whole_app() -> typer.Typer:
    """Build the command with all of its subcommands, those below others listed by both words."""
    app = make_app()
    for name in LISTED_BELOW:
        import_module(f"lanewise.cli.{BELOW[name]}").register(app, name)
    return app


def make_app_below(name: str) -> typer.Typer:
    """Build the command above `name`, two words, with nothing but the second."""
    app = ExampleTyper(name=name.partition(" ")[0], add_completion=False)
    app.callback()(lambda: None)
    import_module(f"lanewise.cli.{BELOW[name]}").register(app)
    return app


def words_to_complete(environment: Mapping[str, str]) -> list[str]:
    """Return the words after `lanewise` of a line that a shell completes, up to its cursor."""
    line = environment.get("_TYPER_COMPLETE_ARGS") or environment.get("COMP_WORDS", "")
    words = [*line.split(), *([""] if line.endswith(" ") else [])]
    cursor = environment.get("COMP_CWORD", "")
    return words[1 : int(cursor) + 1] if cursor.isdigit() else words[1:]


def make_app_completing(words: Sequence[str]) -> typer.Typer:
    """Build the command for a shell that completes the last of `words`.

    Here a command below another stands in a group, in place of the other where words ask for it.
    """
    above = {name.partition(" ")[0]: name for name in BELOW}
    groups = [one for one in above if one not in COMMANDS or asks_below(above[one], words)]
    names = [name for name in MODULES if name not in groups]
    app = make_app(names)
    for one in groups:
        app.add_typer(make_app_below(above[one]), name=one)
    return app


def asks_below(name: str, words: Sequence[str]) -> bool:
    """Tell whether the words of a line are those of `name`, the last one as far as it is typed."""
    two = name.split()
    if len(words) == len(two):
        return words[0] == two[0] and two[1].startswith(words[1])
    return len(words) > len(two) and list(words[:2]) == two


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; every expected failure is one line on standard error.

    Ends with status 0, 1 for a failure, 2 for a usage error, 130 when interrupted.
    """
    sys.exit(run(list(sys.argv[1:] if arguments is None else arguments)))


def run(arguments: list[str]) -> int:
    """Run `lanewise` with `arguments`, which may begin with an old name; return the exit status."""
    # Matplotlib would report where it keeps its cache if that is not in the home directory.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    translated, advice = translate(arguments)
    if advice:
        sys.stderr.write(f"lanewise: {advice}\n")
    try:
        return max(run_one(words) for words in translated)
    except KeyboardInterrupt:
        return complain("lanewise", "stopped", 130)


def run_one(arguments: list[str]) -> int:
    """Run one command and return its exit status.

    Only the subcommand that is named is imported, because some import slowly.
    """
    if COMPLETING in os.environ:
        return execute(make_app_completing(words_to_complete(os.environ)), arguments, "lanewise")
    if arguments == ["check"]:
        return complain("lanewise check", WHAT_TO_CHECK, 2)
    below = "check same-bits" if is_check_alone(arguments) else " ".join(arguments[:2])
    if below in BELOW:
        return execute(make_app_below(below), arguments[1:], f"lanewise {arguments[0]}")
    asked = [word for word in arguments if not word.startswith("-")][:1]
    known = [word for word in asked if word in MODULES]
    wants_help = HELP.issuperset(arguments)
    needs_no_more = known or arguments[:1] == ["--version"]
    app = make_app(known) if needs_no_more else make_whole_app() if wants_help else make_app()
    bare = not arguments or (arguments == known and known[0] in (*GROUPS, "wavefront"))
    return execute(app, [*arguments, "--help"] if bare else arguments, "lanewise")


def execute(app: typer.Typer, arguments: list[str], program: str) -> int:
    """Run `app`, turning each failure into one line and a status."""
    raise_from_now_on()
    command = typer.main.get_command(app)
    name = name_of(command, arguments, program)
    try:
        status = command.main(args=arguments, prog_name=program, standalone_mode=False)
        sys.stdout.flush()
    except LanewiseError as error:
        for line in error.details:
            sys.stderr.write(f"  | {line}\n")
        return complain(name, str(error), error.exit_status)
    except typer.Abort:
        return complain(name, "stopped", 130)
    except USAGE_ERROR as error:
        return complain(name, usage_sentence(error, name), 2)
    except OSError as error:
        drop_output(sys.stdout)
        return complain(name, system_sentence(error), 1)
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        return complain(name, fault_sentence(error), 1)
    return status if isinstance(status, int) else 0


def name_of(command: object, arguments: Sequence[str], program: str) -> str:
    """Return the command that `arguments` name, such as lanewise suite app."""
    words = [program]
    for word in arguments:
        below: Mapping[str, object] = getattr(command, "commands", {})
        if word in below:
            command = below[word]
            words.append(word)
        elif not word.startswith("-"):
            break
    return " ".join(words)


def usage_sentence(error: Exception, name: str) -> str:
    """Return a usage error as one sentence with its remedy: a likely name, else the help."""
    say = getattr(error, "format_message", error.__str__)
    sentence = str(say()).rstrip(".")
    if found := UNEXPECTED.match(sentence):
        return f"unexpected argument '{found[1]}'; see {name} --help"
    helped = "Did you mean" in sentence or "Possible options" in sentence
    return sentence if helped else f"{sentence}; see {name} --help"


def system_sentence(error: OSError) -> str:
    """Return a failure of the system as one sentence: what, where, and the remedy."""
    if error.errno == errno.ENOENT and not error.filename:
        return "the current folder was removed; change to one that exists"
    where = str(error.filename) if error.filename else "the output"
    remedies = {errno.ENOSPC: "free space there", errno.EACCES: "ask for the permission"}
    remedy = remedies.get(error.errno or 0, "see that it can be read and written")
    return f"{where}: {error.strerror or error}; {remedy}"


def fault_sentence(error: Exception) -> str:
    """Return a fault of Lanewise itself as one sentence."""
    return (
        f"a fault of Lanewise, {type(error).__name__}: {error}; "
        f"report it with what {TRACEBACK}=1 in the environment prints"
    )


def drop_output(stream: TextIO) -> None:
    """Forget what a stream could not take, so that nobody tries again at the end."""
    try:
        stream.flush()
    except OSError:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def complain(name: str, sentence: str, status: int) -> int:
    """Print `name: sentence` as one line on standard error and return `status`."""
    one_line = printable(" ".join(sentence.split()))
    sys.stderr.write(f"{name}: {one_line}\n")
    return status
