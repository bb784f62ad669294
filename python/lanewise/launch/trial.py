# SPDX-License-Identifier: BSD-3-Clause
"""A trial launch: whether two ranks that a launcher starts find each other in their MPI.

A launcher may start every rank as a job of its own, as MPICH 4.2.0 of Ubuntu 24.04 does, and
nothing but a launch tells.  The native program notices, because the launcher promised more ranks.
"""

from __future__ import annotations

import os
import re
import shlex
from functools import cache

from lanewise.errors import LanewiseError
from lanewise.launch.choose import Choice
from lanewise.launch.job import Job
from lanewise.launch.native import MEASURE
from lanewise.launch.run import Outcome
from lanewise.launch.run_native import Conditions, line_of, run_native, sentence_in, words_of

RANKS = 2
LIMIT_S = 30.0
OTHER_PMI = "launcher and MPI library speak different PMI"

_ALONE = re.compile(r"MPI has 1 rank where \S+ promises \d+")


def why_ranks_are_apart(choice: Choice) -> str:
    """Return what the native program says where its ranks do not find each other; else nothing.

    Launchers that simulate their ranks, or that ask a batch system for hosts, are not tried.
    """
    ended = tried(choice)
    if isinstance(ended, LanewiseError):
        return str(ended)
    return fault_in(sentence_in(list(ended.output)) or "")


def why_ranks_do_not_start(choice: Choice) -> str:
    """Return what else was said where the trial failed and the native program said nothing of it.

    A native program that crashes fails in this way too, so no test may skip for this reason.
    """
    ended = tried(choice)
    if isinstance(ended, LanewiseError) or ended.status == 0 or sentence_in(list(ended.output)):
        return ""
    return f"its ranks do not start: {words_of(ended)}"


@cache
def tried(choice: Choice) -> Outcome | LanewiseError:
    """Return how the trial launch of a launcher ended, or why it could not be made."""
    if choice.launcher.simulates or choice.launcher.queues:
        return Outcome()
    try:
        return run_native(choice, trial_job(choice), conditions=Conditions(limit_s=LIMIT_S))
    except LanewiseError as error:
        return error


def trial_line(choice: Choice) -> str:
    """Return the line of the trial launch as one would type it, with its variables in front."""
    job = trial_job(choice)
    variables = [f"{key}={text}" for key, text in choice.launcher.environment(job).items()]
    return shlex.join([*variables, *line_of(choice, job)])


def trial_job(choice: Choice) -> Job:
    """Return a barrier of two ranks."""
    return Job(
        program=(*choice.build.command(MEASURE), "barrier", "--repetitions", "1"), ranks=RANKS,
        executable=choice.executable, mpi=choice.build.mpi, cores=1, user_id=os.getuid(),
    )  # fmt: skip


def fault_in(sentence: str) -> str:
    """Return what is wrong where the native program said `sentence`; nothing where it said nothing.

    The launcher and the library are of one MPI here, so ranks that are alone have one cause left.
    """
    alone = _ALONE.match(sentence)
    if alone is None:
        return sentence
    return (
        f"of {RANKS} processes that it started, each says that it is alone ({alone.group()}): "
        f"{OTHER_PMI}"
    )
