# SPDX-License-Identifier: BSD-3-Clause
"""Examine this machine: which launchers work, and what disturbs a measurement."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lanewise.errors import RequestError
from lanewise.launch import machine
from lanewise.launch.allocation import Allocation, allocation_in
from lanewise.launch.choose import (
    Choice,
    choose,
    executable_of,
    known_remedy,
    started_by,
    version_number,
    version_text,
    why_broken,
    why_not_ready,
)
from lanewise.launch.job import Launcher
from lanewise.launch.native import (
    NativeBuild,
    build_command,
    build_for,
    cautions,
    find_builds,
    name_another,
)
from lanewise.launch.pmi_plugin import refusal
from lanewise.launch.preload import why_cut
from lanewise.launch.registry import LAUNCHERS
from lanewise.launch.trial import (
    OTHER_PMI,
    trial_line,
    why_ranks_are_apart,
    why_ranks_do_not_start,
)

DISK_BYTES_MIN = 1_000_000_000


@dataclass(frozen=True)
class LauncherFound:
    """One launcher on this machine; texts are empty for what is missing, `remedies` install it.

    `fault` is why it or its ranks cannot be used although all is there; empty where they can.
    """

    name: str
    executable: str
    version: str
    native: str
    remedies: tuple[str, ...]
    usable: bool
    fault: str = ""


@dataclass(frozen=True)
class Examination:
    """All that was found.  `disks` has free bytes by folder, `load` is the one-minute average.

    `allocation` is what a batch system gave, None outside of a job; `allocation_fault` is what is
    wrong with it, and `allocation_launcher` what starts ranks in it.
    """

    launchers: tuple[LauncherFound, ...]
    kernel: str
    cores: int
    cpus: int
    affinity: str
    governors: tuple[str, ...]
    clock_source: str
    load: float
    disks: dict[str, int]
    ports: tuple[machine.Port, ...]
    advice: tuple[str, ...]
    allocation: Allocation | None = None
    allocation_fault: str = ""
    allocation_launcher: str = ""

    @property
    def usable(self) -> bool:
        """Tell whether anything can be launched."""
        return any(launcher.usable for launcher in self.launchers)


def working_folder() -> str:
    """Return the folder that commands work in, empty where it has been removed."""
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        return ""


def examine(environment: Mapping[str, str]) -> Examination:
    """Examine this machine with the programs that `environment` finds."""
    builds = find_builds(environment)
    folders = dict.fromkeys((working_folder(), tempfile.gettempdir()))
    disks = {folder: shutil.disk_usage(folder).free for folder in folders if folder}
    affinity = os.sched_getaffinity(0)
    governors = machine.governors()
    clock_source = machine.clock_source()
    allocation, fault = examine_allocation(environment)
    return Examination(
        launchers=tuple(find_launcher(one, builds, environment) for one in LAUNCHERS.values()),
        kernel=f"{platform.system()} {platform.release()}",
        cores=machine.core_count(affinity),
        cpus=os.cpu_count() or 1,
        affinity=cpu_list(affinity),
        governors=tuple(governors),
        clock_source=clock_source,
        load=os.getloadavg()[0],
        disks=disks,
        ports=tuple(machine.ports()),
        advice=tuple(advice(governors, clock_source, disks) + advice_on(used(builds))),
        allocation=allocation,
        allocation_fault=fault,
        allocation_launcher=started_with(environment) if allocation is not None else "",
    )


def used(builds: Sequence[NativeBuild]) -> list[NativeBuild]:
    """Return the builds that launchers start, each once."""
    found = (build_for(launcher, builds) for launcher in LAUNCHERS.values())
    return [build for build in dict.fromkeys(found) if build is not None]


def examine_allocation(environment: Mapping[str, str]) -> tuple[Allocation | None, str]:
    """Return the allocation of this job, and what is wrong where it cannot be read."""
    try:
        return allocation_in(environment), ""
    except RequestError as error:
        return None, str(error)


def started_with(environment: Mapping[str, str]) -> str:
    """Return what would start ranks where no launcher is named, or why nothing would."""
    try:
        choice = choose("", environment)
    except RequestError as error:
        return str(error)
    plugin = f" --mpi={choice.pmi_plugin}" if choice.pmi_plugin else ""
    return f"{choice.executable}{plugin}"


def find_launcher(
    launcher: Launcher, builds: list[NativeBuild], environment: Mapping[str, str]
) -> LauncherFound:
    """Find a launcher's program and native build, and name the commands for what is missing."""
    executable = executable_of(launcher, environment) or ""
    build = build_for(launcher, builds)
    remedies = []
    fault = "" if executable else why_broken(launcher, environment)
    if not executable and not fault:
        remedies.append(remedy(launcher.package))
    if build is None:
        mpi = launcher.mpis[0]
        remedies.append(name_another(environment, mpi) or build_command(mpi))
    if executable and build is not None:
        choice = started_by(launcher, executable, builds)
        if choice is None:
            fault = refusal(executable, build.mpi)
        else:
            build = choice.build
            fault = (
                why_not_ready(launcher, executable)
                or why_ranks_are_apart(choice)
                or why_ranks_do_not_start(choice)
            )
            remedies += [remedy_for(fault, choice)] if fault else []
    return LauncherFound(
        name=launcher.name,
        executable=executable,
        version=f"{launcher.title} {version_number(version_text(launcher, executable))}".strip()
        if executable
        else "",
        native=f"{build.folder} ({build.mpi_version}, {build.build_type})" if build else "",
        remedies=tuple(remedies),
        usable=bool(executable) and build is not None and not fault,
        fault=fault,
    )


