# SPDX-License-Identifier: BSD-3-Clause
"""Tables as IMB, NetPIPE and OSU print them, of points that were measured with their loops.

Titles, headings and widths are those of the output of IMB 2021.11, NetPIPE 3.7 and OSU 7.4.  All
columns of a row are theirs; what Lanewise adds stands in lines that begin with `#`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lanewise.results.records import Point
from lanewise.results.table import line, single_mark
from lanewise.suite.parity import Parity, parity_of

OSU_VERSION = "7.4"
OSU_WINDOW = 64
MB = 1e6
MEGABIT = 2**20
# How the one-sided benchmarks synchronise unless they are told otherwise.
SYNCHRONISATIONS = {
    **{
        f"osu_{name}": "MPI_Win_flush"
        for name in ("put_latency", "get_latency", "acc_latency", "fop_latency", "cas_latency",
                     "put_bw", "get_bw")
    },
    "osu_put_bibw": "MPI_Win_post/start/complete/wait",
    "osu_get_acc_latency": "MPI_Win_lock/unlock",
}  # fmt: skip
_COLLECTIVES = {
    "bcast": "Broadcast",
    "alltoall": "All-to-All Personalized Exchange",
    "alltoallv": "All-to-Allv Personalized Exchange",
    "alltoallw": "All-to-Allw Personalized Exchange",
    **{
        name.lower(): name
        for name in (
            "Allgather", "Allgatherv", "Allreduce", "Barrier", "Gather", "Gatherv", "Reduce",
            "Reduce_scatter", "Reduce_scatter_block", "Scatter", "Scatterv",
        )
    },
}  # fmt: skip
_NONBLOCKING = {**_COLLECTIVES, "alltoall": "All-to-All"}
# The title of each OSU benchmark, between "OSU" and "Test".
OSU_TITLES = {
    "osu_latency": "MPI Latency",
    "osu_latency_mt": "MPI Multi-threaded Latency",
    "osu_latency_persistent": "MPI Latency Persistent",
    "osu_multi_lat": "MPI Multi Latency",
    "osu_bw": "MPI Bandwidth",
    "osu_bibw": "MPI Bi-Directional Bandwidth",
    "osu_bw_persistent": "MPI Bandwidth Persistent",
    "osu_bibw_persistent": "MPI Bi-Directional Bandwidth Persistent",
    "osu_mbw_mr": "MPI Multiple Bandwidth / Message Rate",
    "osu_put_latency": "MPI_Put Latency",
    "osu_get_latency": "MPI_Get latency",
    "osu_acc_latency": "MPI_Accumulate latency",
    "osu_get_acc_latency": "MPI_Get_accumulate latency",
    "osu_fop_latency": "MPI_Fetch_and_op latency",
    "osu_cas_latency": "MPI_Compare_and_swap latency",
    "osu_put_bw": "MPI_Put Bandwidth",
    "osu_get_bw": "MPI_Get Bandwidth",
    "osu_put_bibw": "MPI_Put Bi-directional Bandwidth",
    **{f"osu_{name}": f"MPI {title} Latency" for name, title in _COLLECTIVES.items()},
    **{f"osu_i{name}": f"MPI Non-blocking {title} Latency" for name, title in _NONBLOCKING.items()},
    **{
        f"osu_neighbor_{name.lower()}": f"MPI Neighborhood {name} Latency"
        for name in ("Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw")
    },
}


@dataclass(frozen=True)
class Layout:
    """What the tables of one tool need to know of the run; `window` is 0 where it is the tool's."""

    definition: str
    ranks: int
    window: int = 0

    def parity(self, point: Point) -> Parity:
        """Return the benchmark of a point; it has one, or it would not have been measured."""
        found = parity_of(self.definition, point.operation)
        return found or Parity(self.definition.upper(), point.operation, point.operation)

    def heading(self, point: Point) -> list[str]:
        """Return the lines above the rows of an operation."""
        heading, _ = TABLES[self.definition]
        return heading(self, self.parity(point))

    def row(self, point: Point, number: int) -> str:
        """Return the row of a point, the `number`-th of its table."""
        _, row = TABLES[self.definition]
        return row(self, self.parity(point), point, number)

    def size(self, point: Point) -> int:
        """Return the size that the tool prints."""
        return self.parity(point).printed_bytes(point.message_bytes, self.ranks)


