# SPDX-License-Identifier: BSD-3-Clause
"""The environment of a protected program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lanewise.errors import RequestError
from lanewise.hca.protect import LIBRARY, Protection, check, variables_for
from lanewise.launch.native import MANIFEST


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """Give a build folder with the library."""
    values = {"mpi": "openmpi", "mpi_version": "", "build_type": "Release", "version": "0"}
    (tmp_path / MANIFEST).write_text(json.dumps({**values, "bin": "bin", "lib": "lib"}))
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / LIBRARY).touch()
    return tmp_path


def test_the_device_retries_by_itself_only_where_it_has_all_paths(build: Path) -> None:
    own = {"LANEWISE_NATIVE": str(build)}
    ports = variables_for(Protection(), {**own, "LANEWISE_HCA_PORTS": "eth0,eth1"})
    devices = variables_for(Protection(), {**own, "LANEWISE_HCA_PORTS": "eth0;eth1"})
    assert ports["LANEWISE_HCA_RETRY_WINDOW_MS"] == "10000"
    assert devices["LANEWISE_HCA_RETRY_WINDOW_MS"] == "0"
    assert devices["LANEWISE_PROTECT_RETRY_WINDOW_MS"] == "10000"


@pytest.mark.parametrize(
    "made",
    [
        Protection(failback_delay_ms=500.0),  # type: ignore[arg-type]
        Protection(retry_window_ms=500.0),  # type: ignore[arg-type]
    ],
)
def test_delays_are_whole_numbers_of_milliseconds(made: Protection) -> None:
    with pytest.raises(RequestError, match=r"500\.0 ms: use a whole number of milliseconds"):
        check(made)
