# SPDX-License-Identifier: BSD-3-Clause
"""The benchmarks of other suites are all listed, here and in the guide."""

from pathlib import Path

import pytest

from lanewise.suite.parity import PARITIES, markdown, parity_of

GUIDE = Path(__file__).parents[3] / "docs" / "suite.md"


def test_the_guide_has_every_row() -> None:
    assert markdown() in GUIDE.read_text(encoding="utf-8")


COLLECTIVES = [
    "allgather",
    "allgatherv",
    "allreduce",
    "alltoall",
    "alltoallv",
    "barrier",
    "bcast",
    "gather",
    "gatherv",
    "reduce",
    "reduce_scatter",
    "scatter",
    "scatterv",
]
# What the sources of IMB 2021.10 and of the OSU micro-benchmarks 7.4 register.
THEIRS = {
    "IMB-MPI1": {
        "PingPong", "PingPongSpecificSource", "PingPongAnySource", "PingPing",
        "PingPingSpecificSource", "PingPingAnySource", "Sendrecv", "Exchange", "Uniband", "Biband",
        "Reduce_local", "Reduce_scatter_block", *(name.capitalize() for name in COLLECTIVES),
    },
    "IMB-NBC": {f"I{name}{pure}" for name in COLLECTIVES for pure in ("", "_pure")},
    "IMB-RMA": {
        "Unidir_put", "Unidir_get", "Bidir_put", "Bidir_get", "One_put_all", "One_get_all",
        "All_put_all", "All_get_all", "Put_local", "Put_all_local", "Get_local", "Get_all_local",
        "Exchange_put", "Exchange_get", "Accumulate", "Get_accumulate", "Fetch_and_op",
        "Compare_and_swap", "Truly_passive_put",
    },
    "NetPIPE": {"NPmpi"},
    "IMB-P2P": {
        "PingPong", "PingPing", "Unirandom", "Birandom", "Corandom", "Sendrecv_Replace",
        "Stencil2D", "Stencil3D",
    },
    "OSU": {
        "osu_latency", "osu_latency_mt", "osu_latency_mp", "osu_latency_persistent", "osu_bw",
        "osu_bw_persistent", "osu_bibw", "osu_bibw_persistent", "osu_mbw_mr", "osu_multi_lat",
        "osu_bw_fan_in", "osu_bw_fan_out", "osu_hello", "osu_init", "osu_reduce_scatter_block",
        "osu_ireduce_scatter_block", "osu_alltoallw", "osu_ialltoallw", "osu_alltoallw_persistent",
        *(f"osu_{name}" for name in COLLECTIVES), *(f"osu_i{name}" for name in COLLECTIVES),
        *(f"osu_{name}_persistent" for name in COLLECTIVES),
        *(f"osu_{i}neighbor_{name}" for i in ("", "i")
          for name in ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")),
        *(f"osu_{name}_latency" for name in ("put", "get", "acc", "get_acc", "fop", "cas")),
        "osu_put_bw", "osu_put_bibw", "osu_get_bw",
    },
}  # fmt: skip


@pytest.mark.parametrize("suite", THEIRS)
def test_every_benchmark_of_a_suite_has_its_row(suite: str) -> None:
    assert {one.benchmark for one in PARITIES if one.suite == suite} == THEIRS[suite]


def test_no_benchmark_is_named_twice() -> None:
    names = [(one.suite, one.benchmark) for one in PARITIES]

    assert len(names) == len(set(names))


def test_what_we_have_not_says_why() -> None:
    assert all(one.differs for one in PARITIES if not one.operation)


def test_an_operation_belongs_to_the_first_benchmark_that_has_it() -> None:
    found = parity_of("osu", "pingpong")

    assert found is not None
    assert found.benchmark == "osu_latency"


def test_an_operation_that_no_loop_runs_has_no_benchmark() -> None:
    assert parity_of("imb", "partitioned") is None
    assert parity_of("imb", "overlapped_iscan") is None


@pytest.mark.parametrize("name", ["reduce_scatter", "ireduce_scatter_block"])
def test_osu_counts_the_vector_of_all_ranks_and_imb_the_block_of_one(name: str) -> None:
    osu, imb = parity_of("osu", name), parity_of("imb", name.removesuffix("_block"))

    assert osu is not None
    assert imb is not None
    assert osu.printed_bytes(64, ranks=4) == 256
    assert imb.printed_bytes(64, ranks=4) == 64
