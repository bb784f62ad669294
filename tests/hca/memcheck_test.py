# SPDX-License-Identifier: BSD-3-Clause
"""The device under memcheck, with programs of perftest; only make test-all does this."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from compiling import compiled
from watching import LISTENER, OF_ONE_HOST, PERFTEST, memcheck

from experiments.hca.hosts import Hosts


@pytest.mark.parametrize("program", PERFTEST)
def test_nothing_uninitialised_freed_or_forgotten_is_used(hosts: Hosts, program: str) -> None:
    memcheck().try_pair(hosts, program)


@pytest.mark.parametrize("program", OF_ONE_HOST)
def test_memcheck_finds_nothing_between_processes_of_one_host(hosts: Hosts, program: str) -> None:
    memcheck().try_pair(replace(hosts, caller=LISTENER), program)


def test_memcheck_sees_inside_the_device(hosts: Hosts, tmp_path: Path) -> None:
    watcher = memcheck()
    done = watcher.run(hosts, [compiled("careless", tmp_path), "uninitialised"])
    assert done.returncode == watcher.status, done.stdout
    assert "uninitialised value" in done.stdout
    assert "by 0x" in done.stdout
    assert "liblanewise_verbs.so" in done.stdout
