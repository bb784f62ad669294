# SPDX-License-Identifier: BSD-3-Clause
"""InfiniPath and XD1 (2006): eleven figures.

The paper compares four machines, each with its own network; here one machine has several
transports.  What can be compared is how far they are apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from experiments.experiment import Target
from experiments.papers.item import (
    Chart,
    Finding,
    Here,
    Item,
    Lines,
    Points,
    Quantity,
    number,
    over,
    words,
)

Curves = Mapping[str, Points]
LARGE_BYTES = 1 << 20
# Where the paper says noticeably and gives no number.
NOTICEABLE = 1.25
# What is left where nearly half is used.
ABOUT_HALF = Target(">=", 0.45, at_most=0.55)
# Sizes of different curves that are compared with each other differ by this share at most.
SAME_SIZE = 0.1


def at(points: Points, wanted: float) -> float:
    """Return the value of a curve at a place, or next to it; NaN where it has none there."""
    place, value = min(points, key=lambda point: abs(point[0] / wanted - 1))
    return value if abs(place / wanted - 1) <= SAME_SIZE else math.nan


def spread(wanted: float) -> Callable[[Curves], float]:
    """Return the formula for the largest over the smallest of all curves at a place."""

    def formula(curves: Curves) -> float:
        values = [at(points, wanted) for points in curves.values()]
        return math.nan if any(map(math.isnan, values)) else max(values) / min(values)

    return formula


def lead(wanted: float) -> Callable[[Curves], float]:
    """Return the formula for the largest over the second of all curves at a place."""

    def formula(curves: Curves) -> float:
        values = sorted(at(points, wanted) for points in curves.values())
        known = len(values) > 1 and not any(map(math.isnan, values))
        return values[-1] / values[-2] if known else math.nan

    return formula


def peak(curves: Curves) -> float:
    """Return the largest value of all curves."""
    return max(value for points in curves.values() for _, value in points)


def peak_lead(curves: Curves) -> float:
    """Return the largest value of all curves over the largest of the second."""
    peaks = sorted(max(value for _, value in points) for points in curves.values())
    return peaks[-1] / peaks[-2] if len(peaks) > 1 else math.nan


def steepness(curves: Curves) -> float:
    """Return how much more the steepest curve grows than the flattest.

    All grow from the largest of their first places to the smallest of their last ones.
    """
    first = max(points[0][0] for points in curves.values())
    last = min(points[-1][0] for points in curves.values())
    growths = [at(points, last) / at(points, first) for points in curves.values()]
    return math.nan if any(map(math.isnan, growths)) else max(growths) / min(growths)


def lowest_with_most(curves: Curves) -> float:
    """Return the lowest value at the last place of all; a curve that ends before it is none."""
    last = max(points[-1][0] for points in curves.values())
    return min(points[-1][1] for points in curves.values() if points[-1][0] == last)


def of(key: str, formula: Callable[[Curves], float]) -> Here:
    """Return a number of all curves of a kind."""
    return Here((f"{key}/",), formula)


def curves(title: str, key: str, unit: str, x: str = "bytes") -> tuple[Lines, ...]:
    """Return the panel with all curves of a kind."""
    return (Lines(f"{title} here, by transport", f"{key}/", x, unit),)


_TRANSPORTS = (
    "The paper compares networks between machines; the transports here are software on one machine"
)
_LATENCY = Quantity(
    "slowest over fastest, 8 B", number(3.0), "§1, Fig. 1", of("latency", spread(8))
)
_PEAK = Quantity("best peak", number(1300), "§4, Fig. 2", of("bandwidth", peak))
_PEAK_LEAD = Quantity("best peak over the next", over(1.35), "§4", of("bandwidth", peak_lead))
_BOTH = Quantity("best peak, both ways", over(2000), "§4, Fig. 3", of("bidirectional", peak))
_EXCHANGE = Quantity(
    "best over worst at 1 MiB", words("“significantly lower” for one"), "§4, Fig. 4",
    of("exchange", spread(LARGE_BYTES)),
)  # fmt: skip
_BCAST = Quantity(
    "slowest over fastest at 64 KiB", words("“generally as expected”"), "§4, Fig. 5",
    of("bcast", spread(65536)),
)  # fmt: skip
_ALLREDUCE = Quantity(
    "growth of the steepest over that of the flattest", words("one “noticeably steeper”"),
    "§4, Fig. 6", of("allreduce", steepness),
)  # fmt: skip
_ALLTOALL = Quantity(
    "growth of the steepest over that of the flattest", words("one “steeper”"),
    "§4, Fig. 7", of("alltoall", steepness),
)  # fmt: skip
_STREAMING = Quantity("best over the next, 8 B", over(2.0), "§4, Fig. 8", of("streaming", lead(8)))
_RATE = Quantity(
    "best over worst, 8 B", words("“an order of magnitude”", 10.0), "§1, §6",
    of("rate", spread(8)),
)  # fmt: skip


def _least(curves_: Curves) -> float:
    return min(points[0][1] for points in curves_.values())


_AVAILABLE_LEAST = Quantity(
    "lowest, at the shortest interval", words("“nearly half” is used", 0.5), "§4, Fig. 10",
    of("availability", _least),
)  # fmt: skip
_AVAILABLE_MOST = Quantity(
    "highest", words("“nearly all”", 1.0), "§4, Fig. 10", of("availability", peak)
)
_EFFICIENCY = Quantity(
    "lowest with most ranks", words("“reasonably well”"), "§4, Fig. 11",
    of("efficiency", lowest_with_most),
)  # fmt: skip


def _item(  # noqa: PLR0913, PLR0917 - the parts of an item
    place: str, title: str, finding: Finding, charts: tuple[Chart, ...], difference: str,
    lines: tuple[Lines, ...], experiment: str = "transports",
    unread: str = "The curves over message size; the text has what is stated here.",
) -> Item:  # fmt: skip
    return Item(
        paper="004", item=place, title=title, experiment=experiment, finding=finding,
        charts=charts, difference=difference, unread=unread, lines=lines,
    )  # fmt: skip


ITEMS = (
    _item(
        "Fig. 1",
        "Ping-pong latency",
        Finding(
            "The slowest network has three times the latency of the others.",
            _LATENCY,
            "ratio",
            Target(">=", 3.0),
            "the paper's",
        ),
        (Chart("Latency of 8 B", "ratio", (_LATENCY,)),),
        f"{_TRANSPORTS}, from shared memory to TCP through the kernel, and are farther apart.",
        curves("Latency", "latency", "s"),
    ),
    _item(
        "Fig. 2",
        "Ping-pong bandwidth",
        Finding(
            "The best network peaks at 1.3 GB/s.",
            _PEAK,
            "MB/s",
            Target(">=", 1300),
            "the paper's",
        ),
        (
            Chart("Peak bandwidth", "MB/s", (_PEAK,)),
            Chart("Lead of the best", "ratio", (_PEAK_LEAD,)),
        ),
        f"{_TRANSPORTS}, where memory and not a link of 2 GB/s is the limit. The paper's best "
        "network is over 35 % above the others; the two best here use shared memory and hardly "
        "differ.",
        curves("Bandwidth", "bandwidth", "MB/s"),
    ),
    _item(
        "Fig. 3",
        "Send-receive bandwidth",
        Finding(
            "Both ways together, the best network peaks at over 2 GB/s.",
            _BOTH,
            "MB/s",
            Target(">=", 2000),
            "the paper's",
        ),
        (Chart("Peak bandwidth, both ways", "MB/s", (_BOTH,)),),
        f"{_TRANSPORTS}, where both directions share the memory's bandwidth.",
        curves("Both ways", "bidirectional", "MB/s"),
    ),
    _item(
        "Fig. 4",
        "Exchange bandwidth",
        Finding(
            "One network falls far behind the others for large messages.",
            _EXCHANGE,
            "ratio",
            Target(">=", NOTICEABLE),
            "ours",
        ),
        (Chart("Exchange", "ratio", (_EXCHANGE,)),),
        "The paper takes the weak curve for an error in the software of one network; here the "
        "transports differ by how often they copy a message.",
        curves("Exchange", "exchange", "MB/s"),
    ),
    _item(
        "Fig. 5",
        "Broadcast",
        Finding(
            "Broadcasts are as different as the networks are.",
            _BCAST,
            "ratio",
            Target(">=", NOTICEABLE),
            "ours",
        ),
        (Chart("Broadcast", "ratio", (_BCAST,)),),
        "The paper broadcasts to 32 nodes; here there are two ranks, so that a broadcast is one "
        "message.",
        curves("Broadcast", "bcast", "s"),
    ),
    _item(
        "Fig. 6",
        "Allreduce",
        Finding(
            "The time of an allreduce grows more steeply on one network.",
            _ALLREDUCE,
            "ratio",
            Target(">=", NOTICEABLE),
            "ours",
        ),
        (Chart("Growth from the smallest to the largest message", "ratio", (_ALLREDUCE,)),),
        "The paper has 32 nodes and here are two ranks; a transport with a short latency and slow "
        "copies is the steep one.",
        curves("Allreduce", "allreduce", "s"),
    ),
    _item(
        "Fig. 7",
        "Alltoall",
        Finding(
            "The time of an alltoall grows more steeply on one network.",
            _ALLTOALL,
            "ratio",
            Target(">=", NOTICEABLE),
            "ours",
        ),
        (Chart("Growth from the smallest to the largest message", "ratio", (_ALLTOALL,)),),
        "The paper has 32 nodes and here are two ranks, so that an alltoall is one exchange.",
        curves("Alltoall", "alltoall", "s"),
    ),
    _item(
        "Fig. 8",
        "Streaming bandwidth",
        Finding(
            "For small messages the best network streams over twice as much as the next.",
            _STREAMING,
            "ratio",
            Target(">=", 2.0),
            "the paper's",
        ),
        (Chart("Streaming of small messages", "ratio", (_STREAMING,)),),
        f"{_TRANSPORTS}; several of them are the same shared memory under different libraries, so "
        "that the best is not alone.",
        curves("Streaming", "streaming", "MB/s"),
    ),
    _item(
        "Fig. 9",
        "Message rate",
        Finding(
            "The best network has ten times the message rate of the slowest.",
            _RATE,
            "ratio",
            Target(">=", 10.0),
            "the paper's",
        ),
        (Chart("Messages a second", "ratio", (_RATE,)),),
        f"{_TRANSPORTS}; between shared memory and a socket for each message there is more than "
        "between two adapters.",
        curves("Message rate", "rate", "messages/s"),
    ),
    _item(
        "Fig. 10",
        "CPU availability, messages of 100 kB",
        Finding(
            "A network without its own engine takes nearly half of the processor.",
            _AVAILABLE_LEAST,
            "share",
            ABOUT_HALF,
            "ours",
        ),
        (
            Chart(
                "Share of the processor left for work", "share", (_AVAILABLE_LEAST, _AVAILABLE_MOST)
            ),
        ),
        "No transport here has an engine that moves messages by itself, so that all of them take "
        "the processor while they are polled often.",
        curves("Availability", "availability", "share", "time between polls"),
        "cpu-availability",
        "The curves over the polling interval; the text has their ends.",
    ),
    _item(
        "Fig. 11",
        "Scaling of LAMMPS",
        Finding(
            "LAMMPS scales reasonably well on all networks.",
            _EFFICIENCY,
            "share",
            Target(">=", 0.7),
            "ours",
        ),
        (Chart("Parallel efficiency, work that grows with the ranks", "share", (_EFFICIENCY,)),),
        "The paper runs on up to 128 nodes; here the ranks are the cores of one machine, which "
        "share its memory and whatever else runs.",
        curves("Efficiency", "efficiency", "share", "ranks"),
        "application-scaling",
        "The efficiencies over the number of nodes.",
    ),
)
