# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise suite` and `lanewise suite app` for real, on small numbers; and what bad input gets."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lanewise.hca.device import LIBRARY
from lanewise.launch.choose import executable_of
from lanewise.launch.native import NativeBuild, find_builds
from lanewise.launch.registry import LAUNCHERS

HEAD = 'schema = "lanewise-transport"\nversion = 1\nmpi = "openmpi"\n'
BROKEN = HEAD + 'arguments = ["--mca", "btl", "self,no-such-transport"]\n'

WAITING = "partitioned messages that wait for no other ranks, unlike those of Open MPI"


def lanewise(*words: str, timeout: float = 240) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lanewise", *words],
        capture_output=True, text=True, check=False, timeout=timeout,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _require_openmpi() -> None:
    if executable_of(LAUNCHERS["openmpi"], os.environ) is None:
        pytest.skip("no Open MPI here; install openmpi-bin")
    if not any(build.mpi == "openmpi" for build in find_builds(os.environ)):
        pytest.skip("no native build for Open MPI; make build")


def openmpi_build() -> NativeBuild:
    return next(build for build in find_builds(os.environ) if build.mpi == "openmpi")


def state_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "suite.json").read_text())
    return found


def test_two_transports_are_compared_and_one_that_does_not_start_is_a_gap(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text(BROKEN, encoding="utf-8")
    out = tmp_path / "out"

    done = lanewise(
        "suite", "--quick", "--budget", "8s", "--benchmarks", "pingpong,partitioned",
        "--transports", f"openmpi-shm,openmpi-tcp,{broken}", "--folder", str(out),
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    needs = "MPI 4" if "Open MPI 4." in openmpi_build().mpi_version else WAITING
    assert state_of(out)["transports"]["openmpi-shm"]["lacks"] == {"partitioned": needs}
    assert f"does not support partitioned: needs {needs}" in (out / "report.html").read_text()
    state = json.loads((out / "suite.json").read_text())
    words, _, asked = state["transports"]["broken"]["why"].partition(" (status ")
    assert "no-such-transport" in asked
    # Open MPI 4.1 loses the help that names it in one launch of ten, and then says where it failed
    # or that it lost it.
    said = ("no-such-transport", "mca_bml_base_open() failed", "show_help.c")
    assert any(telling in words for telling in said), words
    assert (
        state["transports"]["openmpi-shm"]["why"] == state["transports"]["openmpi-tcp"]["why"] == ""
    )
    assert "broken does not start" in (out / "report.html").read_text()
    assert "openmpi-shm.point.1" in state["launches"]
    assert all(why == "" for why in state["launches"].values())


@pytest.mark.thorough
def test_reliable_connections_of_the_software_device_are_a_transport(tmp_path: Path) -> None:
    if not (openmpi_build().libraries / LIBRARY).is_file():
        pytest.skip(f"no {LIBRARY}; make build")
    out = tmp_path / "out"

    done = lanewise(
        "suite", "--quick", "--budget", "20s", "--benchmarks", "pingpong,streaming,put_flush",
        "--validate", "--transports", "openmpi-ucx-rc", "--folder", str(out),
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    state = json.loads((out / "suite.json").read_text())
    assert state["transports"]["openmpi-ucx-rc"]["why"] == ""
    # A busy machine may have no time left for the later rounds.
    groups = {name.split(".")[1] for name in state["launches"]}
    assert groups == {"point", "stream", "one-sided"}
    assert all(why == "" for why in state["launches"].values())


@pytest.mark.thorough
def test_buffers_are_chosen_for_a_whole_suite_and_kept_in_its_samples(tmp_path: Path) -> None:
    out = tmp_path / "out"

    done = lanewise(
        "suite", "--quick", "--budget", "6s", "--benchmarks", "pingpong,polling", "--validate",
        "--buffers", "cold, unaligned", "--transports", "openmpi-shm", "--folder", str(out),
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    state = json.loads((out / "suite.json").read_text())
    assert state["asked"]["buffers"] == "cold,unaligned"
    assert all(why == "" for why in state["launches"].values())
    context = json.loads(next((out / "samples").glob("*.jsonl")).read_text().splitlines()[0])
    assert context["buffers"] == {
        "caches": "cold", "offset_bytes": 4, "turns": 1, "pages": "small",
    }  # fmt: skip
    assert "Buffers: cold,unaligned." in (out / "report.html").read_text()


def test_a_suite_that_ran_out_of_time_goes_on(tmp_path: Path) -> None:
    words = ["suite", "--quick", "--benchmarks", "pingpong,bcast",
             "--transports", "openmpi-shm", "--folder", str(tmp_path / "out")]  # fmt: skip
    first = lanewise(*words, "--budget", "10ms")
    before = json.loads((tmp_path / "out" / "suite.json").read_text())

    again = lanewise(*words, "--budget", "15s", "--resume")

    after = json.loads((tmp_path / "out" / "suite.json").read_text())
    assert first.returncode == again.returncode == 0, first.stderr + again.stderr
    assert len(before["launches"]) == 1
    assert before["left_out"] and not after["left_out"]
    assert set(before["launches"]) < set(after["launches"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--quick", "--full"], "exclude each other"),
        (["--transports", "openmpi-tpc"], "did you mean openmpi-tcp"),
        (["--benchmarks", "pingpogn"], "no benchmark 'pingpogn'"),
        (["--budget", "soon"], "--budget soon is not a duration"),
        (["--window", "0"], "--window"),
        (["--window", "100000000"], "--window 100000000 wants"),
        (["--buffers", "lukewarm"], 'buffers "lukewarm" is none of warm, cold'),
        (["--resume"], "has no suite to go on with"),
        (["-n", "1"], "-n 1 has nobody to send messages to"),
    ],
)
def test_a_request_that_cannot_be_met_is_refused_in_one_line(
    tmp_path: Path, words: list[str], said: str
) -> None:
    done = lanewise("suite", *words, "--folder", str(tmp_path / "out"))

    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_window_larger_than_memory_is_refused_before_anything_runs() -> None:
    done = lanewise("measure", "streaming", "-n", "2", "--sizes", "1G", "--window", "100000")

    assert done.returncode == 2
    assert "of memory in a rank where" in done.stderr
    assert "choose a smaller size" in done.stderr


def test_transports_reach_across_the_hosts_of_a_testbed(tmp_path: Path) -> None:
    build = next(build for build in find_builds(os.environ) if build.mpi == "openmpi")
    if not (build.programs / "lanewise-delay-line").is_file():
        pytest.skip("no lanewise-delay-line; make build")
    out = tmp_path / "out"

    done = lanewise(
        "suite", "--quick", "--budget", "5s", "--benchmarks", "pingpong", "--testbed", "two-site",
        "--transports", "openmpi-tcp,openmpi-shm", "--folder", str(out),
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    state = json.loads((out / "suite.json").read_text())
    assert state["transports"]["openmpi-shm"]["why"] == "it does not leave the host"
    context = json.loads(next((out / "samples").glob("*.jsonl")).read_text().splitlines()[0])
    assert len({place["host"] for place in context["placement"]}) == 2


def test_a_program_is_scaled_over_a_transport(tmp_path: Path) -> None:
    if shutil.which("lmp") is None:
        pytest.skip("no LAMMPS here; install lammps")
    source = Path(__file__).parents[2] / "examples" / "lammps" / "in.lj"
    kept = tmp_path / "times.json"

    done = lanewise(
        "suite", "app", "-n", "1,2", "--weak", "--transports", "openmpi-shm", "--repetitions", "2",
        "-o", str(kept), "--", "lmp", "-in", str(source), "-log", "none", "-var", "steps", "20",
        "-var", "ranks", "{ranks}",
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    times = json.loads(kept.read_text())["transports"]["openmpi-shm"]["times_s"]
    assert {count: len(found) for count, found in times.items()} == {"1": 2, "2": 2}


def test_a_pattern_that_never_matches_is_told_with_the_last_lines() -> None:
    done = lanewise(
        "suite", "app", "-n", "1", "--transports", "openmpi-shm", "--pattern", "Elapsed ([0-9.]+)",
        "--", "echo", "Total wall time: 3",
    )  # fmt: skip

    assert done.returncode == 1
    assert "no line matches --pattern" in done.stderr
    assert "Total wall time: 3" in done.stderr


def test_a_program_that_fails_on_more_ranks_fails_after_its_times_are_written(
    tmp_path: Path,
) -> None:
    kept = tmp_path / "times.json"

    done = lanewise(
        "suite", "app", "-n", "1,2", "--transports", "openmpi-shm", "--repetitions", "2",
        "-o", str(kept), "--", "sh", "-c", "test {ranks} = 1",
    )  # fmt: skip

    assert done.returncode == 1
    assert "lanewise suite app: sh failed over openmpi-shm; " in done.stderr
    assert list(json.loads(kept.read_text())["transports"]["openmpi-shm"]["times_s"]) == ["1"]


def test_scaled_work_needs_a_place_for_the_ranks() -> None:
    done = lanewise("suite", "app", "-n", "1,2", "--weak", "--", "echo", "1")

    assert done.returncode == 2
    assert "{ranks}" in done.stderr
