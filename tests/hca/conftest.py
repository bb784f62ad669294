# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the software device share: two hosts, with two ports each."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.hca.hosts import Hosts
from lanewise.testbed import bed, shipped

# The guest is described beside the tests.
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(1, str(Path(__file__).parents[1]))


@pytest.fixture(scope="session")
def hosts() -> Iterator[Hosts]:
    """Raise two hosts with two ports each."""
    with bed.created(shipped.find("two-port")) as raised:
        yield Hosts(raised)
