# SPDX-License-Identifier: BSD-3-Clause
"""What is said of a launch that failed."""

from __future__ import annotations

from collections import deque

from lanewise.launch.run import Outcome
from lanewise.suite.start import asked_of, said
from lanewise.suite.transport import Transport


def test_what_an_mpi_says_of_its_own_insides_is_left_out() -> None:
    lines = [
        "[host:1] [[2685,0],0] ORTE_ERROR_LOG: Out of resource in file show_help.c at line 507",
        "----------------------------------",
        "  mca_bml_base_open() failed",
    ]

    assert said(Outcome(1, deque(lines))) == "mca_bml_base_open() failed"


def test_a_transport_says_with_what_it_was_started() -> None:
    transport = Transport(
        "mine", "", "openmpi", "openmpi", ("--mca", "btl", "self,tcp"), {"A": "b c"}
    )

    assert asked_of(transport) == ", with 'A=b c' --mca btl self,tcp"
    assert asked_of(Transport("plain", "", "openmpi", "openmpi")) == ""
