# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of path migration share: two hosts, with two ports each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lanewise.reproduce.hca_hosts import Hosts
from lanewise.reproduce.two_ports import two_hosts


@pytest.fixture(scope="session")
def hosts() -> Iterator[Hosts]:
    """Raise two hosts with two ports each."""
    with two_hosts() as raised:
        yield Hosts(raised)
