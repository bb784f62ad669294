# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise suite`: every benchmark over every transport of this machine, on one page."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from lanewise.cli import suite_application
from lanewise.cli.example import ExampleTyper
from lanewise.cli.native_options import NativeOptions
from lanewise.cli.numbers import counted, positive_count
from lanewise.cli.shared_options import with_options
from lanewise.cli.terminal import columns_shown, folded
from lanewise.errors import RequestError
from lanewise.launch.native import MEASURE
from lanewise.toml.quantities import duration_s

if TYPE_CHECKING:
    from lanewise.suite.conduct import Ready, Request
    from lanewise.suite.execute import Step
    from lanewise.suite.start import Location
    from lanewise.suite.transport import Transport

NATIVE = NativeOptions(MEASURE, only=("window", "buffers", "validate"))
# Whether a transport starts is found out by a message.
RANKS_MIN = 2


def register(app: typer.Typer) -> None:
    """Add the command `suite`, and `suite app` below it, to `app`."""
    group = ExampleTyper(name="suite", invoke_without_command=True, no_args_is_help=False)
    group.callback()(with_options(offered())(suite))
    suite_application.register(group)
    app.add_typer(group, name="suite")


def offered() -> list[inspect.Parameter]:
    """Return the options of lanewise-measure that a suite takes too; none where nothing is built.

    What is missing is then said by what needs it: `suite app` does not.
    """
    try:
        return NATIVE.parameters()
    except RequestError:
        return []


