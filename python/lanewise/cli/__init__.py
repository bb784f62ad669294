# SPDX-License-Identifier: BSD-3-Clause
"""The command `lanewise`: one file a subcommand.

Each subcommand's module has a function `register(app: typer.Typer) -> None` that adds its
command.  The first paragraph of a command's docstring is its example, a line `$ lanewise ...`;
the help opens with it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

import typer

from lanewise import __version__
from lanewise.cli.example import ExampleTyper
from lanewise.errors import LanewiseError

SUBCOMMANDS = (
    "measure",
    "doctor",
    "show",
    "compare",
    "export",
    "report",
    "fit",
    "predict",
    "algorithms",
    "tune",
    "check",
    "run",
    "testbed",
    "wavefront",
    "hca",
    "suite",
    "scale",
    "protect",
    "paths",
    "reproduce",
)

# Where a subcommand is not in the module of its name.  (A module called run would take the place of
# the function of that name below.)
MODULES = {
    "run": "run_tuned",
    "fit": "model.fit",
    "predict": "model.predict",
    "algorithms": "model.algorithms",
    "check": "model.guidelines",
    "hca": "rdma.run",
    "protect": "rdma.protect",
    "paths": "rdma.discover",
    "scale": "suite_application",
}

# The class that all usage errors derive from has no public name in typer.
USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[2]


def version_wanted(wanted: bool) -> None:
    """Print the version and stop, where `--version` was given."""
    if wanted:
        typer.echo(f"lanewise {__version__}")
        raise typer.Exit


def make_app(names: Sequence[str] = SUBCOMMANDS) -> typer.Typer:
    """Build the command with the subcommands called `names`."""
    app = ExampleTyper(name="lanewise")

    @app.callback()
    def lanewise(
        version: bool = typer.Option(
            False, "--version", callback=version_wanted, is_eager=True, help="Print the version."
        ),
    ) -> None:
        """$ lanewise measure scatter gather -n 4 --sizes 1:1M:x2 -o samples.jsonl

        Measure how fast data moves between the ranks of a parallel job.
        """

    for name in names:
        import_module(f"lanewise.cli.{MODULES.get(name, name)}").register(app)
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; every expected failure is one line on standard error.

    Ends with status 0, 1 for a failure, 2 for a usage error, 130 when interrupted.
    """
    sys.exit(run(list(sys.argv[1:] if arguments is None else arguments)))


def run(arguments: list[str]) -> int:
    """Run `lanewise` with `arguments` and return the exit status.

    Only the subcommand that is named is imported, because some import slowly.
    """
    asked = [word for word in arguments if not word.startswith("-")][:1]
    known = [word for word in asked if word in SUBCOMMANDS]
    name = " ".join(["lanewise", *known])
    command = typer.main.get_command(make_app(known or SUBCOMMANDS))
    try:
        status = command.main(
            args=arguments or ["--help"], prog_name="lanewise", standalone_mode=False
        )
    except LanewiseError as error:
        return complain(name, str(error), error.exit_status)
    except typer.Abort:
        return complain(name, "stopped", 130)
    except USAGE_ERROR as error:
        return complain(name, usage_sentence(error, name), 2)
    return status if isinstance(status, int) else 0


def usage_sentence(error: Exception, name: str) -> str:
    """Return a usage error as one sentence with its remedy: a likely name, else the help."""
    say = getattr(error, "format_message", error.__str__)
    sentence = str(say()).rstrip(".")
    return sentence if sentence.endswith(("?", ")")) else f"{sentence}; see {name} --help"


def complain(name: str, sentence: str, status: int) -> int:
    """Print `name: sentence` as one line on standard error and return `status`."""
    one_line = " ".join(sentence.split())
    sys.stderr.write(f"{name}: {one_line}\n")
    return status
