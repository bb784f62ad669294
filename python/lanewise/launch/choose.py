# SPDX-License-Identifier: BSD-3-Clause
"""Choose how to launch: the launcher asked for, or the first that can run here."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from urllib.parse import quote

from lanewise.errors import RequestError
from lanewise.launch.job import Launcher
from lanewise.launch.native import NativeBuild, build_for, find_builds, how_to_get
from lanewise.launch.pmi_plugin import pmi_plugin, refusal
from lanewise.launch.registry import LAUNCHERS, launcher_named


@dataclass(frozen=True)
class Choice:
    """A launcher, the path of its program (a bare name where it is missing), and a native build.

    `pmi_plugin` is the plugin by which srun starts the MPI of the build, empty for any other
    launcher.
    """

    launcher: Launcher
    executable: str
    build: NativeBuild
    pmi_plugin: str = ""


def recorded(choice: Choice, transport: str, launcher_arguments: Sequence[str] = ()) -> list[str]:
    """Return the words by which a native program records by what its ranks communicate.

    Programs that write samples also record further arguments of the launcher, whose spaces are
    escaped as in a URL since smpirun would tear the word apart.
    """
    words = [f"--launcher={choice.launcher.name}"]
    if transport:
        words.append(f"--transport={transport}")
    if launcher_arguments:
        words.append(f"--launcher-args={quote(shlex.join(launcher_arguments), safe='/:=,+@')}")
    return words


def executable_of(launcher: Launcher, environment: Mapping[str, str]) -> str | None:
    """Return the path of the first of a launcher's programs on PATH, None where there is none."""
    for path in programs_on_path(launcher, environment):
        if launcher.mark in version_text(launcher, path):
            return path
    return None


