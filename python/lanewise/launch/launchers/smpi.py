# SPDX-License-Identifier: BSD-3-Clause
"""SimGrid SMPI: the ranks run on a simulated cluster, so the true times are known.

The cluster is a switch with one full-duplex link a host, written as a SimGrid platform (version
4.1 of its DTD).  Computation costs nothing (smpi/simulate-computation:no): only communication
takes simulated time, and the same run gives the same times.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lanewise.errors import RequestError
from lanewise.launch.job import Job, Launcher

CONFIGURATION = ("--cfg=smpi/simulate-computation:no", "--log=root.thres:critical")


def platform_file(job: Job) -> Path:
    """Return where the platform of `job` is written."""
    return job.folder / "platform.xml"


def host_file(job: Job) -> Path:
    """Return where the list of hosts of `job` is written."""
    return job.folder / "hosts"


def command(job: Job) -> list[str]:
    """Return the smpirun line for `job`.

    Raises RequestError for named hosts, which a simulated cluster has not, and for an argument
    with white space in it, which smpirun would tear apart.
    """
    if job.hosts or job.hostfile:
        raise RequestError("smpi simulates its hosts; leave out --hosts and --hostfile")
    torn = next((word for word in job.program if any(letter.isspace() for letter in word)), None)
    if torn is not None:
        raise RequestError(f"smpirun cannot pass '{torn}' on; use a name without white space")
    where = ["-hostfile", str(host_file(job)), "-platform", str(platform_file(job))]
    line = [job.executable, "-np", str(job.ranks), *where, *CONFIGURATION]
    line += job.cluster.configuration
    return [*line, *job.launcher_arguments, *job.program]


def environment(job: Job) -> Mapping[str, str]:
    """Return what the ranks find in their environment: they are threads of the simulator."""
    return job.cluster.variables


def files(job: Job) -> Mapping[Path, str]:
    """Return the platform and the list of hosts, one host a rank."""
    names = [f"host{index}" for index in range(job.ranks)]
    return {
        platform_file(job): job.cluster.platform or platform_xml(job, names),
        host_file(job): "".join(f"{name}\n" for name in names),
    }


def platform_xml(job: Job, names: list[str]) -> str:
    """Write the switched cluster of `job.cluster` as a SimGrid platform."""
    cluster = job.cluster
    speeds = cluster.speeds_flops
    hosts = [
        f'    <host id="{name}" speed="{speeds[index % len(speeds)]:.9g}f"/>\n'
        f'    <link id="{name}_link" bandwidth="{cluster.rate_bytes_per_s:.9g}Bps"'
        f' latency="{cluster.latency_s:.9g}s" sharing_policy="SPLITDUPLEX"/>\n'
        f'    <host_link id="{name}" up="{name}_link_UP" down="{name}_link_DOWN"/>\n'
        for index, name in enumerate(names)
    ]
    return (
        "<?xml version='1.0'?>\n"
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        '<platform version="4.1">\n'
        '  <zone id="cluster" routing="Cluster">\n'
        f"{''.join(hosts)}"
        '    <router id="switch"/>\n'
        "  </zone>\n"
        "</platform>\n"
    )


LAUNCHER = Launcher(
    name="smpi",
    title="SimGrid SMPI",
    executables=("smpirun",),
    mpis=("smpi",),
    package="simgrid libsimgrid-dev",
    mark="SimGrid",
    simulates=True,
    command=command,
    version_arguments=("-version",),
    environment=environment,
    files=files,
)
