# SPDX-License-Identifier: BSD-3-Clause
"""Parity: for each benchmark of IMB and OSU our operation of the same pattern and where we differ.

The definitions are those of the guide of the Intel MPI Benchmarks 2021 and of the README of the
OSU micro-benchmarks 7.  Both average over a loop of repetitions on each rank and show the mean over
ranks or the slowest rank's mean; a sample of ours is the slowest rank of one isolated repetition
(with --pipeline N: of N).  `lanewise report --format text --as` applies
their formula to our samples.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from lanewise.results.read import Samples
from lanewise.results.records import Point
from lanewise.results.table import line

Definition = Literal["imb", "osu"]
DEFINITIONS: tuple[Definition, ...] = ("imb", "osu")


@dataclass(frozen=True)
class Formula:
    """The number that a suite shows: bytes moved as multiples of the message, or none."""

    time_over_sample: float = 1.0
    moved: int = 0
    messages: bool = False


@dataclass(frozen=True)
class Parity:
    """One benchmark; `operation` is empty where we have none, and `differs` says why."""

    suite: str
    benchmark: str
    operation: str
    formula: Formula = Formula()
    differs: str = ""


_ISOLATED = "isolated repetitions, slowest rank; there the mean of a loop"
_RECEIVES = "one receive buffer per message; there one for all, which MPI forbids"
_COLLECTIVES = (
    "Bcast", "Allreduce", "Reduce", "Reduce_scatter", "Reduce_scatter_block", "Allgather",
    "Allgatherv", "Gather", "Gatherv", "Scatter", "Scatterv", "Alltoall", "Alltoallv", "Barrier",
)  # fmt: skip
# Of the nonblocking collectives, the one that IMB has not.
_NOT_IN_IMB = "Reduce_scatter_block"
_PAIRED = "each pair streams a window at once; there one message after another"
_COMPLETE = "a completed get has arrived, so this is the same as without _local"
_SWAPS = "as many swaps as the message has integers"


def _imb() -> Iterator[Parity]:
    yield Parity("IMB-MPI1", "PingPong", "pingpong", Formula(moved=1), _ISOLATED)
    yield Parity("IMB-MPI1", "PingPing", "pingping", Formula(moved=1), _ISOLATED)
    yield Parity("IMB-MPI1", "Sendrecv", "sendrecv", Formula(moved=2), _ISOLATED)
    yield Parity("IMB-MPI1", "Exchange", "exchange", Formula(moved=4), _ISOLATED)
    yield Parity("IMB-MPI1", "Uniband", "streaming", Formula(moved=1, messages=True), _RECEIVES)
    yield Parity("IMB-MPI1", "Biband", "bidirectional", Formula(moved=2, messages=True), _RECEIVES)
    for name in _COLLECTIVES:
        yield Parity("IMB-MPI1", name, name.lower(), Formula(), _ISOLATED)
    for theirs, ours in {"PingPong": "pingpong", "PingPing": "pingping"}.items():
        yield Parity("IMB-MPI1", f"{theirs}SpecificSource", ours, Formula(moved=1), _ISOLATED)
        yield Parity("IMB-MPI1", f"{theirs}AnySource", f"{ours}_any_source", Formula(moved=1),
                     _ISOLATED)  # fmt: skip
    yield Parity("IMB-MPI1", "Reduce_local", "", differs="moves nothing between ranks")
    for name in _COLLECTIVES:
        if name == _NOT_IN_IMB:
            continue
        form = f"I{name.lower()}"
        yield Parity("IMB-NBC", f"{form}_pure", form.lower(), Formula(), _ISOLATED)
        yield Parity(
            "IMB-NBC", form, f"overlapped_{form.lower()}", Formula(),
            "the time added to the work, which is calibrated for each batch; there once",
        )  # fmt: skip
    yield from _imb_one_sided()
    yield Parity("IMB-P2P", "PingPong", "pingpong", Formula(moved=1), _ISOLATED)
    yield Parity("IMB-P2P", "PingPing", "pingping", Formula(moved=1), _ISOLATED)
    yield Parity("IMB-P2P", "Unirandom", "unirandom_rate", Formula(moved=1, messages=True),
                 _PAIRED)  # fmt: skip
    yield Parity("IMB-P2P", "Birandom", "birandom_rate", Formula(moved=1, messages=True),
                 _PAIRED)  # fmt: skip
    yield Parity("IMB-P2P", "Corandom", "peers_rate", Formula(moved=1, messages=True),
                 "all pairs, not random ones")  # fmt: skip
    yield Parity("IMB-P2P", "Stencil2D", "grid_alltoall", Formula(moved=4), "a collective call")
    yield Parity("IMB-P2P", "Stencil3D", "grid3_alltoall", Formula(moved=6), "a collective call")
    yield Parity("IMB-P2P", "Sendrecv_Replace", "sendrecv_replace", Formula(moved=2), _ISOLATED)


def _imb_one_sided() -> Iterator[Parity]:
    for ours, theirs in {"put": "Unidir_put", "get": "Unidir_get"}.items():
        yield Parity("IMB-RMA", theirs, f"{ours}_flush", Formula(moved=1), _ISOLATED)
    for what in ("put", "get"):
        yield Parity("IMB-RMA", f"Bidir_{what}", f"bidirectional_{what}", Formula(moved=2),
                     _ISOLATED)  # fmt: skip
        yield Parity("IMB-RMA", f"Exchange_{what}", f"exchange_{what}", Formula(moved=2),
                     _ISOLATED)  # fmt: skip
        for who in ("One", "All"):
            yield Parity("IMB-RMA", f"{who}_{what}_all", f"{who.lower()}_{what}_all", Formula(),
                         _ISOLATED)  # fmt: skip
    yield Parity("IMB-RMA", "Get_local", "get_flush", Formula(moved=1), _COMPLETE)
    yield Parity("IMB-RMA", "Get_all_local", "one_get_all", Formula(), _COMPLETE)
    for name in ("Put_local", "Put_all_local"):
        yield Parity("IMB-RMA", name, "", differs="local completion does not mean arrival")
    yield Parity("IMB-RMA", "Accumulate", "accumulate_flush", Formula(moved=1), _ISOLATED)
    yield Parity("IMB-RMA", "Fetch_and_op", "fetch_op_flush", Formula(), "sums floats")
    yield Parity("IMB-RMA", "Get_accumulate", "fetch_op_flush", Formula(), "sums floats")
    yield Parity("IMB-RMA", "Compare_and_swap", "compare_swap_flush", Formula(), _SWAPS)
    yield Parity("IMB-RMA", "Truly_passive_put", "passive_put", Formula(),
                 "compare with put_flush, the time without work at the target")  # fmt: skip


def _osu() -> Iterator[Parity]:
    yield Parity("OSU", "osu_latency", "pingpong", Formula(), _ISOLATED)
    yield Parity("OSU", "osu_latency_mt", "thread_pairs", Formula(), "two threads on both sides")
    yield Parity("OSU", "osu_latency_mp", "", differs="not covered: needs fork()")
    yield Parity("OSU", "osu_latency_persistent", "persistent_sendrecv", Formula(), "a ring")
    yield Parity("OSU", "osu_put_bw", "put_streaming", Formula(moved=1), _ISOLATED)
    yield Parity("OSU", "osu_get_bw", "get_streaming", Formula(moved=1), _ISOLATED)
    yield Parity("OSU", "osu_put_bibw", "put_streaming_both", Formula(moved=2), _ISOLATED)
    yield Parity("OSU", "osu_bw", "streaming", Formula(moved=1), _RECEIVES)
    yield Parity("OSU", "osu_bibw", "bidirectional", Formula(moved=2), _RECEIVES)
    yield Parity("OSU", "osu_mbw_mr", "pairs_rate", Formula(moved=1, messages=True), _RECEIVES)
    yield Parity("OSU", "osu_multi_lat", "pairs", Formula(0.5), "all pairs in disjoint rounds")
    for ours, theirs in {"put": "put", "get": "get", "accumulate": "acc",
                         "fetch_op": "get_acc"}.items():  # fmt: skip
        yield Parity("OSU", f"osu_{theirs}_latency", f"{ours}_flush", Formula(), _ISOLATED)
    yield Parity(
        "OSU", "osu_fop_latency", "fetch_op_flush", Formula(), "floats; there 8-byte integers"
    )
    yield Parity("OSU", "osu_cas_latency", "compare_swap_flush", Formula(), _SWAPS)
    for name in map(str.lower, (*_COLLECTIVES, "Alltoallw")):
        yield Parity("OSU", f"osu_{name}", name, Formula(),
                     "the slowest rank of each repetition; there the mean over ranks")  # fmt: skip
        yield Parity("OSU", f"osu_i{name}", f"i{name}", Formula(), "overlap by overlapped_*")
        if name != _NOT_IN_IMB.lower():
            yield Parity("OSU", f"osu_{name}_persistent", f"persistent_{name}", Formula(),
                         _ISOLATED)  # fmt: skip
    for name in ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"):
        yield Parity("OSU", f"osu_neighbor_{name}", f"grid_{name}", Formula(), _ISOLATED)
        yield Parity("OSU", f"osu_ineighbor_{name}", f"igrid_{name}", Formula(), _ISOLATED)
    yield Parity("OSU", "osu_bw_persistent", "persistent_streaming", Formula(moved=1), _RECEIVES)
    yield Parity("OSU", "osu_bibw_persistent", "persistent_bidirectional", Formula(moved=2),
                 _RECEIVES)  # fmt: skip
    for name in ("fan_in", "fan_out"):
        yield Parity("OSU", f"osu_bw_{name}", f"{name}_rate", Formula(moved=1, messages=True),
                     "the window is divided among the peers")  # fmt: skip
    yield Parity("OSU", "osu_hello", "", differs="not covered: startup time")
    yield Parity("OSU", "osu_init", "", differs="not covered here: suite reports the startup time")


PARITIES: tuple[Parity, ...] = (*_imb(), *_osu())


def parity_of(definition: Definition, operation: str) -> Parity | None:
    """Return the first benchmark of a suite that has this operation's pattern."""
    return next(
        (
            one
            for one in PARITIES
            if one.operation == operation and one.suite.lower().startswith(definition)
        ),
        None,
    )


