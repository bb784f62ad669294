# SPDX-License-Identifier: BSD-3-Clause
"""What this host offers a launch: cores, governor, clock source, network ports.

All of it is read from Linux's /sys and /proc below `root`, so that a test can bring its own.
"""

from __future__ import annotations

import math
import os
import re
import resource
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/")
COUNT_MAX = 2**31 - 1  # processes, where nothing limits them


def first_line(path: Path, otherwise: str = "unknown") -> str:
    """Return the first line of a small file, or `otherwise` where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8").split("\n", 1)[0].strip() or otherwise
    except (OSError, UnicodeDecodeError):
        return otherwise


def processes(root: Path = ROOT) -> list[Path]:
    """Return the folder in /proc of each process; any may have ended when it is read.

    Path.glob would raise where one ends between the listing and a look at its files.
    """
    return [folder for folder in (root / "proc").iterdir() if folder.name.isdigit()]


def process_count_max(root: Path = ROOT) -> int:
    """Return how many processes this user can have at the same time, at most.

    The kernel does not hold root to the limit of a user, but to those of a control group, as
    containers and batch systems have.
    """
    kernel = [root / f"proc/sys/kernel/{name}" for name in ("pid_max", "threads-max")]
    texts = [first_line(path) for path in (*kernel, *_limits_of_control_groups(root))]
    limits = [int(text) for text in texts if text.isdigit()]
    mine, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    if mine != resource.RLIM_INFINITY and os.geteuid() != 0:
        limits.append(mine)
    return min(limits, default=COUNT_MAX)


def _limits_of_control_groups(root: Path) -> list[Path]:
    """Return the files that may limit the processes of this one's groups, of either version."""
    return [folder / "pids.max" for folder in _control_groups(root, "pids")]


def _control_groups(root: Path, controller: str) -> list[Path]:
    """Return the folders of this process's control groups, of either version, inner ones first.

    A group is held to the limits of all above it; those outside of a container are not shown in it.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    found = []
    for _, controllers, group in (line.split(":", 2) for line in lines if line.count(":") > 1):
        if controllers and controller not in controllers.split(","):
            continue
        top = root / "sys/fs/cgroup" / (controller if controllers else "")
        folder = top / group.strip("/")
        while folder.is_relative_to(top):
            found.append(folder)
            folder = folder.parent
    return found


def cpu_quota(root: Path = ROOT) -> float:
    """Return how many CPUs this process may keep busy, by its control groups; infinity for all.

    Version 2 has a quota and its period in one file, version 1 in two.
    """
    quotas = [math.inf]
    for folder in _control_groups(root, "cpu"):
        words = first_line(folder / "cpu.max", "").split()
        if not words:
            names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
            words = [first_line(folder / name, "") for name in names]
        if len(words) == 2 and all(map(str.isdecimal, words)) and int(words[1]) > 0:
            quotas.append(int(words[0]) / int(words[1]))
    return min(quotas)


def core_count(cpus: set[int] | None = None, root: Path = ROOT) -> int:
    """Return the number of cores among `cpus` (default: those this process may use).

    Hardware threads of one core count once, which is how Open MPI counts slots.  A quota of CPU
    time, such as that of a container, counts as that many cores.
    """
    cpus = os.sched_getaffinity(0) if cpus is None else cpus
    cores = set()
    for cpu in cpus:
        topology = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
        core = first_line(topology / "core_id", otherwise=f"cpu{cpu}")
        cores.add((first_line(topology / "physical_package_id"), core))
    quota = cpu_quota(root)
    return len(cores) if quota >= len(cores) else max(1, math.ceil(quota))


def processor(root: Path = ROOT) -> str:
    """Return the name of the processor, such as `AMD EPYC 9354P`, else its architecture."""
    try:
        text = (root / "proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return "unknown"
    found = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    return found[1].strip() if found else os.uname().machine


def available_memory_bytes(root: Path = ROOT) -> float:
    """Return what can be had without swapping; infinity where nothing says.

    A control group, such as that of a container or a batch job, may leave less than the host has.
    """
    try:
        text = (root / "proc/meminfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    found = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    host = 1024.0 * int(found[1]) if found else math.inf
    return min(host, *map(_memory_left_bytes, _control_groups(root, "memory")), math.inf)


def _memory_left_bytes(group: Path) -> float:
    """Return what a control group, of either version, may still take; infinity without a limit.

    Cached files count as used there, but make room when memory is asked for.
    """
    for limit, used, cached in (
        ("memory.max", "memory.current", r"^(?:in)?active_file (\d+)$"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", r"^total_(?:in)?active_file (\d+)$"),
    ):
        texts = [first_line(group / name, "") for name in (limit, used)]
        if not all(map(str.isdecimal, texts)):
            continue
        try:
            statistics = (group / "memory.stat").read_text(encoding="utf-8")
        except OSError:
            statistics = ""
        files = sum(map(int, re.findall(cached, statistics, re.MULTILINE)))
        return max(0.0, float(int(texts[0]) - max(0, int(texts[1]) - files)))
    return math.inf


def governors(root: Path = ROOT) -> list[str]:
    """Return the frequency governors in use, sorted; empty where the kernel shows none."""
    pattern = "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"
    return sorted({first_line(path) for path in root.glob(pattern)})


def clock_source(root: Path = ROOT) -> str:
    """Return the kernel's clock source, such as `tsc`."""
    return first_line(root / "sys/devices/system/clocksource/clocksource0/current_clocksource")


@dataclass(frozen=True)
class Port:
    """A network interface, or a port of an RDMA device; `rate` is in the kernel's own words."""

    name: str
    state: str
    rate: str
    kind: str


def ports(root: Path = ROOT) -> list[Port]:
    """Return the ports of this host: interfaces but for the loopback, then RDMA ports."""
    found = [
        Port(path.name, first_line(path / "operstate"), interface_rate(path), "interface")
        for path in sorted(root.glob("sys/class/net/*"))
        if path.name != "lo" and (path / "operstate").exists()
    ]
    found += [
        Port(
            f"{path.parents[1].name}/{path.name}",
            first_line(path / "state").rpartition(":")[2].strip().lower(),
            first_line(path / "rate"),
            "rdma",
        )
        for path in sorted(root.glob("sys/class/infiniband/*/ports/*"))
    ]
    return found


def interface_rate(path: Path) -> str:
    """Return an interface's rate; virtual ones have none and say -1 or an error."""
    speed = first_line(path / "speed")
    return f"{speed} Mb/s" if speed.isdigit() else "rate unknown"
