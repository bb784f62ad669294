# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise run` breaks no correct program: unusual types, handlers, ranks and memory."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from tuned_job import (
    RANKS,
    REQUESTED,
    TIMEOUT_S,
    Compile,
    Run,
    counted,
    launch_line,
    library_of,
    skip_unless_it_spawns,
    tuning,
    tuning_of_calls,
)

from processes import run_to_end


def test_types_with_large_counts_follow_the_rules(
    compiled: Compile, run: Run, tmp_path: Path
) -> None:
    program = compiled("mpich", "mpicc", "large_count_types.c")

    done = run([*launch_line("mpich"), str(program)], tuning("mpich"))

    assert (done.returncode, done.stdout) == (0, "all right\n"), done.stdout + done.stderr
    assert counted(tmp_path, "intercepted")["bcast"] == 1
    assert counted(tmp_path, "intercepted")["allgather"] == 1
    assert counted(tmp_path, "intercepted")["iallgather"] == 1


@pytest.mark.parametrize("written", ["", "report", "profile"])
@pytest.mark.one_mpi
def test_errors_reach_the_handler_that_the_communicator_has_now(
    mpi: str, written: str, compiled: Compile, run: Run, tmp_path: Path
) -> None:
    program = compiled(mpi, "mpicc", "error_handlers.c")
    profile = ["--profile", "profile.json"] if written == "profile" else []

    done = run([*launch_line(mpi), str(program)], tuning(mpi), *profile, report=written == "report")

    assert (done.returncode, done.stdout) == (0, "all right\n"), done.stdout + done.stderr
    assert written != "report" or counted(tmp_path, "intercepted")["scatter"] > 0


def unloading(folder: Path) -> str:
    """Return a program that starts another one without the preloaded library."""
    script = folder / "without"
    script.write_text('#!/bin/sh\nunset LD_PRELOAD\nexec "$@"\n', encoding="ascii")
    script.chmod(0o755)
    return str(script)


def test_where_a_rank_lacks_the_library_all_calls_are_left_to_the_mpi(
    mpi: str, compiled: Compile, run: Run, tmp_path: Path
) -> None:
    program = str(compiled(mpi, "mpicc", "collectives.c"))
    without = [unloading(tmp_path), program]

    done = run([*launch_line(mpi, 3), program, ":", "-n", "1", *without], tuning(mpi))

    assert (done.returncode, done.stdout) == (0, "all right\n"), done.stdout + done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert "only 3 of 4 ranks have loaded liblanewise_tuned.so" in done.stderr
    assert set(counted(tmp_path, "intercepted").values()) == {0}


@pytest.mark.one_mpi
def test_where_a_rank_lacks_the_library_there_is_no_profile(
    mpi: str, compiled: Compile, run: Run, tmp_path: Path
) -> None:
    program = str(compiled(mpi, "mpicc", "collectives.c"))
    without = [unloading(tmp_path), program]
    line = [*launch_line(mpi, 3), program, ":", "-n", "1", *without]

    done = run(line, tuning(mpi), "--profile", "profile.json", report=False)

    assert (done.returncode, done.stdout) == (0, "all right\n"), done.stdout + done.stderr
    assert "only 3 of 4 ranks" in done.stderr
    assert not (tmp_path / "profile.json").exists()


@pytest.mark.parametrize("preloaded", ["", "preloaded"])
def test_spawned_processes_merge_with_those_that_follow_the_rules(
    mpi: str, preloaded: str, compiled: Compile, run: Run, tmp_path: Path
) -> None:
    program = str(compiled(mpi, "mpicc", "spawn_merge.c"))
    skip_unless_it_spawns(mpi)
    variables = {} if preloaded else {"WITHOUT_LIBRARY": "1"}

    done = run([*launch_line(mpi, 2), program], tuning(mpi, ranks=2, layout=[2]), **variables)

    assert (done.returncode, done.stdout) == (0, "all right\n"), done.stdout + done.stderr
    assert counted(tmp_path, "intercepted")["bcast"] == 1, "in the world, before the merger"


