# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise run`: programs as they are follow a tuning file, in every language, and stay right.

The tuning files here have one rule a collective, for all sizes.  The report tells what was taken.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Lanewise, write_platform
from tuned_job import (
    EVERY_SIZE,
    FAMILIES,
    PROGRAMS,
    RANKS,
    REQUESTED,
    RULES,
    TIMEOUT_S,
    Compile,
    Run,
    counted,
    launch_line,
    library_of,
    tuning,
    tuning_of_calls,
)

from lanewise.tuning.interleaved import load as load_interleaved
from processes import run_to_end

LANGUAGES = {
    "C": ("mpicc", ["collectives.c"]),
    "C++": ("mpicxx", ["-x", "c++", "collectives.c"]),
    "mpif.h": ("mpif90", ["-DWITH_HEADER", "-w", "-fallow-argument-mismatch", "collectives.F90"]),
    "use mpi": ("mpif90", ["-DWITH_MODULE", "-w", "-fallow-argument-mismatch", "collectives.F90"]),
    "use mpi_f08": ("mpif90", ["-DWITH_F08", "collectives.F90"]),
}


# Those of Fortran differ from each other in what the compiler of Fortran does.
@pytest.mark.parametrize(
    "language",
    [
        pytest.param(one, marks=[] if one in {"C", "use mpi_f08"} else [pytest.mark.thorough])
        for one in LANGUAGES
    ],
)
def test_a_program_in_any_language_follows_the_rules_and_is_right(
    mpi: str, language: str, compiled: Compile, run: Run, tmp_path: Path
) -> None:
    wrapper, words = LANGUAGES[language]
    program = compiled(mpi, wrapper, " ".join(words))

    done = run([*launch_line(mpi), str(program)], tuning(mpi))

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "all right\n"
    assert done.stderr == ""
    intercepted = counted(tmp_path, "intercepted")
    forwarded = counted(tmp_path, "forwarded")
    used = set(RULES) & set(intercepted)
    assert {"scatter", "gather", "bcast", "allgather", "alltoall", "allreduce", "barrier"} <= used
    assert wrapper != "mpif90" or {"neighbor_allgather", "neighbor_alltoallw"} <= used
    assert all(intercepted[name] > 0 for name in used), intercepted
    assert forwarded["bcast"] > 0, "those in a half of the ranks are not for these rules"
    assert forwarded["scatter"] == 0
    requested = set(REQUESTED[mpi]) & {"iscatter", "ibcast", "iallreduce"}
    assert all(intercepted[name] > 0 for name in requested), intercepted
    assert all(forwarded[name] == 0 for name in requested), forwarded


def test_persistent_collectives_follow_the_rules_of_the_nonblocking_ones(
    mpi: str, compiled: Compile, run: Run, tmp_path: Path
) -> None:
    program = compiled(mpi, "mpicc", "persistent.c")

    done = run([*launch_line(mpi), str(program)], tuning(mpi))

    assert (done.returncode, done.stdout) == (0, "all right\n"), done.stdout + done.stderr
    intercepted = counted(tmp_path, "intercepted")
    # Those that block, of three rounds with five of each; what was started is not among them.
    assert (intercepted["bcast"], intercepted["allreduce"], intercepted["reduce"]) == (15, 15, 1)
    assert intercepted.get("scan", 0) == 0
    # Each was started in three rounds.
    forwarded = counted(tmp_path, "forwarded")
    started = ("ibarrier", "ibcast", "ireduce", "iallreduce", "iscan")
    ruled = set(REQUESTED[mpi])
    assert {c: intercepted[c] for c in started} == {c: 3 * (c in ruled) for c in started}
    assert {c: forwarded[c] for c in started} == {c: 3 * (c not in ruled) for c in started}


