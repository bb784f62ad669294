# SPDX-License-Identifier: BSD-3-Clause
"""Parity: for each benchmark of IMB and OSU our kernel of the same pattern and where we differ.

The definitions are those of the guide of the Intel MPI Benchmarks 2021 and of the README of the
OSU micro-benchmarks 7.  Both average over a loop of repetitions on each rank and show the mean over
ranks or the slowest rank's mean; a sample of ours is the slowest rank of one isolated repetition
(with --pipeline N: of N).  `lanewise show --definition` applies their formula to our samples.
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
    """One benchmark; `kernel` is empty where we have none, and `differs` says why."""

    suite: str
    benchmark: str
    kernel: str
    formula: Formula = Formula()
    differs: str = ""


_ISOLATED = "isolated repetitions, slowest rank; theirs: a loop, mean"
_RECEIVES = "each message has a place of its own; theirs share one buffer, which MPI forbids"
_COLLECTIVES = (
    "Bcast", "Allreduce", "Reduce", "Reduce_scatter", "Reduce_scatter_block", "Allgather",
    "Allgatherv", "Gather", "Gatherv", "Scatter", "Scatterv", "Alltoall", "Alltoallv", "Barrier",
)  # fmt: skip
# Of the nonblocking collectives, the one that IMB has not.
_NOT_IN_IMB = "Reduce_scatter_block"
_PERSISTENT = ("bcast", "allreduce", "alltoall")
_ONE_SIDED = {"put": "Put", "get": "Get", "accumulate": "Accumulate"}


def _imb() -> Iterator[Parity]:
    yield Parity("IMB-MPI1", "PingPong", "pingpong", Formula(moved=1), _ISOLATED)
    yield Parity("IMB-MPI1", "PingPing", "pingping", Formula(moved=1), _ISOLATED)
    yield Parity("IMB-MPI1", "Sendrecv", "sendrecv", Formula(moved=2), _ISOLATED)
    yield Parity("IMB-MPI1", "Exchange", "exchange", Formula(moved=4), _ISOLATED)
    yield Parity("IMB-MPI1", "Uniband", "streaming", Formula(moved=1, messages=True), _RECEIVES)
    yield Parity("IMB-MPI1", "Biband", "bidirectional", Formula(moved=2, messages=True), _RECEIVES)
    for name in _COLLECTIVES:
        yield Parity("IMB-MPI1", name, name.lower(), Formula(), _ISOLATED)
    for name in ("PingPongSpecificSource", "PingPongAnySource"):
        yield Parity("IMB-MPI1", name, "pingpong", Formula(moved=1), "the source is always named")
    for name in ("PingPingSpecificSource", "PingPingAnySource"):
        yield Parity("IMB-MPI1", name, "pingping", Formula(moved=1), "the source is always named")
    yield Parity("IMB-MPI1", "Reduce_local", "", differs="moves nothing between ranks")
    for name in _COLLECTIVES:
        if name == _NOT_IN_IMB:
            continue
        form = f"I{name.lower()}"
        yield Parity("IMB-NBC", f"{form}_pure", form.lower(), Formula(), _ISOLATED)
        yield Parity(
            "IMB-NBC", form, f"overlapped_{form.lower()}", Formula(),
            "the time added to the work; work calibrated anew for each batch, theirs once",
        )  # fmt: skip
    for ours, theirs in _ONE_SIDED.items():
        name = f"Unidir_{theirs.lower()}" if theirs != "Accumulate" else theirs
        yield Parity(
            "IMB-RMA", name, f"{ours}_flush", Formula(moved=1),
            "each followed by its synchronisation; theirs aggregates several in one epoch",
        )  # fmt: skip
    yield Parity("IMB-RMA", "Fetch_and_op", "fetch_op_flush", Formula(), "sums floats")
    yield Parity("IMB-RMA", "Get_accumulate", "fetch_op_flush", Formula(), "sums floats")
    for name in ("Bidir_put", "Bidir_get", "Exchange_put", "Exchange_get"):
        yield Parity("IMB-RMA", name, "", differs="one direction at a time here")
    for name in ("One_put_all", "One_get_all", "All_put_all", "All_get_all"):
        yield Parity("IMB-RMA", name, "", differs="one target here")
    for name in ("Put_local", "Get_local", "Put_all_local", "Get_all_local"):
        yield Parity("IMB-RMA", name, "", differs="local completion says nothing of arrival")
    yield Parity("IMB-RMA", "Truly_passive_put", "", differs="see independent progress instead")
    yield Parity("IMB-RMA", "Compare_and_swap", "", differs="fetch_op of one element is as close")
    yield Parity("IMB-P2P", "PingPong", "pingpong", Formula(moved=1), _ISOLATED)
    yield Parity("IMB-P2P", "PingPing", "pingping", Formula(moved=1), _ISOLATED)
    for name in ("Unirandom", "Birandom"):
        yield Parity("IMB-P2P", name, "", differs="random pairs; pairs measures all of them")
    yield Parity("IMB-P2P", "Stencil3D", "", differs="the grid here has two dimensions")
    yield Parity("IMB-P2P", "Sendrecv_Replace", "", differs="a copy in the MPI, not in the fabric")
    yield Parity("IMB-P2P", "Corandom", "peers_rate", Formula(moved=1, messages=True),
                 "all pairs, not random ones")  # fmt: skip
    yield Parity("IMB-P2P", "Stencil2D", "grid_alltoall", Formula(moved=4), "a collective call")


def _osu() -> Iterator[Parity]:
    yield Parity("OSU", "osu_latency", "pingpong", Formula(), _ISOLATED)
    yield Parity("OSU", "osu_latency_mt", "thread_pairs", Formula(), "two threads on both sides")
    yield Parity("OSU", "osu_latency_mp", "", differs="processes that fork are no fabric")
    yield Parity("OSU", "osu_latency_persistent", "persistent_sendrecv", Formula(), "a ring")
    for name in ("osu_put_bw", "osu_put_bibw", "osu_get_bw"):
        yield Parity("OSU", name, "", differs="one transfer an epoch here")
    yield Parity("OSU", "osu_bw", "streaming", Formula(moved=1), _RECEIVES)
    yield Parity("OSU", "osu_bibw", "bidirectional", Formula(moved=2), _RECEIVES)
    yield Parity("OSU", "osu_mbw_mr", "pairs_rate", Formula(moved=1, messages=True), _RECEIVES)
    yield Parity("OSU", "osu_multi_lat", "pairs", Formula(0.5), "all pairs in disjoint rounds")
    for ours, theirs in {"put": "put", "get": "get", "accumulate": "acc",
                         "fetch_op": "get_acc"}.items():  # fmt: skip
        yield Parity("OSU", f"osu_{theirs}_latency", f"{ours}_flush", Formula(), _ISOLATED)
    yield Parity("OSU", "osu_fop_latency", "fetch_op_flush", Formula(), "floats; theirs 8 bytes")
    yield Parity("OSU", "osu_cas_latency", "", differs="fetch_op of one element is as close")
    for name in (*_COLLECTIVES,):
        yield Parity("OSU", f"osu_{name.lower()}", name.lower(), Formula(),
                     "the slowest rank of each repetition; theirs: mean over ranks")  # fmt: skip
    for name in (*_COLLECTIVES,):
        yield Parity("OSU", f"osu_i{name.lower()}", f"i{name.lower()}", Formula(),
                     "overlap by overlapped_*")  # fmt: skip
    for name in ("allgather", "allgatherv", "alltoall", "alltoallv"):
        yield Parity("OSU", f"osu_neighbor_{name}", f"grid_{name}", Formula(), _ISOLATED)
        yield Parity("OSU", f"osu_ineighbor_{name}", "", differs="the blocking form is measured")
    for name in ("osu_neighbor_alltoallw", "osu_alltoallw", "osu_ialltoallw"):
        yield Parity("OSU", name, "", differs="datatypes of each peer are not measured")
    yield Parity("OSU", "osu_ineighbor_alltoallw", "",
                 differs="datatypes of each peer are not measured")  # fmt: skip
    for name in map(str.lower, (*_COLLECTIVES, "Alltoallw")):
        if name == _NOT_IN_IMB.lower():
            continue
        ours = f"persistent_{name}" if name in _PERSISTENT else ""
        why = _ISOLATED if ours else "three collectives show what being set up once saves"
        yield Parity("OSU", f"osu_{name}_persistent", ours, Formula(), why)
    for name in ("osu_bw_persistent", "osu_bibw_persistent"):
        yield Parity("OSU", name, "", differs="persistent_sendrecv shows what it saves a message")
    for name in ("osu_bw_fan_in", "osu_bw_fan_out"):
        yield Parity("OSU", name, "", differs="peers_rate has all ranks on both sides at once")
    yield Parity("OSU", "osu_hello", "", differs="starting is no message")
    yield Parity("OSU", "osu_init", "", differs="starting is no message; suite shows it as a start")


PARITIES: tuple[Parity, ...] = (*_imb(), *_osu())


def parity_of(definition: Definition, kernel: str) -> Parity | None:
    """Return the first benchmark of a suite that has this kernel's pattern."""
    return next(
        (
            one
            for one in PARITIES
            if one.kernel == kernel and one.suite.lower().startswith(definition)
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
        kernel, number = (f"`{one.kernel}`", number_text(one.formula)) if one.kernel else ("-", "-")
        lines.append(f"| {one.suite} | {one.benchmark} | {kernel} | {number} | {one.differs} |")
    return "\n".join(lines) + "\n"
