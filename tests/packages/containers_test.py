# SPDX-License-Identifier: BSD-3-Clause
"""The recipes of containers copy what there is, and call what knows them.

Here they are read; images_test.py builds the Dockerfile.  For make test-all.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from recipes import DEFINITION, DOCKERFILE, read_definition, read_dockerfile

ROOT = Path(__file__).resolve().parents[2]
RECIPES = {
    "Dockerfile": read_dockerfile((ROOT / DOCKERFILE).read_text(encoding="utf-8")),
    "Apptainer": read_definition((ROOT / DEFINITION).read_text(encoding="utf-8")),
}


@pytest.mark.parametrize("name", RECIPES)
def test_what_a_recipe_copies_is_in_the_tree(name: str) -> None:
    sources = [source for source, _ in RECIPES[name].copies]

    assert "." in sources
    assert [source for source in sources if not (ROOT / source).exists()] == []


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_gives_make_and_the_installer_what_they_know(name: str) -> None:
    text = "\n".join(RECIPES[name].scripts)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    packages = (ROOT / "packaging/apt-packages.txt").read_text(encoding="utf-8")

    targets = re.findall(r"\bmake ([a-z-]+)", text)
    groups = " ".join(re.findall(r"packaging/bootstrap.sh ([a-z ]+)", text)).split()

    assert targets == ["build"]
    assert groups == (["build", "openmpi", "mpich"] if name == "Dockerfile" else [])
    assert set(targets) <= set(re.findall(r"^([a-z-]+):", makefile, re.M))
    assert set(groups) <= set(re.findall(r"^([a-z]+) ", packages, re.M))


@pytest.mark.parametrize("name", RECIPES)
def test_debian_has_each_package_that_a_recipe_installs(name: str) -> None:
    if shutil.which("apt-cache") is None:
        pytest.skip("no apt-cache here")
    listed = (ROOT / "packaging/apt-packages.txt").read_text(encoding="utf-8")
    packages = re.findall(r"^(?:build|openmpi|mpich) (\S+)", listed, re.M)
    (by_hand,) = re.findall(
        r"apt-get install (?:-\S+ )*([a-z ]+)", "\n".join(RECIPES[name].scripts)
    )

    asked = ["apt-cache", "show", "--no-all-versions", *packages, *by_hand.split()]
    shown = subprocess.run(asked, capture_output=True, text=True, check=False)

    known = set(re.findall(r"^Package: (\S+)$", shown.stdout, re.M))
    assert by_hand.split() == ["make"]
    assert sorted({*packages, "make"} - known) == []


@pytest.mark.parametrize("name", RECIPES)
def test_the_scripts_of_a_recipe_are_sound_shell(name: str) -> None:
    scripts = RECIPES[name].scripts

    checked = [subprocess.run(["sh", "-n"], input=one, text=True, check=False) for one in scripts]

    assert [done.returncode for done in checked] == [0] * len(scripts)


@pytest.mark.parametrize("name", RECIPES)
def test_python_is_compiled_in_the_image_and_not_in_each_container(name: str) -> None:
    text = "\n".join(RECIPES[name].scripts)

    _, _, later = text.partition("make build")

    (compiled,) = re.findall(r"\.venv/bin/python -m compileall -q (.*)$", later, re.MULTILINE)
    assert compiled.split() == [".venv/lib", "python"]


@pytest.mark.parametrize("name", RECIPES)
def test_a_container_runs_the_command_where_it_is_built(name: str) -> None:
    recipe = RECIPES[name]
    (root,) = [target for source, target in recipe.copies if source == "."]

    assert recipe.base == "debian:bookworm-slim"
    assert f"{root}/.venv/bin/lanewise" in " ".join(recipe.command)


@pytest.mark.parametrize("name", RECIPES)
def test_the_command_that_a_recipe_shows_has_options_that_there_are(name: str) -> None:
    command, *words = RECIPES[name].example
    page = (ROOT / f"docs/reference/lanewise-{command}.md").read_text(encoding="utf-8")

    options = [word for word in words if word.startswith("-")]
    assert options
    assert [one for one in options if f"`{one} " not in page and f" {one} " not in page] == []


def not_of_the_tree() -> set[str]:
    """Return the folders that lie in the root and are no sources."""
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    return {name.strip("/") for name in ignored if name.startswith("/")} | {".git"}


def test_docker_leaves_out_what_git_ignores_in_the_root() -> None:
    left_out = (ROOT / f"{DOCKERFILE}.dockerignore").read_text(encoding="utf-8").splitlines()

    assert not_of_the_tree() <= set(left_out)


def test_apptainer_which_copies_all_removes_what_git_ignores_in_the_root() -> None:
    (script,) = RECIPES["Apptainer"].scripts
    (removed,) = re.findall(r"^ *rm -rf (.*)$", script, re.M)

    assert not_of_the_tree() <= set(removed.split())