def programs_on_path(launcher: Launcher, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the paths of what may be a launcher, in the order of PATH.

    Of two installations the one that is first on PATH is meant, whatever its programs are called.
    """
    for folder in os.get_exec_path(environment):
        for name in launcher.executables:
            path = shutil.which(name, path=folder)
            if path is not None:
                yield path


def why_broken(launcher: Launcher, environment: Mapping[str, str]) -> str:
    """Return why a program of a launcher is on PATH and fails; empty where none is or does.

    srun, for one, fails where Slurm is installed and has no configuration.
    """
    for path in programs_on_path(launcher, environment):
        text, status = version_run(launcher, path)
        if launcher.mark not in text and status != 0:
            return f"{path} does not run: {last_line(text, status)}"
    return ""


def why_not_ready(launcher: Launcher, executable: str) -> str:
    """Return why a launcher that runs starts no ranks now; empty where nothing is known of it.

    flux, for one, needs an instance of Flux.
    """
    if not launcher.ready_arguments:
        return ""
    text, status = said_by(executable, launcher.ready_arguments)
    if status == 0:
        return ""
    line = " ".join((executable, *launcher.ready_arguments))
    return f"{line} fails: {last_line(text, status)}"


def last_line(text: str, status: int) -> str:
    """Return the last line that a program printed, or its status where it printed none."""
    return text.strip().rpartition("\n")[2] or f"status {status}"


def version_text(launcher: Launcher, executable: str) -> str:
    """Return the version text of a launcher; empty where it prints none within ten seconds."""
    return version_run(launcher, executable)[0]


def version_number(text: str) -> str:
    """Return the first number with dots in a launcher's version text."""
    found = re.search(r"\d+(?:\.\d+)+", text)
    return found.group() if found else ""


def why_versions_differ(choice: Choice) -> str:
    """Return a caution where an MPI of another version starts the ranks than they are built for.

    Empty where the versions agree or one is unknown, and for launchers that no MPI brings.
    """
    built = version_number(choice.build.mpi_version)
    if "/" not in choice.executable or choice.launcher.name != choice.build.mpi or not built:
        return ""
    starts = version_number(version_text(choice.launcher, choice.executable))
    if starts in ("", built):
        return ""
    return (
        f"{choice.executable} is of {choice.launcher.title} {starts}, and the native programs in "
        f"{choice.build.folder} are built for {choice.build.mpi_version}; put that one first on "
        f"PATH, or remove the programs and build them for {starts}"
    )


def version_run(launcher: Launcher, executable: str) -> tuple[str, int]:
    """Ask a launcher for its version; return what it printed, and its status."""
    return said_by(executable, launcher.version_arguments)


@cache
def said_by(executable: str, arguments: tuple[str, ...]) -> tuple[str, int]:
    """Ask a launcher something; return what it printed within ten seconds, and its status."""
    try:
        done = subprocess.run(
            [executable, *arguments], capture_output=True, text=True, check=False, timeout=10,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return "", 1
    return done.stdout + done.stderr, done.returncode


def choose(name: str, environment: Mapping[str, str]) -> Choice:
    """Choose the launcher called `name`; with an empty name the first that can run here.

    In a job of Slurm that is srun, where it can start the MPI of a build, in one of Flux flux.
    Raises RequestError that says what to install or to build.
    """
    builds = find_builds(environment)
    if name:
        return choose_named(launcher_named(name), builds, environment)
    for launcher in preferred(environment):
        executable = executable_of(launcher, environment)
        found = started_by(launcher, executable, builds) if executable is not None else None
        if found is not None and not why_not_ready(launcher, found.executable):
            return found
    if not builds:
        raise RequestError(f"there is no native build; {how_to_get(environment)}")
    raise RequestError("no MPI launcher was found; lanewise doctor says what to install")


def preferred(environment: Mapping[str, str]) -> list[Launcher]:
    """Return the launchers in the order in which they are tried: that of the job comes first."""
    own = {"SLURM_JOB_ID": "srun", "FLUX_URI": "flux"}
    in_testbed = "LANEWISE_TESTBED_RUN" in environment
    first = [name for mark, name in own.items() if environment.get(mark) and not in_testbed]
    return [LAUNCHERS[name] for name in dict.fromkeys([*first, *LAUNCHERS])]


def started_by(launcher: Launcher, executable: str, builds: Sequence[NativeBuild]) -> Choice | None:
    """Return the first build that a launcher starts; None where it starts none of them."""
    for mpi in launcher.mpis:
        build = next((one for one in builds if one.mpi == mpi), None)
        if build is None:
            continue
        if launcher.name != "srun":
            return Choice(launcher, executable, build)
        plugin = pmi_plugin(executable, mpi)
        if plugin:
            return Choice(launcher, executable, build, plugin)
    return None


def choose_named(
    launcher: Launcher, builds: list[NativeBuild], environment: Mapping[str, str]
) -> Choice:
    """Choose `launcher`, present or not: its launch line can be shown where it cannot be run."""
    build = build_for(launcher, builds)
    if build is None:
        how = how_to_get(environment, launcher.mpis[0])
        raise RequestError(f"no native build for {launcher.name}; {how}")
    executable = executable_of(launcher, environment)
    if executable is None:
        return Choice(launcher, launcher.executables[0], build)
    found = started_by(launcher, executable, builds)
    if found is None:
        raise RequestError(refusal(executable, build.mpi))
    return found


def require_launcher(choice: Choice) -> None:
    """Raise RequestError where the launcher of `choice` is not installed, or does not run here."""
    if "/" not in choice.executable:
        broken = why_broken(choice.launcher, os.environ)
        if broken:
            raise RequestError(f"{broken}; fix that, or name another with --launcher")
        raise RequestError(
            f"{choice.executable} is not installed; install {choice.launcher.package}, "
            "or add --print-command to see the line"
        )
    fault = why_not_ready(choice.launcher, choice.executable)
    if fault:
        remedy = known_remedy(fault, choice.launcher)
        raise RequestError(f"{fault}; {remedy}, or name another with --launcher")


def known_remedy(fault: str, launcher: Launcher) -> str:
    """Return what to do about a fault of a launcher; empty where that is not known."""
    return next((what for words, what in launcher.remedies.items() if words in fault), "")
