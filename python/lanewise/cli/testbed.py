# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise testbed`: hosts and sites on this machine, with links as slow as real ones."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from lanewise.cli.example import ExampleTyper
from lanewise.cli.shared_options import option, with_options
from lanewise.errors import RequestError
from lanewise.testbed.impairments import IMPAIRMENTS

File = Annotated[str, typer.Argument(help="A TOML file, or a name that check lists.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def register(app: typer.Typer) -> None:
    """Add the command `testbed` to `app`."""
    testbed = ExampleTyper(name="testbed")

    @testbed.callback()
    def about() -> None:
        """$ lanewise testbed run two-site -- mpirun -n 8 hostname

        Create hosts and sites on this machine, with slow links.
        """

    for command in (check, up, run, fault, status, down):
        testbed.command(command.__name__)(command)
    app.add_typer(testbed, name="testbed")


def check(
    file: Annotated[str, typer.Argument(help="A TOML file, or a shipped name.")] = "",
    json_: AsJson = False,
) -> None:
    """$ lanewise testbed check two-site

    Show a description, or list those that are shipped.
    """
    from lanewise.testbed import shipped, show
    from lanewise.testbed.read import read

    if not file:
        sys.stdout.write("".join(f"{name}\n" for name in shipped.names()))
        return
    source = shipped.find(file)
    described = read(source.text, source.name, source.where)
    sys.stdout.write(show.plan_json(described) if json_ else show.description(described))


def up(file: File) -> None:
    """$ lanewise testbed up two-site

    Create a testbed that stays until it is taken down.
    """
    from lanewise.testbed import bed, shipped

    source = shipped.find(file)
    if bed.bed_named(source.name) is not None:
        raise RequestError(
            f"'{source.name}' is up; lanewise testbed down {source.name} takes it down"
        )
    created = bed.create(source, shared=True)
    names = ", ".join(host.name for host in created.plan().hosts)
    sys.stdout.write(f"{source.name} is up: {names}\n")


def run(
    file: File,
    command: Annotated[
        list[str], typer.Argument(metavar="-- COMMAND ...", help="What to run, with its arguments.")
    ],
    hosts: str = typer.Option("", help="Hosts for the ranks, in order, such as a1,b1 (all)."),
    at: str = typer.Option("", help="The host that COMMAND itself runs on (the first)."),
    faults: str = typer.Option("", help="A script of faults that begins with the command."),
    fault_log: str = typer.Option("", help="The file for what the faults did (standard error)."),
) -> None:
    """$ lanewise testbed run two-site -- mpirun -n 8 hostname

    Run a command in a testbed.

    It is the testbed that is up under this name, else one created for this run and removed
    afterwards.  The command runs on the first host; a launcher of Open MPI or MPICH in it spreads
    its ranks over all.  LANEWISE_PLACEMENT names a file that says which rank is on which host and
    site.
    """
    from lanewise.testbed import bed, running, shipped

    wanted = running.Wanted(
        command=command,
        hosts=[name for name in hosts.split(",") if name],
        at=at,
        faults=faults,
        fault_log=fault_log,
    )
    standing = bed.bed_named(file.removesuffix(".toml"))
    if standing is not None:
        raise typer.Exit(running.run_in(standing, wanted))
    with bed.created(shipped.find(file)) as created:
        ended = running.run_in(created, wanted)
    raise typer.Exit(ended)


IMPAIRMENT_OPTIONS = [
    option(one.key, str, typer.Option("", help=f"degrade: {one.help}, such as {one.kind.example}."))
    for one in IMPAIRMENTS
]


@with_options(IMPAIRMENT_OPTIONS)
def fault(
    name: Annotated[str, typer.Argument(help="A testbed that is up.")],
    what: Annotated[str, typer.Argument(help="cut, mend, degrade, kill, or a script (TOML).")],
    target: Annotated[str, typer.Argument(help="A link (a-b), interface (a1.lan0) or host.")] = "",
    **impairments: str,
) -> None:
    """$ lanewise testbed fault two-site cut a-b

    Cut, mend or degrade a link, or kill a host.

    A TOML file of such faults is played as a script.  Each fault is logged as a line of JSON with
    its time.
    """
    import threading
    from pathlib import Path

    from lanewise.testbed import bed
    from lanewise.testbed import fault as faults

    up_now = bed.require_bed(name)
    words = {key: text for key, text in impairments.items() if text}
    if what in faults.ACTIONS:
        events = [faults.single(what, target, words, up_now.plan())]
    elif target or words:
        raise RequestError(f"no fault '{what}'; use one of {', '.join(faults.ACTIONS)}")
    else:
        events = faults.load(Path(what), up_now.plan())
    faults.play(up_now, events, typer.echo, threading.Event())


def status(json_: AsJson = False) -> None:
    """$ lanewise testbed status

    Show the testbeds that are up, and what their links did.
    """
    from lanewise.testbed import bed, show

    states = [show.state_of(each) for each in bed.beds()]
    if json_:
        sys.stdout.write(json.dumps({"testbeds": states}) + "\n")
        return
    sys.stdout.write("".join(map(show.state_text, states)) or "no testbed is up\n")


def down(
    name: Annotated[str, typer.Argument(help="The testbed.")] = "",
    all_: bool = typer.Option(False, "--all", help="Every testbed, and what crashes have left."),
) -> None:
    """$ lanewise testbed down two-site

    Remove a testbed with all that runs in it.
    """
    from lanewise.testbed import bed

    if bool(name) == all_:
        raise RequestError("name a testbed, or give --all")
    chosen = bed.beds() if all_ else [bed.require_bed(name)]
    for each in chosen:
        bed.take_down(each)
        sys.stdout.write(f"{each.info.name} is down\n")
    for left in bed.clear_leftovers():
        sys.stdout.write(f"removed what was left of {left}\n")