def rows_of(samples: Samples, definition: Definition) -> Iterator[str]:
    """Yield tables of a file by the formula of IMB or OSU: means, MB of 10^6 bytes."""
    names = list(dict.fromkeys(point.operation for point in samples.points))
    for name in names:
        found = parity_of(definition, name)
        if found is None:
            yield f"# {name}: {definition.upper()} has no such benchmark"
            continue
        yield f"# {found.suite} {found.benchmark} ({found.differs})"
        yield line("# Size", headings(found.formula))
        points = [point for point in samples.points if point.operation == name]
        for point in points:
            yield line(str(point.message_bytes), columns(found.formula, point))


def headings(formula: Formula) -> Sequence[str]:
    """Return the headings that a formula has columns for."""
    rate = ["MB/s"] if formula.moved else []
    return ["t_avg(us)", *rate, *(["Msg/s"] if formula.messages else [])]


def columns(formula: Formula, point: Point) -> Sequence[str]:
    """Return the numbers of a point by a formula."""
    seconds = formula.time_over_sample * point.mean_s
    rate = formula.moved * point.message_bytes / seconds / 1e6 if seconds > 0 else math.nan
    found = [f"{seconds * 1e6:.2f}"]
    if formula.moved:
        found.append(f"{rate:.2f}")
    if formula.messages:
        found.append(f"{1 / seconds:.0f}" if seconds > 0 else "-")
    return found


def number_text(formula: Formula) -> str:
    """Write what a benchmark shows, of the mean time t of a call and the size m of a message."""
    shown = ["t" if formula.time_over_sample == 1.0 else f"{formula.time_over_sample:g} t"]
    if formula.moved:
        shown.append("m / t" if formula.moved == 1 else f"{formula.moved} m / t")
    if formula.messages:
        shown.append("1 / t")
    return ", ".join(shown)


def markdown() -> str:
    """Return the table of the guide."""
    lines = [
        "| suite | benchmark | here | their number | where we differ |", "|---|---|---|---|---|",
    ]  # fmt: skip
    for one in PARITIES:
        operation, number = (
            (f"`{one.operation}`", number_text(one.formula)) if one.operation else ("-", "-")
        )
        lines.append(f"| {one.suite} | {one.benchmark} | {operation} | {number} | {one.differs} |")
    return "\n".join(lines) + "\n"
