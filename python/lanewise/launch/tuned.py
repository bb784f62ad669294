# SPDX-License-Identifier: BSD-3-Clause
"""A program of somebody else's, launched on the rules of a tuning file.

liblanewise_tuned.so is loaded into the ranks and into nothing else.  Whatever would make a mess
there, a file that cannot be used or a build for another MPI, is found before the launch.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lanewise.errors import RequestError, RunError
from lanewise.launch.choose import version_text
from lanewise.launch.job import Job, Launcher
from lanewise.launch.native import NativeBuild, build_command, find_builds, how_to_get
from lanewise.launch.packages import not_found
from lanewise.launch.preload import preloading
from lanewise.launch.program import mpi_of, programs_in
from lanewise.launch.registry import LAUNCHERS

LIBRARY = "liblanewise_tuned.so"
MPIS = ("openmpi", "mpich")
EXECUTABLES = ("mpirun", "mpiexec", "orterun", "prterun")
SAME_BITS = ("order", "ranks")
REFUSED = 2
TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Options:
    """What the ranks shall do: paths are absolute, empty ones are not wanted."""

    tuning: Path | None
    report: Path | None = None
    strict: bool = False
    platform: Path | None = None
    profile: Path | None = None
    same_bits: str = ""


def launcher_of(word: str, environment: Mapping[str, str]) -> Launcher | None:
    """Return the launcher that a launch line's first word belongs to; None where it is a program.

    Raises RequestError for a launcher that is missing, or of an MPI that is not known.
    """
    name = Path(word).name
    for launcher in LAUNCHERS.values():
        if launcher.name not in MPIS and name in launcher.executables:
            return launcher
    path = shutil.which(word, path=environment.get("PATH"))
    if path is None:
        raise RequestError(
            f"{not_found(word)}; the line is a launcher and a program: -- mpirun ./app"
        )
    if name.split(".")[0] not in EXECUTABLES:
        return None
    for mpi in MPIS:
        if LAUNCHERS[mpi].mark in version_text(LAUNCHERS[mpi], path):
            return LAUNCHERS[mpi]
    raise RequestError(f"{path} is a launcher of neither Open MPI nor MPICH; use one of theirs")


def family_of(
    line: Sequence[str],
    launcher: Launcher | None,
    environment: Mapping[str, str],
    remedy: str = f"add --mpi {' or '.join(MPIS)}",
) -> str:
    """Return the MPI family of the programs of a launch line.

    Raises RequestError where they do not belong together, or, with the remedy, where nothing tells.
    """
    own = linked_programs(line, launcher, environment)
    started = launcher.mpis if launcher else MPIS
    for program, family in own.items():
        if family not in started:
            other = LAUNCHERS[family]
            raise RequestError(
                f"{program} is built for {other.title}, {line[0]} starts programs of "
                f"{launcher.title if launcher else ''}; start it with {other.executables[0]}"
            )
    families = set(own.values()) or (set(started) if len(started) == 1 else set())
    if len(families) > 1:
        raise RequestError("the programs of this line belong to two MPIs; build them for one")
    if not families:
        raise RequestError(f"the MPI of {line[-1]} cannot be determined; {remedy}")
    return families.pop()


def linked_programs(
    line: Sequence[str], launcher: Launcher | None, environment: Mapping[str, str]
) -> dict[Path, str]:
    """Return the programs of a launch line that are linked with an MPI, with its family.

    Raises RequestError for one that no library can be loaded into.
    """
    name = launcher.name if launcher else ""
    words = line if launcher is None else line[2:] if name == "flux" else line[1:]
    programs = programs_in(words, name, environment.get("PATH"))
    return {program: family for program in programs if (family := mpi_of(program, environment))}


def build_of(family: str, environment: Mapping[str, str]) -> NativeBuild:
    """Return the native build for an MPI family; RequestError with the remedy where it is missing.

    A build with a sanitizer is left out: its libraries cannot be loaded into other programs.
    """
    builds = find_builds(environment)
    for build in builds:
        if build.mpi == family and not build.sanitize:
            return build
    there = ", ".join(sorted({build.mpi for build in builds})) or "nothing"
    raise RequestError(
        f"the program is built for {LAUNCHERS[family].title} and lanewise for {there}; "
        f"{how_to_get(environment, family)}"
    )


def variables_for(
    library: Path, options: Options, environment: Mapping[str, str]
) -> dict[str, str]:
    """Return the environment variables of the ranks; other preloaded tools come after ours."""
    variables = {"LD_PRELOAD": preloading([library], environment)}
    if options.tuning is not None:
        variables["LANEWISE_TUNING"] = str(options.tuning)
    if options.platform is not None:
        variables["LANEWISE_PLATFORM"] = str(options.platform)
    if options.report is not None:
        variables["LANEWISE_REPORT"] = str(options.report)
    if options.profile is not None:
        variables["LANEWISE_PROFILE"] = str(options.profile)
    if options.strict:
        variables["LANEWISE_STRICT"] = "1"
    if options.same_bits:
        variables["LANEWISE_SAME_BITS"] = options.same_bits
    for name in ("LANEWISE_SCRATCH_LIMIT", "LANEWISE_PROFILE_CALLS"):
        if value := environment.get(name):
            variables[name] = value
    # Launchers start ranks on other hosts in a folder and with variables of their own.
    if placement := environment.get("LANEWISE_PLACEMENT"):
        variables["LANEWISE_PLACEMENT"] = str(Path(placement).resolve())
    return variables


def fault_in(variables: Mapping[str, str], environment: Mapping[str, str]) -> str:
    """Load the library into a program that does nothing, and return what it complains of.

    For a strict run that is also a rule which cannot be followed.
    """
    done = subprocess.run(
        [shutil.which("true") or "true"],
        capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
        env={**ranks_forgotten(environment), "LANEWISE_STRICT": "file", **variables},
    )  # fmt: skip
    sentence = " ".join(done.stderr.split()).removeprefix("lanewise: ")
    if done.returncode == 0 and not sentence:
        return ""
    if done.returncode == REFUSED:
        return sentence
    raise RunError(
        f"{variables['LD_PRELOAD']} cannot be loaded: {sentence}; build it: {build_command()}"
    )


def ranks_forgotten(environment: Mapping[str, str]) -> dict[str, str]:
    """Return `environment` without what makes a process a rank: only the first one complains."""
    marks = tuple(mark for one in LAUNCHERS.values() for mark in one.rank_variables)
    return {name: value for name, value in environment.items() if not name.startswith(marks)}


def launch_line(
    line: Sequence[str], launcher: Launcher | None, variables: Mapping[str, str]
) -> list[str]:
    """Return `line` with variables for its ranks; without a launcher it is one rank."""
    if launcher is None:
        return ["env", *(f"{name}={value}" for name, value in variables.items()), *line]
    if any(word.startswith("LD_PRELOAD") for word in line):
        raise RequestError(
            "the launch line sets LD_PRELOAD itself; set it before: LD_PRELOAD=... lanewise run"
        )
    return launcher.with_variables(line, variables)


def root_variables(launcher: Launcher | None) -> dict[str, str]:
    """Return the variables that the launcher needs for this user before it starts anything."""
    if launcher is None:
        return {}
    job = Job(program=(), ranks=1, executable="", mpi="", user_id=os.getuid())
    return dict(launcher.environment(job))
