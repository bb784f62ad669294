# SPDX-License-Identifier: BSD-3-Clause
"""What is read of a machine, from a /sys of the test's own."""

import os
import resource
from pathlib import Path

import pytest

from lanewise.launch import machine
from lanewise.launch.choose import version_number
from lanewise.launch.examine import advice, cpu_list


def put(root: Path, name: str, text: str) -> None:
    path = root / "sys" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


def test_hardware_threads_of_a_core_count_once(tmp_path: Path) -> None:
    for cpu in range(4):
        put(tmp_path, f"devices/system/cpu/cpu{cpu}/topology/core_id", str(cpu // 2))
        put(tmp_path, f"devices/system/cpu/cpu{cpu}/topology/physical_package_id", "0")

    assert machine.core_count({0, 1, 2, 3}, tmp_path) == 2


def test_cores_of_two_packages_are_different_cores(tmp_path: Path) -> None:
    for cpu in range(2):
        put(tmp_path, f"devices/system/cpu/cpu{cpu}/topology/core_id", "0")
        put(tmp_path, f"devices/system/cpu/cpu{cpu}/topology/physical_package_id", str(cpu))

    assert machine.core_count({0, 1}, tmp_path) == 2


def test_cpus_without_a_topology_are_a_core_each(tmp_path: Path) -> None:
    assert machine.core_count({0, 1, 5}, tmp_path) == 3


@pytest.mark.parametrize(
    ("groups", "files", "cores"),
    [
        ("0::/", {"cpu.max": "max 100000"}, 4),
        ("0::/", {"cpu.max": "200000 100000"}, 2),
        ("0::/", {"cpu.max": "150000 100000"}, 2),
        ("0::/", {"cpu.max": "1000 100000"}, 1),
        ("0::/", {"cpu.max": "6400000 100000"}, 4),
        ("0::/job/step", {"job/cpu.max": "100000 50000", "job/step/cpu.max": "max 100000"}, 2),
        ("0::/job/step", {"job/cpu.max": "300000", "cpu.max": "garbage 1"}, 4),
        (
            "5:cpu,cpuacct:/docker/1\n0::/",
            {"cpu/cpu.cfs_quota_us": "100000", "cpu/cpu.cfs_period_us": "100000"},
            1,
        ),
        (
            "5:cpu,cpuacct:/job",
            {"cpu/job/cpu.cfs_quota_us": "-1", "cpu/job/cpu.cfs_period_us": "100000"},
            4,
        ),
        ("4:memory:/job", {"job/cpu.max": "100000 100000"}, 4),
    ],
)
def test_a_quota_of_a_control_group_counts_as_so_many_cores(
    groups: str, files: dict[str, str], cores: int, tmp_path: Path
) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(groups + "\n")
    for name, text in files.items():
        put(tmp_path, f"fs/cgroup/{name}", text)

    assert machine.core_count({0, 1, 2, 3}, tmp_path) == cores


GIB = 2**30
IN_GROUP = "fs/cgroup/job/memory"
IN_OLD_GROUP = "fs/cgroup/memory/memory"


@pytest.mark.parametrize(
    ("groups", "files", "available"),
    [
        ("0::/", {}, 8 * GIB),
        ("0::/job", {f"{IN_GROUP}.max": "max", f"{IN_GROUP}.current": "5"}, 8 * GIB),
        ("0::/job", {f"{IN_GROUP}.max": str(2 * GIB), f"{IN_GROUP}.current": str(GIB)}, GIB),
        ("0::/job/step", {f"{IN_GROUP}.max": str(GIB), f"{IN_GROUP}.current": str(2 * GIB)}, 0),
        (
            "0::/job",
            {
                f"{IN_GROUP}.max": str(2 * GIB),
                f"{IN_GROUP}.current": str(2 * GIB),
                f"{IN_GROUP}.stat": f"anon 7\ninactive_file {GIB}\nactive_file 4096\nfile 9",
            },
            GIB + 4096,
        ),
        ("0::/job", {f"{IN_GROUP}.max": "garbage", f"{IN_GROUP}.current": "5"}, 8 * GIB),
        (
            "9:memory:/docker/1\n0::/",
            {
                f"{IN_OLD_GROUP}.limit_in_bytes": str(GIB),
                f"{IN_OLD_GROUP}.usage_in_bytes": str(GIB),
                f"{IN_OLD_GROUP}.stat": "inactive_file 1\ntotal_inactive_file 4096",
            },
            4096,
        ),
        (
            "9:memory:/",
            {
                f"{IN_OLD_GROUP}.limit_in_bytes": "9223372036854771712",
                f"{IN_OLD_GROUP}.usage_in_bytes": "1",
            },
            8 * GIB,
        ),
    ],
)
def test_a_control_group_leaves_the_memory_below_its_limit_and_that_of_cached_files(
    groups: str, files: dict[str, str], available: int, tmp_path: Path
) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(groups + "\n")
    (tmp_path / "proc/meminfo").write_text(f"MemFree: 1 kB\nMemAvailable: {8 * GIB // 1024} kB\n")
    for name, text in files.items():
        put(tmp_path, name, text)

    assert machine.available_memory_bytes(tmp_path) == available


def test_memory_that_nothing_limits_is_infinite(tmp_path: Path) -> None:
    assert machine.available_memory_bytes(tmp_path) == float("inf")


def test_processes_are_limited_by_their_numbers_and_by_the_limit_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "proc/sys/kernel"
    folder.mkdir(parents=True)
    (folder / "pid_max").write_text("4194304\n")
    (folder / "threads-max").write_text("32768\n")

    def found(limit: int, user: int = 1000) -> int:
        monkeypatch.setattr(os, "geteuid", lambda: user)
        monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
        return machine.process_count_max(tmp_path)

    assert [found(512), found(65536), found(resource.RLIM_INFINITY)] == [512, 32768, 32768]
    assert found(512, user=0) == 32768
    (folder / "pid_max").unlink()
    (folder / "threads-max").unlink()
    assert [found(512), found(resource.RLIM_INFINITY)] == [512, machine.COUNT_MAX]


@pytest.mark.parametrize(
    ("groups", "limits", "most"),
    [
        ("0::/job/step", {"job": "512", "job/step": "max"}, 512),
        ("0::/job/step", {"job": "512", "job/step": "64"}, 64),
        ("0::/", {"": "100"}, 100),
        ("8:cpu,pids:/job\n4:memory:/job\n0::/", {"pids": "900", "pids/job": "70", "job": "1"}, 70),
        ("4:memory:/job", {"job": "7"}, machine.COUNT_MAX),
        ("no group", {"": "7"}, machine.COUNT_MAX),
    ],
)
def test_processes_are_limited_by_the_control_groups_that_they_are_in(
    groups: str,
    limits: dict[str, str],
    most: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(groups + "\n")
    for group, limit in limits.items():
        folder = tmp_path / "sys/fs/cgroup" / group
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "pids.max").write_text(limit + "\n")

    assert machine.process_count_max(tmp_path) == most


def test_the_processor_has_a_name_where_the_kernel_knows_one(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text("processor\t: 0\nmodel name\t: AMD EPYC 9354P\n")

    assert machine.processor(tmp_path) == "AMD EPYC 9354P"
    assert machine.processor(tmp_path / "elsewhere") == "unknown"


def test_a_processor_without_a_name_is_called_by_its_architecture(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text("processor\t: 0\nCPU architecture: 8\n")

    assert machine.processor(tmp_path) == os.uname().machine


def test_governors_are_named_once(tmp_path: Path) -> None:
    for cpu, governor in enumerate(["powersave", "performance", "powersave"]):
        put(tmp_path, f"devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor", governor)

    assert machine.governors(tmp_path) == ["performance", "powersave"]


def test_a_kernel_without_governors_shows_none(tmp_path: Path) -> None:
    assert machine.governors(tmp_path) == []


def test_ports_are_interfaces_and_rdma_ports_but_not_the_loopback(tmp_path: Path) -> None:
    put(tmp_path, "class/net/lo/operstate", "unknown")
    put(tmp_path, "class/net/eth0/operstate", "up")
    put(tmp_path, "class/net/eth0/speed", "25000")
    put(tmp_path, "class/net/veth1/operstate", "down")
    put(tmp_path, "class/net/veth1/speed", "-1")
    put(tmp_path, "class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE")
    put(tmp_path, "class/infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)")

    assert machine.ports(tmp_path) == [
        machine.Port("eth0", "up", "25000 Mb/s", "interface"),
        machine.Port("veth1", "down", "rate unknown", "interface"),
        machine.Port("mlx5_0/1", "active", "100 Gb/sec (4X EDR)", "rdma"),
    ]


def test_cpus_are_listed_as_ranges() -> None:
    assert cpu_list({0, 1, 2, 5, 7, 8}) == "0-2,5,7-8"


def test_versions_are_found_in_what_launchers_say() -> None:
    assert version_number("mpirun.openmpi (OpenRTE) 4.1.4\n\nReport bugs") == "4.1.4"
    assert version_number("slurm 22.05.8") == "22.05.8"


def test_a_quiet_machine_gets_no_advice() -> None:
    assert advice(["performance"], "tsc", {"/tmp": 10**10}) == []


def test_each_disturbance_gets_its_advice() -> None:
    found = advice(["powersave"], "hpet", {"/tmp": 10**6})

    assert [sentence.split()[-1] for sentence in found] == [
        "performance",
        "clocksource=tsc",
        "room",
    ]