def seconds_of(parity: Parity, point: Point) -> float:
    """Return the time that a benchmark makes of a point."""
    return parity.formula.time_over_sample * point.median_s


def rate_of(parity: Parity, message_bytes: int, seconds: float) -> float:
    """Return the bytes in a second that a benchmark makes of a time."""
    return parity.formula.moved * message_bytes / seconds if seconds > 0 else math.nan


def messages_of(parity: Parity, seconds: float) -> float:
    """Return the messages in a second that a benchmark makes of a time."""
    return max(1, parity.formula.moved) / seconds if seconds > 0 else math.nan


def us(seconds: float | None) -> str:
    """Return a time as all these tools print it."""
    return f"{(math.nan if seconds is None else seconds) * 1e6:.2f}"


def osu_columns(parity: Parity) -> list[str]:
    """Return the headings of an OSU benchmark besides the size."""
    name = parity.benchmark
    if parity.formula.messages:
        return ["MB/s", "Messages/s"]
    if parity.formula.moved:
        return ["Bandwidth (MB/s)"]
    if name.startswith(("osu_i", "osu_ineighbor")):
        return ["Pure Comm.(us)"]
    return ["Latency (us)" if name in SYNCHRONISATIONS else "Avg Latency(us)"]


def osu_heading(layout: Layout, parity: Parity) -> list[str]:
    """Return the lines above an OSU table."""
    name = parity.benchmark
    title = OSU_TITLES.get(name)
    lines = [f"# OSU {title} Test v{OSU_VERSION}" if title else f"# {name} v{OSU_VERSION}"]
    if name == "osu_mbw_mr":
        lines.append(
            f"# [ pairs: {layout.ranks // 2} ] [ window size: {layout.window or OSU_WINDOW} ]"
        )
    if name in SYNCHRONISATIONS:
        window = "create" if name == "osu_get_acc_latency" else "allocate"
        lines += [f"# Window creation: MPI_Win_{window}",
                  f"# Synchronization: {SYNCHRONISATIONS[name]}"]  # fmt: skip
    if parity.operation.endswith("barrier"):
        return [*lines, f"# {osu_columns(parity)[0]}"]
    if name != "osu_get_acc_latency":
        lines.append("# Datatype: MPI_CHAR.")
    return [*lines, line("# Size", osu_columns(parity))]


def osu_row(layout: Layout, parity: Parity, point: Point, number: int) -> str:
    """Return a row of an OSU table."""
    del number
    seconds = seconds_of(parity, point)
    if parity.operation.endswith("barrier"):
        return f"{us(seconds):>17}"
    cells = [us(seconds)]
    if parity.formula.moved:
        cells = [f"{rate_of(parity, point.message_bytes, seconds) / MB:.2f}"]
    if parity.formula.messages:
        cells.append(f"{messages_of(parity, seconds):.2f}")
    return line(str(parity.printed_bytes(point.message_bytes, layout.ranks)), cells)


def imb_columns(parity: Parity) -> list[str]:
    """Return the headings of an IMB benchmark."""
    size = [] if parity.operation.endswith("barrier") else ["#bytes"]
    if parity.formula.messages:
        return [*size, "#repetitions", "Mbytes/sec", "Msg/sec"]
    rate = ["Mbytes/sec"] if parity.formula.moved else []
    if is_single(parity):
        return [*size, "#repetitions", "t[usec]", *rate]
    if parity.formula.overlaps:
        return [*size, "#repetitions", "t_ovrl[usec]", "t_pure[usec]", "t_CPU[usec]",
                "overlap[%]"]  # fmt: skip
    return [*size, "#repetitions", "t_min[usec]", "t_max[usec]", "t_avg[usec]", *rate]


def is_single(parity: Parity) -> bool:
    """Tell whether IMB prints the time of one pair rather than of all ranks."""
    return parity.benchmark.startswith(("PingP", "Unidir_", "One_", "Accumulate", "Fetch_", "Get_",
                                        "Compare_", "Truly_"))  # fmt: skip


