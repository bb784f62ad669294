# SPDX-License-Identifier: BSD-3-Clause
"""What a trial launch concludes from the words of the native program."""

from __future__ import annotations

from lanewise.launch.trial import fault_in

ALONE = (
    "MPI has 1 rank where PMI_SIZE promises 2; start it with the mpirun of mpich, or srun "
    "--mpi=pmix, of the MPI it was built for"
)


def test_ranks_that_are_alone_have_a_launcher_that_speaks_another_pmi_than_the_library() -> None:
    assert fault_in(ALONE) == (
        "of 2 processes that it started, each says that it is alone "
        "(MPI has 1 rank where PMI_SIZE promises 2): launcher and MPI library speak different PMI"
    )


def test_other_words_of_the_program_are_the_fault_itself() -> None:
    assert fault_in("cannot write samples.jsonl") == "cannot write samples.jsonl"
    assert not fault_in("")
