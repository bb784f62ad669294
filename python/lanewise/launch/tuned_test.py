# SPDX-License-Identifier: BSD-3-Clause
"""Somebody else's launch line: its programs and their MPI are made out, its ranks get variables."""

import os
import shlex
from pathlib import Path

import pytest

from lanewise.errors import RequestError
from lanewise.launch import tuned
from lanewise.launch.program import families_of, mpi_of, programs_in
from lanewise.launch.registry import LAUNCHERS

VARIABLES = {"LD_PRELOAD": "/l.so", "LANEWISE_TUNING": "/t.json"}


@pytest.mark.parametrize(
    ("launcher", "line", "expected"),
    [
        (
            "openmpi",
            "mpirun -n 4 ./app",
            "mpirun -x LD_PRELOAD=/l.so -x LANEWISE_TUNING=/t.json -n 4 ./app",
        ),
        (
            "openmpi",
            "mpirun -n 1 a : -n 2 b",
            "mpirun -x LD_PRELOAD=/l.so -x LANEWISE_TUNING=/t.json -n 1 a "
            ": -x LD_PRELOAD=/l.so -x LANEWISE_TUNING=/t.json -n 2 b",
        ),
        (
            "mpich",
            "mpiexec -n 4 ./app : -n 1 b",
            "mpiexec -genv LD_PRELOAD /l.so -genv LANEWISE_TUNING /t.json -n 4 ./app : -n 1 b",
        ),
        (
            "srun",
            "srun -n 4 ./app",
            "srun --export=ALL,LD_PRELOAD=/l.so,LANEWISE_TUNING=/t.json -n 4 ./app",
        ),
        (
            "srun",
            "srun -A test -n 4 ./app --export=x",
            "srun --export=ALL,LD_PRELOAD=/l.so,LANEWISE_TUNING=/t.json -A test -n 4 ./app "
            "--export=x",
        ),
        (
            "flux",
            "flux run -n 4 ./app",
            "flux run --env=LD_PRELOAD=/l.so --env=LANEWISE_TUNING=/t.json -n 4 ./app",
        ),
    ],
)
def test_the_ranks_alone_get_the_variables(launcher: str, line: str, expected: str) -> None:
    words = tuned.launch_line(shlex.split(line), LAUNCHERS[launcher], VARIABLES)

    assert shlex.join(words) == expected


def test_a_program_without_a_launcher_gets_them_by_env() -> None:
    words = tuned.launch_line(["./app", "-v"], None, VARIABLES)

    assert shlex.join(words) == "env LD_PRELOAD=/l.so LANEWISE_TUNING=/t.json ./app -v"


@pytest.mark.parametrize(
    ("launcher", "line"),
    [
        ("openmpi", "mpirun -x LD_PRELOAD=/tool.so -n 2 ./app"),
        ("srun", "srun --export=NONE -n 2 ./app"),
        ("srun", "srun -A test --export NONE -n 2 ./app"),
        ("srun", "srun --container-image debian --export NONE true"),
    ],
)
def test_a_line_that_sets_the_same_itself_is_refused(launcher: str, line: str) -> None:
    with pytest.raises(RequestError):
        tuned.launch_line(shlex.split(line), LAUNCHERS[launcher], VARIABLES)


def test_values_with_commas_reach_the_ranks_of_srun_by_its_environment() -> None:
    variables = {"UCX_TLS": "self,tcp", "A": "b"}

    words = LAUNCHERS["srun"].with_variables(["srun", "-n", "2", "./app"], variables)

    assert shlex.join(words) == "env UCX_TLS=self,tcp srun --export=ALL,A=b -n 2 ./app"


def test_a_library_whose_path_has_a_comma_is_not_loaded_into_srun_itself() -> None:
    with pytest.raises(RequestError, match="paths without commas"):
        tuned.launch_line(["srun", "./app"], LAUNCHERS["srun"], {"LD_PRELOAD": "/a,b/l.so"})


def test_simulated_ranks_are_refused() -> None:
    with pytest.raises(RequestError, match="smpirun simulates"):
        tuned.launch_line(["smpirun", "./app"], LAUNCHERS["smpi"], VARIABLES)


def test_other_tools_come_after_the_library() -> None:
    options = tuned.Options(Path("/t.json"), Path("/r.json"), strict=True)

    variables = tuned.variables_for(Path("/l.so"), options, {"LD_PRELOAD": "/tool.so"})

    assert variables == {
        "LD_PRELOAD": "/l.so:/tool.so",
        "LANEWISE_TUNING": "/t.json",
        "LANEWISE_REPORT": "/r.json",
        "LANEWISE_STRICT": "1",
    }


def test_ranks_on_all_hosts_learn_where_ranks_are(tmp_path: Path) -> None:
    placement = tmp_path / "placement.json"
    environment = {"LANEWISE_PLACEMENT": os.path.relpath(placement)}

    variables = tuned.variables_for(Path("/l.so"), tuned.Options(Path("/t.json")), environment)

    assert variables["LANEWISE_PLACEMENT"] == str(placement.resolve())


@pytest.mark.parametrize(
    ("launcher", "words", "expected"),
    [
        ("openmpi", "-n 4 ./app x", ["app"]),
        ("openmpi", "--mca btl app --host app -n 4 ./app", ["app"]),
        ("openmpi", "-n 1 ./app : -n 2 ./other ./app", ["app", "other"]),
        ("openmpi", "--unknown value -n 4 tool ./app", ["tool"]),
        ("openmpi", "-n 4 ./absent", []),
        ("openmpi", "-npernode 2 --rankfile tool ./app", ["app"]),
        ("mpich", "-genv A tool -iface other -n 2 ./app", ["app"]),
        ("srun", "-p tool -A other -J app -t 5 -N 2 -w tool -o tool -C other ./app", ["app"]),
        ("srun", "--partition=tool --job-name tool -n4 ./app tool", ["app"]),
        ("flux", "-q tool --job-name=other -o tool -n 4 ./app", ["app"]),
    ],
)
def test_the_programs_of_a_line_are_its_first_words_that_can_run(
    launcher: str, words: str, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("app", "other", "tool"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.chdir(tmp_path)

    found = programs_in(shlex.split(words), launcher, str(tmp_path))

    assert [program.name for program in found] == expected


@pytest.mark.parametrize(
    ("library", "family"),
    [
        ("libmpi.so.40", "openmpi"),
        ("libmpi_mpifh.so.40", "openmpi"),
        ("libmpi_usempif08.so.40", "openmpi"),
        ("libmpi_mpifh-gfortran.so.40", "openmpi"),
        ("libmpich.so.12", "mpich"),
        ("libmpichfort.so.12", "mpich"),
        ("libmpi.so.12", "mpich"),
        ("libmpifort.so.12", "mpich"),
        ("libmpiwrap.so", None),
        ("libmpfr.so.6", None),
    ],
)
def test_a_library_tells_its_mpi(library: str, family: str | None) -> None:
    assert families_of([library]) == ([family] if family else [])


def test_a_script_tells_nothing(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n", encoding="utf-8")

    assert mpi_of(script, {}) == ""
