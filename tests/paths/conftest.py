# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of path migration share: two hosts, with two ports each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from experiments.hca.hosts import Hosts
from experiments.migration.two_ports import two_hosts


@pytest.fixture(scope="session")
def hosts() -> Iterator[Hosts]:
    """Raise two hosts with two ports each."""
    with two_hosts() as raised:
        yield Hosts(raised)