@pytest.mark.parametrize("dialect", [pytest.param("mpi", marks=pytest.mark.thorough), "mpi_f08"])
@pytest.mark.one_mpi
def test_persistent_collectives_of_a_fortran_program_follow_the_rules(
    mpi: str, dialect: str, compiled: Compile, run: Run, tmp_path: Path
) -> None:
    how = {"mpi": "-DWITH_MODULE -w -fallow-argument-mismatch", "mpi_f08": ""}[dialect]
    # The functions of Open MPI 4 are an extension.
    extension = "-DWITH_EXTENSION" if mpi == "openmpi" else ""
    program = compiled(mpi, "mpif90", f"{how} {extension} persistent_rules.F90")

    done = run([*launch_line(mpi), str(program)], tuning(mpi))

    assert (done.returncode, done.stdout) == (0, "all right\n"), done.stdout + done.stderr
    started = {"ibarrier", "ibcast", "iscatter", "iallgather", "iallreduce", "iscan"}
    intercepted, forwarded = counted(tmp_path, "intercepted"), counted(tmp_path, "forwarded")
    ruled = set(REQUESTED[mpi])
    assert {c: intercepted[c] for c in started} == {c: 4 * (c in ruled) for c in started}
    assert {c: forwarded[c] for c in started} == {c: 4 * (c not in ruled) for c in started}


def test_a_python_program_follows_the_rules(run: Run, tmp_path: Path) -> None:
    python = shutil.which("python3", path="/usr/bin") or sys.executable
    if subprocess.run([python, "-c", "import mpi4py"], capture_output=True, check=False).returncode:
        pytest.skip("no mpi4py; install python3-mpi4py")
    mpi = "openmpi"

    done = run([*launch_line(mpi), python, str(PROGRAMS / "collectives.py")], tuning(mpi))

    assert done.stdout == "all right\n", done.stderr
    assert counted(tmp_path, "intercepted")["scatter"] == 1
    assert counted(tmp_path, "intercepted")["bcast"] > 0
    assert counted(tmp_path, "intercepted")["ibcast"] == 1
    assert counted(tmp_path, "intercepted")["iscatter"] == 1


def test_a_session_without_a_world_follows_the_rules(
    compiled: Compile, run: Run, tmp_path: Path
) -> None:
    program = compiled("mpich", "mpicc", "session.c")

    done = run([*launch_line("mpich"), str(program)], tuning("mpich"))

    assert done.stdout == "all right\n", done.stderr
    assert counted(tmp_path, "intercepted") == {"bcast": 1, "scatter": 1}


def test_a_session_of_a_fortran_program_follows_the_rules_and_its_first_call_need_not_block(
    compiled: Compile, run: Run, tmp_path: Path
) -> None:
    program = compiled("mpich", "mpif90", "session.f90")

    done = run([*launch_line("mpich"), str(program)], tuning("mpich"), "--same-bits", "order")

    assert (done.stdout, done.stderr) == ("all right\n", "")
    assert counted(tmp_path, "intercepted") == {"bcast": 1, "ireduce": 1, "scatter": 1}


@pytest.mark.parametrize("by", ["all", "any", "some"])
def test_a_fortran_program_asks_about_several_requests_without_waiting_for_them(
    by: str, compiled: Compile, run: Run
) -> None:
    answers = compiled("mpich", "mpicc", "-shared -fPIC -DTHE_MPI statuses_of_many.c")
    program = compiled("mpich", "mpicc", f"statuses_of_many.c {answers}")

    done = run([*launch_line("mpich"), str(program), by], tuning("mpich"))

    assert (done.stdout, done.stderr) == ("wrong: 0\n", "")


@pytest.mark.parametrize("launch", range(3))
def test_the_report_of_sessions_is_that_of_their_first_rank(
    launch: int, compiled: Compile, run: Run, tmp_path: Path
) -> None:
    program = compiled("mpich", "mpicc", "session_halves.c")

    done = run([*launch_line("mpich"), str(program)], tuning("mpich"))

    assert done.returncode == 0, done.stderr
    outcomes = [counted(tmp_path, what) for what in ("intercepted", "forwarded")]
    assert sum(counts["allreduce"] for counts in outcomes) == 100


def test_sessions_whose_first_rank_calls_no_collective_have_an_empty_report(
    compiled: Compile, run: Run, tmp_path: Path
) -> None:
    program = compiled("mpich", "mpicc", "session_halves.c")

    done = run([*launch_line("mpich"), str(program), "quiet"], tuning("mpich"))

    assert done.returncode == 0, done.stderr
    assert counted(tmp_path, "forwarded") == {}