def suite(
    context: typer.Context,
    transports: str = typer.Option(
        "",
        "--transports",
        metavar="A,B,...",
        help="Transports, by the names that --list prints, or files (default: all).",
    ),
    benchmarks: str = typer.Option(
        "",
        "--benchmarks",
        metavar="A,B,...",
        help="Benchmarks to run (default: depends on --quick and --full).",
    ),
    quick: bool = typer.Option(False, "--quick", help="Measure few sizes, within 4 minutes."),
    full: bool = typer.Option(False, "--full", help="Measure every benchmark and size."),
    budget: str = typer.Option(
        "",
        "--budget",
        metavar="TIME",
        help="Time limit for the whole suite, such as 10min (default: 20min; 4min with --quick, 2h "
        "with --full).",
    ),
    ranks: str = typer.Option(
        "2", "-n", "--ranks", metavar="N", help="Number of ranks (default: 2).", show_default=False
    ),
    testbed: str = typer.Option(
        "",
        "--testbed",
        metavar="FILE",
        help="Run across the hosts of a testbed: a file, or a name (default: on this host).",
    ),
    folder: Path = typer.Option(
        Path("suite"),
        "--folder",
        metavar="FOLDER",
        help="Folder to which samples and the report are written (default: suite).",
        show_default=False,
    ),
    resume: bool = typer.Option(False, "--resume", help="Continue the suite in the folder."),
    list_: bool = typer.Option(
        False, "--list", help="List the transports, and say which start here."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the list as one JSON object."),
    **measured: object,
) -> None:
    """$ lanewise suite --quick --folder suite

    Compare transports side by side, in one report.

    Each benchmark runs over each transport in interleaved rounds, which give samples and
    report.html.  `lanewise suite app` runs your own program instead.
    """
    if context.invoked_subcommand is not None:
        return
    from lanewise.suite import conduct
    from lanewise.suite import transport as transport_part

    if quick and full:
        raise RequestError("--quick and --full exclude each other; choose one")
    chosen = transport_part.find_all(split(transports) or transport_part.shipped_names())
    if as_json and not list_:
        raise RequestError("--json goes with --list; a suite writes its outcome to suite.json")
    count = positive_count("-n", ranks)
    if count < RANKS_MIN:
        raise RequestError(f"-n {count} has nobody to send messages to; use -n {RANKS_MIN} or more")
    if not list_:
        conduct.refuse_folder(folder, resume=resume)
    with location_of(testbed, count) as location:
        if list_:
            list_transports(chosen, count, location, as_json=as_json)
            return
        request = conduct.Request(
            transports=chosen, benchmarks=split(benchmarks),
            effort="quick" if quick else "full" if full else "standard",
            budget_s=duration_s("--budget", budget) if budget else 0.0,
            ranks=count, window=positive_count("--window", NATIVE.value("window", measured)),
            testbed=testbed, validate=bool(measured.get("validate")),
            buffers=",".join(split(NATIVE.value("buffers", measured))), location=location,
        )  # fmt: skip
        measure(request, folder)
    finish(folder)


def split(text: str) -> list[str]:
    """Return the words of A,B,..."""
    return [word.strip() for word in text.split(",") if word.strip()]


@contextmanager
def location_of(testbed: str, ranks: int) -> Iterator[Location]:
    """Give where the ranks run: this machine, or a testbed that is up meanwhile."""
    from lanewise.suite.start import HERE

    if not testbed:
        yield HERE
        return
    from lanewise.suite.across import created_location

    with created_location(testbed, ranks) as location:
        yield location


def list_transports(
    chosen: Sequence[Transport], ranks: int, location: Location, *, as_json: bool = False
) -> None:
    """Print each transport and whether it starts here."""
    from lanewise.suite.start import find_out

    if as_json:
        entries = [
            {"name": one.name, "title": one.title, "starts": found.starts,
             "library": found.library, "why": found.why}
            for one in chosen
            for found in [find_out(one, ranks, location)]
        ]  # fmt: skip
        sys.stdout.write(json.dumps({"transports": entries}) + "\n")
        return
    for one in chosen:
        found = find_out(one, ranks, location)
        verdict = f"starts, {found.library.split(',')[0]}" if found.starts else found.why
        mark = "ok" if found.starts else "--"
        lines = folded(f"{mark}  {one.name:<16} ", one.title, columns_shown())
        lines += folded(f"    {'':<16} ", " ".join(verdict.split()), columns_shown())
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()


def measure(request: Request, folder: Path) -> None:
    """Make all launches with progress; what is finished is kept when it is interrupted."""
    from lanewise.suite.conduct import prepare
    from lanewise.suite.execute import execute

    ready = prepare(request, folder, lambda text: print(text, file=sys.stderr, flush=True))
    try:
        with shown() as tell:
            execute(ready.suite, ready.order, tell, lambda _event: None)
    except KeyboardInterrupt:
        sys.stderr.write(f"\nlanewise suite: {interrupted(ready)}\n")
        raise typer.Exit(130) from None


def interrupted(ready: Ready) -> str:
    """Say how far it came and how to go on."""
    done = sum(1 for why in ready.suite.state.launches.values() if not why)
    return (
        f"interrupted after {done} of {len(ready.order)} launches, kept in "
        f"{ready.suite.folder}; the same command with --resume continues"
    )


def finish(folder: Path) -> None:
    """Write the page and say what is missing."""
    from lanewise.suite import page, state

    known = state.load(folder)
    for gap in page.gaps_of(known):
        sys.stderr.write(f"lanewise suite: {' '.join(gap.split())}\n")
    written = page.write_page(folder, known)
    starting = sum(1 for one in known.transports.values() if not one.why)
    sys.stdout.write(
        f"{written.path}  {counted(written.figures, 'figure')}, {counted(starting, 'transport')}\n"
    )


@contextmanager
def shown() -> Iterator[Callable[[Step], None]]:
    """Give the function that shows a step: a bar on a terminal, a line each in a log."""
    if not sys.stderr.isatty():
        yield lambda step: print(line_of(step), file=sys.stderr, flush=True)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True,
                  refresh_per_second=1) as bar:  # fmt: skip
        task = bar.add_task("starting")

        def tell(step: Step) -> None:
            bar.update(task, total=step.total, completed=step.number - 1,
                       description=f"{step.launch.name}, {clock(step.left_s)} left")  # fmt: skip

        yield tell


def line_of(step: Step) -> str:
    """Return the line of a step in a log."""
    return f"{step.number}/{step.total} {step.launch.name}, at most {clock(step.left_s)} left"


def clock(seconds: float) -> str:
    """Write seconds as minutes and seconds."""
    return f"{max(0, round(seconds)) // 60}:{max(0, round(seconds)) % 60:02d}"
