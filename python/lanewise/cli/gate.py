# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise gate`: interleave launches of base and candidate, and tell whether it is slower."""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lanewise.cli import gate_options, launching
from lanewise.cli.example import ExampleCommand
from lanewise.cli.gate_sides import Launched, Starter, starter_of
from lanewise.cli.native_options import NativeOptions
from lanewise.cli.numbers import share
from lanewise.errors import RequestError
from lanewise.files.whole import require_apart, require_places
from lanewise.launch import sides
from lanewise.launch.native import MEASURE

if TYPE_CHECKING:
    from lanewise.results.gate import Rule, Verdict

# What a launch of the gate decides by itself, and what needs one launch of its own.
NATIVE = NativeOptions(
    MEASURE,
    without=(
        "output", "resume", "list", "launch", "launches", "adaptive", "stride", "time-limit",
        "wait", "clock", "skew-offset", "skew-drift",
    ),
)  # fmt: skip
GATE = "5%"
FIND = "10%"
TIME_LIMIT = "0.2s"
SIDES = "lanewise.gate.sides"

GateShare = Annotated[
    str,
    typer.Option(
        "--gate",
        metavar="SHARE",
        help=f"Largest slowdown of the candidate that passes (default: {GATE}).",
        rich_help_panel=gate_options.PANEL,
    ),
]
LaunchCounts = Annotated[
    str,
    typer.Option(
        "--launches",
        metavar="MIN:MAX",
        help="Launches of each side: MIN:MAX tests three times, from MIN to MAX launches; N tests "
        "once, after N (default: 10:40).",
        rich_help_panel=gate_options.PANEL,
    ),
]
Find = Annotated[
    str,
    typer.Option(
        "--find",
        metavar="SHARE",
        help=f"Stop launching once a slowdown of this size would be seen (default: {FIND}).",
        rich_help_panel=gate_options.PANEL,
    ),
]
Baseline = Annotated[
    Path | None,
    typer.Option(
        "--baseline",
        metavar="FILE",
        help="Samples of several launches to compare with; only the candidate is launched.",
        rich_help_panel=gate_options.PANEL,
    ),
]
Folder = Annotated[
    Path | None,
    typer.Option(
        "--folder",
        metavar="DIR",
        help="Folder in which the launches are kept: base.jsonl, candidate.jsonl.",
        rich_help_panel=gate_options.PANEL,
    ),
]
TimeLimit = Annotated[
    str,
    typer.Option(
        "--time-limit",
        metavar="TIME",
        help=f"Longest time of a point in one launch (default: {TIME_LIMIT}).",
        rich_help_panel=gate_options.PANEL,
    ),
]


class SidesCommand(ExampleCommand):
    """A command whose words after `--` are a base and, after another `--`, a candidate."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words before `--`, and keep those of the sides for the command."""
        own, given = sides.split(args)
        ctx.meta.setdefault(SIDES, (own, given))
        return super().parse_args(ctx, own)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line, the sides among them."""
        return [*super().collect_usage_pieces(ctx), "-- BASE -- CANDIDATE"]


def register(app: typer.Typer) -> None:
    """Add the command `gate` to `app`."""
    NATIVE.add_to(app, "gate", gate, cls=SidesCommand)


@launching.with_launch_options
def gate(
    context: typer.Context,
    ranks: launching.Ranks = "",
    gate: GateShare = GATE,
    launches: LaunchCounts = "",
    find: Find = FIND,
    false_alarms: gate_options.FalseAlarms = "",
    baseline: Baseline = None,
    folder: Folder = None,
    time_limit: TimeLimit = TIME_LIMIT,
    junit: gate_options.JUnit = None,
    markdown: gate_options.Markdown = None,
    as_json: launching.AsJson = False,
    **_options: Any,
) -> None:
    """$ lanewise gate bcast -n 2 --sizes 8,64K -- -- LD_PRELOAD=./libmine.so

    Tell whether a change made communication slower.

    Launches of base and candidate are interleaved, in blocks of random order, and compared over
    launches.  Each side consists of what differs: assignments for the environment, then options
    of `lanewise measure`, or a whole command that prints OSU, IMB or NetPIPE text or writes
    samples to {output}.  Ends with status 1 if the candidate is slower by more than the gate,
    which happens in at most 1 % of cases (--false-alarms) if the sides are identical.
    """
    from lanewise.results.gate import Rule, require_rate
    from lanewise.results.gate_looks import (
        LAUNCHES,
        looks_of,
        require_first_look_can_alarm,
        shares_of,
    )

    values = context.params
    own, given = context.meta[SIDES]
    chosen = sides.read(given, baseline=baseline is not None)
    looks = looks_of(launches or LAUNCHES)
    rate = gate_options.rate_of(false_alarms)
    rule = Rule(share("--gate", gate), rate, looks=len(looks), share=shares_of(looks)[0])
    least_found = share("--find", find)
    files = gate_options.files_named(junit, markdown)
    require_places(*files.values())
    kept = [path_in(folder, side.title) for side in chosen] if folder else []
    require_apart(files, baseline, *kept)
    for path in kept:
        if path.exists() and not values["print_command"]:
            raise RequestError(f"{path} exists; name another --folder, or remove the file")
    require_rate(replace(rule, share=min(shares_of(looks))))
    if baseline is None:
        require_first_look_can_alarm(looks, rule.points_level)
    with starters(chosen, own, context) as found:
        if values["print_command"]:
            for starter in found:
                typer.echo(starter.line())
            return
        gate_run = GateRun(found, baseline, folder, looks, rule, least_found, quiet=values["quiet"])
        gate_run.require_enough_in_baseline()
        verdict = gate_run.run(int(NATIVE.value("seed", values) or 1))
    gate_options.show(verdict, gate_options.Shown(as_json, *files.values()), "gate")


@contextmanager
def starters(
    chosen: Sequence[sides.Side], own: Sequence[str], context: typer.Context
) -> Iterator[list[Starter]]:
    """Give what starts each side, with a folder for the files of their launches."""
    with tempfile.TemporaryDirectory(prefix="lanewise-gate-") as name:
        found = []
        for side in chosen:
            words = [*own, *side.options]
            parsed = context.command.make_context(context.info_name, words, parent=context.parent)
            inner = Path(name) / side.title
            inner.mkdir()
            found.append(starter_of(side, parsed.params, NATIVE, inner))
        yield found


def path_in(folder: Path, title: str) -> Path:
    """Return the file of a folder in which the launches of a side are kept."""
    return folder / f"{title}.jsonl"


def make_folder(folder: Path) -> None:
    """Make the folder for the launches; RequestError where that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RequestError(
            f"--folder {folder} cannot be made: {error.strerror}; name another folder"
        ) from None


class GateRun:
    """The launches of one gate, and the looks between them."""

    def __init__(
        self,
        starters: Sequence[Starter],
        baseline: Path | None,
        folder: Path | None,
        looks: Sequence[int],
        rule: Rule,
        find: float,
        *,
        quiet: bool,
    ) -> None:
        self.starters = {starter.side.title: starter for starter in starters}
        self.folder = folder
        self.looks = looks
        self.rule, self.find = rule, find
        self.quiet = quiet
        self.launched = {title: Launched() for title in self.starters}
        self.blocks: dict[str, list[int]] = {title: [] for title in sides.TITLES}
        self.baseline = Launched.of_file(baseline) if baseline else None

    def run(self, seed: int) -> Verdict:
        """Launch and look until enough is seen, or all looks are taken."""
        from lanewise.results.gate_looks import order, seen_enough, shares_of

        if self.folder is not None:
            make_folder(self.folder)
        turns = order(seed)
        looks = zip(self.looks, shares_of(self.looks), strict=True)
        for number, (count, part) in enumerate(looks, start=1):
            self.launch_until(count, turns)
            verdict = self.look(number, replace(self.rule, share=part))
            last = number == len(self.looks)
            if last or seen_enough(verdict, self.find):
                break
            self.say(self.going_on(verdict))
        # A gate that was stopped has too few launches for a baseline, and keeps none.
        self.keep()
        return verdict

    def require_enough_in_baseline(self) -> None:
        """Raise RequestError where the baseline is too small for the first look to alarm."""
        from lanewise.results.gate import require_enough_launches

        if self.baseline is not None:
            require_enough_launches(self.baseline.count, self.looks[0], self.rule.points_level)

    def launch_until(self, count: int, turns: Iterator[tuple[int, bool]]) -> None:
        """Launch each side until it has `count` launches."""
        while min(one.count for one in self.launched.values()) < count:
            block, judged = next(turns)
            title = sides.TITLES[judged]
            if title not in self.starters:
                continue
            self.launched[title].samples.append(self.starters[title].start())
            self.check_ranks()
            self.blocks[title].append(block)
            done = ", ".join(f"{name} {one.count}" for name, one in self.launched.items())
            if sys.stderr.isatty():
                self.say(f"\r{done} of {count} launches ", end="")

    def check_ranks(self) -> None:
        """Raise RequestError where base and candidate turn out to have different numbers."""
        from lanewise.results.gate_launches import require_same_ranks

        started = {f"the {title}": one for title, one in self.launched.items() if one.samples}
        if self.baseline is not None:
            started = {"the baseline": self.baseline, **started}
        require_same_ranks({name: one.first for name, one in started.items()})

    def look(self, number: int, rule: Rule) -> Verdict:
        """Judge what has been launched so far."""
        from lanewise.results.definitions import notes_of_definitions
        from lanewise.results.gate import judge
        from lanewise.results.gate_launches import (
            installations,
            joined,
            notes_of_conditions,
            notes_of_statistic,
            on_the_same_cores,
            statistic_of,
        )

        candidate = self.launched["candidate"]
        base = self.baseline or self.launched["base"]
        base, candidate = base.measured_by(candidate), candidate.measured_by(base)
        blocks = [] if self.baseline else [*self.blocks["base"], *self.blocks["candidate"]]
        statistic = statistic_of(base.first, candidate.first)
        launches, notes = joined(base.times(statistic), candidate.times(statistic), blocks)
        launches, cores = on_the_same_cores(launches, base.first, candidate.first)
        notes += [*cores, *notes_of_statistic(statistic)]
        notes += notes_of_definitions(base.first, candidate.first)
        if self.baseline is not None:
            notes = [*self.baseline.warnings, *notes]
            notes += notes_of_conditions(self.baseline.first, candidate.first, cores)
        else:
            notes += installations(base.first, candidate.first)
        return replace(judge(launches, rule), look=number, notes=notes)

    def going_on(self, verdict: Verdict) -> str:
        """Say why there is another look."""
        from lanewise.results.gate_text import change_text, share_text

        suspects = [
            f"{one.operation} {change_text(one.slowdown)}"
            for one in verdict.findings
            if one.message_bytes is None and one.slowdown > self.rule.gate
        ]
        least = verdict.least_visible_anywhere
        why = f"would see {share_text(least)}"
        if math.isinf(least):
            why = "would not see one operation alone slow down"
        if suspects:
            why += f", suspects {', '.join(suspects)}"
        return f"\rafter {verdict.counts[1]} launches: {why}; going on"

    def keep(self) -> None:
        """Write the launches to the folder, without their repetitions."""
        if self.folder is None:
            return
        for title, launched in self.launched.items():
            launched.write(path_in(self.folder, title))

    def say(self, text: str, end: str = "\n") -> None:
        """Write progress."""
        if not self.quiet:
            sys.stderr.write(text + end)
            sys.stderr.flush()
