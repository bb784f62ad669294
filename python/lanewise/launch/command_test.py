# SPDX-License-Identifier: BSD-3-Clause
"""Launch lines as text, for every launcher."""

import re
import shlex
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from lanewise.errors import RequestError
from lanewise.launch.job import Cluster, Job
from lanewise.launch.registry import LAUNCHERS, launcher_named

EXECUTABLES = {
    "openmpi": "mpirun.openmpi",
    "mpich": "mpiexec.mpich",
    "srun": "srun",
    "flux": "flux",
    "smpi": "smpirun",
}


def job(launcher: str, **changes: Any) -> Job:
    values: dict[str, Any] = {
        "program": ("bench", "scatter"),
        "ranks": 4,
        "executable": EXECUTABLES[launcher],
        "mpi": LAUNCHERS[launcher].mpis[0],
        "slots": 4,
        "cores": 4,
        "folder": Path("/f"),
        **changes,
    }
    return Job(**values)


def line(launcher: str, **changes: Any) -> str:
    return shlex.join(LAUNCHERS[launcher].command(job(launcher, **changes)))


SMPI = (
    "smpirun -np 4 -hostfile /f/hosts -platform /f/platform.xml "
    "--cfg=smpi/simulate-computation:no --log=root.thres:critical"
)


@pytest.mark.parametrize(
    ("launcher", "expected"),
    [
        ("openmpi", "mpirun.openmpi -n 4 bench scatter"),
        ("mpich", "mpiexec.mpich -n 4 bench scatter"),
        ("srun", "srun --ntasks=4 --mpi=pmix bench scatter"),
        ("flux", "flux run --ntasks=4 bench scatter"),
        ("smpi", f"{SMPI} bench scatter"),
    ],
)
def test_each_launcher_has_its_line_without_hosts(launcher: str, expected: str) -> None:
    assert line(launcher) == expected


@pytest.mark.parametrize(
    ("launcher", "expected"),
    [
        ("openmpi", "mpirun.openmpi -n 4 --host a:2,b:2 bench scatter"),
        ("mpich", "mpiexec.mpich -n 4 -hosts a,b bench scatter"),
        ("srun", "srun --ntasks=4 --mpi=pmix --nodes=2 --nodelist=a,b bench scatter"),
        ("flux", "flux run --ntasks=4 --requires=host:a,b bench scatter"),
    ],
)
def test_a_line_with_hosts(launcher: str, expected: str) -> None:
    assert line(launcher, hosts=("a", "b"), slots=None, cores=None) == expected


@pytest.mark.parametrize(
    ("launcher", "expected"),
    [
        ("openmpi", "mpirun.openmpi -n 4 --hostfile nodes bench scatter"),
        ("mpich", "mpiexec.mpich -n 4 -f nodes bench scatter"),
        ("srun", "srun --ntasks=4 --mpi=pmix --nodelist=./nodes bench scatter"),
    ],
)
def test_a_line_with_a_host_file(launcher: str, expected: str) -> None:
    assert line(launcher, hostfile="nodes", slots=None, cores=None) == expected


@pytest.mark.parametrize(
    ("launcher", "expected"),
    [
        ("openmpi", "mpirun.openmpi -n 4 --oversubscribe bench scatter"),
        ("mpich", "mpiexec.mpich -n 4 bench scatter"),
        ("srun", "srun --ntasks=4 --mpi=pmix --overcommit --cpus-per-task=1 bench scatter"),
        ("flux", "flux run --ntasks=4 bench scatter"),
        ("smpi", f"{SMPI} bench scatter"),
    ],
)
def test_a_line_with_more_ranks_than_cores(launcher: str, expected: str) -> None:
    assert line(launcher, slots=2, cores=2) == expected


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_launcher_arguments_stand_just_before_the_program(launcher: str) -> None:
    shown = line(launcher, launcher_arguments=("--bind-to", "core"))

    assert shown.endswith(" --bind-to core bench scatter")


def test_srun_names_the_pmi_plugin_of_mpich() -> None:
    assert "--mpi=pmi2" in line("srun", mpi="mpich")


def test_srun_names_another_pmi_plugin_where_it_was_asked() -> None:
    assert "--mpi=pmi2" in line("srun", pmi_plugin="pmi2")


@pytest.mark.parametrize(
    ("launcher", "expected"),
    [
        ("openmpi", "mpirun.openmpi -n 4 --host a:2,b:2 bench scatter"),
        ("mpich", "mpiexec.mpich -n 4 -hosts a:2,b:2 bench scatter"),
        (
            "srun",
            "srun --ntasks=4 --mpi=pmix --nodes=2 --nodelist=a,b --ntasks-per-node=2 bench scatter",
        ),
    ],
)
def test_a_line_with_hosts_and_their_slots(launcher: str, expected: str) -> None:
    assert line(launcher, hosts=("a:2", "b:2")) == expected


