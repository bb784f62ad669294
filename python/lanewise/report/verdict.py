# SPDX-License-Identifier: BSD-3-Clause
"""Verdict: the title of a report and the paragraph that a hurried reader reads alone.

It says on what machine, with what MPI, how many ranks and when; what the times
are; and how well they are known.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from datetime import datetime

from lanewise.report.labels import hosts_of, mpi_name
from lanewise.results.cautions import half_width
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
    if not names and any(run.clock_checks for run in runs):
        names = ["clock"]
    if len(names) > 5:
        names = [*names[:4], f"{len(names) - 4} more"]
    what = _listed(names)
    return f"{what[:1].upper() + what[1:] or 'No point yet'} on {_hosts(runs)}"


def verdict_of(runs: Sequence[Samples], caution_count: int) -> list[str]:
    """Return the sentences of the verdict."""
    return [_where(runs), *_what(runs), *_how_well(runs), _warned(caution_count)]


def _where(runs: Sequence[Samples]) -> str:
    contexts = [run.context for run in runs]
    point_count = sum(len(run.points) for run in runs)
    points = f"{point_count} point" + ("" if point_count == 1 else "s")
    ranks = _listed([str(n) for n in sorted({context.ranks for context in contexts})], "or")
    mpis = _listed(list(dict.fromkeys(mpi_name(context.mpi) for context in contexts)))
    cores = sorted({context.cores for context in contexts if context.cores})
    kernels = list(dict.fromkeys(context.kernel for context in contexts if context.kernel))
    machine = ", ".join(
        [*([f"{_listed([str(n) for n in cores], 'or')} cores"] if cores else []), *kernels]
    )
    place = f"{_hosts(runs)}: {machine}" if machine else _hosts(runs)
    return f"{points} between {ranks} ranks, with {mpis}, {_when(runs)}, on {place}."


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
        return datetime.fromisoformat(started.replace("Z", "+00:00"))
    except ValueError:
        return None


def _what(runs: Sequence[Samples]) -> list[str]:
    measured = [run for run in runs if run.points]
    if not measured:
        return []
    methods = list(dict.fromkeys(run.context.method for run in measured))
    confidences = {float(run.context.stopping.get("confidence", math.nan)) for run in measured}
    interval = (
        f" with its {100 * confidences.pop():.4g} % interval" if len(confidences) == 1 else ""
    )
    isolated = all(run.context.pipeline_length == 1 for run in measured)
    repetitions = "isolated repetitions" if isolated else "repetitions"
    how = (
        f"{methods[0]} method: {_METHODS[methods[0]]}"
        if len(methods) == 1 and methods[0] in _METHODS
        else f"methods {_listed(methods)}"
    )
    counts = sorted({point.launch_count for run in measured for point in run.points})
    if counts == [1]:
        return [f"Each time is the median of {repetitions} of one launch{interval} ({how})."]
    launches = _listed([str(count) for count in counts], "or")
    return [
        f"Each time is the median of {repetitions} of a launch, as the geometric mean over "
        f"{launches} launches{interval} ({how})."
    ]


def _how_well(runs: Sequence[Samples]) -> list[str]:
    widths = [half_width(point) for run in runs for point in run.points]
    widths = sorted(width for width in widths if not math.isnan(width))
    if len(widths) < 2:
        return []
    most = widths[min(len(widths) - 1, math.ceil(0.9 * len(widths)) - 1)]
    return [
        f"Half of the points are known within ±{percent_text(statistics.median(widths))}, "
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
    return _listed(hosts) if len(hosts) <= 3 else f"{len(hosts)} hosts ({hosts[0]} … {hosts[-1]})"


def _listed(words: Sequence[str], joint: str = "and") -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {joint} {words[-1]}"
