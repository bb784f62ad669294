# SPDX-License-Identifier: BSD-3-Clause
"""Which package of Debian and Ubuntu has a program, so that what is missing can be installed.

Every sentence about a program that is not there takes its remedy from here.
"""

from __future__ import annotations

from pathlib import PurePath

# The programs of a package; a name that ends with * is the beginning of a name.
_PROGRAMS = {
    "ibverbs-utils": ("ibv_*",),
    "perftest": ("ib_*", "raw_ethernet_*"),
    "rdmacm-utils": ("rping", "udaddy", "ucmatose", "rdma_server", "rdma_client", "rstream"),
    "iproute2": ("ip", "tc", "ss", "rdma"),
    "util-linux": ("nsenter", "unshare", "setpriv", "lscpu", "taskset"),
    "openmpi-bin": ("mpirun", "mpiexec", "mpirun.openmpi", "mpiexec.openmpi", "ompi_info"),
    "libopenmpi-dev": ("mpicc", "mpicxx", "mpifort", "mpicc.openmpi", "mpicxx.openmpi"),
    "mpich": ("mpiexec.hydra", "mpirun.mpich", "mpiexec.mpich", "mpicc.mpich", "mpichversion"),
    "slurm-client": ("srun", "sbatch", "salloc", "sinfo", "squeue", "scontrol"),
    "slurmctld": ("slurmctld",),
    "slurmd": ("slurmd",),
    "munge": ("munged", "munge"),
    "simgrid": ("smpirun", "smpicc", "smpicxx"),
    "lammps": ("lmp",),
    "fio": ("fio",),
    "iperf3": ("iperf3",),
    "tshark": ("tshark",),
    "tcpdump": ("tcpdump",),
    "ucx-utils": ("ucx_info", "ucx_perftest"),
    "libfabric-bin": ("fi_info", "fi_pingpong"),
    "netpipe-openmpi": ("NPopenmpi",),
    "qemu-system-x86": ("qemu-system-x86_64",),
    "gcc": ("gcc", "cc"),
    "clang": ("clang",),
}


def package_of(program: str) -> str:
    """Return the package that has a program, empty where it is not known."""
    name = PurePath(program).name
    for package, programs in _PROGRAMS.items():
        for known in programs:
            if name == known or (known.endswith("*") and name.startswith(known[:-1])):
                return package
    return ""


def not_found(program: str) -> str:
    """Return the sentence about a program that is not there, with what installs it."""
    package = "" if "/" in program else package_of(program)
    remedy = f"install it with: apt-get install {package}" if package else "name its path"
    return f"no program '{program}'; {remedy}"