@pytest.mark.one_mpi
def test_without_lanewise_run_nobody_knows_whether_every_rank_has_the_library(
    mpi: str, compiled: Compile, tmp_path: Path
) -> None:
    program = str(compiled(mpi, "mpicc", "collectives.c"))
    (tmp_path / "tuning.json").write_text(json.dumps(tuning(mpi)), encoding="utf-8")
    preloaded = {
        "LD_PRELOAD": str(library_of(mpi)),
        "LANEWISE_TUNING": str(tmp_path / "tuning.json"),
        "LANEWISE_REPORT": str(tmp_path / "report.json"),
    }
    for vouched in ({}, {"LANEWISE_EVERY_RANK": "1"}):
        words = [f"{name}={value}" for name, value in {**preloaded, **vouched}.items()]

        done = run_to_end(
            [*launch_line(mpi), "env", *words, program], TIMEOUT_S,
            env={**os.environ, "OMPI_MCA_mpi_yield_when_idle": "1"},
        )  # fmt: skip

        assert done.stdout == "all right\n", done.stderr
        intercepted = counted(tmp_path, "intercepted")["scatter"] > 0
        assert intercepted == bool(vouched)
        assert done.stderr.count("set LANEWISE_EVERY_RANK=1") == (0 if vouched else 1)


@pytest.mark.one_mpi
def test_device_memory_on_any_rank_leaves_a_call_to_the_mpi(
    mpi: str, compiled: Compile, run: Run, tmp_path: Path
) -> None:
    program = str(compiled(mpi, "mpicc", "device_memory.c"))
    driver = str(compiled(mpi, "mpicc", "-shared -fPIC device_driver.c"))

    done = run([*launch_line(mpi), program], tuning(mpi), LD_PRELOAD=driver)

    assert (done.returncode, done.stdout) == (0, "all right\n"), done.stdout + done.stderr
    assert counted(tmp_path, "intercepted")["bcast"] == 3, "those in memory of the hosts"
    assert counted(tmp_path, "forwarded")["bcast"] == 6
    assert counted(tmp_path, "intercepted")["allreduce"] == 0
    # Where a persistent one is prepared, ranks may ask each other; it is started twice.
    ruled = "ibcast" in REQUESTED[mpi]
    assert counted(tmp_path, "intercepted")["ibcast"] == (2 if ruled else 0)
    assert counted(tmp_path, "forwarded")["ibcast"] == (1 + 2 if ruled else 1 + 4)
    told = ["calls with memory of a GPU are left to the MPI"]
    if ruled:
        told.append("a GPU's driver is loaded: nonblocking calls are left to the MPI")
    assert done.stderr.splitlines() == [f"lanewise: {sentence}" for sentence in told]


@pytest.mark.one_mpi
def test_drivers_are_looked_for_once_and_not_in_each_call(
    mpi: str, compiled: Compile, run: Run
) -> None:
    program = str(compiled(mpi, "mpicc", "device_memory.c"))
    driver = compiled(mpi, "mpicc", "-shared -fPIC device_driver.c")
    counter = compiled(mpi, "mpicc", "-shared -fPIC driver_searches.c -ldl")

    done = run([*launch_line(mpi), program], tuning(mpi), LD_PRELOAD=f"{driver}:{counter}")

    assert (done.returncode, done.stdout) == (0, "all right\n"), done.stdout + done.stderr
    searches = [int(n) for n in re.findall(r"^(\d+) searches$", done.stderr, re.MULTILINE)]
    # A library that the MPI loads on its way is a reason to look again; there are ten calls.
    assert len(searches) == RANKS
    assert max(searches) <= 3


@pytest.mark.one_mpi
def test_a_rank_without_memory_leaves_no_other_rank_waiting(
    mpi: str, compiled: Compile, run: Run, tmp_path: Path
) -> None:
    program = str(compiled(mpi, "mpicc", "little_memory.c"))

    done = run([*launch_line(mpi), program], tuning(mpi))

    assert (done.returncode, done.stdout) == (0, "all right\n"), done.stdout + done.stderr
    assert counted(tmp_path, "intercepted")["allgather"] == 3


@pytest.mark.parametrize("same_bits", ["", "ranks"])
def test_a_program_may_have_most_of_the_communicators_of_the_mpi(
    mpi: str, same_bits: str, compiled: Compile, run: Run
) -> None:
    program = str(compiled(mpi, "mpicc", "many_communicators.c"))
    bits = ["--same-bits", same_bits] if same_bits else []

    done = run(
        [*launch_line(mpi, 2), program, "1400"],
        tuning(mpi, ranks=2, layout=[2]),
        *bits,
        report=False,
    )

    assert (done.returncode, done.stdout) == (0, "all right\n"), done.stdout + done.stderr
    assert done.stderr.count("executes calls on at most 512 at a time") == 1, done.stderr
    assert ("their bits may differ" in done.stderr) == (same_bits != ""), done.stderr


