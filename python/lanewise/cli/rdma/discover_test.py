# SPDX-License-Identifier: BSD-3-Clause
"""Hosts that are added to a path file at the same time."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lanewise.cli.rdma.discover import discover
from lanewise.files import paths as path_files


def test_hosts_that_are_added_at_once_are_all_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def host_here(name: str, _rails: Mapping[str, str], _environment: Any) -> dict[str, Any]:
        return {"name": name, "ports": [{"device": "d", "port": 1, "rail": "1", "lid": 1}]}

    monkeypatch.setattr("lanewise.cli.rdma.discover.host_here", host_here)
    file = tmp_path / "paths.json"
    names = [f"h{number:03}" for number in range(100)]

    with ThreadPoolExecutor(max_workers=8) as pool:
        list(pool.map(lambda name: discover(file, name, None), names))

    assert [host["name"] for host in path_files.load(file)["hosts"]] == names
    assert list(tmp_path.iterdir()) == [file]
