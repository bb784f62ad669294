# SPDX-License-Identifier: BSD-3-Clause
"""Page of a suite: one file that works offline, in the look of every report of Lanewise."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from lanewise import __version__, report
from lanewise.errors import RequestError
from lanewise.files.whole import write_whole
from lanewise.report.labels import mpi_name
from lanewise.results.cautions import context_cautions
from lanewise.results.intervals import LAUNCHES_MIN
from lanewise.results.quantity import size_text
from lanewise.results.read import Samples
from lanewise.suite import figures, processor, state
from lanewise.suite.figures import Json
from lanewise.suite.pool import Key, Pool, files_of, pool

_HERE = Path(__file__).parent
_LOOK = Path(report.__file__).parent
FILE = "report.html"
# A point whose interval reaches further than this share of its median is warned of.
WIDE = 0.1
OVER_ROUNDS = (
    "Each value is the geometric mean over rounds of the median of a round, with its 95 % interval "
    "over rounds."
)
OF_ONE_ROUND = (
    "Each value is the median of this round, with its 95 % interval within it, which says nothing "
    "about the next."
)
OF_SOME_ROUNDS = (
    OVER_ROUNDS[:-1] + "; where there was time for one round only, the interval is within it, "
    "and says nothing about the next."
)


@dataclass(frozen=True)
class Written:
    """A page that was written: where, and how many figures it has."""

    path: Path
    figures: int


def write_page(folder: Path, known: state.State) -> Written:
    """Write the page of a suite's folder; RequestError where nothing was measured."""
    runs = files_of(folder, known.launches)
    pooled = pool(runs)
    names = [name for name, one in known.transports.items() if not one.why]
    drawn = figures.figures_of(pooled, names) + processor.polling_figures(runs, names)
    drawn += processor.host_figures(runs, names)
    times = {name: processor.application_times(folder, list(known.launches), name)
             for name in names}  # fmt: skip
    if any(times.values()):
        drawn.append(processor.application_figure(times))
    if not drawn and not figures.numbers_of(pooled):
        raise RequestError(f"{folder} has no samples yet; no transport that starts was measured")
    output = folder / FILE
    write_whole(output, rendered(known, runs, pooled, drawn))
    return Written(output, len(drawn))


def rendered(
    known: state.State, runs: Sequence[Samples], pooled: Pool, drawn: Sequence[Json]
) -> str:
    """Return the page as text."""
    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    tables = figures.rankings_of(pooled)
    scripts = [_LOOK / "axes.js", _HERE / "suite.js"]
    styles = [_LOOK / "page.css", _HERE / "suite.css"]
    return environment.get_template("suite.html.j2").render(
        title=title_of(known),
        verdict=verdict_of(known, runs, pooled),
        cautions=cautions_of(runs, pooled),
        hosts=processor.host_rows(runs, list(known.transports)),
        gaps=gaps_of(known),
        transports=transport_rows(known, runs),
        figures=[(figure, [t for t in tables if f"figure-{t['figure']}" == figure["id"]])
                 for figure in drawn],
        numbers=figures.numbers_of(pooled),
        switches=figures.switches_of(pooled, list(known.transports)),
        data=embedded({"figures": drawn}),
        style=Markup("\n".join(path.read_text(encoding="utf-8") for path in styles)),
        scripts=[Markup(path.read_text(encoding="utf-8")) for path in scripts],
        plotly=Markup(get_plotlyjs()),
        version=__version__,
        written=datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
    )  # fmt: skip


def cautions_of(runs: Sequence[Samples], pooled: Pool) -> list[str]:
    """Return what makes the numbers less certain: the machine, and points that scatter."""
    found = dict.fromkeys(
        f"{sentence[:1].upper()}{sentence[1:]}."
        for run in runs
        for sentence in context_cautions(run.context)
    )
    wide = {key: width for key, width in widths_of(pooled).items() if not width <= WIDE}
    if wide:
        worst = sorted(wide, key=lambda key: wide[key], reverse=True)[:3]
        names = ", ".join(
            f"{k.transport} {k.benchmark} {size_text(k.message_bytes)}" for k in worst
        )
        found[
            f"{len(wide)} of {len(pooled)} points are known no better than ±{WIDE:.0%}, "
            f"first of all {names}: the machine was busy, or the budget short."
        ] = None
    return list(found)


def widths_of(pooled: Pool) -> dict[Key, float]:
    """Return half the interval of each point over its median."""
    found = {}
    for key, point in pooled.items():
        low, high = point.interval_s()
        found[key] = (high - low) / 2 / point.median_s if point.median_s > 0 else 0.0
    return found


def embedded(data: object) -> Markup:
    """Return JSON that cannot end the script element it stands in."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028"))


def title_of(known: state.State) -> str:
    """Name what is compared."""
    count = sum(1 for transport in known.transports.values() if not transport.why)
    return f"{count} transports compared" if count != 1 else "One transport"


def verdict_of(known: state.State, runs: Sequence[Samples], pooled: Pool) -> str:
    """Say what was measured, where and how, in a few sentences."""
    hosts = sorted({str(place["host"]) for run in runs for place in run.context.placement})
    place = hosts[0] if len(hosts) == 1 else f"{len(hosts)} hosts"
    rounds = [len(point.round_medians_s) for point in pooled.values()]
    return (
        f"{counted(len(pooled), 'point')} between {known.asked.ranks} ranks on {place}, "
        f"in {counted(max(rounds, default=0), 'round')}, which took "
        f"{known.elapsed_s / 60:.1f} minutes. "
        "Transports were interleaved, so that a machine that drifts drifts for all alike. "
        + intervals_of(rounds)
        + (f" Buffers: {known.asked.buffers}." if known.asked.buffers else "")
    )


def intervals_of(rounds: Sequence[int]) -> str:
    """Say what the intervals are over, for points with so many rounds each."""
    if max(rounds, default=0) < LAUNCHES_MIN:
        return OF_ONE_ROUND
    return OVER_ROUNDS if min(rounds) >= LAUNCHES_MIN else OF_SOME_ROUNDS


def counted(count: int, word: str) -> str:
    """Return a count with its word, in the plural but for one."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def gaps_of(known: state.State) -> list[str]:
    """Return what is missing and why, a sentence each."""
    gaps = [
        f"{name} does not start: {one.why}" for name, one in known.transports.items() if one.why
    ]
    gaps += [f"{name} failed: {why}" for name, why in known.failed().items()]
    for name, one in known.transports.items():
        by_need: dict[str, list[str]] = {}
        for benchmark, need in one.lacks.items():
            by_need.setdefault(need, []).append(benchmark)
        gaps += [
            f"{name} does not support {', '.join(benchmarks)}: needs {need}"
            for need, benchmarks in by_need.items()
        ]
    if known.left_out:
        gaps.append(f"The time was up: {len(known.left_out)} launches are not made; go on with "
                    "--resume and another --budget")  # fmt: skip
    return gaps


def transport_rows(known: state.State, runs: Sequence[Samples]) -> list[tuple[str, str, str]]:
    """Return name, title and MPI of each transport that was measured."""
    mpis = {run.context.transport_name: mpi_name(run.context.mpi) for run in runs}
    return [
        (name, one.title, mpis.get(name, "not measured"))
        for name, one in known.transports.items()
        if not one.why
    ]