def remedy_for(fault: str, choice: Choice) -> str:
    """Return what to do where a trial launch failed; a line to try where the cause is unknown."""
    if OTHER_PMI in fault:
        return another_mpi(choice.launcher)
    known = known_remedy(fault, choice.launcher)
    return known or f"see what fails with: {trial_line(choice)}"


def another_mpi(launcher: Launcher) -> str:
    """Return what to do where the launcher and the library of an MPI do not fit together."""
    mpi = launcher.mpis[0]
    other = next(
        one for one in LAUNCHERS.values()
        if mpi not in one.mpis and not one.simulates and not one.queues
    )  # fmt: skip
    return (
        f"use {other.title} with --launcher {other.name}, or another version of {launcher.title}, "
        f"such as pip install {mpi} followed by {build_command(mpi)}"
    )


def remedy(package: str) -> str:
    """Return how to install a package that Debian and Ubuntu have; else what it is called."""
    return f"install {package}" if "(" in package else f"apt-get install {package}"


def cpu_list(cpus: set[int]) -> str:
    """Write a set of CPUs the way the kernel does, `0-3,8`."""
    ranges: list[list[int]] = []
    for cpu in sorted(cpus):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(f"{low}" if low == high else f"{low}-{high}" for low, high in ranges)


def advice(governors: list[str], clock_source: str, disks: Mapping[str, int]) -> list[str]:
    """Return one sentence for each thing here that makes measurements worse."""
    sentences = []
    if set(governors) - {"performance"}:
        sentences.append(
            f"The clock rate may change ({', '.join(governors)}): "
            "cpupower frequency-set -g performance"
        )
    if clock_source in ("acpi_pm", "hpet", "jiffies"):
        sentences.append(
            f"The clock source {clock_source} is slow to read: boot with clocksource=tsc"
        )
    for folder, free in disks.items():
        if free < DISK_BYTES_MIN:
            sentences.append(f"{folder} has {free / 1e6:.0f} MB left: samples need room")
    return sentences


def advice_on(builds: Sequence[NativeBuild]) -> list[str]:
    """Return one sentence for each thing about these builds that makes their use worse."""
    sentences = []
    for build in builds:
        sentences += cautions(build)
        if build.mpi == "smpi":
            continue  # nothing is preloaded
        # The program of tune looks beside itself, where a link leads.
        named = {"run and rdma": build.libraries, "tune": build.libraries.resolve()}
        for commands, path in named.items():
            if cut := why_cut(path):
                sentences.append(f"lanewise {commands} cannot load libraries: {cut}")
    return sentences
