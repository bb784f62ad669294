# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise check same-bits`: the reduction that differs first, of real programs."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Lanewise
from tuned_job import Compile, is_mpich_4_0, launch_line

from lanewise.bits import records
from lanewise.cli import run

PROGRAM = "first_sum_differs.c"


def line_of(mpi: str, program: str) -> list[str]:
    """Return a launch line with N for the number of ranks."""
    line = launch_line(mpi, 2)
    return [*line[:-1], "N", program]


def found(lanewise: Lanewise, *words: str) -> tuple[int, dict[str, Any]]:
    """Run the check and return its status and what it found."""
    done = lanewise("check", "same-bits", "--json", *words)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.one_mpi
def test_the_sum_that_depends_on_the_number_of_ranks_is_named(
    mpi: str, compiled: Compile, lanewise: Lanewise
) -> None:
    line = line_of(mpi, str(compiled(mpi, "mpicc", PROGRAM)))

    status, told = found(lanewise, "--ranks", "2,3", "--", *line)

    assert status == 1
    assert not told["same"]
    runs = {run["name"]: run for run in told["runs"]}
    assert runs["the same again"]["first_difference"] is None
    difference = runs["3 ranks"]["first_difference"]
    # The maximum, the minimum and the sum over lower ranks before it are the same.
    assert difference["index"] == 3
    assert difference["bits"]
    assert difference["call"] == "MPI_Allreduce of 1 MPI_DOUBLE by MPI_SUM"
    assert "main" in difference["source"] or "first_sum_differs.c" in difference["source"]
    assert runs["3 ranks"]["output_differs"]


@pytest.mark.one_mpi
def test_persistent_reductions_of_a_fortran_program_are_compared(
    mpi: str, compiled: Compile, lanewise: Lanewise
) -> None:
    if is_mpich_4_0(mpi):
        pytest.skip("MPICH 4.0 waits without end for persistent reductions of its own")
    # The functions of Open MPI 4 are an extension.
    extension = "-DWITH_EXTENSION" if mpi == "openmpi" else ""
    line = line_of(mpi, str(compiled(mpi, "mpif90", f"{extension} persistent_order.F90")))

    _, told = found(lanewise, "--ranks", "5", "--", *line)

    # Three in each of eight rounds, and those by which the program counts what is wrong.
    assert {(run["reductions"], run["unseen"]) for run in told["runs"]} == {(3 * 8 + 41, 0)}


@pytest.mark.one_mpi
def test_reductions_that_are_not_waited_for_are_compared_in_the_order_of_their_starts(
    mpi: str, compiled: Compile, lanewise: Lanewise
) -> None:
    line = line_of(mpi, str(compiled(mpi, "mpicc", "first_started_sum_differs.c")))

    _, told = found(lanewise, "--ranks", "2,3", "--", *line)

    runs = {run["name"]: run for run in told["runs"]}
    assert {(run["reductions"], run["unseen"]) for run in runs.values()} == {(6, 0)}
    assert runs["the same again"]["first_difference"] is None
    difference = runs["3 ranks"]["first_difference"]
    assert difference["index"] == 2
    assert difference["call"] == "MPI_Iallreduce of 1 MPI_DOUBLE by MPI_SUM"
    assert "first_started_sum_differs.c" in difference["source"] or "main" in difference["source"]


def test_unused_bytes_of_a_kind_of_fortran_are_not_compared(
    compiled: Compile, lanewise: Lanewise
) -> None:
    # MPICH has no kind of more than 15 digits.
    line = line_of("openmpi", str(compiled("openmpi", "mpicc", "padded_kinds.c")))

    status, told = found(lanewise, "--ranks", "2", "--", *line)

    assert (status, told["same"]) == (0, True), told
    assert {(run["reductions"], run["unseen"]) for run in told["runs"]} == {(2, 0)}


