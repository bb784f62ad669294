# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise testbed`: hosts and sites on this machine, with links as slow as real ones."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from lanewise.cli.example import ExampleTyper
from lanewise.cli.numbers import share
from lanewise.cli.shared_options import option, with_options
from lanewise.errors import RequestError
from lanewise.files.whole import require_apart
from lanewise.testbed.impairments import BY_KEY, IMPAIRMENTS
from lanewise.toml.quantities import SHARE, TIME

# A number without a unit.
BARE = re.compile(r"\d+\.?\d*|\.\d+")

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="Description in TOML, or the name of one that testbed check lists."
    ),
]
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
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Description in TOML, or a name from the list; without one, the list is printed.",
        ),
    ] = "",
    json_: AsJson = False,
) -> None:
    """$ lanewise testbed check two-site

    Check and show a testbed description, or list the included ones.
    """
    from lanewise.testbed import shipped, show
    from lanewise.testbed.congestion import require_loadable
    from lanewise.testbed.read import read

    if not file:
        names = list(shipped.names())
        shown = json.dumps({"testbeds": names}) if json_ else "\n".join(names)
        sys.stdout.write(f"{shown}\n")
        return
    source = shipped.find(file)
    described = read(source.text, source.name, source.where)
    require_loadable(source.text, source.where)
    sys.stdout.write(show.plan_json(described) if json_ else show.description(described))


def up(file: File) -> None:
    """$ lanewise testbed up two-site

    Create a testbed that stays until it is taken down.
    """
    from lanewise.testbed import bed, shipped, state

    source = shipped.find(file)
    with state.alone():
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
        list[str],
        typer.Argument(metavar="-- COMMAND ...", help="Command to run, with its arguments."),
    ],
    hosts: str = typer.Option(
        "", metavar="A,B,...", help="Hosts on which the ranks run, in order (default: all)."
    ),
    at: str = typer.Option(
        "", metavar="HOST", help="Host on which COMMAND runs (default: the first that gets ranks)."
    ),
    faults: str = typer.Option(
        "", metavar="FILE", help="Script of faults in TOML, which starts with the command."
    ),
    fault_log: str = typer.Option(
        "", metavar="FILE", help="File to which each fault is logged (default: standard error)."
    ),
) -> None:
    """$ lanewise testbed run two-site -- mpirun -n 8 hostname

    Run a command in a testbed.

    If a testbed of this name is up, the command runs there, otherwise in one that is created for
    this run and removed afterwards.  The command runs on the first host that gets ranks; if it
    starts Open MPI or MPICH, the ranks are spread over all hosts.  UCX_TLS and similar variables
    keep the values that they have in the environment.  LANEWISE_PLACEMENT names a file with the
    host and site of each rank.
    """
    from lanewise.testbed import bed, running, shipped

    wanted = running.Wanted(
        command=command,
        hosts=[name for name in hosts.split(",") if name],
        at=at,
        faults=faults,
        fault_log=fault_log,
    )
    if fault_log:
        require_apart({"--fault-log": Path(fault_log)}, Path(file), Path(faults))
    found = bed.find_bed(file)
    if found is not None:
        raise typer.Exit(running.run_in(found, wanted))
    with bed.created(shipped.find(file)) as created:
        ended = running.run_in(created, wanted)
    raise typer.Exit(ended)


IMPAIRMENT_OPTIONS = [
    option(
        one.key,
        str,
        typer.Option(
            "",
            metavar=one.kind.what.split()[-1].upper(),
            help=f"degrade: {one.help}, such as {one.kind.example.replace(' ', '')}.",
        ),
    )
    for one in IMPAIRMENTS
]


@with_options(IMPAIRMENT_OPTIONS)
def fault(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of a testbed that is up.")],
    what: Annotated[
        str,
        typer.Argument(
            metavar="FAULT", help="cut, mend, degrade or kill, or a script of faults in TOML."
        ),
    ],
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="Link (a-b), interface (a1.lan0) or host (a1).")
    ] = "",
    **impairments: str,
) -> None:
    """$ lanewise testbed fault two-site cut a-b

    Cut, mend or degrade a link, or kill a host.

    A TOML file of such faults is played as a script.  Each fault is logged as a line of JSON with
    its time.
    """
    import threading

    from lanewise.testbed import bed
    from lanewise.testbed import fault as faults

    up_now = bed.require_bed(name)
    words = {key: with_unit(key, text) for key, text in impairments.items() if text}
    if what in faults.ACTIONS:
        events = [faults.single(what, target, words, up_now.plan())]
    elif target or words:
        raise RequestError(f"no fault '{what}'; use one of {', '.join(faults.ACTIONS)}")
    else:
        events = faults.load(Path(what), up_now.plan())
    faults.play(up_now, events, typer.echo, threading.Event())


def with_unit(key: str, text: str) -> str:
    """Return an impairment with its unit; on a command line a bare time is in seconds.

    A bare share is a fraction, as it is for every other option.
    """
    if BARE.fullmatch(text.strip()) is None:
        return text
    kind = BY_KEY[key].kind
    if kind is TIME:
        return f"{text} s"
    return f"{100 * share(f'--{key}', text):.12g} %" if kind is SHARE else text


def status(json_: AsJson = False) -> None:
    """$ lanewise testbed status

    Show the testbeds that are up, and what links carried and dropped.
    """
    from lanewise.testbed import bed, show

    states = [show.state_of(each) for each in bed.beds()]
    if json_:
        sys.stdout.write(json.dumps({"testbeds": states}) + "\n")
        return
    sys.stdout.write("".join(map(show.state_text, states)) or "no testbed is up\n")


def down(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the testbed.")] = "",
    all_: bool = typer.Option(
        False, "--all", help="Remove every testbed, and what crashes have left behind."
    ),
) -> None:
    """$ lanewise testbed down two-site

    Remove a testbed and everything that runs in it.
    """
    from lanewise.testbed import bed

    if bool(name) == all_:
        raise RequestError("name a testbed, or give --all")
    chosen = bed.begun() if all_ else [bed.require_bed(name)]
    for each in chosen:
        bed.take_down(each)
        sys.stdout.write(f"{each.info.name} is down\n")
    for left in bed.clear_leftovers():
        sys.stdout.write(f"removed what was left of {left}\n")
