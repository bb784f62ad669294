# SPDX-License-Identifier: BSD-3-Clause
"""How each way in which a run may end is judged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lanewise.rdma.program import Outcome
from lanewise.rdma.sweep.judge import Ending, Ran, Verdict, judged

MET = ({"fault": 1, "occurrence": 1, "call": "ibv_reg_mr", "what": "ENOMEM"},)
GOOD = Outcome(0, "sum 210\n", "", MET)
FAILED = Outcome(1, "", "one\nno memory\n", MET)
LEFT = {"ibv_context": 1, "ibv_mr": 2}


@pytest.mark.parametrize(
    ("ran", "ending", "why"),
    [
        (Ran(GOOD), Ending.SURVIVED, "status 0"),
        (Ran(GOOD, check_status=0), Ending.SURVIVED, "status 0"),
        (Ran(FAILED), Ending.ERROR, "status 1: no memory"),
        (Ran(replace(FAILED, stderr="")), Ending.ERROR, "status 1, without a word"),
        (Ran(replace(GOOD, faults=())), Ending.NOT_MET, "it did not reach the fault"),
        (
            Ran(replace(FAILED, faults=())),
            Ending.NOT_MET, "it did not reach the fault: status 1: no memory",
        ),
        (Ran(replace(FAILED, status=-40)), Ending.CRASH, "signal 40"),
        (Ran(GOOD, check_status=1), Ending.WRONG, "status 0, but the check ended with 1"),
        (Ran(GOOD, check_status=2), Ending.WRONG, "status 0, but the check ended with 2"),
        (Ran(replace(FAILED, left=LEFT)), Ending.LEAK, "1 ibv_mr"),
        (Ran(replace(FAILED, status=-11)), Ending.CRASH, "SIGSEGV"),
        (Ran(replace(FAILED, status=134)), Ending.CRASH, "SIGABRT"),
        (Ran(GOOD, server=replace(GOOD, status=-6)), Ending.CRASH, "the server: SIGABRT"),
        (Ran(replace(GOOD, status=-15), hung=True), Ending.HANG, "the program did not end"),
        (
            Ran(GOOD, server=replace(GOOD, status=-15), server_hung=True),
            Ending.HANG, "the server did not end",
        ),
    ],
)  # fmt: skip
def test_a_run_is_judged(ran: Ran, ending: Ending, why: str) -> None:
    without_faults = {"ibv_context": 1, "ibv_mr": 1}
    assert judged(ran, without_faults) == Verdict(ending, why)


def test_crash_hang_wrong_result_and_leak_are_findings() -> None:
    assert {ending for ending in Ending if ending.is_finding} == {
        Ending.CRASH, Ending.HANG, Ending.WRONG, Ending.LEAK,
    }  # fmt: skip
