# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise measure lanes` shows the platform as a table, or as the object that a file would be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lanewise.cli import lanes, launching

PLATFORM = {
    "lans": [{"site": "a", "bandwidth_Bps": 1e8, "latency_s": 1e-5}],
    "lanes": [{"from": "a", "to": "b", "latency_s": 1e-3, "bandwidth_Bps": [1e7, 2e7]}],
}


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a launch find this platform."""
    for name in ("rank_count", "job_running", "tell", "conditions_of"):
        monkeypatch.setattr(launching, name, lambda *_: None)
    monkeypatch.setattr(lanes, "require_launcher", lambda _: None)
    monkeypatch.setattr(lanes, "platform_from", lambda *_: PLATFORM)


def shown(capsys: pytest.CaptureFixture[str], **values: Any) -> str:
    choice: Any = None
    lanes.measure_lanes(choice, {"output": None, "print_command": False, **values}, Path())
    return capsys.readouterr().out


@pytest.mark.usefixtures("measured")
def test_each_site_and_each_direction_has_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, as_json=False).splitlines() == [
        "a              10.0 µs  100.0 MB/s",
        "a -> b         1.00 ms  10.0, 20.0 MB/s on 1 to 2 lanes",
    ]


@pytest.mark.usefixtures("measured")
def test_json_is_the_platform(capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(shown(capsys, as_json=True)) == PLATFORM