@pytest.mark.one_mpi
def test_another_tool_sees_what_is_forwarded(
    mpi: str, compiled: Compile, run: Run, tmp_path: Path
) -> None:
    program = compiled(mpi, "mpicc", "collectives.c")
    tool = compiled(mpi, "mpicc", "-shared -fPIC tool.c")
    few = {"barrier": tuning(mpi)["collectives"]["barrier"]}

    done = run(
        [*launch_line(mpi), str(program)], tuning(mpi, collectives=few), LD_PRELOAD=str(tool)
    )

    assert done.returncode == 0, done.stderr
    forwarded = counted(tmp_path, "forwarded")
    assert forwarded["bcast"] > 0
    assert f"tool: {forwarded['bcast'] + 3} broadcasts, 0 barriers" in done.stdout, (
        "between communicators the three calls of each rank are forwarded without being counted"
    )


@pytest.mark.one_mpi
def test_the_status_of_the_program_is_the_status_of_the_command(mpi: str, run: Run) -> None:
    line = launch_line(mpi)
    line[-1] = "1"

    assert run([*line, "sh", "-c", "exit 7"], tuning(mpi)).returncode == 7


CORRUPT = '{"schema": "lanewise-tuning", "version'


@pytest.mark.one_mpi
def test_a_corrupt_file_is_refused_and_the_program_runs_without_it(
    mpi: str, compiled: Compile, run: Run, tmp_path: Path
) -> None:
    program = compiled(mpi, "mpicc", "collectives.c")

    done = run([*launch_line(mpi), str(program)], CORRUPT)

    assert (done.returncode, done.stdout) == (0, "all right\n")
    assert done.stderr.count("\n") == 1
    assert "tuning.json: is not JSON, or only part of it" in done.stderr
    assert done.stderr.endswith("the MPI's own algorithms are used, and there is no report\n")
    assert not (tmp_path / "report.json").exists()


@pytest.mark.one_mpi
def test_a_tuning_file_may_have_a_name_that_is_not_utf8(
    mpi: str, compiled: Compile, lanewise: Lanewise, tmp_path: Path
) -> None:
    program = compiled(mpi, "mpicc", "collectives.c")
    name = os.fsdecode(b"t\xe9.json")
    (tmp_path / name).write_text(json.dumps(tuning(mpi)), encoding="utf-8")

    line = [*launch_line(mpi), str(program)]
    done = lanewise("run", "--tuning", name, "--report", "report.json", "--", *line)

    assert (done.returncode, done.stdout) == (0, "all right\n")
    assert json.loads((tmp_path / "report.json").read_text())["tuning"].endswith("t\ufffd.json")


@pytest.mark.one_mpi
def test_a_corrupt_file_ends_a_strict_run_before_it_begins(
    mpi: str, compiled: Compile, run: Run
) -> None:
    program = compiled(mpi, "mpicc", "collectives.c")

    done = run([*launch_line(mpi), str(program)], CORRUPT, "--strict")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("lanewise run: ")


@pytest.mark.one_mpi
def test_ranks_look_at_the_measurements_of_a_file_only_where_they_are_strict(
    mpi: str, tmp_path: Path
) -> None:
    collectives = {"bcast": {"points": "none", "rules": [{**EVERY_SIZE, "algorithm": "binomial"}]}}
    file = tmp_path / "tuning.json"
    file.write_text(json.dumps(tuning(mpi, collectives=collectives)), encoding="utf-8")
    variables = {"LD_PRELOAD": str(library_of(mpi)), "LANEWISE_TUNING": str(file)}
    true = shutil.which("true")
    assert true

    follows, refuses = (
        subprocess.run([true], capture_output=True, text=True, check=False,
                       env={**os.environ, **variables, **more})
        for more in ({}, {"LANEWISE_STRICT": "file"})
    )  # fmt: skip

    assert (follows.returncode, follows.stderr) == (0, "")
    assert refuses.returncode == 2
    assert "points" in refuses.stderr


def of_hosts(*layouts: list[int]) -> dict[str, Any]:
    """Return a file of the present version with rules for ranks on these hosts."""
    values = tuning_of_calls("openmpi", bcast="binomial")
    (layout,) = values["layouts"]
    return {**values, "layouts": [{**layout, "hosts": hosts} for hosts in layouts]}


