# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise tune --emit openmpi6`: Open MPI 6 takes from the file what the rules say.

For make test-all, which makes the Debian that has it (see inside).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from lanewise.cli.proving import MANNERS, newer_than_5, prove_openmpi6
from lanewise.launch.choose import Choice
from lanewise.launch.native import MANIFEST, PROVE, read_build
from lanewise.launch.registry import LAUNCHERS
from lanewise.tuning.emitters import emitter_named
from lanewise.tuning.safety import Operators
from lanewise.tuning.specimen import own, tuning

ROOT = Path(__file__).parents[2]
LAUNCHER = Path(__file__).with_name("mpirun")
RANKS = 4
# As in a file that is exported for commutative operators only, which some of these need.
RULED = {
    "barrier": {0: [own("tree")]},
    "bcast": {64: [own("chain", 8192)], 128: [own("chain", 8192)], 4096: [own("pipeline", 1024)]},
    "scatter": {8: [own("linear_nb")]},
    "gather": {8: [own("binomial")]},
    "allgather": {16: [own("ring")], 64: [own("ring"), own("bruck")], 128: [own("bruck")]},
    "alltoall": {8: [own("pairwise")], 1024: []},
    "reduce": {64: [own("binomial")], 1024: [own("pipeline", 8192)]},
    "allreduce": {64: [own("ring")], 4096: []},
    "reduce_scatter": {64: [own("ring")], 256: [own("ring")]},
}


@pytest.fixture(scope="module")
def open_mpi() -> Choice:
    """Give the build inside and its launcher."""
    manifest = ROOT / "build/openmpi6" / MANIFEST
    if not manifest.is_file() or not (manifest.parent / "bin" / PROVE).is_file():
        pytest.skip("no build for Open MPI 6; make test-all makes one, as root and by mmdebstrap")
    choice = Choice(LAUNCHERS["openmpi"], str(LAUNCHER), read_build(manifest))
    assert newer_than_5(choice.build.mpi_version)
    return choice


def test_open_mpi_6_takes_the_rule_of_each_call_and_no_other(open_mpi: Choice) -> None:
    one = tuning(RULED, ranks=RANKS)

    count, faults = prove_openmpi6(
        open_mpi, one, emitter_named("openmpi6").emit(one).text, MANNERS[Operators.COMMUTATIVE]
    )

    assert faults == []
    assert count > len(RULED)


def test_what_open_mpi_6_does_not_take_is_found_out(open_mpi: Choice) -> None:
    one = tuning({"bcast": RULED["bcast"]}, ranks=RANKS)
    text = emitter_named("openmpi6").emit(one).text

    for right, wrong in (('"chain"', '"chains"'), ('"bcast"', '"Bcast"'), (": 128", ": 127")):
        assert right in text
        _, faults = prove_openmpi6(
            open_mpi, one, text.replace(right, wrong), MANNERS[Operators.COMMUTATIVE]
        )
        assert any(fault.startswith("bcast:128:4: ") for fault in faults), faults
