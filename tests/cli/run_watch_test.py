# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise run --report` puts a rule aside that is slower in this job, on all ranks alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tuned_job import EVERY_SIZE, Compile, Run, counted, launch_line, tuning

CALLS = 20_000
# Thirty-two messages in each of two rounds where one message is enough: slower by so much that a
# machine with other work does not hide it.
SLOW = {"allreduce": {"rules": [{**EVERY_SIZE, "algorithm": "ring", "segment_bytes": 4}]}}
# One call in 64 is a sample, and there is a look after 16 samples.
CALLS_IN_LOOK = 16 * 64


def put_aside(folder: Path) -> list[dict[str, Any]]:
    """Return the rules that the report says were put aside."""
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = report["put_aside"]
    return found


def test_a_rule_that_loses_is_put_aside_by_each_communicator_and_reported(
    mpi: str, compiled: Compile, run: Run, tmp_path: Path
) -> None:
    program = str(compiled(mpi, "mpicc", "allreduce_often.c"))
    slow = tuning(mpi, ranks=2, layout=[2], collectives=SLOW)

    done = run([*launch_line(mpi, 2), program, str(CALLS)], slow)

    assert (done.returncode, done.stdout) == (0, "all right\n"), done.stdout + done.stderr
    calls = (
        counted(tmp_path, "intercepted")["allreduce"] + counted(tmp_path, "forwarded")["allreduce"]
    )
    assert calls == 2 * CALLS
    assert counted(tmp_path, "intercepted")["allreduce"] <= CALLS
    for one in put_aside(tmp_path):
        assert (one["collective"], one["algorithm"], one["ranks"]) == ("allreduce", "ring", 2)
        assert one["ratio"] > 1
        assert one["samples"] * 64 % CALLS_IN_LOOK == 0
    assert len(put_aside(tmp_path)) == 2
    assert done.stderr.count("ranks use the MPI's own from now on") == 2, done.stderr


def test_without_a_report_no_rule_is_watched(
    mpi: str, compiled: Compile, run: Run, tmp_path: Path
) -> None:
    program = str(compiled(mpi, "mpicc", "allreduce_often.c"))
    slow = tuning(mpi, ranks=2, layout=[2], collectives=SLOW)

    done = run([*launch_line(mpi, 2), program, str(8 * CALLS_IN_LOOK)], slow, report=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, "all right\n", "")
    assert not (tmp_path / "report.json").exists()
