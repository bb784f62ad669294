# SPDX-License-Identifier: BSD-3-Clause
"""Runs that end early keep their points, say so, and leave no rank behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lanewise.launch.choose import executable_of
from lanewise.launch.registry import LAUNCHERS
from lanewise.results.read import load
from processes import started

Lanewise = Callable[..., "subprocess.CompletedProcess[str]"]


def processes_naming(text: str) -> list[str]:
    """Return the command lines of running processes that contain `text`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in line:
            found.append(line)
    return found


def test_a_rank_that_dies_leaves_the_points_so_far(
    lanewise: Lanewise, user_library: Path, tmp_path: Path
) -> None:
    command = ("measure", "-n", 2, "--launcher", "openmpi", "--sizes", "8,64,1K")
    operation = ("--operation", f"{user_library}:dying", "--repetitions", "100:2000")

    done = lanewise(*command, *operation, "--error", "0.5", "-o", "s.jsonl")

    kept = load(tmp_path / "s.jsonl")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("lanewise measure: a rank died: mpirun.openmpi ended with status 137")
    assert f"after {len(kept.points)} of 15 points, in launch 1 of 5, kept in s.jsonl" in last
    assert "--resume" in last
    assert "  | " in done.stderr
    assert kept.end is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.one_mpi
def test_an_interrupted_run_keeps_its_points_and_leaves_no_rank(
    lanewise: Lanewise, real_mpi: str, tmp_path: Path, number: signal.Signals
) -> None:
    path = tmp_path / "interrupted.jsonl"
    command = [
        sys.executable, "-m", "lanewise", "measure", "pairs", "-n", "2", "--launcher", real_mpi,
        "--sizes", "1:900K:1", "--repetitions", "10", "-o", str(path),
    ]  # fmt: skip
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    with started(command, stderr=pipe, stdout=null) as measuring:
        assert measuring.stderr is not None
        first = measuring.stderr.readline()

        measuring.send_signal(number)
        rest = measuring.communicate(timeout=60)[1]

    assert first.startswith("1/")
    assert measuring.returncode == 130
    assert rest.splitlines()[-1].startswith("lanewise measure: stopped after ")
    assert processes_naming(str(path)) == []
    assert len(load(path).points) >= 1


@pytest.mark.one_mpi
def test_a_launcher_that_cannot_start_the_ranks_is_a_failure_with_its_words(
    lanewise: Lanewise, real_mpi: str, tmp_path: Path
) -> None:
    done = lanewise(
        "measure", "scatter", "-n", 2, "--launcher", real_mpi, "--launcher-args=--nonesuch",
        "--sizes", "8", "-o", "s.jsonl",
    )  # fmt: skip

    assert done.returncode == 1
    assert "nonesuch" in done.stderr
    assert "the ranks did not start" in done.stderr.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


LAUNCHER = """\
#!/bin/sh
case $1 in --version) exec {mpirun} --version ;; esac
echo >> {count}
test "$(wc -l < {count})" -le 2 || {{ echo no slots are left >&2; exit 1; }}
exec {mpirun} "$@"
"""


def test_a_later_launch_that_does_not_start_says_what_is_kept_and_how_to_go_on(
    lanewise: Lanewise, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mpirun = executable_of(LAUNCHERS["openmpi"], os.environ)
    folder = tmp_path / "bin"
    folder.mkdir()
    launcher = folder / Path(str(mpirun)).name
    launcher.write_text(LAUNCHER.format(mpirun=mpirun, count=tmp_path / "count"))
    launcher.chmod(0o755)
    command = (
        "measure", "bcast", "-n", 2, "--launcher", "openmpi", "--sizes", "8,64",
        "--repetitions", "10", "--launches", "3", "-o", "s.jsonl",
    )  # fmt: skip
    with monkeypatch.context() as patched:
        patched.setenv("PATH", str(folder), prepend=os.pathsep)
        stopped = lanewise(*command)

    assert stopped.returncode == 1
    assert "no slots are left" in stopped.stderr
    assert stopped.stderr.splitlines()[-1].endswith(
        "launches 1 to 2 are kept in s.jsonl, and the same command with --resume continues; "
        "lanewise doctor may say why"
    )
    assert lanewise(*command, "--resume").returncode == 0
    samples = load(tmp_path / "s.jsonl")
    assert samples.warnings == []
    assert [point.launch for point in samples.launch_points] == [1, 1, 2, 2, 3, 3]


@pytest.mark.one_mpi
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
def test_a_disk_without_room_for_the_first_point_is_named_and_nothing_is_said_to_be_kept(
    real_mpi: str, tmp_path: Path
) -> None:
    measure = f"{sys.executable} -m lanewise measure bcast -n 2 --launcher {real_mpi}"
    few = "--sizes 8 --repetitions 10 --launches 1 -q -o s.jsonl"
    fill = "dd if=/dev/zero of=rest bs=4k status=none 2>&-"
    mount = f"mount -t tmpfs -o size=64k none {tmp_path} && cd {tmp_path}"

    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", f"{mount} && {{ {fill}; {measure} {few}; ls; }}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.stderr == (
        "lanewise measure: s.jsonl could not take a point: No space left on device; free space "
        "there (after 0 of 1 points; nothing is kept)\n"
    )
    assert done.stdout == "rest\n"
