# SPDX-License-Identifier: BSD-3-Clause
"""Parity: for each benchmark of IMB, NetPIPE and OSU our operation of the same pattern.

The patterns are those of the guide of the Intel MPI Benchmarks 2021, of the manual of NetPIPE 3.7
and of the README of the OSU micro-benchmarks 7.4.  `lanewise measure --as` runs the loops of these
tools, which src/measure/definitions holds; here is what they print of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Formula:
    """The number that a suite shows: bytes moved as multiples of the message, or none.

    `overlaps`: the time contains work, to which our time is added.
    """

    time_over_sample: float = 1.0
    moved: int = 0
    messages: bool = False
    overlaps: bool = False


@dataclass(frozen=True)
class Parity:
    """One benchmark; `operation` is empty where we have none, and `differs` says why.

    `whole_vector`: its sizes count the vector of all ranks, of which ours count one rank's block.
    """

    suite: str
    benchmark: str
    operation: str
    formula: Formula = Formula()
    differs: str = ""
    whole_vector: bool = False

    def printed_bytes(self, message_bytes: int, ranks: int) -> int:
        """Return the size that the benchmark prints for a message size of ours."""
        return message_bytes * ranks if self.whole_vector else message_bytes


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
    yield Parity("IMB-MPI1", "PingPong", "pingpong", Formula(moved=1))
    yield Parity("IMB-MPI1", "PingPing", "pingping", Formula(moved=1))
    yield Parity("IMB-MPI1", "Sendrecv", "sendrecv", Formula(moved=2))
    yield Parity("IMB-MPI1", "Exchange", "exchange", Formula(moved=4))
    yield Parity("IMB-MPI1", "Uniband", "streaming", Formula(moved=1, messages=True))
    yield Parity("IMB-MPI1", "Biband", "bidirectional", Formula(moved=2, messages=True))
    for name in _COLLECTIVES:
        yield Parity("IMB-MPI1", name, name.lower(), Formula())
    for theirs, ours in {"PingPong": "pingpong", "PingPing": "pingping"}.items():
        yield Parity("IMB-MPI1", f"{theirs}SpecificSource", ours, Formula(moved=1))
        yield Parity("IMB-MPI1", f"{theirs}AnySource", f"{ours}_any_source", Formula(moved=1))
    yield Parity("IMB-MPI1", "Reduce_local", "", differs="moves nothing between ranks")
    for name in _COLLECTIVES:
        if name == _NOT_IN_IMB:
            continue
        form = f"I{name.lower()}"
        yield Parity("IMB-NBC", f"{form}_pure", form.lower(), Formula())
        yield Parity(
            "IMB-NBC", form, f"overlapped_{form.lower()}", Formula(overlaps=True),
            "the work touches no memory; there a matrix and two vectors of ten floats",
        )  # fmt: skip
    yield from _imb_one_sided()
    yield Parity("IMB-P2P", "PingPong", "pingpong", Formula(moved=1))
    yield Parity("IMB-P2P", "PingPing", "pingping", Formula(moved=1))
    yield Parity("IMB-P2P", "Unirandom", "unirandom_rate", Formula(moved=1, messages=True),
                 _PAIRED)  # fmt: skip
    yield Parity("IMB-P2P", "Birandom", "birandom_rate", Formula(moved=1, messages=True),
                 _PAIRED)  # fmt: skip
    yield Parity("IMB-P2P", "Corandom", "peers_rate", Formula(moved=1, messages=True),
                 "all pairs, not random ones")  # fmt: skip
    yield Parity("IMB-P2P", "Stencil2D", "grid_alltoall", Formula(moved=4), "a collective call")
    yield Parity("IMB-P2P", "Stencil3D", "grid3_alltoall", Formula(moved=6), "a collective call")
    yield Parity("IMB-P2P", "Sendrecv_Replace", "sendrecv_replace", Formula(moved=2))


def _imb_one_sided() -> Iterator[Parity]:
    for ours, theirs in {"put": "Unidir_put", "get": "Unidir_get"}.items():
        yield Parity("IMB-RMA", theirs, f"{ours}_flush", Formula(moved=1))
    for what in ("put", "get"):
        yield Parity("IMB-RMA", f"Bidir_{what}", f"bidirectional_{what}", Formula(moved=2))
        yield Parity("IMB-RMA", f"Exchange_{what}", f"exchange_{what}", Formula(moved=2))
        for who in ("One", "All"):
            yield Parity("IMB-RMA", f"{who}_{what}_all", f"{who.lower()}_{what}_all", Formula())
    yield Parity("IMB-RMA", "Get_local", "get_flush", Formula(moved=1), _COMPLETE)
    yield Parity("IMB-RMA", "Get_all_local", "one_get_all", Formula(), _COMPLETE)
    for name in ("Put_local", "Put_all_local"):
        yield Parity("IMB-RMA", name, "", differs="local completion does not mean arrival")
    yield Parity("IMB-RMA", "Accumulate", "accumulate_flush", Formula(moved=1))
    yield Parity("IMB-RMA", "Fetch_and_op", "fetch_op_flush", Formula(), "sums floats")
    yield Parity("IMB-RMA", "Get_accumulate", "get_accumulate_flush", Formula(), "sums floats")
    yield Parity("IMB-RMA", "Compare_and_swap", "compare_swap_flush", Formula(), _SWAPS)
    yield Parity("IMB-RMA", "Truly_passive_put", "passive_put", Formula(),
                 "compare with put_flush, the time without work at the target")  # fmt: skip


def _osu() -> Iterator[Parity]:
    yield Parity("OSU", "osu_latency", "pingpong", Formula())
    yield Parity("OSU", "osu_latency_mt", "thread_pairs", Formula(), "two threads on both sides")
    yield Parity("OSU", "osu_latency_mp", "", differs="not covered: needs fork()")
    yield Parity("OSU", "osu_latency_persistent", "persistent_pingpong", Formula())
    yield Parity("OSU", "osu_put_bw", "put_streaming", Formula(moved=1))
    yield Parity("OSU", "osu_get_bw", "get_streaming", Formula(moved=1))
    yield Parity("OSU", "osu_put_bibw", "put_streaming_both_pscw", Formula(moved=2))
    yield Parity("OSU", "osu_bw", "streaming", Formula(moved=1))
    yield Parity("OSU", "osu_bibw", "bidirectional", Formula(moved=2))
    yield Parity("OSU", "osu_mbw_mr", "pairs_rate", Formula(moved=1, messages=True))
    yield Parity("OSU", "osu_multi_lat", "pairs_pingpong", Formula())
    for ours, theirs in {"put": "put", "get": "get", "accumulate": "acc"}.items():
        yield Parity("OSU", f"osu_{theirs}_latency", f"{ours}_flush", Formula())
    yield Parity("OSU", "osu_get_acc_latency", "get_accumulate_lock", Formula())
    yield Parity(
        "OSU", "osu_fop_latency", "fetch_op_flush", Formula(), "floats; there 8-byte integers"
    )
    yield Parity("OSU", "osu_cas_latency", "compare_swap_flush", Formula(), _SWAPS)
    for name in map(str.lower, (*_COLLECTIVES, "Alltoallw")):
        yield Parity("OSU", f"osu_{name}", name, Formula(),
                     whole_vector=name.startswith("reduce_scatter"))  # fmt: skip
        yield Parity("OSU", f"osu_i{name}", f"i{name}", Formula(), "overlap by overlapped_*",
                     whole_vector=name.startswith("reduce_scatter"))  # fmt: skip
        if name != _NOT_IN_IMB.lower():
            yield Parity("OSU", f"osu_{name}_persistent", f"persistent_{name}", Formula(),
                         whole_vector=name.startswith("reduce_scatter"))  # fmt: skip
    for name in ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"):
        yield Parity("OSU", f"osu_neighbor_{name}", f"grid_{name}", Formula())
        yield Parity("OSU", f"osu_ineighbor_{name}", f"igrid_{name}", Formula())
    yield Parity("OSU", "osu_bw_persistent", "persistent_streaming", Formula(moved=1))
    yield Parity("OSU", "osu_bibw_persistent", "persistent_bidirectional", Formula(moved=2))
    for name in ("fan_in", "fan_out"):
        yield Parity("OSU", f"osu_bw_{name}", f"{name}_rate", Formula(moved=1, messages=True),
                     "the window is divided among the peers")  # fmt: skip
    yield Parity("OSU", "osu_hello", "", differs="not covered: startup time")
    yield Parity("OSU", "osu_init", "", differs="not covered here: suite reports the startup time")


PARITIES: tuple[Parity, ...] = (
    *_imb(),
    Parity("NetPIPE", "NPmpi", "pingpong", Formula(moved=1)),
    *_osu(),
)


def parity_of(definition: str, operation: str) -> Parity | None:
    """Return the first benchmark of a suite whose loop runs this operation."""
    return next(
        (
            one
            for one in PARITIES
            if one.operation == operation and one.suite.lower().startswith(definition)
        ),
        None,
    )


def number_text(formula: Formula) -> str:
    """Write what a benchmark shows, of the mean time t of a call and the size m of a message."""
    shown = ["t" if formula.time_over_sample == 1.0 else f"{formula.time_over_sample:g} t"]
    if formula.moved:
        shown.append("m / t" if formula.moved == 1 else f"{formula.moved} m / t")
    if formula.messages:
        shown.append("1 / t")
    if formula.overlaps:
        shown = ["t + work", "overlap"]
    return ", ".join(shown)


def markdown() -> str:
    """Return the table of the guide."""
    lines = [
        "| suite | benchmark | here | their number | `--as` | where we differ |",
        "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for one in PARITIES:
        operation, number = (
            (f"`{one.operation}`", number_text(one.formula)) if one.operation else ("-", "-")
        )
        looped = "yes" if one.operation else "-"
        cells = (one.suite, one.benchmark, operation, number, looped, one.differs)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
