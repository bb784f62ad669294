# SPDX-License-Identifier: BSD-3-Clause
"""Waiting for a state of a port ends with an error where the state never comes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from ports import await_carrier

from experiments.hca.hosts import CALLER
from lanewise.errors import RunError


class BedWithoutCarrier:
    """A testbed whose interfaces never have their carrier."""

    def line(self, _host: str, _words: Sequence[str]) -> list[str]:
        """Return a line that says what /sys says of such an interface."""
        return ["echo", "0"]


def test_a_carrier_that_does_not_come_is_an_error() -> None:
    bed: Any = BedWithoutCarrier()

    with pytest.raises(RunError, match=r"a2\.lan0 has no carrier after 0\.01 s"):
        await_carrier(bed, CALLER, "lan0", limit_s=0.01)