OTHERS = {
    "ranks": (tuning("openmpi", ranks=7, layout=[7]), "is for 7 ranks, not 4"),
    "layout": (
        tuning("openmpi", layout=[3, 1]),
        "for 4 ranks on hosts [0, 0, 0, 1], these are 4 ranks on one",
    ),
    "hosts": (
        of_hosts([0, 1], [0, 0, 1, 1, 2, 2]),
        "for 2 ranks on hosts [0, 1]; 6 ranks on hosts [0, 0, 1, 1, 2, 2], these are 4 ranks on",
    ),
}


@pytest.mark.parametrize("other", OTHERS)
def test_a_file_for_another_job_brings_one_warning_and_no_rule(
    other: str, compiled: Compile, run: Run, tmp_path: Path
) -> None:
    file, sentence = OTHERS[other]
    program = compiled("openmpi", "mpicc", "collectives.c")

    done = run([*launch_line("openmpi"), str(program)], file)

    assert (done.returncode, done.stdout) == (0, "all right\n")
    assert done.stderr.count("\n") == 1, done.stderr
    assert sentence in done.stderr
    assert set(counted(tmp_path, "intercepted").values()) == {0}


def test_a_file_for_another_mpi_brings_one_warning(compiled: Compile, run: Run) -> None:
    program = compiled("openmpi", "mpicc", "collectives.c")

    done = run([*launch_line("openmpi"), str(program)], tuning("mpich"))

    assert (done.returncode, done.stdout) == (0, "all right\n")
    assert done.stderr.count("\n") == 1
    assert "is for mpich, this is openmpi" in done.stderr


def by_the_platform(family: str) -> dict[str, Any]:
    """Return a tuning file whose rule for scatter looks at the platform."""
    rule = {**EVERY_SIZE, "algorithm": "lmo_binomial"}
    return tuning(family, collectives={"scatter": {"rules": [rule]}})


@pytest.mark.one_mpi
def test_a_rule_that_looks_at_the_platform_follows_the_one_that_is_given(
    mpi: str, compiled: Compile, run: Run, platform: Path, tmp_path: Path
) -> None:
    program = compiled(mpi, "mpicc", "collectives.c")

    done = run([*launch_line(mpi), str(program)], by_the_platform(mpi), "--platform", str(platform))

    assert (done.returncode, done.stdout, done.stderr) == (0, "all right\n", "")
    assert counted(tmp_path, "intercepted")["scatter"] > 0


@pytest.mark.one_mpi
def test_the_variable_names_the_platform_without_lanewise_run(
    mpi: str, compiled: Compile, tmp_path: Path
) -> None:
    file = {**by_the_platform(mpi), "ranks": 2, "layout": [2]}
    (tmp_path / "tuning.json").write_text(json.dumps(file), encoding="utf-8")
    write_platform(tmp_path / "platform.json", ranks=2)
    told = {
        "LD_PRELOAD": library_of(mpi),
        "LANEWISE_EVERY_RANK": 1,
        "LANEWISE_TUNING": "tuning.json",
        "LANEWISE_PLATFORM": "platform.json",
        "LANEWISE_REPORT": "report.json",
    }
    words = [f"{name}={value}" for name, value in told.items()]
    program = str(compiled(mpi, "mpicc", "collectives.c"))

    done = run_to_end([*launch_line(mpi, 2), "env", *words, program], TIMEOUT_S, cwd=tmp_path)

    assert (done.returncode, done.stdout, done.stderr) == (0, "all right\n", "")
    assert counted(tmp_path, "intercepted")["scatter"] > 0


@pytest.mark.one_mpi
def test_the_platform_is_looked_at_whatever_number_of_ranks_a_layout_of_the_file_has(
    mpi: str, compiled: Compile, run: Run, platform: Path, tmp_path: Path
) -> None:
    line = [*launch_line(mpi), str(compiled(mpi, "mpicc", "collectives.c"))]
    file = tuning_of_calls(mpi, scatter="lmo_binomial")
    of_two, of_all = ({**file["layouts"][0], "hosts": [0] * ranks} for ranks in (2, RANKS))

    for layouts in ([of_two, of_all], [of_two]):
        done = run(line, {**file, "layouts": layouts}, "--platform", str(platform))

        assert (done.returncode, done.stdout, done.stderr) == (0, "all right\n", "")
        assert counted(tmp_path, "intercepted")["scatter"] > 0


