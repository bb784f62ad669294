# SPDX-License-Identifier: BSD-3-Clause
"""The pytest plugin: a fixture with two hosts that have RDMA, for tests of verbs programs.

    def test_a_lost_registration_is_reported(lanewise_rdma):
        found = lanewise_rdma.run("a1", ["./my_program"], faults="faults.toml")
        assert "cannot register" in found.stderr

pytest loads this file wherever Lanewise is installed, and nothing else of Lanewise imports pytest.
So what takes time is imported when the first test asks for the fixture.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from lanewise.rdma.hosts import Hosts
    from lanewise.rdma.lab import Lab

TESTBED = "lanewise_rdma_testbed"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the setting that names another testbed."""
    parser.addini(TESTBED, "Testbed of lanewise_rdma: a shipped one, or a file", default="two-port")


def _named(config: pytest.Config) -> str:
    """Return the testbed of the settings: a file beside them, as other paths in them, or a name."""
    name = str(config.getini(TESTBED))
    beside = (config.inipath.parent if config.inipath else config.rootpath) / name
    return str(beside) if beside.is_file() else name


@pytest.fixture(scope="session")
def lanewise_rdma_hosts(pytestconfig: pytest.Config) -> Iterator[Hosts]:
    """Create the hosts once for all tests; skip these where the system does not permit it."""
    from lanewise.rdma.hosts import testbed  # noqa: PLC0415
    from lanewise.testbed.bed import RefusedError  # noqa: PLC0415

    with contextlib.ExitStack() as up:
        try:
            hosts = up.enter_context(testbed(_named(pytestconfig)))
        except RefusedError as error:
            pytest.skip(f"lanewise_rdma: no hosts here: {error}")
        yield hosts


@pytest.fixture
def lanewise_rdma(lanewise_rdma_hosts: Hosts) -> Iterator[Lab]:
    """Give a test the hosts; what it started ends with it, and what it cut is mended."""
    from lanewise.rdma.lab import Lab  # noqa: PLC0415

    lab = Lab(lanewise_rdma_hosts)
    yield lab
    lab.close()
