# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of path migration share: two hosts, with two ports each."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.hca.hosts import Hosts
from experiments.migration.two_ports import two_hosts

# What is read at their ports is beside the tests.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def hosts() -> Iterator[Hosts]:
    """Raise two hosts with two ports each."""
    with two_hosts() as raised:
        yield Hosts(raised)
