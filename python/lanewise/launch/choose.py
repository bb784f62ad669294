# SPDX-License-Identifier: BSD-3-Clause
"""Choose how to launch: the fabric asked for, or the first that can run here."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from lanewise.errors import RequestError
from lanewise.launch.job import Fabric
from lanewise.launch.native import NativeBuild, build_command, build_for, find_builds
from lanewise.launch.registry import FABRICS, fabric_named


@dataclass(frozen=True)
class Choice:
    """A fabric, the launcher's path (a bare name where it is not installed), a native build."""

    fabric: Fabric
    launcher: str
    build: NativeBuild


def launcher_of(fabric: Fabric, environment: Mapping[str, str]) -> str | None:
    """Return the path of the first of a fabric's launchers on PATH, None where there is none."""
    for name in fabric.launchers:
        path = shutil.which(name, path=environment.get("PATH"))
        if path is not None and fabric.mark in version_text(fabric, path):
            return path
    return None


@cache
def version_text(fabric: Fabric, launcher: str) -> str:
    """Return what a launcher says of its version; empty where it says nothing in ten seconds."""
    try:
        done = subprocess.run(
            [launcher, *fabric.version_arguments], capture_output=True, text=True, check=False,
            timeout=10, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


def choose(name: str, environment: Mapping[str, str]) -> Choice:
    """Choose the fabric called `name`; with an empty name the first that can run here.

    Raises RequestError that says what to install or to build.
    """
    builds = find_builds(environment)
    if name:
        return choose_named(fabric_named(name), builds, environment)
    for fabric in FABRICS.values():
        launcher, build = launcher_of(fabric, environment), build_for(fabric, builds)
        if launcher is not None and build is not None:
            return Choice(fabric, launcher, build)
    if not builds:
        raise RequestError("the native programs are not built; build them with: make build")
    raise RequestError("no MPI launcher was found; lanewise doctor says what to install")


def choose_named(
    fabric: Fabric, builds: list[NativeBuild], environment: Mapping[str, str]
) -> Choice:
    """Choose `fabric`, present or not: its launch line can be shown where it cannot be run."""
    build = build_for(fabric, builds)
    if build is None:
        raise RequestError(
            f"no native build for {fabric.name}; build it with: {build_command(fabric.mpis[0])}"
        )
    launcher = launcher_of(fabric, environment) or fabric.launchers[0]
    return Choice(fabric, launcher, build)


def require_launcher(choice: Choice) -> None:
    """Raise RequestError where the launcher of `choice` is not installed."""
    if "/" not in choice.launcher:
        raise RequestError(
            f"{choice.launcher} is not installed; install {choice.fabric.package}, "
            "or add --print-command to see the line"
        )
