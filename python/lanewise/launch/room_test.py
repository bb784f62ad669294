# SPDX-License-Identifier: BSD-3-Clause
"""How many ranks there is room for, and what a launcher is told of it."""

from dataclasses import replace
from pathlib import Path

import pytest

from lanewise.errors import RequestError
from lanewise.launch.allocation import TESTBED, Allocation, Host
from lanewise.launch.hosts import Named
from lanewise.launch.job import Job
from lanewise.launch.registry import LAUNCHERS
from lanewise.launch.room import placed, room, room_on

TWO_HOSTS = Allocation("Slurm", "12", (Host("node1", 32, 32), Host("node2", 32, 32)), 64)


def told(launcher: str, ranks: int, *named: str, allocation: Allocation | None = None) -> Job:
    """Return a job on a host of four cores."""
    job = Job(("bench",), ranks, launcher, LAUNCHERS[launcher].mpis[0])
    hosts = [Named(name, int(slots) if slots else None)
             for name, _, slots in (word.partition(":") for word in named)]  # fmt: skip
    return placed(job, LAUNCHERS[launcher], room_on(allocation, hosts, 4))


def line(job: Job, launcher: str) -> str:
    return " ".join(LAUNCHERS[launcher].command(job))


@pytest.mark.parametrize("launcher", ["openmpi", "mpich", "srun"])
def test_ranks_that_fit_a_job_of_many_hosts_share_no_cores(launcher: str) -> None:
    job = told(launcher, 64, allocation=TWO_HOSTS)

    assert (job.slots, job.cores, job.notice) == (64, 64, "")
    assert "over" not in line(job, launcher)
    assert "host" not in line(job, launcher)


@pytest.mark.parametrize(("launcher", "flag"), [("openmpi", "--oversubscribe"),
                                                ("srun", "--overcommit")])  # fmt: skip
def test_more_ranks_than_a_job_has_cores_share_them_and_one_line_says_so(
    launcher: str, flag: str
) -> None:
    job = told(launcher, 65, allocation=TWO_HOSTS)

    assert flag in line(job, launcher)
    assert job.notice.startswith("65 ranks share 64 cores (Slurm job 12), ")
    assert "-n 64 or fewer" in job.notice


def test_without_a_job_the_cores_of_this_host_count() -> None:
    assert told("openmpi", 4).notice == ""
    assert "(this host)" in told("openmpi", 5).notice


def test_more_ranks_than_this_host_can_have_processes_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lanewise.launch.room.process_count_max", lambda: 100)

    assert told("openmpi", 100).ranks == 100
    with pytest.raises(RequestError, match="at most 100 processes, and 101 ranks were asked for"):
        told("openmpi", 101)
    assert told("openmpi", 101, "node1").ranks == 101
    assert told("openmpi", 101, allocation=TWO_HOSTS).ranks == 101
    assert told("srun", 101).ranks == 101


def test_srun_outside_of_a_job_asks_for_hosts_and_is_not_limited_by_this_one() -> None:
    job = told("srun", 64)

    assert (job.cores, job.notice) == (None, "")
    assert "--overcommit" not in line(job, "srun")


def test_simulated_ranks_share_no_cores() -> None:
    assert told("smpi", 64, allocation=TWO_HOSTS).cores is None


def test_the_number_of_ranks_is_that_of_the_tasks_then_of_slots_then_of_hosts() -> None:
    assert room_on(replace(TWO_HOSTS, ranks=16), [], 4).ranks == 16
    assert room_on(None, [Named("a", 4), Named("b", 4)], 4).ranks == 8
    assert room_on(None, [Named("a"), Named("b"), Named("c")], 4).ranks == 3
    assert room_on(None, [], 4).ranks == 4
    assert room_on(replace(TWO_HOSTS, ranks=1), [], 4).ranks == 2


def test_slots_that_are_named_count_and_others_are_not_known() -> None:
    assert "share 8 cores (the hosts named)" in told("openmpi", 9, "a:4", "b:4").notice
    assert told("openmpi", 9, "a", "b:4").cores is None


