# SPDX-License-Identifier: BSD-3-Clause
"""The image that the Dockerfile describes is built, and serves the command.

Buildah builds it; it needs no service and no other kernel.  The base is made from Debian's
packages, since not every machine reaches a registry of images.  For make test-all.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from recipes import DOCKERFILE, Recipe, read_dockerfile

ROOT = Path(__file__).resolve().parents[2]
MIRROR = "http://deb.debian.org/debian"
# Two cores that have never compiled this tree.
TIMEOUT_S = 3000
# Where a container finds the authorities that pip trusts on this machine.
CERTIFICATES = "/etc/certificates-of-the-host.crt"
# Where it finds what this machine has compiled.
CACHE = "/ccache-of-the-host"
# What lies in a root that was built, beside the sources.
IGNORED = ROOT / f"{DOCKERFILE}.dockerignore"
# A container as Buildah makes it where it may not use cgroups.
CHROOT = ("--isolation=chroot", "--network=host")

Buildah = Callable[..., str]


def call(*command: object) -> str:
    """Run a command and return what it printed; its errors become the failure's text."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, cwd=ROOT
    )
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def of_the_host(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Give the options that share with a build ccache's home, and how pip reaches packages here.

    The image does not keep what is mounted.
    """
    cache = Path(os.environ.get("CCACHE_DIR", Path.home() / ".cache/ccache"))
    cache.mkdir(parents=True, exist_ok=True)
    folder = tmp_path_factory.mktemp("settings")
    kept = folder / "ccache.conf"
    kept.write_text(f"cache_dir = {CACHE}\n", encoding="utf-8")
    mounted = {cache: CACHE, kept: "/etc/ccache.conf"}
    told = folder / "pip.conf"
    told.write_text("[global]\n", encoding="utf-8")
    if certificates := os.environ.get("PIP_CERT"):
        told.write_text(f"[global]\ncert = {CERTIFICATES}\n", encoding="utf-8")
        mounted[Path(certificates)] = CERTIFICATES
    mounted[told] = "/etc/pip.conf"
    return [f"--volume={here}:{there}" for here, there in mounted.items()]


def driver_in(folder: Path) -> str:
    """Return how Buildah can store layers: an overlay, but for copies where that is one already.

    The root of a container often is, and the kernel lays none upon another.
    """
    kind = call("stat", "--file-system", "--format=%T", folder).strip()
    return "vfs" if kind == "overlayfs" else "overlay"


@pytest.fixture(scope="module")
def buildah(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Buildah]:
    """Give a Buildah that has nothing but the base of the recipes, and keeps nothing."""
    if os.geteuid() != 0:
        pytest.skip("Buildah mounts its images as root")
    if missing := [tool for tool in ("buildah", "mmdebstrap") if shutil.which(tool) is None]:
        pytest.skip(f"no {missing[0]}; install {missing[0]}")
    if platform.freedesktop_os_release()["ID"] != "debian":
        pytest.skip("the base of the recipes is a Debian, whose keys only a Debian has")
    folder = tmp_path_factory.mktemp("images")
    store = ("--root", folder / "store", "--runroot", folder / "run", "--storage-driver",
             driver_in(folder))  # fmt: skip

    def run(command: str, *words: object) -> str:
        return call("buildah", *store, command, *words)

    base = folder / "base.tar"
    call("mmdebstrap", "--quiet", "--variant=minbase",
         '--aptopt=Acquire::Check-Valid-Until "false"', "bookworm", base, MIRROR)  # fmt: skip
    container = run("from", "scratch").strip()
    run("add", "--quiet", container, base, "/")
    base.unlink()
    run("commit", "--quiet", "--rm", container, "docker.io/library/debian:bookworm-slim")
    yield run
    run("rm", "--all")
    run("rmi", "--all", "--force")


def measured(buildah: Buildah, recipe: Recipe, container: str) -> str:
    """Run what a container runs, as the head of the recipe shows it."""
    words = (*recipe.command, *recipe.example, "--sizes", "8", "--launches", "1")
    return buildah("run", *CHROOT, container, "--", *words)


def test_the_image_of_the_dockerfile_measures_as_its_head_shows(
    buildah: Buildah, of_the_host: list[str]
) -> None:
    recipe = read_dockerfile((ROOT / DOCKERFILE).read_text(encoding="utf-8"))

    buildah("build-using-dockerfile", *CHROOT, "--pull=never", *of_the_host, "--tag=lanewise",
            "--file", ROOT / DOCKERFILE, "--ignorefile", IGNORED, ROOT)  # fmt: skip

    inspected = json.loads(buildah("inspect", "--type=image", "lanewise"))
    assert inspected["OCIv1"]["config"]["Entrypoint"] == recipe.command
    container = buildah("from", "--pull=never", "lanewise").strip()
    in_it = buildah("run", *CHROOT, container, "--", "ls", "-A", "/opt/lanewise")
    assert not {".git", ".venv-mpi", "demo"} & set(in_it.split())
    assert "bcast" in measured(buildah, recipe, container)
