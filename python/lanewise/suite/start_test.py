# SPDX-License-Identifier: BSD-3-Clause
"""What is said of a transport that does not start."""

from __future__ import annotations

from lanewise.suite.start import asked_of
from lanewise.suite.transport import Transport


def test_a_transport_says_with_what_it_was_started() -> None:
    transport = Transport(
        "mine", "", "openmpi", "openmpi", ("--mca", "btl", "self,tcp"), {"A": "b c"}
    )

    assert asked_of(transport) == ", with 'A=b c' --mca btl self,tcp"
    assert asked_of(Transport("plain", "", "openmpi", "openmpi")) == ""