def test_a_host_of_the_job_that_is_named_alone_has_the_slots_of_the_job() -> None:
    assert "--host node2:32" in line(told("openmpi", 8, "node2", allocation=TWO_HOSTS), "openmpi")
    assert "--nodes=1 --nodelist=node2 " in line(
        told("srun", 8, "node2", allocation=TWO_HOSTS), "srun"
    )


ONE_TASK_EACH = Allocation("Slurm", "12", (Host("node1", 1, 32), Host("node2", 1, 32)), 2)


@pytest.mark.parametrize(
    ("launcher", "named"), [("openmpi", "--host node1:32 "), ("mpich", "-hosts node1:32 "),
                            ("srun", "--nodelist=node1 ")]
)  # fmt: skip
def test_ranks_on_a_named_host_share_its_cores_and_not_its_tasks(launcher: str, named: str) -> None:
    few = told(launcher, 8, "node1", allocation=ONE_TASK_EACH)
    many = told(launcher, 33, "node1", allocation=ONE_TASK_EACH)

    assert (few.slots, few.cores, few.notice) == (1, 32, "")
    assert "over" not in line(few, launcher)
    assert named in line(few, launcher)
    assert "33 ranks share 32 cores (host node1)" in many.notice


def test_a_host_file_does_not_keep_ranks_to_the_tasks_of_a_job(tmp_path: Path) -> None:
    nodes = tmp_path / "nodes"
    nodes.write_text("node2\n")
    job = Job(("bench",), 8, "x", "openmpi")
    found = replace(room_on(ONE_TASK_EACH, [Named("node2")], 4), hostfile=str(nodes))

    assert "--host node2:32 " in line(placed(job, LAUNCHERS["openmpi"], found), "openmpi")
    few = placed(replace(job, ranks=1), LAUNCHERS["openmpi"], found)
    assert f"--hostfile {nodes} " in line(few, "openmpi")


def test_slots_that_somebody_names_are_all_that_a_host_of_the_job_has() -> None:
    job = told("openmpi", 3, "node1:2", allocation=ONE_TASK_EACH)

    assert (job.slots, job.cores) == (2, 2)
    assert "--host node1:2 --oversubscribe" in line(job, "openmpi")


def test_a_host_outside_of_the_job_is_refused() -> None:
    with pytest.raises(RequestError, match="node3 is not in Slurm job 12, which has node1, node2"):
        told("openmpi", 2, "node3", allocation=TWO_HOSTS)


def test_the_hosts_of_a_testbed_share_cores_and_nothing_is_said() -> None:
    bed = Allocation(TESTBED, "small", (Host("a1", 1, 1), Host("b1", 1, 1)), 2)

    assert (told("openmpi", 8, allocation=bed).notice, room_on(bed, [], 4).ranks) == ("", 2)
    named = told("openmpi", 8, "a1", "b1", allocation=bed)
    assert (named.notice, named.cores) == ("", None)
    assert "--host a1:4,b1:4" in line(named, "openmpi")


def test_the_node_file_of_pbs_is_handed_to_launchers_that_read_one() -> None:
    job = told("openmpi", 2, allocation=replace(TWO_HOSTS, scheduler="PBS", hostfile="/pbs/nodes"))

    assert "--hostfile /pbs/nodes" in line(job, "openmpi")


def test_a_host_file_counts_and_srun_gets_its_hosts_by_name(tmp_path: Path) -> None:
    nodes = tmp_path / "nodes"
    nodes.write_text("a slots=4\nb slots=4\n")
    found = room({}, hostfile=str(nodes))
    job = Job(("bench",), 8, "x", "openmpi")

    assert (found.ranks, found.cores) == (8, 8)
    assert f"--hostfile {nodes}" in line(placed(job, LAUNCHERS["openmpi"], found), "openmpi")
    assert "--nodelist=a,b" in line(placed(job, LAUNCHERS["srun"], found), "srun")


def test_hosts_and_a_host_file_exclude_each_other() -> None:
    with pytest.raises(RequestError, match="exclude each other"):
        room({}, "a,b", "nodes")
