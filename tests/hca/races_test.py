# SPDX-License-Identifier: BSD-3-Clause
"""The device under ThreadSanitizer, with programs of perftest; only make test-all does this.

The device has a thread of its own, which makes progress while the program does not call it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from compiling import compiled
from watching import LISTENER, OF_ONE_HOST, PERFTEST, thread_sanitizer

from experiments.hca.hosts import Hosts


@pytest.mark.parametrize("program", PERFTEST)
def test_threads_of_the_device_do_not_race(hosts: Hosts, program: str) -> None:
    thread_sanitizer().try_pair(hosts, program)


@pytest.mark.parametrize("program", OF_ONE_HOST)
def test_threads_do_not_race_between_processes_of_one_host(hosts: Hosts, program: str) -> None:
    thread_sanitizer().try_pair(replace(hosts, caller=LISTENER), program)


def test_threads_of_a_program_share_queues(hosts: Hosts, tmp_path: Path) -> None:
    program = compiled("promises", tmp_path, options=["-fsanitize=thread"])
    done = thread_sanitizer().run(hosts, [program, "threads"])
    assert done.returncode == 0, done.stdout


def test_the_sanitizer_sees_inside_the_device(hosts: Hosts, tmp_path: Path) -> None:
    watcher = thread_sanitizer()
    done = watcher.run(
        hosts, [compiled("careless", tmp_path, options=["-fsanitize=thread"]), "race"]
    )
    assert done.returncode == watcher.status, done.stdout
    assert "data race" in done.stdout
    assert "ibv_query_device" in done.stdout
