# SPDX-License-Identifier: BSD-3-Clause
"""The PMI plugin by which srun starts ranks that find each other, if there is one for the MPI.

Without a common one each rank believes that it is alone.  Open MPI speaks PMIx, and PMI-2 where it
was built for that (its component s2); MPICH speaks PMI-2.
"""

from __future__ import annotations

import subprocess
from collections.abc import Collection
from functools import cache

ASKING_S = 20.0
# How a user takes another launcher than srun: by an option, or in the file of a transport.
BY_OPTION = "use --launcher {}"
BY_FILE = 'write launcher = "{}" in the file of the transport'
USUAL = {"openmpi": "pmix", "mpich": "pmi2"}


def offered_in(text: str) -> frozenset[str]:
    """Return the plugins in what `srun --mpi=list` printed, which differs between versions."""
    lines = [line.removeprefix("srun:").strip() for line in text.splitlines()]
    return frozenset(
        word.strip(",") for line in lines for word in line.rpartition(":")[2].split()
    ) - {"are...", "types", "plugin", "MPI"}


def common(mpi: str, offered: Collection[str], *, pmi2_built: bool) -> str:
    """Return the plugin of srun that starts an MPI, empty where there is none."""
    pmix = sorted((name for name in offered if name.startswith("pmix")), key=len)
    if mpi == "openmpi" and pmix:
        return pmix[0]
    if "pmi2" in offered and (mpi == "mpich" or (mpi == "openmpi" and pmi2_built)):
        return "pmi2"
    return ""


def pmi_plugin(srun: str, mpi: str) -> str:
    """Ask an installed srun which plugin starts `mpi`; empty where none does."""
    offered = offered_in(said([srun, "--mpi=list"]))
    asks_open_mpi = mpi == "openmpi" and not any(name.startswith("pmix") for name in offered)
    return common(mpi, offered, pmi2_built=asks_open_mpi and open_mpi_has("pmix:s2"))


def refusal(srun: str, mpi: str, remedy: str = BY_OPTION) -> str:
    """Return the sentence that says why srun cannot start `mpi` here, and what can."""
    offered = ", ".join(sorted(offered_in(said([srun, "--mpi=list"])) - {"none"})) or "nothing"
    other = "openmpi" if mpi == "openmpi" else "mpich"
    return (
        f"srun cannot start ranks of {mpi} here: it needs {USUAL[mpi]} and srun --mpi=list offers "
        f"{offered}; {remedy.format(other)}, which takes its hosts from the job"
    )


def open_mpi_has(component: str, ompi_info: str = "ompi_info") -> bool:
    """Tell whether the Open MPI on PATH has a component such as ras:slurm."""
    return f"mca:{component}:" in said([ompi_info, "--parsable"])


def said(line: list[str]) -> str:
    """Return all that a program prints, empty where it cannot be run; asked once."""
    return _said(tuple(line))


@cache
def _said(line: tuple[str, ...]) -> str:
    try:
        done = subprocess.run(
            line, capture_output=True, text=True, check=False, timeout=ASKING_S,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr
