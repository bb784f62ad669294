# SPDX-License-Identifier: BSD-3-Clause
"""A trial launch: whether two ranks that a launcher starts find each other in their MPI.

A launcher may start every rank as a job of its own, as MPICH 4.2.0 of Ubuntu 24.04 does, and
nothing but a launch tells.  The native program notices, because the launcher promised more ranks.
"""

from __future__ import annotations

import os
import re
import tempfile
from functools import cache
from pathlib import Path

from lanewise.errors import LanewiseError
from lanewise.launch.choose import Choice
from lanewise.launch.job import Job
from lanewise.launch.native import MEASURE
from lanewise.launch.run_native import Conditions, run_native, sentence_in, words_of

RANKS = 2
LIMIT_S = 30.0

_ALONE = re.compile(r"MPI has 1 rank where \S+ promises \d+")


@cache
def why_ranks_are_apart(choice: Choice) -> str:
    """Return why ranks do not start, or do not find each other; nothing where they do.

    Launchers that simulate their ranks, or that ask a batch system for hosts, are not tried.
    """
    if choice.launcher.simulates or choice.launcher.queues:
        return ""
    with tempfile.TemporaryDirectory(prefix="lanewise-trial-") as folder:
        samples = str(Path(folder) / "samples.jsonl")
        program = (*choice.build.command(MEASURE), "barrier", "--repetitions", "1", "-o", samples)
        job = Job(
            program=program, ranks=RANKS, executable=choice.executable, mpi=choice.build.mpi,
            cores=1, user_id=os.getuid(), folder=Path(folder),
        )  # fmt: skip
        try:
            outcome = run_native(choice, job, conditions=Conditions(limit_s=LIMIT_S))
        except LanewiseError as error:
            return str(error)
    sentence = sentence_in(list(outcome.output)) or ""
    if outcome.status != 0 and not sentence:
        return f"its ranks do not start: {words_of(outcome)}"
    return fault_in(sentence)


def fault_in(sentence: str) -> str:
    """Return what is wrong where the native program said `sentence`; nothing where it said nothing.

    The launcher and the library are of one MPI here, so ranks that are alone have one cause left.
    """
    alone = _ALONE.match(sentence)
    if alone is None:
        return sentence
    return (
        f"of {RANKS} processes that it started, each says that it is alone ({alone.group()}): "
        "launcher and MPI library speak different PMI"
    )