@pytest.mark.one_mpi
def test_results_in_the_memory_of_a_gpu_are_read_through_its_driver(
    mpi: str, compiled: Compile, lanewise: Lanewise, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = line_of(mpi, str(compiled(mpi, "mpicc", "device_results.c")))
    monkeypatch.setenv("LD_PRELOAD", str(compiled(mpi, "mpicc", "-shared -fPIC device_driver.c")))

    status, told = found(lanewise, "--ranks", "2", "--", *line)

    # The memory itself holds other results in each run.
    assert status == 0
    assert {(run["reductions"], run["unseen"]) for run in told["runs"]} == {(2, 0)}


def test_what_could_not_be_compared_is_told(
    mpi: str, compiled: Compile, lanewise: Lanewise
) -> None:
    line = line_of(mpi, str(compiled(mpi, "mpicc", "compared_in_part.c")))

    status, told = found(lanewise, "--ranks", "2,3", "--", *line)
    text = lanewise("check", "same-bits", "--ranks", "2,3", "--", *line).stdout.splitlines()

    assert status == 0, told
    runs = {run["name"]: run for run in told["runs"]}
    assert {(run["reductions"], run["between_groups"]) for run in runs.values()} == {(3, 1)}
    assert runs["the same again"]["not_compared"] == 0
    assert runs["3 ranks"]["not_compared"] == 2
    assert text[-3:-1] == [
        "3 ranks: 2 reductions were not compared with 2 ranks: not over all ranks, or rank 0 "
        "has another part of the result, or none, or it could not be read",
        "1 reduction was not looked at: between two groups of ranks",
    ]
    assert text[-1].endswith("as what they are compared with, in what could be compared")


@pytest.mark.one_mpi
def test_a_rank_whose_results_are_not_noted_fails_the_check(
    mpi: str, compiled: Compile, lanewise: Lanewise, tmp_path: Path
) -> None:
    program = compiled(mpi, "mpicc", PROGRAM)
    script = tmp_path / "without_the_folder.sh"
    rank = "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"
    script.write_text(f'#!/bin/sh\nif [ "{rank}" = 1 ]; then unset LANEWISE_RESULTS; fi\n'
                      f'exec {program}\n')  # fmt: skip
    script.chmod(0o755)

    done = lanewise("check", "same-bits", "--ranks", "2", "--", *line_of(mpi, str(script)))

    assert done.returncode == 1
    assert "no result of rank 1 was noted; every host must be able to write to" in done.stderr


def test_exact_sums_are_the_same_on_any_number_of_ranks(
    compiled: Compile, lanewise: Lanewise
) -> None:
    line = line_of("openmpi", str(compiled("openmpi", "mpicc", PROGRAM)))

    status, told = found(lanewise, "--ranks", "2,3", "--same-bits", "ranks", "--", *line)

    assert told["same"], told
    assert status == 0


def test_in_one_order_runs_on_as_many_ranks_are_compared(
    compiled: Compile, lanewise: Lanewise
) -> None:
    line = line_of("openmpi", str(compiled("openmpi", "mpicc", PROGRAM)))

    status, told = found(lanewise, "--ranks", "3,4", "--same-bits", "order", "--", *line)

    assert told["same"], told
    assert status == 0
    assert {run["compared_with"] for run in told["runs"]} == {"3 ranks", "4 ranks"}


def test_reductions_of_any_type_are_the_same_under_two_mpis_in_one_order(
    compiled: Compile, lanewise: Lanewise
) -> None:
    # Some MPIs name the types of programs; that is no difference.
    source = "random_reductions.c -ffp-contract=off -lm -lpthread"
    words = ["order", "21", "40"]
    lines = {
        mpi: [*line_of(mpi, str(compiled(mpi, "mpicc", source))), *words]
        for mpi in ("openmpi", "mpich")
    }
    options = ("--ranks", "3", "--same-bits", "order", "--also", " ".join(lines["mpich"]))

    status, told = found(lanewise, *options, "--", *lines["openmpi"])

    assert (status, told["same"]) == (0, True), told
    assert {run["unseen"] for run in told["runs"]} == {0}


def test_builds_for_two_mpis_are_compared(compiled: Compile, lanewise: Lanewise) -> None:
    lines = {
        mpi: line_of(mpi, str(compiled(mpi, "mpicc", PROGRAM))) for mpi in ("openmpi", "mpich")
    }

    status, told = found(
        lanewise, "--ranks", "4", "--same-bits", "order", "--also", " ".join(lines["mpich"]), "--",
        *lines["openmpi"],
    )  # fmt: skip

    assert told["same"], told
    assert status == 0
    assert len(told["runs"]) == 7


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--ranks", "0", "--", "true"], "--ranks 0: write numbers above 0, such as 2,3,4"),
        (["--same-bits", "all", "--", "true"], "--same-bits all: use order or ranks"),
        (["--also", "a 'x", "--", "true"], "--also 'a 'x': no closing quotation; quote it whole"),
        (["--also", "", "--", "true"], "--also '' names no program; write a line as after --"),
        (
            ["--", "true"],
            "the MPI of true cannot be determined; name a program that is linked with an MPI, or "
            "launch it with mpirun",
        ),
        ([], "no program; name a launcher and a program: -- mpirun -n N ./app"),
        (
            ["--", "mpirun.openmpi", "-n", "2", "true"],
            "nothing in mpirun.openmpi -n 2 true is N; write N for the number of ranks: "
            "mpirun.openmpi -n N ./app",
        ),
    ],
)
def test_what_cannot_be_run_is_refused(words: list[str], sentence: str, lanewise: Lanewise) -> None:
    done = lanewise("check", "same-bits", *words)

    assert done.returncode == 2
    assert done.stderr == f"lanewise check same-bits: {sentence}\n"


def test_a_program_that_fails_ends_the_check(lanewise: Lanewise) -> None:
    done = lanewise("check", "same-bits", "--ranks", "1", "--", *line_of("openmpi", "false"))

    assert done.returncode == 1
    assert "ended with status 1; what it says is above" in done.stderr


@pytest.mark.one_mpi
@pytest.mark.parametrize("source", ["file", "pipe"])
def test_each_run_gets_all_of_the_standard_input(
    mpi: str, compiled: Compile, tmp_path: Path, source: str
) -> None:
    line = line_of(mpi, str(compiled(mpi, "mpicc", "sum_of_input.c")))
    words = [sys.executable, "-m", "lanewise", "check", "same-bits", "--json", "--ranks", "2,3"]
    path = tmp_path / "numbers"
    path.write_text("1 2 3\n")

    with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as cat, path.open() as file:
        stdin = file if source == "file" else cat.stdout
        done = subprocess.run([*words, "--", *line], stdin=stdin,
                              capture_output=True, text=True, check=False)  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    outputs = {run["output"] for run in json.loads(done.stdout)["runs"]}
    assert outputs == {hashlib.sha256(b"6\n").hexdigest()}


def script_at(path: Path, text: str) -> str:
    """Write a script of a shell and return its path."""
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_a_program_without_a_launcher_is_one_rank_and_keeps_its_words(
    compiled: Compile, lanewise: Lanewise
) -> None:
    program = str(compiled("openmpi", "mpicc", "needs_the_argument_n.c"))

    status, told = found(lanewise, "--", program, "N")
    refused = lanewise("check", "same-bits", "--ranks", "2,3", "--", program, "N")

    assert status == 0
    assert [run["name"] for run in told["runs"]] == ["1 rank", "the same again"]
    assert refused.returncode == 2
    assert refused.stderr == (
        f"lanewise check same-bits: --ranks 2,3: without a launcher {program} is one rank; "
        f"launch it: mpirun -n N {program}\n"
    )
    also = " ".join(line_of("openmpi", program))
    for line, other in ((also, program), (program, also)):
        one = lanewise("check", "same-bits", "--ranks", "2,3", "--also", other, "--", *line.split())
        assert (one.returncode, one.stderr) == (2, refused.stderr)


def test_what_a_run_prints_is_compared_unless_it_is_left_out(
    compiled: Compile, lanewise: Lanewise, tmp_path: Path
) -> None:
    program = compiled("openmpi", "mpicc", "needs_the_argument_n.c")
    script = script_at(tmp_path / "program", f'echo $$; exec "{program}" N')
    line = ("--ranks", "2", "--", *line_of("openmpi", script))

    status, told = found(lanewise, *line)
    without, told_without = found(lanewise, "--no-output", *line)

    assert status == 1
    assert all(run["output_differs"] for run in told["runs"][1:])
    assert (without, told_without["same"]) == (0, True)


def test_n_in_braces_leaves_an_n_to_the_program(compiled: Compile, lanewise: Lanewise) -> None:
    program = str(compiled("openmpi", "mpicc", "needs_the_argument_n.c"))
    *launcher, _, _ = line_of("openmpi", program)

    status, told = found(lanewise, "--ranks", "2", "--", *launcher, "{N}", program, "N")

    assert status == 0
    assert {run["ranks"] for run in told["runs"]} == {2}


def test_what_a_program_that_fails_prints_is_shown(lanewise: Lanewise, tmp_path: Path) -> None:
    script = script_at(tmp_path / "fails", "seq 50; echo cannot open input.dat; exit 3")

    done = lanewise("check", "same-bits", "--ranks", "1", "--", *line_of("openmpi", script))

    assert (done.returncode, done.stdout) == (1, "")
    said = [line for line in done.stderr.splitlines() if line.startswith("  | ")]
    assert said == [*(f"  | {number}" for number in range(12, 51)), "  | cannot open input.dat"]


@pytest.mark.one_mpi
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_check_that_is_ended_lets_the_launcher_end_its_ranks(
    mpi: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    ended, temporary = tmp_path / "ended", tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    wait = "while :; do sleep 0.01; done"
    script = script_at(tmp_path / "waits", f"trap 'echo >> {ended}; exit 0' TERM\n"
                                           f"echo started >&2; {wait}")  # fmt: skip
    words = ["check", "same-bits", "--ranks", "1", "--", *line_of(mpi, script)]
    heard = f"--default-signal={number.name}"  # nohup has one ignored
    with subprocess.Popen(
        ["env", heard, sys.executable, "-m", "lanewise", *words], stderr=subprocess.PIPE, text=True
    ) as check:
        assert check.stderr is not None
        assert check.stderr.readline() == "started\n"

        check.send_signal(number)
        said = check.communicate(timeout=60)[1]

    assert check.returncode == 130
    assert said.splitlines()[-1] == "lanewise check same-bits: stopped"
    assert ended.read_text() == "\n"
    assert list(temporary.iterdir()) == []


def test_a_signal_between_two_runs_is_told_like_one_during_them(
    compiled: Compile, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def disturbed(folder: Path) -> dict[int, records.RankResults]:
        signal.raise_signal(signal.SIGUSR1)
        return results_in(folder)

    results_in = records.results_in
    monkeypatch.setattr(records, "results_in", disturbed)
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    program = str(compiled("openmpi", "mpicc", "needs_the_argument_n.c"))
    try:
        status = run(["check", "same-bits", "--", program, "N"])
    finally:
        signal.signal(signal.SIGUSR1, before)

    assert status == 1
    [line] = capsys.readouterr().err.splitlines()
    assert "SIGUSR1 came during the run 'the same again' or before it" in line