def test_a_reduce_scatter_may_be_in_place_on_some_ranks_only(
    mpi: str, compiled: Compile, run: Run, tmp_path: Path
) -> None:
    program = str(compiled(mpi, "mpicc", "some_in_place.c"))
    rules = tuning_of_calls(mpi, reduce_scatter="ring", ireduce_scatter="direct")

    done = run([*launch_line(mpi), program], rules)

    assert (done.returncode, done.stdout) == (0, "all right\n"), done.stdout + done.stderr
    assert counted(tmp_path, "intercepted")["reduce_scatter"] == 20
    assert counted(tmp_path, "intercepted")["ireduce_scatter"] == 20


def test_a_large_reduce_scatter_that_is_in_place_on_some_ranks_asks_all_of_them(
    mpi: str, compiled: Compile, run: Run
) -> None:
    program = str(compiled(mpi, "mpicc", "some_in_place.c"))

    done = run([*launch_line(mpi), program], tuning(mpi), LANEWISE_SCRATCH_LIMIT="20K")

    assert (done.returncode, done.stdout) == (0, "all right\n"), done.stdout + done.stderr


def test_a_root_may_describe_what_it_gathers_by_another_type_in_each_call(
    mpi: str, compiled: Compile, run: Run
) -> None:
    program = str(compiled(mpi, "mpicc", "typed_root.c"))
    rules = tuning_of_calls(mpi, gather="binomial")

    done = run([*launch_line(mpi), program], rules, LANEWISE_SCRATCH_LIMIT="20K")

    assert (done.returncode, done.stdout) == (0, "all right\n"), done.stdout + done.stderr


def test_a_forked_process_that_ends_later_leaves_the_report_as_it_is(
    mpi: str, compiled: Compile, run: Run, tmp_path: Path
) -> None:
    program = str(compiled(mpi, "mpicc", "ends.c"))

    done = run([*launch_line(mpi), program, "forked"], tuning(mpi))

    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert report["ranks"] == RANKS
    assert counted(tmp_path, "intercepted")["bcast"] == 10


@pytest.mark.one_mpi
def test_a_program_without_a_blocking_collective_has_a_report_of_the_others(
    mpi: str, compiled: Compile, run: Run, tmp_path: Path
) -> None:
    program = str(compiled(mpi, "mpicc", "few_calls.c"))

    done = run([*launch_line(mpi), program, "nonblocking"], tuning(mpi))

    assert done.returncode == 0, done.stderr
    assert counted(tmp_path, "forwarded") == {"iallreduce": 3}


@pytest.mark.one_mpi
def test_a_first_rank_without_a_collective_writes_the_report_all_the_same(
    mpi: str, compiled: Compile, run: Run, tmp_path: Path
) -> None:
    program = str(compiled(mpi, "mpicc", "few_calls.c"))

    done = run([*launch_line(mpi), program, "others"], tuning(mpi))

    assert (done.returncode, done.stderr) == (0, "")
    assert counted(tmp_path, "forwarded") == {}


@pytest.mark.one_mpi
def test_calls_of_some_of_the_ranks_are_parts_of_a_call_in_the_mean(
    mpi: str, compiled: Compile, run: Run, tmp_path: Path
) -> None:
    program = str(compiled(mpi, "mpicc", "few_calls.c"))

    done = run([*launch_line(mpi), program, "pair"], tuning(mpi))

    assert done.returncode == 0, done.stderr
    both = [counted(tmp_path, what)["bcast"] for what in ("intercepted", "forwarded")]
    assert sum(both) == 2 / RANKS


def test_a_program_that_does_not_finalize_ends_in_peace_and_without_a_report(
    mpi: str, compiled: Compile, run: Run, tmp_path: Path
) -> None:
    program = str(compiled(mpi, "mpicc", "ends.c"))

    done = run([*launch_line(mpi), program, "unfinished"], tuning(mpi))

    assert "Segmentation fault" not in done.stdout + done.stderr
    assert "lanewise run: there is no report; " in done.stderr
    assert not (tmp_path / "report.json").exists()
