# SPDX-License-Identifier: BSD-3-Clause
"""What is said of a transport that does not start."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lanewise.errors import RequestError, RunError
from lanewise.launch.job import Job
from lanewise.launch.launchers.openmpi import BEFORE_KILL
from lanewise.suite import application
from lanewise.suite.asked import Asked, chosen, job_running
from lanewise.suite.scale import Plan, run_once
from lanewise.suite.start import (
    START_TRIES,
    Location,
    Ranks,
    find_out,
    measure_on,
    run_on,
    settings_text,
)
from lanewise.suite.transport import Transport


def test_a_transport_says_with_what_it_was_started() -> None:
    transport = Transport(
        "mine", "", "openmpi", "openmpi", ("--mca", "btl", "self,tcp"), {"A": "b c"}
    )

    assert settings_text(transport) == ", with 'A=b c' --mca btl self,tcp"
    assert settings_text(Transport("plain", "", "openmpi", "openmpi")) == ""


PAUSE = f"OMPI_MCA_{BEFORE_KILL}"
LIMIT_S = 20.0


@pytest.fixture
def ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ranks:
    """Give ranks of an Open MPI whose mpirun says how long it waits before it kills."""
    mpirun = f'#!/bin/sh\n[ $1 = --version ] && echo "Open MPI" || echo "waits ${PAUSE}"\n'
    (tmp_path / "mpirun").write_text(mpirun, encoding="ascii")
    (tmp_path / "mpirun").chmod(0o755)
    (tmp_path / "lanewise-measure").touch()
    build = {
        "mpi": "openmpi", "mpi_version": "Open MPI 4.1.4", "build_type": "Release",
        "version": "0.1.0", "bin": ".", "lib": ".",
    }  # fmt: skip
    (tmp_path / "lanewise-build.json").write_text(json.dumps(build), encoding="ascii")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("LANEWISE_NATIVE", str(tmp_path))
    monkeypatch.delenv(PAUSE, raising=False)
    return Ranks(Transport("plain", "", "openmpi", "openmpi"), 1)


def test_programs_of_users_keep_the_time_that_mpirun_gives_them_to_end(ranks: Ranks) -> None:
    assert list(run_on(ranks, ["a.out"], LIMIT_S).output) == ["waits "]


def test_ranks_of_ours_are_ended_at_once(ranks: Ranks) -> None:
    assert list(measure_on(ranks, ["barrier"], LIMIT_S).output) == ["waits 0"]


def put_mpirun(folder: Path, script: str) -> None:
    text = f'#!/bin/sh\n[ $1 = --version ] && echo "Open MPI" && exit\n{script}\n'
    (folder / "mpirun").write_text(text, encoding="ascii")


def test_a_time_is_found_wherever_the_program_tells_it(ranks: Ranks, tmp_path: Path) -> None:
    put_mpirun(tmp_path, """echo Time: 1.5; i=0; while [ $((i += 1)) -lt 100 ]; do echo $i; done""")

    assert run_once(Plan(("a.out",), (1,), pattern="Time: ([0-9.]+)"), ranks.transport, 1) == 1.5


def test_the_application_of_a_suite_runs_where_the_ranks_are(ranks: Ranks, tmp_path: Path) -> None:
    put_mpirun(tmp_path, "echo on the bare machine; exit 1")
    bed = Location(enter=lambda line: ["/bin/echo", "Loop time of 1.5", *line])

    application.run(replace(ranks, location=bed), tmp_path / "times.json")

    assert application.read([tmp_path / "times.json"]) == {1: [1.5] * application.RUNS}


def test_what_a_program_of_a_user_prints_is_no_event(ranks: Ranks, tmp_path: Path) -> None:
    put_mpirun(tmp_path, """echo '{"event": "end", "seconds": 2.5}'; exit 3""")

    with pytest.raises(RunError, match=r'\{"event": "end", "seconds": 2\.5\} \(status 3\)'):
        run_on(ranks, ["a.out"], LIMIT_S)


START = """echo '{"event": "start", "mpi": {"library": "Open MPI 4.1.4", "device": "ch4:ofi"}}'"""


def test_the_ranks_tell_what_a_transport_is_and_write_no_file(ranks: Ranks, tmp_path: Path) -> None:
    put_mpirun(tmp_path, f'for word; do [ "$word" = -o ] && exit 1; done; {START}')

    found = find_out(ranks.transport, 1)

    assert (found.starts, found.library) == (True, "Open MPI 4.1.4")
    other = find_out(replace(ranks.transport, device="ch4:ucx"), 1)
    assert other.why == "this MPI is built with ch4:ofi, not ch4:ucx"


def test_an_srun_without_a_plugin_for_the_mpi_starts_no_transport(
    ranks: Ranks, tmp_path: Path
) -> None:
    script = "#!/bin/sh\n[ $1 = --mpi=list ] && echo none || echo slurm 22.05.8\n"
    (tmp_path / "srun").write_text(script, encoding="ascii")
    (tmp_path / "srun").chmod(0o755)

    why = find_out(replace(ranks.transport, launcher="srun"), 1).why

    assert "it needs pmix and srun --mpi=list offers nothing" in why


def asked_job(tmp_path: Path, transport: str) -> Job:
    """Return the launch that a command makes over a transport whose file says `transport`."""
    path = tmp_path / "mine.toml"
    head = 'schema = "lanewise-transport"\nversion = 1\nmpi = "openmpi"\n'
    path.write_text(head + transport, encoding="ascii")
    asked = Asked(transport=str(path))
    return job_running(asked, chosen(asked), Path(), ("lanewise-measure", "bcast"), 1)


@pytest.mark.usefixtures("ranks")
def test_commands_bind_ranks_as_their_transport_says(tmp_path: Path) -> None:
    job = asked_job(tmp_path, '[placement]\nbind = "none"')

    assert job.launcher_arguments == ("--bind-to", "none")


@pytest.mark.usefixtures("ranks")
def test_commands_refuse_a_transport_whose_device_the_mpi_has_not(tmp_path: Path) -> None:
    plan = """#!/bin/sh\necho '{"points": 1, "mpi": {"device": "'${DEVICE:-ch4:ofi}'"}}'\n"""
    (tmp_path / "lanewise-measure").write_text(plan, encoding="ascii")
    (tmp_path / "lanewise-measure").chmod(0o755)

    with pytest.raises(RequestError, match="mine cannot be used: this MPI is built with ch4:ofi"):
        asked_job(tmp_path, 'device = "ch4:ucx"')
    assert asked_job(tmp_path, 'device = "ch4:ucx"\n[environment]\nDEVICE = "ch4:ucx"').ranks == 1


def test_a_launch_that_fails_without_a_reason_is_made_again(ranks: Ranks, tmp_path: Path) -> None:
    tries = tmp_path / "tries"
    says = f"[ -s {tries} ] && echo no such transport; echo >> {tries}"
    put_mpirun(tmp_path, f"{says}\nexit 1")

    assert find_out(ranks.transport, 1).why == "no such transport (status 1)"


def test_a_launch_that_never_gives_a_reason_is_not_made_for_ever(
    ranks: Ranks, tmp_path: Path
) -> None:
    tries = tmp_path / "tries"
    says = f"echo >> {tries}; echo ORTE_ERROR_LOG: lost"
    put_mpirun(tmp_path, f"{says}\nexit 1")

    assert find_out(ranks.transport, 1).why == "ORTE_ERROR_LOG: lost (status 1)"
    assert len(tries.read_text()) == START_TRIES
