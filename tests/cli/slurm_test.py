# SPDX-License-Identifier: BSD-3-Clause
"""Slurm for real: two nodes on this machine, started and stopped here, launch our ranks.

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
from tuned_job import RANKS, Compile, counted, tuning

from free_ports import free_ports
from lanewise.launch.job import Job
from lanewise.launch.native import find_builds
from lanewise.launch.registry import LAUNCHERS
from lanewise.launch.room import placed, room
from lanewise.results.read import load

pytestmark = pytest.mark.xdist_group("slurm")

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sinfo", "salloc", "sbatch", "scancel")
GUIDE = Path(__file__).parents[2] / "docs/cluster.md"
START_S = 60.0
NODES = ("node1", "node2")
CPUS = 4
# Ranks of the two nodes would share the same file in /dev/shm, which two machines do not have.
ACROSS = {"OMPI_MCA_btl": "self,tcp", "OMPI_MCA_pml": "ob1"}


def configuration(folder: Path) -> str:
    """Return slurm.conf of two nodes on this host: no cgroups, no accounting, CPUs as claimed."""
    host = socket.gethostname().split(".")[0]
    controller, *ports = free_ports(1 + len(NODES))
    nodes = "\n".join(
        f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={CPUS}"
        for node, port in zip(NODES, ports, strict=True)
    )
    return f"""ClusterName=lanewise
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
TmpFS={folder}/tmp-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=pmix
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
{nodes}
PartitionName=all Nodes={",".join(NODES)} Default=YES State=UP
"""


@contextmanager
def daemon(line: list[str], environment: dict[str, str]) -> Iterator[None]:
    """Run a program in the foreground meanwhile and end it, by its own number, afterwards."""
    process = subprocess.Popen(
        [shutil.which(line[0], path=search_path()) or line[0], *line[1:]],
        env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
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
    """Give the environment in which srun finds a Slurm of two nodes."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=search_path()) is None]
    if missing:
        pytest.skip(f"no {missing[0]} here; install slurm-wlm and munge")
    if os.getuid() != 0:
        pytest.skip("a Slurm of one's own wants root")
    folder = tmp_path_factory.mktemp("slurm")
    folder.chmod(0o755)
    for name in ("state", *(f"{kind}-{node}" for kind in ("spool", "tmp") for node in NODES)):
        (folder / name).mkdir()
    (folder / "munge.key").write_bytes(os.urandom(1024))
    (folder / "munge.key").chmod(0o600)
    (folder / "slurm.conf").write_text(configuration(folder), encoding="utf-8")
    environment = {
        **os.environ, "PATH": search_path(), "SLURM_CONF": str(folder / "slurm.conf"),
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        # Its tree lets a rank out of MPI_Init before the others expect messages, and those crash.
        "SLURM_PMIX_FENCE": "ring",
    }  # fmt: skip
    with ExitStack() as stack:
        stack.enter_context(daemon(munge_line(folder), environment))
        wait_for((folder / "munge.socket").exists, folder)
        for line in (["slurmctld", "-D"], *(["slurmd", "-D", "-N", node] for node in NODES)):
            stack.enter_context(daemon(line, environment))
        idle = ["idle"] * len(NODES)
        wait_for(lambda: answer(["sinfo", "-hN", "-o", "%T"], environment).split() == idle, folder)
        yield environment
        answer(["scancel", "--user=root", "--full"], environment)


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
         "--sizes", "8,1K", "--repetitions", "5", "--launches", "1", "-o", str(path)],
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
        'launcher = "srun"\n[environment]\nOMPI_MCA_pml = "ob1"\nOMPI_MCA_btl = "self,vader"\n',
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
    assert "slurm-shm" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def in_job(
    slurm: dict[str, str], options: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Run the command as the program of a job that salloc is given `options` for."""
    return subprocess.run(
        ["salloc", "-Q", *options.split(), sys.executable, "-m", "lanewise", *arguments],
        env={**slurm, **ACROSS}, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def in_batch(slurm: dict[str, str], script: Path, *options: str) -> str:
    """Submit a script from its own folder, wait for its end, and return its log."""
    log = script.with_suffix(".log")
    submitted = subprocess.run(
        ["sbatch", "--parsable", *options, f"--output={log}", str(script)], cwd=script.parent,
        env={**slurm, **ACROSS}, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    queued = ["squeue", "-h", "-o", "%T", "-j", submitted.stdout.strip()]
    wait_for(lambda: answer(queued, slurm).strip() in {"", "COMPLETED", "FAILED"}, script.parent)
    return log.read_text(errors="replace")


def test_the_batch_script_of_the_guide_measures_on_the_tasks_of_all_its_hosts(
    slurm: dict[str, str], tmp_path: Path
) -> None:
    require_build("openmpi")
    script = tmp_path / "lanewise.sh"
    text = GUIDE.read_text().split("```bash\n")[1].split("```")[0]
    # Six ranks on the few cores of this machine take long to agree on an interval.  There is one
    # launch: on two nodes that are one machine Open MPI 4.1.4 crashed in a later one now and then.
    script.write_text(text.replace("--time-limit 2", "--repetitions 5 --launches 1"))
    command = tmp_path / "lanewise/bin/lanewise"
    command.parent.mkdir(parents=True)
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m lanewise "$@"\n')
    command.chmod(0o755)

    log = in_batch({**slurm, "HOME": str(tmp_path)}, script, "--ntasks-per-node=3")

    assert len(list(tmp_path.glob("report-*.html"))) == 1, log
    (samples,) = tmp_path.glob("samples-*.jsonl")
    context = load(samples).context
    assert (context.ranks, context.launcher) == (6, "srun")
    assert "Slurm job" in log
    assert "share" not in log


def test_mpirun_in_a_batch_script_takes_hosts_and_ranks_from_the_job(
    slurm: dict[str, str], tmp_path: Path
) -> None:
    require_build("openmpi")
    script = tmp_path / "measure.sh"
    script.write_text(
        f"#!/bin/bash\n{sys.executable} -m lanewise measure bcast --sizes 8 --repetitions 5 "
        "--launcher openmpi --launches 1 -o samples.jsonl\n"
    )

    log = in_batch(slurm, script, "--nodes=2", "--ntasks-per-node=3")

    assert (tmp_path / "samples.jsonl").exists(), log
    assert load(tmp_path / "samples.jsonl").context.ranks == 6
    assert "share" not in log


@pytest.mark.parametrize(
    ("options", "arguments", "expected"),
    [
        ("-N2 -n6", "", "srun --ntasks=6 --mpi=pmix"),
        ("-N2 -n6", "--launcher openmpi", "mpirun -n 6"),
        ("-N2 --exclusive", "", "srun --ntasks=8 --mpi=pmix"),
        ("-N2 -n4 -c2", "", "srun --ntasks=4 --mpi=pmix"),
        ("-N2 -n4 -c2", "-n 8", "srun --ntasks=8 --mpi=pmix --cpus-per-task=1"),
        ("-N2 -n8", "-n 9", "srun --ntasks=9 --mpi=pmix --overcommit --cpus-per-task=1"),
        ("-N2 -n8", "-n 9 --launcher openmpi", "mpirun -n 9 --oversubscribe"),
        ("-N2 -n8", "--hosts node2", "srun --ntasks=4 --mpi=pmix --nodes=1 --nodelist=node2"),
        ("-N2 -n8", "--hosts node2 --launcher openmpi", "mpirun -n 4 --host node2:4"),
        ("-N2 -n2 -c4", "-n 3 --hosts node2 --launcher openmpi", "mpirun -n 3 --host node2:4"),
    ],
)
def test_the_launch_line_follows_from_the_job(
    slurm: dict[str, str], options: str, arguments: str, expected: str
) -> None:
    require_build("openmpi")

    done = in_job(slurm, options, "measure", "bcast", "--print-command", *arguments.split())

    words = [Path(word).name for word in done.stdout.split() if "OMPI_" not in word]
    words = [word.removesuffix(".openmpi") for word in words if "PRTE_" not in word]
    assert done.returncode == 0, done.stderr
    assert " ".join(words[: words.index("lanewise-measure")]) == expected
    assert done.stderr.count("ranks share 8 cores") == ("over" in expected)


@pytest.mark.parametrize(
    ("ranks", "hosts"), [(8, []), (4, ["--hosts", "node2"])], ids=["all hosts", "a named host"]
)
def test_open_mpi_uses_every_core_of_hosts_with_few_tasks(
    ranks: int, hosts: list[str], slurm: dict[str, str], tmp_path: Path
) -> None:
    require_build("openmpi")
    path = tmp_path / "samples.jsonl"

    done = in_job(slurm, "-N2 -n2 --exclusive", "measure", "bcast", "-n", str(ranks), *hosts,
                  "--sizes", "8", "--launcher", "openmpi", "--repetitions", "5",
                  "--launches", "1", "-o", str(path))  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert load(path).context.ranks == ranks
    assert "share" not in done.stderr


def test_srun_starts_more_ranks_than_tasks_where_each_task_has_several_cores(
    slurm: dict[str, str], tmp_path: Path
) -> None:
    require_build("openmpi")
    path = tmp_path / "samples.jsonl"
    per_task = {**slurm, "SRUN_CPUS_PER_TASK": "2"}

    done = in_job(per_task, "-N2 -n4 -c2", "measure", "bcast", "-n", "8", "--sizes", "8",
                  "--launcher", "srun", "--repetitions", "5", "--launches", "1",
                  "-o", str(path))  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert load(path).context.ranks == 8


def test_in_a_testbed_ranks_are_on_its_hosts_and_not_on_those_of_the_job(
    slurm: dict[str, str], tmp_path: Path
) -> None:
    require_build("openmpi")
    path = tmp_path / "samples.jsonl"

    done = in_job(slurm, "-N2 -n6", "testbed", "run", "one-switch", "--", sys.executable, "-m",
                  "lanewise", "measure", "bcast", "--sizes", "8", "--repetitions", "5",
                  "--launches", "1", "-o", str(path))  # fmt: skip

    if "is refused" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    assert [each["host"] for each in load(path).context.placement] == ["a1", "a2", "a3", "a4"]


def test_ranks_go_to_the_hosts_that_are_named(slurm: dict[str, str], tmp_path: Path) -> None:
    nodes = tmp_path / "nodes"
    nodes.write_text("node2 slots=2\n")
    program = "import os; print(os.environ['SLURMD_NODENAME'])"
    job = Job((sys.executable, "-c", program), 2, "srun", "openmpi")
    named = placed(job, LAUNCHERS["srun"], room({}, hostfile=str(nodes)))

    line = LAUNCHERS["srun"].command(named)

    assert answer(["salloc", "-Q", "-N2", "-n8", *line], slurm).split() == ["node2", "node2"]


def test_the_doctor_says_what_the_job_has(slurm: dict[str, str]) -> None:
    done = in_job(slurm, "-N2 -n6", "doctor")

    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "hosts 2: node1 (4 slots each), node2 (2 slots each)" in lines
    assert "ranks 6 without -n; 6 cores in all" in lines


def run_by_srun(
    slurm: dict[str, str], folder: Path, program: str
) -> subprocess.CompletedProcess[str]:
    """Run a program on both nodes under rules for all of its calls."""
    require_build("openmpi")
    (folder / "tuning.json").write_text(json.dumps(tuning("openmpi")), encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "lanewise", "run", "--tuning", "tuning.json", "--report",
         "report.json", "--mpi", "openmpi", "--", "srun", "-N2", f"-n{RANKS}", "--mpi=pmix",
         program],
        env={**slurm, **ACROSS, "OMPI_MCA_mpi_yield_when_idle": "1"}, cwd=folder,
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def test_ranks_of_srun_tell_that_they_have_the_library_and_follow_the_rules(
    slurm: dict[str, str], compiled: Compile, tmp_path: Path
) -> None:
    done = run_by_srun(slurm, tmp_path, str(compiled("openmpi", "mpicc", "collectives.c")))

    assert (done.returncode, done.stdout) == (0, "all right\n"), done.stdout + done.stderr
    assert counted(tmp_path, "intercepted")["scatter"] > 0, done.stderr
    assert "library" not in done.stderr


def test_a_rank_of_srun_without_the_library_is_missed(
    slurm: dict[str, str], compiled: Compile, tmp_path: Path
) -> None:
    program = compiled("openmpi", "mpicc", "collectives.c")
    script = tmp_path / "program"
    script.write_text(f'#!/bin/sh\n[ "$SLURM_PROCID" = 2 ] && unset LD_PRELOAD\nexec {program}\n')
    script.chmod(0o755)

    done = run_by_srun(slurm, tmp_path, str(script))

    assert (done.returncode, done.stdout) == (0, "all right\n"), done.stdout + done.stderr
    assert f"only {RANKS - 1} of {RANKS} ranks have loaded" in done.stderr
    assert set(counted(tmp_path, "intercepted").values()) == {0}
