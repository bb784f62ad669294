# SPDX-License-Identifier: BSD-3-Clause
"""Programs in a control group, as in a container or a batch job, keep to what it leaves them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

GROUPS = Path("/sys/fs/cgroup")
IS_VERSION_2 = (GROUPS / "cgroup.controllers").exists()


@contextlib.contextmanager
def limited(controller: str, *settings: tuple[str, str]) -> Iterator[Path]:
    """Give a control group with these settings, without processes, and remove it afterwards."""
    group = (GROUPS if IS_VERSION_2 else GROUPS / controller) / f"lanewise-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"control groups cannot be made here: {error.strerror}")
    try:
        for name, value in settings:
            if not (group / name).exists():
                pytest.skip(f"control groups have no {name} here")
            try:
                (group / name).write_text(value)
            except (PermissionError, FileNotFoundError) as error:
                pytest.skip(f"{name} of control groups cannot be set here: {error.strerror}")
        yield group
    finally:
        remove(group)


def remove(group: Path) -> None:
    """Remove the group once the last of its processes is gone."""
    give_up_s = time.monotonic() + 10
    while (group / "cgroup.procs").read_text() and time.monotonic() < give_up_s:
        time.sleep(0.01)
    group.rmdir()


def lanewise_in(group: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in the group."""
    join = 'echo $$ >"$0/cgroup.procs" && exec "$@"'
    command = [sys.executable, "-m", "lanewise", *arguments]
    return subprocess.run(
        ["sh", "-c", join, str(group), *command],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.usefixtures("sweeps_built")
def test_a_sweep_uses_no_more_threads_than_a_quota_of_cpu_time_allows() -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two processors")
    settings = (
        [("cpu.max", "100000 100000")]
        if IS_VERSION_2
        else [("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "100000")]
    )
    with limited("cpu", *settings) as group:
        planned = lanewise_in(
            group, "wavefront", "plan", "--rows", "1000", "--cols", "800", "--kernel", "sor",
            "--iterations", "8", "--memory", "256MiB", "--json",
        )  # fmt: skip

    assert json.loads(planned.stdout)["threads"] == 1, planned.stderr


def test_a_size_is_refused_that_needs_more_memory_than_a_group_leaves() -> None:
    limit = "memory.max" if IS_VERSION_2 else "memory.limit_in_bytes"
    with limited("memory", (limit, str(2**30))) as group:
        measured = lanewise_in(
            group, "measure", "bcast", "-n", "2", "--sizes", "2G", "--repetitions", "5"
        )

    assert measured.returncode == 2, measured.stdout + measured.stderr
    free = re.search(r"in a rank where ([0-9.]+) GiB are free", measured.stderr)
    assert free and 0 < float(free[1]) < 0.5, measured.stderr