def test_without_a_platform_its_rule_is_left_to_the_mpi(
    compiled: Compile, run: Run, tmp_path: Path
) -> None:
    program = compiled("openmpi", "mpicc", "collectives.c")

    done = run([*launch_line("openmpi"), str(program)], by_the_platform("openmpi"))

    assert (done.returncode, done.stdout) == (0, "all right\n")
    assert done.stderr.count("\n") == 1
    assert "--platform platform.json" in done.stderr
    assert counted(tmp_path, "intercepted")["scatter"] == 0


def test_without_a_platform_a_strict_run_is_refused(compiled: Compile, run: Run) -> None:
    program = compiled("openmpi", "mpicc", "collectives.c")

    done = run([*launch_line("openmpi"), str(program)], by_the_platform("openmpi"), "--strict")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1, done.stderr
    assert "look at the platform; name it with --platform platform.json" in done.stderr
    assert "left to the MPI" not in done.stderr


@pytest.mark.one_mpi
def test_lanes_look_at_the_platform_that_is_given_and_do_without_one_that_cannot_be_read(
    mpi: str, compiled: Compile, run: Run, platform: Path, tmp_path: Path
) -> None:
    rule = {**EVERY_SIZE, "algorithm": "multilane", "lanes": 2}
    rules = tuning(mpi, collectives={"scatter": {"rules": [rule]}})
    ranks = [{"rank": i, "host": f"h{i}", "site": "ab"[i % 2]} for i in range(RANKS)]
    sites = {"schema": "lanewise-placement", "version": 1, "hosts": [], "ranks": ranks}
    placement = tmp_path / "placement.json"
    placement.write_text(json.dumps(sites), encoding="utf-8")
    line = [*launch_line(mpi), str(compiled(mpi, "mpicc", "collectives.c"))]
    where = {"LANEWISE_PLACEMENT": str(placement)}

    for damaged in (False, True):
        if damaged:
            platform.write_text('{"schema": "lanewise-platform", "version": 3}', encoding="utf-8")
        done = run(line, rules, "--platform", str(platform), **where)

        assert (done.returncode, done.stdout) == (0, "all right\n"), done.stderr
        assert done.stderr.count("\n") == damaged, done.stderr
        told = "the lanes of scatter by multilane carry equal shares" in done.stderr
        assert told == damaged
        assert counted(tmp_path, "intercepted")["scatter"] > 0


@pytest.mark.one_mpi
def test_lane_curves_serve_a_job_of_their_ranks_and_are_missed_by_a_larger_one(
    mpi: str, compiled: Compile, run: Run, platform: Path, tmp_path: Path
) -> None:
    values = json.loads(platform.read_text(encoding="utf-8"))
    lanes = [{"from": a, "to": b, "bandwidth_Bps": [1e8, 2e8]} for a, b in ("ab", "ba")]
    file = tuning_of_calls(mpi, scatter="multilane")
    file["layouts"][0]["collectives"]["scatter"]["rules"][0]["lanes"] = 2
    of_more, of_all = ({**file["layouts"][0], "hosts": [0] * ranks} for ranks in (8, RANKS))
    rules = {**file, "layouts": [of_more, of_all]}
    line = [*launch_line(mpi), str(compiled(mpi, "mpicc", "collectives.c"))]

    told = []
    for ranks in (RANKS, RANKS - 1):
        sites = ["a", *"b" * (ranks - 1)]
        values |= {"version": 3, "best": "lanes", "lanes": lanes, "sites": sites, "ranks": ranks}
        values |= {"models": {}, "hosts": [f"h{rank}" for rank in range(ranks)]}
        values["fingerprint"]["cpus"] = ["0"] * ranks
        platform.write_text(json.dumps(values), encoding="utf-8")
        done = run(line, rules, "--platform", str(platform))
        assert (done.returncode, done.stdout) == (0, "all right\n"), done.stderr
        told.append([one for one in done.stderr.splitlines() if "lane curves" in one])

    assert told == [
        [],
        [
            "lanewise: the platform has no lane curves for these ranks; lanewise measure lanes "
            "writes them; the lanes of scatter by multilane carry equal shares"
        ],
    ]


