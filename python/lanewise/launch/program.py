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

# Options of launchers that take one or two words; of all others it is seen by what follows them.
WITH_ONE = (
    "-n -np --np -c -N -H -host --host -hosts -f -hostfile --hostfile -machinefile --machinefile "
    "-x -map-by --map-by -rank-by --rank-by -bind-to --bind-to -wd -wdir --wdir -path --path "
    "--prefix -genvlist -envlist -ppn -tune --tune -am --am --output-filename "
)
WITH_TWO = "-mca --mca -gmca --gmca --prtemca --pmixmca -genv -env "


def programs_in(words: Sequence[str], search: str | None) -> list[Path]:
    """Return the programs that a launcher's arguments start, one for each part between colons.

    A part in which none can be made out gives none: the launcher will say what it thinks of it.
    """
    parts: list[list[str]] = [[]]
    for word in words:
        if word == ":":
            parts.append([])
        else:
            parts[-1].append(word)
    found = (program_in(part, search) for part in parts)
    return [program for program in found if program is not None]


def program_in(words: Sequence[str], search: str | None) -> Path | None:
    """Return the first word that can be executed and is no option's value."""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in WITH_ONE.split():
            del rest[:1]
        elif word in WITH_TWO.split():
            del rest[:2]
        elif not word.startswith("-") and (path := shutil.which(word, path=search)) is not None:
            return Path(path)
    return None


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
    families = [
        family
        for family, pattern in LIBRARIES.items()
        if any(pattern.match(library) for library in libraries)
    ]
    if len(families) > 1:
        raise RequestError(f"{program} loads two MPIs, {' and '.join(families)}; link it with one")
    return families[0] if families else ""


def libraries_of(program: Path, environment: Mapping[str, str]) -> list[str] | None:
    """Return the names of all shared libraries that a program loads, None where it is static."""
    variables = {name: value for name, value in environment.items() if name != "LD_PRELOAD"}
    done = subprocess.run(
        ["ldd", os.fspath(program)], capture_output=True, text=True, check=False, env=variables
    )
    if done.returncode != 0 or "statically linked" in done.stdout:
        return None
    names = (line.split()[0] for line in done.stdout.splitlines() if line.split())
    return [Path(name).name for name in names]