def imb_heading(layout: Layout, parity: Parity) -> list[str]:
    """Return the lines above an IMB table."""
    columns = imb_columns(parity)
    rule = "#" + "-" * (13 * len(columns) - 1)
    return [
        rule, f"# Benchmarking {parity.benchmark} ", f"# #processes = {layout.ranks} ", rule,
        "".join(f"{name:>13}" for name in columns),
    ]  # fmt: skip


def imb_row(layout: Layout, parity: Parity, point: Point, number: int) -> str:
    """Return a row of an IMB table."""
    del layout, number
    seconds = seconds_of(parity, point)
    single = is_single(parity)
    slowest = seconds if single or point.max_s is None else point.max_s
    cells = {
        "#bytes": str(point.message_bytes),
        "#repetitions": str(point.calls or 0),
        "t[usec]": us(seconds),
        "t_min[usec]": us(point.min_s),
        "t_max[usec]": us(point.max_s),
        "t_avg[usec]": us(seconds),
        **overlap_cells(point),
        "Mbytes/sec": f"{rate_of(parity, point.message_bytes, slowest) / MB:.2f}",
        "Msg/sec": f"{messages_of(parity, seconds):.0f}",
    }
    return "".join(f"{cells[name]:>13}" for name in imb_columns(parity))


def overlap_cells(point: Point) -> dict[str, str]:
    """Return what IMB prints of an operation that work overlaps, of the slowest rank."""
    if point.pure_s is None or point.work_s is None:
        return {}
    both_s = point.median_s + point.work_s
    longer_s = max(point.pure_s, point.work_s)
    hidden = (point.pure_s + point.work_s - both_s) / longer_s if longer_s > 0 else math.nan
    return {
        "t_ovrl[usec]": us(both_s),
        "t_pure[usec]": us(point.pure_s),
        "t_CPU[usec]": us(point.work_s),
        "overlap[%]": f"{100 * max(0.0, min(1.0, hidden)):.2f}",
    }


def netpipe_heading(layout: Layout, parity: Parity) -> list[str]:
    """Return the line above NetPIPE's rows."""
    del layout, parity
    return ["Now starting the main loop"]


def netpipe_row(layout: Layout, parity: Parity, point: Point, number: int) -> str:
    """Return a row of NetPIPE."""
    del layout
    seconds = seconds_of(parity, point)
    mbps = 8 * rate_of(parity, point.message_bytes, seconds) / MEGABIT
    return (
        f"{number:3d}: {point.message_bytes:7d} bytes {point.calls or 0:6d} times --> "
        f"{mbps:9.2f} Mbps in {us(seconds):>10} usec"
    )


# For each tool, by the name that --as gives it: the lines above its table, and a row.
TABLES = {
    "imb": (imb_heading, imb_row),
    "netpipe": (netpipe_heading, netpipe_row),
    "osu": (osu_heading, osu_row),
}


def differences(layout: Layout, pairs: Sequence[tuple[Point, Point]]) -> Iterator[str]:
    """Yield what isolated repetitions take beside a loop, each pair (isolated, looped) a line."""
    tool = layout.definition.upper().replace("NETPIPE", "NetPIPE")
    overlaps = layout.parity(pairs[0][1]).formula.overlaps
    what = f"{tool}'s t_ovrl - t_CPU" if overlaps else tool
    mark = single_mark(pairs[0][1].launch_count)
    ends = f"which end when the slowest rank has finished{mark}:"
    yield f"# {what} beside isolated repetitions, {ends}"
    yield line("# Size", [f"{tool}(us)", "Isolated(us)", f"Isolated/{tool}"])
    for isolated, looped in pairs:
        looped_s = looped.median_s
        ratio = isolated.median_s / looped_s if looped_s > 0 else math.nan
        yield line(
            f"# {layout.size(looped)}", [us(looped_s), us(isolated.median_s), f"{ratio:.2f}"]
        )


def tables(layout: Layout, pairs: Sequence[tuple[Point, Point]]) -> Iterator[str]:
    """Yield all tables of a file."""
    for place, name in enumerate(dict.fromkeys(looped.operation for _, looped in pairs)):
        if place:
            yield ""
        mine = [pair for pair in pairs if pair[1].operation == name]
        yield from layout.heading(mine[0][1])
        for number, (_, looped) in enumerate(mine):
            yield layout.row(looped, number)
        yield from differences(layout, mine)
