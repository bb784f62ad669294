# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of path migration share: the two hosts that the software device is tested on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "hca"))

from hosts import Hosts

from lanewise.testbed import bed, shipped


@pytest.fixture(scope="session")
def hosts() -> Iterator[Hosts]:
    """Raise two hosts with two ports each."""
    with bed.raised(shipped.find("two-port")) as raised:
        yield Hosts(raised)
