# SPDX-License-Identifier: BSD-3-Clause
"""Which MPI a program belongs to: told by the libraries it asks for, before it is started."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from lanewise.errors import RequestError

ELF = b"\x7fELF"

# MPICH's own builds and those that keep its interface name their library libmpi.so.12.
LIBRARIES = {
    "openmpi": re.compile(r"libmpi(_\w+)?(-\w+)?\.so\.(20|40|80)$"),
    "mpich": re.compile(r"(libmpich\w*\.so\.\d+|libmpi(fort|cxx)?\.so\.12)$"),
}

# Options with a value in the next word, or in the next two, by the name of the launcher and without
# their dashes; a value may also be in the word itself, after = or, for one letter, at once.
# Of options that are not here it is seen by what follows them.
OPEN_MPI = """
    am bind-to c cf cpu-list cpu-set cpus-per-proc cpus-per-rank debugger default-hostfile display
    dvm exec-agent fwd-environment H host hostfile launch-agent machinefile map-by max-restarts N n
    np npernode npersocket ompi-server output output-directory output-filename path
    preload-files prefix pset ppr rank-by rankfile report-pid report-uri rf runtime-options
    server-wait-time slot-list stdin timeout tune wd wdir x xterm
"""
HYDRA = """
    arch bind-to configfile demux envlist errfile-pattern f gpu-subdevs-per-proc gpus-per-proc
    genvlist H host hostfile hosts iface launcher launcher-exec localhost machinefile map-by membind
    n nameserver np outfile-pattern path ppn prepend-pattern rmk timeout topolib usize wdir
"""
SRUN = """
    A account acctg-freq B bb bbf begin C c cluster-constraint clusters comment constraint
    container container-id core-spec cores-per-socket cpu-bind cpu-freq cpus-per-gpu cpus-per-task D
    d chdir deadline delay-boot dependency distribution e epilog error exclude export export-file
    extra extra-node-info F G g gid gpu-bind gpu-freq gpus gpus-per-node gpus-per-socket
    gpus-per-task gres gres-flags het-group hint i input J job-name jobid L launch-cmd launcher-opts
    licenses M m mail-type mail-user max-threads mcs-label mem mem-bind mem-per-cpu mem-per-gpu
    mincores mincpus minsockets minthreads mpi msg-timeout N n network nodefile nodelist nodes
    ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket o open-mode output P p
    partition power prefer priority profile prolog q qos r relative reservation S segment signal
    slurmd-debug sockets-per-node switches T t task-epilog task-prolog tasks-per-node thread-spec
    threads threads-per-core time time-min tmp tree-width tres-bind tres-per-task U uid W w wait
    wckey x
"""
FLUX = """
    add-file B bank begin-time c cores cores-per-task cwd dependency env env-file env-remove error
    flags g gpus-per-node gpus-per-task input job-name log log-stderr N n nodes nslots ntasks O o
    output q queue requires rlimit setattr setopt signal t taskmap tasks-per-core tasks-per-node
    time-limit urgency wait-event
"""
WITH_ONE = {"openmpi": OPEN_MPI, "mpich": HYDRA, "srun": SRUN, "flux": FLUX}
WITH_TWO = {"openmpi": "mca gmca omca gomca pmca prtemca pmixmca", "mpich": "env genv"}


def programs_in(words: Sequence[str], launcher: str, search: str | None) -> list[Path]:
    """Return the programs that a launcher's arguments start, one for each part between colons.

    A part in which none can be made out gives none: the launcher will say what it thinks of it.
    """
    parts: list[list[str]] = [[]]
    for word in words:
        if word == ":":
            parts.append([])
        else:
            parts[-1].append(word)
    found = (program_in(part, launcher, search) for part in parts)
    return [program for program in found if program is not None]


def program_in(words: Sequence[str], launcher: str, search: str | None) -> Path | None:
    """Return the first word that can be executed and is no option's value."""
    place = place_of_program(words, launcher, search)
    path = shutil.which(words[place], path=search) if place < len(words) else None
    return None if path is None else Path(path)


def place_of_program(words: Sequence[str], launcher: str, search: str | None) -> int:
    """Return the place of the first word that can be executed and is no option's value.

    `len(words)` where there is none.
    """
    place = options_count(words, launcher)
    while place < len(words) and shutil.which(words[place], path=search) is None:
        place += 1
        place += options_count(words[place:], launcher)
    return place


def options_count(words: Sequence[str], launcher: str) -> int:
    """Return how many words the options have that a launcher's arguments begin with."""
    one, two = WITH_ONE.get(launcher, "").split(), WITH_TWO.get(launcher, "").split()
    place = 0
    while place < len(words) and words[place].startswith("-"):
        name = words[place].lstrip("-")
        place += 3 if name in two else 2 if name in one else 1
    return min(place, len(words))


def mpi_of(program: Path, environment: Mapping[str, str]) -> str:
    """Return the MPI family of a program; empty for a script or an interpreter, which load it late.

    Raises RequestError for a program that no library can be loaded into, or one with two MPIs.
    """
    with program.open("rb") as file:
        if file.read(len(ELF)) != ELF:
            return ""
    libraries = libraries_of(program, environment)
    if libraries is None:
        raise RequestError(f"{program} is statically linked; link it with the shared MPI library")
    families = families_of(libraries)
    if len(families) > 1:
        raise RequestError(f"{program} loads two MPIs, {' and '.join(families)}; link it with one")
    return families[0] if families else ""


def families_of(libraries: Sequence[str]) -> list[str]:
    """Return the MPI families that these libraries belong to."""
    return [
        family
        for family, pattern in LIBRARIES.items()
        if any(pattern.match(library) for library in libraries)
    ]


def libraries_of(
    program: Path, environment: Mapping[str, str], timeout_s: float | None = None
) -> list[str] | None:
    """Return the names of all shared libraries that a program loads, None where it is static.

    Raises subprocess.TimeoutExpired where that takes longer than `timeout_s`.
    """
    variables = {name: value for name, value in environment.items() if name != "LD_PRELOAD"}
    done = subprocess.run(
        ["ldd", os.fspath(program)], capture_output=True, text=True, check=False, env=variables,
        timeout=timeout_s,
    )  # fmt: skip
    if done.returncode != 0 or "statically linked" in done.stdout:
        return None
    names = (line.split()[0] for line in done.stdout.splitlines() if line.split())
    return [Path(name).name for name in names]
