# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise compare`: two runs side by side, with the uncertainty of the difference."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from lanewise.cli import gate_options
from lanewise.cli.numbers import counted, positive_number, share
from lanewise.cli.terminal import columns_shown, for_terminal
from lanewise.errors import RequestError
from lanewise.files.whole import require_apart
from lanewise.results.table import (
    UNLIMITED,
    counts_text,
    fitted,
    launches_text,
    line,
    microseconds,
    single_mark,
)

if TYPE_CHECKING:
    from lanewise.results.compare import Comparison, Overall, Ratio
    from lanewise.results.gate import Verdict
    from lanewise.results.read import Samples

# A number with a longer name is called time in a heading; the notes below the table name it.
NAME_WIDTH = 10
CONFIDENCE = "95%"


def register(app: typer.Typer) -> None:
    """Add the command `compare` to `app`."""
    app.command("compare")(compare_files)


def compare_files(
    first: Path = typer.Argument(
        ..., metavar="A", help="Run to compare with: samples, or the text of another tool."
    ),
    second: Path = typer.Argument(
        ..., metavar="B", help="Run that is judged; samples or such a text."
    ),
    gate: str = typer.Option(
        "",
        metavar="SHARE",
        help="End with status 1 if B is slower than A by more than this, such as 5%; "
        "needs files of several launches.",
        rich_help_panel=gate_options.PANEL,
    ),
    false_alarms: gate_options.FalseAlarms = "",
    junit: gate_options.JUnit = None,
    markdown: gate_options.Markdown = None,
    confidence: str = typer.Option(
        "", metavar="SHARE", help="Confidence level of each ratio's interval (default: 95%)."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """$ lanewise compare before.jsonl after.jsonl --gate 5%

    Compare two runs.

    Shows for each point of both files the ratio B/A over the launches of the ranks, its interval
    and the p-value of Welch's test, and for each operation the geometric mean of the ratios and
    the p-value of Welch's test of the launches over all sizes.  For files with one launch, it shows
    the ratio of the medians with its interval within these launches (Price and Bonett 2002).

    With --gate, all points are tested together for a slowdown, by exchanging launches between A
    and B.  Identical programs fail the gate in at most 1 % of cases (--false-alarms), and the
    output says which slowdown would have been missed.
    """
    if gate and confidence:
        raise RequestError("--confidence is about intervals, and the gate has none; leave it out")
    confidence_level = confidence_of(confidence or CONFIDENCE)
    files = gate_options.files_named(junit, markdown)
    require_apart(files, first, second)
    runs = load_both(first, second)
    if gate:
        limit, rate = share("--gate", gate), gate_options.rate_of(false_alarms)
        require_two_files(first, second)
        verdict = verdict_of(runs, limit, rate)
        gate_options.show(verdict, gate_options.Shown(as_json, *files.values()), "compare")
        return
    only_gate = {"--false-alarms": false_alarms, **files}
    for name in (name for name, value in only_gate.items() if value):
        raise RequestError(f"{name} is about the gate; add --gate 5%")
    from lanewise.results.compare import compare

    found = compare(*runs, confidence_level)
    if as_json:
        typer.echo(json.dumps(as_object(found)))
    else:
        typer.echo("\n".join(text_of(found, columns_shown())))


def require_two_files(first: Path, second: Path) -> None:
    """Raise RequestError for one file on both sides, with which every gate passes."""
    if first.samefile(second):
        raise RequestError(
            f"{second} is both A and B, so the gate would always pass; name the file of another run"
        )


def verdict_of(runs: tuple[Samples, Samples], gate: float, false_alarms: float) -> Verdict:
    """Return what the gate finds in two files of several launches."""
    from lanewise.results.gate import Rule, judge
    from lanewise.results.gate_launches import of_files

    launches, notes = of_files(*runs)
    verdict = judge(launches, Rule(gate, false_alarms))
    return replace(verdict, notes=notes)


def load_both(first: Path, second: Path) -> tuple[Samples, Samples]:
    """Load both runs; of a text with several numbers of ranks, those of the other run."""
    from lanewise.imports.load import load

    runs = load(first), load(second)
    return at_ranks_of(runs[1], runs[0]), at_ranks_of(runs[0], runs[1])


def at_ranks_of(measured: Samples, run: Samples) -> Samples:
    """Return `run`; where it is a text and `measured` is not, with the ranks of `measured`."""
    from lanewise.imports.load import UNNAMED, load

    chosen = run.context.imported and not measured.context.imported
    if not chosen or run.context.ranks == 0:
        return run
    ranks = measured.context.ranks
    found = load(run.path, ranks)
    if UNNAMED in run.context.imported["notes"]:
        taken = f"the file does not name all of its ranks; those are taken to be {ranks}"
        found.context.imported["notes"].append(taken)
    return found


def confidence_of(text: str) -> float:
    """Return a confidence as a fraction; one that is out of range is refused where it is used."""
    if text.endswith("%"):
        return share("--confidence", text)
    return positive_number("--confidence", text, "95%")


def as_object(found: Comparison) -> dict[str, object]:
    """Return a comparison as plain data; a number that does not exist becomes null."""
    plain: dict[str, object] = json.loads(json.dumps(asdict(found)), parse_constant=lambda _: None)
    return plain


def text_of(found: Comparison, columns: int = UNLIMITED) -> list[str]:
    """Return all lines that are shown of a comparison, tables for so many columns of text."""
    lines: list[str] = []
    for overall in found.overall:
        ratios = [ratio for ratio in found.ratios if ratio.operation == overall.operation]
        for names, rows in tables_of(ratios).items():
            widths = fitted(names, columns)
            lines += [title(rows), line(names[0], names[1:], widths)]
            lines += [*(row(ratio, widths) for ratio in rows), ""]
        lines[-1:] = [summary(overall), ""]
    if found.notes:
        lines += [*(f"! {note}" for note in found.notes), ""]
    if found.only_first or found.only_second:
        lines.append(
            f"# only in A: {counted(found.only_first, 'point')}, only in B: {found.only_second}"
        )
    return for_terminal(lines if lines[-1] else lines[:-1], columns)


def tables_of(ratios: Sequence[Ratio]) -> dict[tuple[str, ...], list[Ratio]]:
    """Return the rows of each table of an operation, by the headings that hold for all of them.

    So ratios of single launches have a table of their own, with the name of their test.  A point
    without a time stands with the others.
    """
    tables: dict[tuple[str, ...], list[Ratio]] = {}
    timed = next((ratio for ratio in ratios if ratio.has_times), ratios[0])
    for ratio in ratios:
        tables.setdefault(headings(ratio if ratio.has_times else timed), []).append(ratio)
    return tables


def title(rows: Sequence[Ratio]) -> str:
    """Return the line above a table."""
    ranks = counted(rows[0].ranks, "rank") if rows[0].ranks else "unknown ranks"
    return f"# {rows[0].operation}, {ranks}{single_marks(rows)}"


def single_marks(rows: Sequence[Ratio]) -> str:
    """Return how many launches each side has, where there is one of either."""
    timed = [ratio for ratio in rows if ratio.has_times] or rows
    if timed[0].launches > 1:
        return ""
    first = counts_text({ratio.first_launches for ratio in timed})
    second = counts_text({ratio.second_launches for ratio in timed})
    if first == second == launches_text(1):
        return single_mark(1)
    return f" (A {first}, B {second})"


def headings(ratio: Ratio) -> tuple[str, ...]:
    """Return the headings of the table that a ratio belongs in."""
    numbers = ratio.first_number, ratio.second_number
    first, second = (number if len(number) <= NAME_WIDTH else "time" for number in numbers)
    columns = (f"A {first}(us)", f"B {second}(us)", "B/A", "Low", "High", f"p ({ratio.test})")
    return ("# Pair", "Size", *columns) if ratio.label else ("# Size", *columns)


def row(ratio: Ratio, widths: Sequence[int]) -> str:
    """Return the row of one point."""
    shares = [ratio_text(value) for value in (ratio.ratio, ratio.low, ratio.high)]
    columns = [microseconds(ratio.first_s), microseconds(ratio.second_s), *shares]
    columns.append(probability(ratio.p_value))
    size = str(ratio.message_bytes)
    if ratio.label:
        return line(ratio.label, [size, *columns], widths)
    return line(size, columns, widths)


def summary(overall: Overall) -> str:
    """Return the line below an operation's table."""
    return (
        f"# over {counted(overall.pairs, 'point')}: B/A {ratio_text(overall.ratio)} "
        f"(geometric mean), Welch p {probability(overall.p_value)}"
    )


def ratio_text(value: float) -> str:
    """Return a ratio with three decimals, a dash where there is none."""
    return "-" if math.isnan(value) else f"{value:.3f}"


def probability(value: float) -> str:
    """Return a p-value with two digits, a dash where there is none."""
    return "-" if math.isnan(value) else f"{value:.2g}"