@pytest.mark.parametrize(
    ("launcher", "hosts"), [("srun", ("a:3", "b:1")), ("srun", ("a:3", "b")), ("flux", ("a:2",))]
)
def test_slots_that_a_launcher_cannot_give_are_refused(
    launcher: str, hosts: tuple[str, ...]
) -> None:
    with pytest.raises(RequestError, match="slots"):
        line(launcher, hosts=hosts)


def test_ranks_are_spread_evenly_over_hosts_without_slots() -> None:
    assert "--host a:2,b:1,c:1" in line("openmpi", hosts=("a", "b", "c"))


def test_nothing_is_oversubscribed_where_the_cores_are_not_known() -> None:
    shown = [line(launcher, slots=None, cores=None, ranks=512) for launcher in LAUNCHERS]

    assert not any("oversubscribe" in one or "overcommit" in one for one in shown)


def test_open_mpi_takes_the_cores_of_a_slurm_job_for_slots_where_its_tasks_are_few() -> None:
    environment = LAUNCHERS["openmpi"].environment
    wide = job("openmpi", slots=2, cores=8, scheduler="Slurm")

    assert "--oversubscribe" not in line("openmpi", slots=2, cores=8, scheduler="Slurm")
    assert environment(wide)["OMPI_MCA_ras_slurm_use_entire_allocation"] == "1"
    assert environment(job("openmpi", slots=4, cores=8, scheduler="Slurm")) == {}


def test_more_ranks_than_tasks_do_not_ask_for_the_cpus_of_a_task_each() -> None:
    assert "--cpus-per-task=1 bench" in line("srun", slots=2, cores=8)
    assert "--cpus-per-task" not in line("srun", slots=4, cores=8)


def test_a_step_inside_a_step_shares_its_cores() -> None:
    assert "--overlap" in line("srun", step=True).split()
    assert "--overlap" not in line("srun").split()


def test_srun_takes_a_host_file_by_its_path() -> None:
    assert "--nodelist=/etc/nodes" in line("srun", hostfile="/etc/nodes")


def test_flux_asks_for_pmix_where_open_mpi_needs_it() -> None:
    assert "--setopt=pmi=pmix" in line("flux", mpi="openmpi")


def test_flux_refuses_a_host_file() -> None:
    with pytest.raises(RequestError, match="no host file; name the hosts with --host"):
        line("flux", hostfile="nodes")


@pytest.mark.parametrize("changes", [{"hosts": ("a",)}, {"hostfile": "nodes"}])
def test_smpi_refuses_real_hosts(changes: dict[str, Any]) -> None:
    with pytest.raises(RequestError, match="leave out --host"):
        line("smpi", **changes)


def test_smpi_refuses_an_argument_that_smpirun_would_tear() -> None:
    with pytest.raises(RequestError, match=r"cannot pass 'my samples.jsonl' on"):
        line("smpi", program=("bench", "-o", "my samples.jsonl"))


def test_root_is_allowed_to_launch_open_mpi() -> None:
    environment = LAUNCHERS["openmpi"].environment

    assert environment(job("openmpi", user_id=0)) == {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    assert environment(job("openmpi", user_id=1000)) == {}


def test_the_simulated_cluster_has_a_host_and_a_link_a_rank() -> None:
    cluster = Cluster(rate_bytes_per_s=1.25e9, latency_s=2e-6, speeds_flops=(1e9, 2e9))
    files = LAUNCHERS["smpi"].files(job("smpi", ranks=3, cluster=cluster))

    platform = ElementTree.fromstring(files[Path("/f/platform.xml")])
    hosts = [(host.get("id"), host.get("speed")) for host in platform.iter("host")]
    links = {(link.get("bandwidth"), link.get("latency")) for link in platform.iter("link")}
    assert hosts == [("host0", "1e+09f"), ("host1", "2e+09f"), ("host2", "1e+09f")]
    assert links == {("1.25e+09Bps", "2e-06s")}
    assert files[Path("/f/hosts")].split() == ["host0", "host1", "host2"]


def test_launchers_without_files_write_none() -> None:
    assert all(not LAUNCHERS[name].files(job(name)) for name in LAUNCHERS if name != "smpi")


def test_an_unknown_launcher_gets_a_suggestion() -> None:
    with pytest.raises(RequestError, match=re.escape("'opnmpi'; did you mean openmpi?")):
        launcher_named("opnmpi")


def test_a_launcher_like_no_other_gets_the_list() -> None:
    with pytest.raises(RequestError, match="known are openmpi, mpich, srun, flux, smpi"):
        launcher_named("zzz")