def test_interleaved_runs_compare_plain_and_tuned(
    compiled: Compile, run: Run, tmp_path: Path
) -> None:
    program = compiled("openmpi", "mpicc", "collectives.c")
    line = [*launch_line("openmpi"), str(program)]

    done = run(line, tuning("openmpi"), "--interleaved", "2", "-o", "times.json")

    assert done.returncode == 0, done.stderr
    taken = load_interleaved(tmp_path / "times.json")
    assert (len(taken.plain_s), len(taken.tuned_s)) == (2, 2)
    assert done.stdout.count("all right") == 2, "the first turn of each is shown"
    assert f"tuned/plain {taken.ratio():.3f}" in done.stdout


def test_interleaved_runs_without_rules_are_refused_in_one_line(
    compiled: Compile, lanewise: Lanewise, tmp_path: Path
) -> None:
    line = [*launch_line("openmpi"), compiled("openmpi", "mpicc", "collectives.c")]
    damaged = tmp_path / "tuning.json"
    damaged.write_text("{", encoding="utf-8")

    done = lanewise("run", "--tuning", damaged, "--interleaved", "2", "--", *line)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith(f"lanewise run: {damaged}")
    assert done.stderr.endswith("; without its rules plain and tuned would be the same\n")


def test_a_program_and_a_launcher_of_two_mpis_are_refused(compiled: Compile, run: Run) -> None:
    program = compiled("mpich", "mpicc", "collectives.c")

    done = run([*launch_line("openmpi"), str(program)], tuning("mpich"))

    assert (done.returncode, done.stdout) == (2, "")
    assert "is built for MPICH" in done.stderr
    assert "mpiexec.mpich" in done.stderr


@pytest.mark.parametrize(("build", "program"), [FAMILIES, FAMILIES[::-1]])
def test_the_library_of_another_mpi_ends_a_program_before_its_main(
    build: str, program: str, compiled: Compile, tmp_path: Path
) -> None:
    library = library_of(build)
    file = tmp_path / "tuning.json"
    file.write_text(json.dumps(tuning(build)), encoding="utf-8")

    done = subprocess.run(
        [compiled(program, "mpicc", "collectives.c")],
        capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
        env={**os.environ, "LD_PRELOAD": str(library), "LANEWISE_TUNING": str(file)},
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "lanewise run loads the right one" in done.stderr


def test_ranks_with_different_files_keep_to_the_mpi_and_say_so_once(
    compiled: Compile, tmp_path: Path
) -> None:
    program = compiled("openmpi", "mpicc", "collectives.c")
    library = library_of("openmpi")
    files = [tmp_path / "one.json", tmp_path / "other.json"]
    files[0].write_text(json.dumps(tuning("openmpi")), encoding="utf-8")
    line = [*launch_line("openmpi")[:-1]]
    variables = ["-x", f"LD_PRELOAD={library}", "-x", "LANEWISE_EVERY_RANK=1"]
    parts = [["2", *variables, "-x", f"LANEWISE_TUNING={file}", str(program)] for file in files]

    done = subprocess.run(
        [*line, *parts[0], ":", "-n", *parts[1]],
        capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
        env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
    )  # fmt: skip

    assert done.stdout == "all right\n", done.stderr
    assert done.stderr.count("different tuning files") == 1


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--tuning", "none.json", "--", "mpirun", "true"], ["none.json", "lanewise tune"]),
        (["--tuning", "t.json"], ["no program"]),
        (["--tuning", "t.json", "--mpi", "lam", "--", "mpirun", "true"], ["--mpi lam", "openmpi"]),
        (["--tuning", "t.json", "--", "nolauncher", "-n", "2"], ["nolauncher"]),
        (["--tuning", "t.json", "--report", "no/r.json", "--", "true"], ["no/r.json"]),
        (["--tuning", "t.json", "--", "true"], ["--mpi"]),
        (["--tuning", "t.json", "-o", "r.json", "--", "true"], ["--interleaved"]),
    ],
)
def test_what_cannot_be_run_is_refused(
    arguments: list[str], named: list[str], tmp_path: Path
) -> None:
    (tmp_path / "t.json").write_text(json.dumps(tuning("openmpi")), encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-m", "lanewise", "run", *arguments],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert all(word in done.stderr for word in named), done.stderr
