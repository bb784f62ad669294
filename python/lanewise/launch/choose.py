# SPDX-License-Identifier: BSD-3-Clause
"""Choose how to launch: the launcher asked for, or the first that can run here."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from lanewise.errors import RequestError
from lanewise.launch.job import Launcher
from lanewise.launch.native import NativeBuild, build_command, build_for, find_builds
from lanewise.launch.registry import LAUNCHERS, launcher_named


@dataclass(frozen=True)
class Choice:
    """A launcher, the path of its program (a bare name where it is missing), and a native build."""

    launcher: Launcher
    executable: str
    build: NativeBuild


def executable_of(launcher: Launcher, environment: Mapping[str, str]) -> str | None:
    """Return the path of the first of a launcher's programs on PATH, None where there is none."""
    for name in launcher.executables:
        path = shutil.which(name, path=environment.get("PATH"))
        if path is not None and launcher.mark in version_text(launcher, path):
            return path
    return None


@cache
def version_text(launcher: Launcher, executable: str) -> str:
    """Return the version text of a launcher; empty where it prints none within ten seconds."""
    try:
        done = subprocess.run(
            [executable, *launcher.version_arguments], capture_output=True, text=True, check=False,
            timeout=10, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


def choose(name: str, environment: Mapping[str, str]) -> Choice:
    """Choose the launcher called `name`; with an empty name the first that can run here.

    Raises RequestError that says what to install or to build.
    """
    builds = find_builds(environment)
    if name:
        return choose_named(launcher_named(name), builds, environment)
    for launcher in LAUNCHERS.values():
        executable, build = executable_of(launcher, environment), build_for(launcher, builds)
        if executable is not None and build is not None:
            return Choice(launcher, executable, build)
    if not builds:
        raise RequestError("the native programs are not built; build them with: make build")
    raise RequestError("no MPI launcher was found; lanewise doctor says what to install")


def choose_named(
    launcher: Launcher, builds: list[NativeBuild], environment: Mapping[str, str]
) -> Choice:
    """Choose `launcher`, present or not: its launch line can be shown where it cannot be run."""
    build = build_for(launcher, builds)
    if build is None:
        raise RequestError(
            f"no native build for {launcher.name}; build it with: {build_command(launcher.mpis[0])}"
        )
    executable = executable_of(launcher, environment) or launcher.executables[0]
    return Choice(launcher, executable, build)


def require_launcher(choice: Choice) -> None:
    """Raise RequestError where the launcher of `choice` is not installed."""
    if "/" not in choice.executable:
        raise RequestError(
            f"{choice.executable} is not installed; install {choice.launcher.package}, "
            "or add --print-command to see the line"
        )
