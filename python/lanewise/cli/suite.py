# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise suite`: every kernel over every fabric of this machine, side by side in one page."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from lanewise.cli.numbers import positive_count
from lanewise.errors import RequestError, RunError

if TYPE_CHECKING:
    from lanewise.suite.execute import Step, Suite
    from lanewise.suite.fabric import Fabric
    from lanewise.suite.start import Presence


def register(app: typer.Typer) -> None:
    """Add the command `suite` to `app`."""
    app.command("suite")(suite)


def suite(
    fabrics: str = typer.Option("", "--fabrics", help="Names or files, A,B,...; default: all."),
    kernels: str = typer.Option("", "--kernels", help="Kernels, A,B,...; default: by effort."),
    quick: bool = typer.Option(False, "--quick", help="Few sizes, within 5 minutes."),
    full: bool = typer.Option(False, "--full", help="Every kernel and size."),
    budget: str = typer.Option("", "--budget", help="Time for the whole, such as 10min."),
    ranks: str = typer.Option("2", "-n", "--ranks", help="Ranks."),
    window: str = typer.Option("160", "--window", help="Streaming: messages on the way at once."),
    output: Path = typer.Option(Path("suite"), "-o", "--output", help="The folder to write."),
    resume: bool = typer.Option(False, "--resume", help="Go on with the folder."),
    list_: bool = typer.Option(False, "--list", help="List the fabrics, and which start here."),
) -> None:
    """$ lanewise suite --quick -o suite

    Compare fabrics: each kernel on each, taking turns, into samples and one report.html.
    """
    from lanewise.suite import fabric as fabric_part

    if quick and full:
        raise RequestError("--quick and --full exclude each other; choose one")
    names = split(fabrics) or fabric_part.shipped_names()
    chosen = [fabric_part.find(name) for name in names]
    count = positive_count("-n", ranks)
    if list_:
        list_fabrics(chosen, count)
        return
    wanted = Wanted(
        fabrics=chosen,
        kernels=split(kernels),
        effort="quick" if quick else "full" if full else "standard",
        budget=budget,
        ranks=count,
        window=positive_count("--window", window),
    )
    folder_ready(output, resume)
    run_suite(wanted, output)


def split(text: str) -> list[str]:
    """Return the words of A,B,..."""
    return [word.strip() for word in text.split(",") if word.strip()]


@dataclass(frozen=True)
class Wanted:
    """What the options ask for."""

    fabrics: list[Fabric]
    kernels: list[str]
    effort: Any
    budget: str
    ranks: int
    window: int
    seed: int = 1
    settings: dict[str, Any] = field(default_factory=dict)


def folder_ready(folder: Path, resume: bool) -> None:
    """Raise RequestError for a folder of another suite that is not to be gone on with."""
    exists = (folder / "suite.json").exists()
    if exists and not resume:
        raise RequestError(f"{folder} has a suite; add --resume to go on, or name another folder")
    if resume and not exists:
        raise RequestError(f"{folder} has no suite to go on with; leave out --resume")
    if folder.exists() and not folder.is_dir():
        raise RequestError(f"{folder} is a file; name a folder")


def list_fabrics(chosen: list[Fabric], ranks: int) -> None:
    """Print each fabric and whether it starts here."""
    from lanewise.suite.start import find_out

    for one in chosen:
        found = find_out(one, ranks)
        verdict = f"starts, {found.library.split(',')[0]}" if found.starts else found.why
        sys.stdout.write(f"{'ok' if found.starts else '--'}  {one.name:<16} {one.title}\n")
        sys.stdout.write(f"    {'':<16} {verdict}\n")
        sys.stdout.flush()


def run_suite(wanted: Wanted, folder: Path) -> None:
    """Measure and write the page; RunError where nothing could be measured."""
    from lanewise.suite import execute, kernels, page, plan, state

    groups = kernels.groups_for(wanted.effort, wanted.kernels)
    budget_s = plan.seconds_in(wanted.budget) if wanted.budget else plan.BUDGET_S[wanted.effort]
    asked = state.Asked(
        ranks=wanted.ranks, effort=wanted.effort,
        fabrics=tuple(one.name for one in wanted.fabrics),
        kernels=tuple(name for group in groups for name in group.kernels),
        window=wanted.window, seed=wanted.seed, rounds=plan.ROUNDS[wanted.effort],
    )  # fmt: skip
    known = begun(folder, asked)
    present = presences(wanted)
    for found in present:
        known.fabrics[found.fabric.name] = fabric_state(found)
    here = {found.fabric.name: found.fabric for found in present if found.starts}
    if not here:
        raise RunError("no fabric starts here; lanewise doctor says what to install")
    folder.mkdir(parents=True, exist_ok=True)
    state.save(known, folder)
    spent_s = sum(found.took_s for found in present)
    running = execute.Suite(
        folder=folder, state=known, fabrics=here, groups=groups, effort=wanted.effort,
        budget_s=max(budget_s - spent_s, 1.0),
    )  # fmt: skip
    order = plan.launches(list(here), [group.name for group in groups], asked.rounds, asked.seed)
    measure(running, order)
    written = page.write_page(folder, known)
    for gap in page.gaps_of(known):
        sys.stderr.write(f"lanewise suite: {' '.join(gap.split())}\n")
    sys.stdout.write(f"{written.path}  {written.figures} figures, {len(here)} fabrics\n")


def begun(folder: Path, asked: Any) -> Any:
    """Return the state of the folder: what is there, if it is of the same request, or a new one."""
    from lanewise.suite import state

    if (folder / state.FILE).exists():
        known = state.load(folder)
        state.require_same(known.asked, asked, folder)
        return known
    started = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return state.State(asked=asked, started=started)


def presences(wanted: Wanted) -> list[Presence]:
    """Start each fabric once, and say at once which do not start."""
    from lanewise.suite.start import find_out

    found = []
    for one in wanted.fabrics:
        presence = find_out(one, wanted.ranks)
        verdict = f"starts in {presence.took_s:.1f} s" if presence.starts else presence.why
        sys.stderr.write(f"{one.name}: {' '.join(verdict.split())}\n")
        found.append(presence)
    return found


def fabric_state(found: Presence) -> Any:
    """Return what the state keeps of a fabric."""
    from lanewise.suite import start, state

    lacks = start.supported(found.fabric)[1] if found.starts else {}
    return state.FabricState(
        title=found.fabric.title, why=found.why, library=found.library,
        took_s=found.took_s, lacks=lacks,
    )  # fmt: skip


def measure(running: Suite, order: list[Any]) -> None:
    """Make all launches with progress; what is finished is kept when it is interrupted."""
    from lanewise.suite.execute import execute

    try:
        with shown() as tell:
            execute(running, order, tell, lambda _event: None)
    except KeyboardInterrupt:
        done = sum(1 for why in running.state.launches.values() if not why)
        sys.stderr.write(
            f"\nlanewise suite: interrupted after {done} of {len(order)} launches, kept in "
            f"{running.folder}; the same command with --resume goes on\n"
        )
        raise typer.Exit(130) from None


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
