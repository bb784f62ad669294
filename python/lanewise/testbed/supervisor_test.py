# SPDX-License-Identifier: BSD-3-Clause
"""Whoever waits for a testbed hears why there will be none, whatever the reason."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from lanewise.errors import RunError
from lanewise.testbed import namespaces, shipped, supervisor
from lanewise.testbed.layout import make_plan
from lanewise.testbed.network import Network
from lanewise.testbed.read import read


def broken(*_arguments: object) -> None:
    raise ZeroDivisionError("division by zero")


def said(capsys: pytest.CaptureFixture[str]) -> str:
    answer = json.loads(capsys.readouterr().out)
    assert "broken" in "\n".join(answer["details"])
    return str(answer["error"])


def test_a_fault_that_nobody_has_foreseen_is_told_by_the_outer_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(supervisor, "unshare_processes", broken)
    monkeypatch.setattr(supervisor, "allow_open_files", lambda: None)

    assert supervisor.main([str(tmp_path / "state"), "-"]) == 1

    assert said(capsys).endswith("supervisor, ZeroDivisionError: division by zero")


def test_a_fault_that_nobody_has_foreseen_is_told_by_the_inner_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(namespaces, "die_with_parent", broken)

    assert supervisor.run_inner_half(tmp_path, Path("-"), None) == 1

    assert said(capsys).endswith("supervisor, ZeroDivisionError: division by zero")


def test_as_many_files_may_be_open_as_the_system_allows() -> None:
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, most), most))
    try:
        supervisor.allow_open_files()

        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (most, most)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))


def test_the_folder_of_a_testbed_may_have_any_name_in_the_scripts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / 'it\'s "$HOME" `here`'
    (state / "net" / "a1").mkdir(parents=True)
    monkeypatch.setattr(namespaces, "bind", lambda *_: None)
    source = shipped.find("one-switch")
    supervisor.write_hosts(state, make_plan(read(source.text, source.name, source.where)))

    for script, words in (("enter", ["a1", "/none"]), ("agent", ["-x", "a9"])):
        done = subprocess.run(
            [str(state / script), *words, "true"], capture_output=True, text=True, check=False,
            timeout=60,
        )  # fmt: skip
        assert done.returncode == 255
        assert ("there is no host a9" in done.stderr) == (script == "agent"), done.stderr


class OurNamespace:
    """Stands for a network in which every host has the namespace of this test."""

    def netns(self, _host: str) -> Path:
        return Path("/proc/self/ns/net")


@pytest.fixture
def sleepers() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Give processes that sleep."""
    started = [subprocess.Popen(["sleep", "600"]) for _ in range(3)]
    yield started
    for one in started:
        one.kill()
        one.wait()


def test_a_host_is_killed_with_what_its_processes_start_meanwhile(
    monkeypatch: pytest.MonkeyPatch, sleepers: list[subprocess.Popen[bytes]]
) -> None:
    folders = [Path(f"/proc/{one.pid}") for one in sleepers]
    seen = iter(range(1, 4))
    monkeypatch.setattr(supervisor, "processes", lambda: folders[: next(seen, 3)])

    killed = supervisor.kill_host(cast("Network", OurNamespace()), "a1")

    assert [one.wait(60) for one in sleepers] == [-signal.SIGKILL] * 3
    assert killed == 3


def test_a_host_that_does_not_end_is_told(
    monkeypatch: pytest.MonkeyPatch, sleepers: list[subprocess.Popen[bytes]]
) -> None:
    monkeypatch.setattr(supervisor, "KILL_LIMIT_S", 0.0)
    monkeypatch.setattr(supervisor, "processes", lambda: [Path(f"/proc/{sleepers[0].pid}")])

    with (
        monkeypatch.context() as unkillable,
        pytest.raises(RunError, match=r"^some of the processes on a1 did not end when killed$"),
    ):
        unkillable.setattr(os, "kill", lambda *_: None)
        supervisor.kill_host(cast("Network", OurNamespace()), "a1")
