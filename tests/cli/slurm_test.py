# SPDX-License-Identifier: BSD-3-Clause
"""srun for real: a Slurm of one node, started and stopped here, launches our ranks.

Everything of it lives in a folder of its own, with ports of its own; what it starts it ends.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from lanewise.launch.native import find_builds
from lanewise.results.read import load

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sinfo")
START_S = 60.0


def free_port() -> int:
    """Return a TCP port that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def configuration(folder: Path) -> str:
    """Return slurm.conf of this host alone: no cgroups, no accounting, ranks may share cores."""
    host = socket.gethostname().split(".")[0]
    cores = os.cpu_count() or 1
    return f"""ClusterName=lanewise
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=pmix
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
NodeName={host} NodeAddr=127.0.0.1 CPUs={max(cores, 2)} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES State=UP OverSubscribe=FORCE:4
"""


@contextmanager
def daemon(line: list[str], environment: dict[str, str]) -> Iterator[None]:
    """Run a program in the foreground meanwhile and end it, by its own number, afterwards."""
    process = subprocess.Popen(
        line, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Give the environment in which srun finds a Slurm of this host."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=search_path()) is None]
    if missing:
        pytest.skip(f"no {missing[0]} here; install slurm-wlm and munge")
    if os.getuid() != 0:
        pytest.skip("a Slurm of one's own wants root")
    folder = tmp_path_factory.mktemp("slurm")
    folder.chmod(0o755)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    (folder / "munge.key").write_bytes(os.urandom(1024))
    (folder / "munge.key").chmod(0o600)
    (folder / "slurm.conf").write_text(configuration(folder), encoding="utf-8")
    environment = {
        **os.environ, "PATH": search_path(), "SLURM_CONF": str(folder / "slurm.conf"),
    }  # fmt: skip
    with ExitStack() as stack:
        stack.enter_context(daemon(munge_line(folder), environment))
        wait_for((folder / "munge.socket").exists, folder)
        for name, options in (("slurmctld", ["-D"]), ("slurmd", ["-D"])):
            stack.enter_context(daemon([shutil.which(name, path=search_path()) or name, *options],
                                       environment))  # fmt: skip
        wait_for(lambda: "idle" in answer(["sinfo", "-h", "-o", "%T"], environment), folder)
        yield environment


def search_path() -> str:
    """Return the search path with the folders of daemons."""
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def munge_line(folder: Path) -> list[str]:
    """Return the line that runs munged in the foreground, with all its files in the folder."""
    files = {
        "key-file": "munge.key", "log-file": "munge.log", "pid-file": "munge.pid",
        "seed-file": "munge.seed", "socket": "munge.socket",
    }  # fmt: skip
    program = shutil.which("munged", path=search_path()) or "munged"
    return [program, "--foreground", "--force",
            *(f"--{option}={folder / name}" for option, name in files.items())]  # fmt: skip


def wait_for(ready: Callable[[], bool], folder: Path) -> None:
    """Wait until a condition holds; fail with the logs where it does not."""
    deadline_s = time.monotonic() + START_S
    while not ready():
        if time.monotonic() > deadline_s:
            logs = {path.name: path.read_text()[-800:] for path in folder.glob("*.log")}
            pytest.fail(f"Slurm did not start: {logs}")
        time.sleep(0.1)


def answer(line: list[str], environment: dict[str, str]) -> str:
    """Return what a command prints, whatever its status."""
    done = subprocess.run(
        line, env=environment, capture_output=True, text=True, check=False, timeout=30
    )
    return done.stdout


def require_build(mpi: str) -> None:
    if not any(build.mpi == mpi for build in find_builds(os.environ)):
        pytest.skip(f"no native build for {mpi}; make build")


def test_srun_launches_ranks_that_know_each_other(slurm: dict[str, str], tmp_path: Path) -> None:
    require_build("openmpi")
    path = tmp_path / "samples.jsonl"

    done = subprocess.run(
        [sys.executable, "-m", "lanewise", "measure", "pingpong", "-n", "2", "--launcher", "srun",
         "--sizes", "8,1K", "--repetitions", "5", "-o", str(path)],
        env=slurm, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    samples = load(path)
    assert samples.context.ranks == 2
    assert [point.repetitions for point in samples.points] == [5, 5]


def test_a_transport_that_srun_starts_can_be_compared(
    slurm: dict[str, str], tmp_path: Path
) -> None:
    require_build("openmpi")
    own = tmp_path / "slurm-shm.toml"
    own.write_text(
        'schema = "lanewise-transport"\nversion = 1\ntitle = "Slurm"\nmpi = "openmpi"\n'
        'launcher = "srun"\n[environment]\nOMPI_MCA_pml = "ob1"\n',
        encoding="utf-8",
    )

    done = subprocess.run(
        [sys.executable, "-m", "lanewise", "suite", "--quick", "--benchmarks", "pingpong",
         "--budget", "5s", "--transports", str(own), "-o", str(tmp_path / "out")],
        env=slurm, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    state = json.loads((tmp_path / "out" / "suite.json").read_text())
    assert state["transports"]["slurm-shm"]["why"] == ""
    assert (tmp_path / "out" / "report.html").stat().st_size > 0
