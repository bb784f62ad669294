# SPDX-License-Identifier: BSD-3-Clause
"""What commands list, as lines for people and as JSON for programs."""

from __future__ import annotations

import json

import pytest

from lanewise.cli import run
from lanewise.cli.launching import show_list
from lanewise.suite import start
from lanewise.suite.start import Presence
from lanewise.suite.transport import Transport

Capture = pytest.CaptureFixture[str]


def test_names_are_listed_as_lines_or_as_json(capsys: Capture) -> None:
    show_list("operations", "scatter\nbcast\n", {"as_json": False})
    assert capsys.readouterr().out == "scatter\nbcast\n"

    show_list("operations", "scatter\nbcast\n", {"as_json": True})
    assert json.loads(capsys.readouterr().out) == {"operations": ["scatter", "bcast"]}


def test_transports_are_listed_as_json_with_the_reason_why_one_does_not_start(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(transport: Transport, _ranks: int, _site: object) -> Presence:
        return Presence(transport, "" if transport.name == "mpich-shm" else "no such MPI")

    monkeypatch.setattr(start, "find_out", found)

    assert run(["suite", "--list", "--json", "--transports", "mpich-shm,openmpi-shm"]) == 0

    shown, other = json.loads(capsys.readouterr().out)["transports"]
    assert (shown["name"], shown["starts"], shown["why"]) == ("mpich-shm", True, "")
    assert (other["name"], other["starts"], other["why"]) == ("openmpi-shm", False, "no such MPI")


def test_json_of_a_suite_itself_is_refused(capsys: Capture) -> None:
    assert run(["suite", "--quick", "--json"]) == 2

    assert "--json goes with --list" in capsys.readouterr().err
