# SPDX-License-Identifier: BSD-3-Clause
"""Verdict: the title of a report and the paragraph that a hurried reader reads alone.

It says on what machine, with what MPI, how many ranks and when; what the times
are; and how well they are known.  Of the text of another tool it says what that
tells, which is little.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from datetime import datetime, timezone

from lanewise.report.labels import HOSTS_NAMED_MAX, hosts_name, hosts_of, mpi_name
from lanewise.results.cautions import half_width, has_interval
from lanewise.results.intervals import CONFIDENCE
from lanewise.results.quantity import percent_text
from lanewise.results.read import Samples

_METHODS = {
    "max": "the longest local time over the ranks",
    "root": "the root's time until all ranks have confirmed, less the confirmation",
    "global": "the last end less the first start on one synchronised clock",
    "tasks": "the ranks' tasks one at a time, each acknowledged",
}


def title_of(runs: Sequence[Samples]) -> str:
    """Return the title: operations, machine, ranks, MPI."""
    names = list(dict.fromkeys(point.operation for run in runs for point in run.points))
    names += ["polling"] if any(run.polling for run in runs) else []
    names += ["post-work-wait"] if any(run.waiting for run in runs) else []
    if not names and any(run.clock_checks for run in runs):
        names = ["clock"]
    if len(names) > 5:
        names = [*names[:4], f"{len(names) - 4} more"]
    what = _listed(names)
    what = what[:1].upper() + what[1:] or "No point yet"
    measured = [run for run in runs if not run.context.imported]
    return f"{what} on {_hosts(measured)}" if measured else f"{what} by {_tools(runs)}"


def verdict_of(runs: Sequence[Samples], caution_count: int) -> list[str]:
    """Return the sentences of the verdict."""
    measured = [run for run in runs if not run.context.imported]
    imported = [run for run in runs if run.context.imported]
    told = [_where(measured), *_what(measured)] if measured else []
    told += [_printed(run) for run in imported]
    return [*told, *_how_well(runs), _warned(caution_count)]


def _tools(imported: Sequence[Samples]) -> str:
    return _listed(list(dict.fromkeys(run.context.tool for run in imported)))


def _printed(run: Samples) -> str:
    """Say what the text of another tool tells of its points."""
    context = run.context
    ranks = f", between {context.ranks} ranks" if context.ranks else ""
    printed = str(context.imported.get("number", "average"))
    number = "median" if any(one.number == "median" for one in run.points) else printed
    known = any(map(has_interval, run.points))
    interval = f" with its {100 * CONFIDENCE:.4g} % interval" if known else ""
    counts = sorted({one.launch_count for one in run.points})
    runs = _listed([str(count) for count in counts], "or")
    of_runs = "" if counts == [1] else f" of a run, as the geometric mean over {runs} runs"
    return (
        f"{_counted(run)} printed by {context.tool}{ranks}; the text does not tell where and when. "
        f"Each time is the {number}{of_runs}{interval}."
    )


def _where(runs: Sequence[Samples]) -> str:
    contexts = [run.context for run in runs]
    ranks = _listed([str(n) for n in sorted({context.ranks for context in contexts})], "or")
    mpis = _listed(list(dict.fromkeys(mpi_name(context.mpi) for context in contexts)))
    cores = sorted({context.cores for context in contexts if context.cores})
    kernels = list(dict.fromkeys(context.kernel for context in contexts if context.kernel))
    machine = ", ".join(
        [*([f"{_listed([str(n) for n in cores], 'or')} cores"] if cores else []), *kernels]
    )
    place = f"{_hosts(runs)}: {machine}" if machine else _hosts(runs)
    return f"{_counted(*runs)} between {ranks} ranks, with {mpis}, {_when(runs)}, on {place}."


def _counted(*runs: Samples) -> str:
    count = sum(len([*run.points, *run.polling, *run.waiting]) for run in runs)
    return f"{count} point" + ("" if count == 1 else "s")


def _when(runs: Sequence[Samples]) -> str:
    times = sorted(filter(None, (_instant(run.context.started) for run in runs)))
    if not times:
        return "at a time that was not recorded"
    first, last = times[0], times[-1]
    text = f"on {first.day} {first:%B %Y} at {first:%H:%M} UTC"
    if last.date() != first.date():
        return f"{text} to {last.day} {last:%B %Y}"
    return text


def _instant(started: str) -> datetime | None:
    try:
        instant = datetime.fromisoformat(started.replace("Z", "+00:00"))
        # A time without its zone, as another writer may leave it, is in UTC like the others.
        aware = instant if instant.tzinfo else instant.replace(tzinfo=timezone.utc)
        return aware.astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return None


def _what(runs: Sequence[Samples]) -> list[str]:
    measured = [run for run in runs if run.points]
    if not measured:
        return []
    confidences = {float(run.context.stopping.get("confidence", math.nan)) for run in measured}
    interval = ""
    if len(confidences) == 1 and not math.isnan(confidence := confidences.pop()):
        interval = f" with its {100 * confidence:.4g} % interval"
    isolated = all(run.context.pipeline_length == 1 for run in measured)
    repetitions = "isolated repetitions" if isolated else "repetitions"
    points = [point for run in measured for point in run.points]
    number = _listed(sorted({point.number for point in points}, reverse=True), "or")
    counts = sorted({point.launch_count for point in points})
    if counts == [1]:
        return [
            f"Each time is the {number} of {repetitions} of one launch{interval} "
            f"({_how(measured)})."
        ]
    launches = _listed([str(count) for count in counts], "or")
    return [
        f"Each time is the {number} of {repetitions} of a launch, as the geometric mean over "
        f"{launches} launches{interval} ({_how(measured)})."
    ]


def _how(measured: Sequence[Samples]) -> str:
    methods = list(dict.fromkeys(run.context.method for run in measured))
    if len(methods) == 1 and methods[0] in _METHODS:
        return f"{methods[0]} method: {_METHODS[methods[0]]}"
    return f"method {methods[0]}" if len(methods) == 1 else f"methods {_listed(methods)}"


def _how_well(runs: Sequence[Samples]) -> list[str]:
    points = [point for run in runs for point in run.points]
    widths = sorted(width for width in map(half_width, points) if not math.isnan(width))
    if len(widths) < 2:
        return []
    most = widths[min(len(widths) - 1, math.ceil(0.9 * len(widths)) - 1)]
    which = "the points" if len(widths) == len(points) else "those with an interval"
    if any(has_interval(point) and not point.centre_s > 0 for point in points):
        which += " and a positive time"
    return [
        f"Half of {which} are known within ±{percent_text(statistics.median(widths))}, "
        f"nine in ten within ±{percent_text(most)}."
    ]


def _warned(caution_count: int) -> str:
    if caution_count == 0:
        return "Nothing in the files speaks against the numbers."
    return (
        "Read the warning below first."
        if caution_count == 1
        else f"Read the {caution_count} warnings below first."
    )


def _hosts(runs: Sequence[Samples]) -> str:
    hosts = list(dict.fromkeys(host for run in runs for host in hosts_of(run.context)))
    if not hosts:
        return "an unnamed host"
    return _listed(hosts) if len(hosts) <= HOSTS_NAMED_MAX else hosts_name(hosts)


def _listed(words: Sequence[str], joint: str = "and") -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {joint} {words[-1]}"
