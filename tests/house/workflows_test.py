# SPDX-License-Identifier: BSD-3-Clause
"""The workflows of GitHub run what continuous integration runs, and name only what is there.

They are read and their steps are checked for syntax; no test runs a workflow.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import tree

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")

WORKFLOWS = tree.ROOT / ".github" / "workflows"
NAMES = ("ci", "nightly")
BASH = ["bash", "--noprofile", "--norc", "-eo", "pipefail"]  # GitHub's, for `shell: bash`
_FILE = re.compile(r"(?<![\w/.$-])(?:\./)?((?:\.ci|\.github|packaging|tests|build)/[\w./-]+)")
_MAKE = re.compile(r"\bmake ((?:[a-z-]+ ?)+)")


def loaded(name: str) -> Any:
    return yaml.safe_load((WORKFLOWS / f"{name}.yml").read_text(encoding="utf-8"))


def jobs(name: str) -> dict[str, Any]:
    found: dict[str, Any] = loaded(name)["jobs"]
    return found


def steps(name: str) -> list[dict[str, Any]]:
    return [step for job in jobs(name).values() for step in job["steps"]]


def scripts(name: str) -> list[str]:
    return [step["run"] for step in steps(name) if "run" in step]


def missing_files(text: str) -> list[str]:
    """Return the files that a text names and the tree lacks, or cannot run; build/ is made."""
    named = [file for file in _FILE.findall(text) if not file.startswith("build/")]
    return [file for file in named if not os.access(tree.ROOT / file, os.X_OK)]


def missing_targets(text: str) -> list[str]:
    """Return the targets that a text gives to make and the Makefile lacks."""
    makefile = (tree.ROOT / "Makefile").read_text(encoding="utf-8")
    known = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    return [one for words in _MAKE.findall(text) for one in words.split() if one not in known]


@pytest.mark.parametrize("name", NAMES)
def test_each_file_that_a_step_runs_is_there(name: str) -> None:
    assert [missing_files(text) for text in scripts(name)] == [[]] * len(scripts(name))


@pytest.mark.parametrize("script", sorted((tree.ROOT / ".ci").iterdir()), ids=lambda one: one.name)
def test_each_target_that_a_script_gives_to_make_is_there(script: Path) -> None:
    text = re.sub(r"^#.*", "", script.read_text(encoding="utf-8"), flags=re.MULTILINE)

    assert _MAKE.search(text)
    assert missing_targets(text) == []


def test_a_file_and_a_target_that_are_not_there_are_found() -> None:
    assert missing_files("run .ci/run && .ci/gone >build/log") == [".ci/gone"]
    assert missing_targets("make test && make tests-of-nothing") == ["tests-of-nothing"]


@pytest.mark.parametrize("name", NAMES)
def test_each_step_is_sound_shell(name: str) -> None:
    shell = loaded(name)["defaults"]["run"]["shell"]

    checked = [subprocess.run([*BASH, "-n"], input=one, text=True, check=False)
               for one in scripts(name)]  # fmt: skip

    assert shell == "bash"
    assert [done.returncode for done in checked] == [0] * len(checked)


def test_each_system_runs_the_tests_of_every_day() -> None:
    systems = {
        name: job.get("container", {}).get("image", job["runs-on"])
        for name, job in jobs("ci").items()
        if ".ci/run" in [step.get("run") for step in job["steps"]]
    }

    assert systems == {"ubuntu": "ubuntu-24.04", "debian": "debian:bookworm"}


def test_every_night_runs_the_tests_that_take_longer() -> None:
    # YAML 1.1 reads the key `on` as true.
    assert "schedule" in loaded("nightly")[True]
    assert ".ci/nightly" in scripts("nightly")


@pytest.mark.parametrize("name", NAMES)
def test_a_workflow_uses_actions_of_github_alone(name: str) -> None:
    used = [step["uses"] for step in steps(name) if "uses" in step]

    assert used
    assert [one for one in used if not re.fullmatch(r"actions/[\w/-]+@v\d+", one)] == []
    assert loaded(name)["permissions"] == {"contents": "read"}


def test_the_results_of_changed_sources_are_kept_from_night_to_night() -> None:
    kept = [step["with"]["path"].split() for step in steps("nightly")
            if step.get("uses", "").startswith("actions/cache/")]  # fmt: skip
    text = (tree.ROOT / "tests/mutants/__main__.py").read_text(encoding="utf-8")

    assert len(kept) == 2
    assert all("build/mutants/results.jsonl" in paths for paths in kept)
    assert 'HOME / "results.jsonl"' in text
