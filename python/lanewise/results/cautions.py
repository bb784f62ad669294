# SPDX-License-Identifier: BSD-3-Clause
"""Cautions: what a reader should know before believing a result.

Only what the file itself shows is named: ranks without a core of their own, repetitions dropped
because a rank was late, intervals within a single launch or wider than asked, a governor that
changes the clock rate.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from lanewise.results.quantity import size_text
from lanewise.results.read import Samples
from lanewise.results.records import Context, Point

# As the kernel writes processors; ranges are of so few digits that none is huge.
CPU_LIST = re.compile(r"\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*")


def cautions_of(samples: Samples) -> list[str]:
    """Return one sentence for each thing in `samples` that makes its numbers less certain."""
    found = list(samples.warnings)
    found += context_cautions(samples.context)
    imported = bool(samples.context.imported)
    measured = [
        one for one in samples.points if one.samples_s or one.launch_count > 1 or not imported
    ]
    if len(measured) < len(samples.points):
        found.append(
            "points without samples have no interval: the tool printed one number; "
            "append several runs to its file"
        )
    if samples.context.mpi.get("family") != "smpi":
        found += launch_cautions([one for one in measured if one.samples_s], samples.context)
    found += point_cautions(measured, float(samples.context.stopping.get("error", math.inf)))
    not_positive = [point for point in samples.points if point.centre_s <= 0]
    if not_positive:
        found.append(
            f"{counted(not_positive)} without a positive time can have neither a width in per cent "
            "nor a place on a logarithmic axis, only a row of the table: "
            f"{named(not_positive)}"
        )
    return found


def launch_cautions(points: Iterable[Point], context: Context) -> list[str]:
    """Return what speaks against points of a single launch, all of them in one sentence."""
    single = [point for point in points if point.launch_count == 1]
    if not single:
        return []
    several = "append several runs to its file" if context.imported else ""
    remedy = f"; {several or 'measure with --launches 5 or more'}"
    return [
        "the interval is within one launch of the ranks and says nothing about the next at "
        f"{named(single)}{remedy}"
    ]


def context_cautions(context: Context) -> list[str]:
    """Return what the conditions of the run say against its numbers."""
    found = []
    if context.imported:
        number = context.imported["number"]
        found.append(f"the numbers are those of {context.tool} ({number})")
        found += context.imported.get("notes", [])
    simulated = context.mpi.get("family") == "smpi"
    hosts = {place.get("host") for place in context.placement}
    busiest, usable = busiest_host(context)
    if not simulated and usable and busiest > usable:
        where = "" if len(hosts) < 2 else " on the fullest host"
        is_bound = len(hosts) < 2 and usable < context.cores
        bound = f" or let them use more of its {context.cores}" if is_bound else ""
        found.append(
            f"{busiest} ranks{where} share {usable} cores and take turns; "
            f"measure with at most {usable} ranks a host{bound}"
        )
    if not simulated and context.governor not in ("performance", "unknown", ""):
        found.append(
            f"the frequency governor was '{context.governor}'; "
            "set 'performance' (cpupower frequency-set -g performance)"
        )
    return found


def busiest_host(context: Context) -> tuple[int, int]:
    """Return the ranks of the host with the most for each core, and how many cores they may use.

    All ranks and all cores where placement is unknown.
    """
    placed: dict[str, list[str]] = {}
    for place in context.placement:
        placed.setdefault(str(place.get("host")), []).append(str(place.get("cpus", "")))
    shares = [(len(lists), usable_cores(lists, context.cores)) for lists in placed.values()]
    return max(
        shares, key=lambda share: (share[0] / max(share[1], 1), share[0]),
        default=(context.ranks, context.cores),
    )  # fmt: skip


def usable_cores(cpu_lists: Iterable[str], cores: int) -> int:
    """Return how many of a host's cores the ranks may use that have these lists, such as 0-3,8.

    All of them where a list does not say.
    """
    usable: set[int] = set()
    for cpus in cpu_lists:
        if not CPU_LIST.fullmatch(cpus):
            return cores
        for part in cpus.split(","):
            first, _, last = part.partition("-")
            usable |= set(range(int(first), int(last or first) + 1))
    return min(cores, len(usable))


def point_cautions(points: Iterable[Point], error: float) -> list[str]:
    """Return what the points say against themselves, those of one kind in one sentence."""
    points = list(points)
    found = []
    late = [point for point in points if point.late_count]
    if late:
        dropped = sum(point.late_count for point in late)
        found.append(f"{dropped} repetitions were late and dropped ({named(late)})")
    wide = [point for point in points if half_width(point) > error]
    if wide:
        found.append(
            f"the interval is wider than {error:.1%} of the median at {named(wide)}; "
            f"{remedy_of(wide)}"
        )
    few = [point for point in points if not has_interval(point)]
    if few:
        found.append(f"too few repetitions for an interval at {named(few)}")
    return found


def remedy_of(wide: Sequence[Point]) -> str:
    """Return what makes the interval of these points narrower."""
    if any(point.launch_count > 1 for point in wide):
        return "add --launches"
    return "allow more --repetitions or a longer --time-limit"


def has_interval(point: Point) -> bool:
    """Tell whether a point has an interval."""
    return not math.isnan(point.low_s) and not math.isnan(point.high_s)


def half_width(point: Point) -> float:
    """Return half the interval's width over the median, dimensionless.

    It is NaN without an interval, and where the median is not positive.
    """
    if not has_interval(point) or not point.centre_s > 0:
        return math.nan
    return (point.high_s - point.low_s) / 2 / point.centre_s


def counted(points: Sequence[Point]) -> str:
    """Say how many points there are, such as `6 points`."""
    return "1 point" if len(points) == 1 else f"{len(points)} points"


def named(points: Iterable[Point], most: int = 3) -> str:
    """Name points as `scatter 8 B, scatter 16 B and 4 more`, those of one name once."""
    names = list(
        dict.fromkeys(f"{point.operation} {size_text(point.message_bytes)}" for point in points)
    )
    rest = len(names) - most
    listed = ", ".join(names[:most])
    return listed if rest <= 0 else f"{listed} and {rest} more"
