# SPDX-License-Identifier: BSD-3-Clause
"""The GitHub Action that gives a job RDMA: its steps run here as GitHub would run them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from free_ports import free_ports

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")

ROOT = Path(__file__).parents[2]
ACTION = ROOT / "packaging" / "github-action-rdma"
BASH = ["bash", "--noprofile", "--norc", "-eo", "pipefail"]  # GitHub's, for `shell: bash`
HEREDOC = re.compile(r"(\w+)<<(\w+)\n(.*?)\n\2\n", re.DOTALL)
# As in a container that a user has started: no rights over anything outside of it.
WITHOUT_PRIVILEGES = ("unshare", "--user", "--map-root-user")
FAILS = '[[fault]]\ncall = "ibv_reg_mr"\ntimes = 1\n'

needs_programs = pytest.mark.skipif(
    shutil.which("ibv_rc_pingpong") is None, reason="no ibv_rc_pingpong; install ibverbs-utils"
)


def loaded(name: str) -> Any:
    return yaml.safe_load((ACTION / name).read_text(encoding="utf-8"))


@dataclass
class Job:
    """A job: the steps of it that have run left their settings."""

    folder: Path
    settings: dict[str, str]
    before: tuple[str, ...] = ()  # the words that start a shell elsewhere

    def step(self, text: str, **variables: str) -> subprocess.CompletedProcess[str]:
        file = self.folder / "github_env"
        file.write_text("")
        done = subprocess.run(
            [*self.before, *BASH, "-c", text],
            cwd=self.folder, capture_output=True, text=True, check=False,
            env={**os.environ, **self.settings, **variables, "GITHUB_ENV": str(file)},
        )  # fmt: skip
        written = file.read_text()
        assert HEREDOC.sub("", written) == ""
        self.settings |= {name: value for name, _, value in HEREDOC.findall(written)}
        return done

    def use_action(self, **given: str) -> None:
        """Run the steps of the action with these inputs."""
        action = loaded("action.yml")
        inputs = {name: str(one["default"]) for name, one in action["inputs"].items()} | given
        known = {f"inputs.{name}": value for name, value in inputs.items()}
        known |= {"github.action_path": str(ACTION), "runner.temp": str(self.folder)}
        for step in action["runs"]["steps"]:
            variables = {
                name: re.sub(r"\$\{\{ (\S+) \}\}", lambda found: known[found[1]], value)
                for name, value in step.get("env", {}).items()
            }
            done = self.step(step["run"], **variables)
            assert done.returncode == 0, done.stderr


def on_a_free_port(text: str) -> str:
    """Let the ping-pongs of a step use a port that no other test has."""
    (port,) = free_ports(1)
    return text.replace("ibv_rc_pingpong", f"ibv_rc_pingpong -p {port}")


def two_programs_talk() -> str:
    """Return a step of the example workflow."""
    steps = loaded("example-workflow.yml")["jobs"]["rdma"]["steps"]
    (talk,) = [step["run"] for step in steps if step.get("name") == "Two programs talk"]
    return str(talk)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """Give a job on a machine where Lanewise is installed."""
    programs = tmp_path / "bin"
    programs.mkdir()
    lanewise = programs / "lanewise"
    lanewise.write_text(f'#!/bin/sh\nexec {sys.executable} -m lanewise "$@"\n', encoding="utf-8")
    lanewise.chmod(0o755)
    return Job(tmp_path, {"PATH": f"{programs}:{os.environ['PATH']}"})


def test_every_step_is_sound_shell() -> None:
    steps = [*loaded("action.yml")["runs"]["steps"]]
    steps += loaded("example-workflow.yml")["jobs"]["rdma"]["steps"]
    texts = [step["run"] for step in steps if "run" in step]

    checked = [subprocess.run([*BASH, "-n"], input=text, text=True, check=False) for text in texts]

    assert len(texts) == 6
    assert all(done.returncode == 0 for done in checked)


def test_the_workflow_uses_the_action_with_inputs_that_it_has() -> None:
    steps = loaded("example-workflow.yml")["jobs"]["rdma"]["steps"]
    (used,) = [step for step in steps if step.get("uses", "").startswith("./lanewise/")]

    assert ROOT / used["uses"].removeprefix("./lanewise/") == ACTION
    assert set(used["with"]) <= set(loaded("action.yml")["inputs"])
    named = [step["with"]["repository"] for step in steps if "repository" in step.get("with", {})]
    assert named == ["${{ vars.LANEWISE_REPOSITORY }}"]


def test_steps_find_the_sources_and_a_program_that_installs_what_they_need() -> None:
    install = loaded("action.yml")["runs"]["steps"][0]
    sources = Path(install["env"]["SOURCES"].replace("${{ github.action_path }}", str(ACTION)))

    assert "packaging/bootstrap.sh" in install["run"]
    assert os.access(sources / "packaging" / "bootstrap.sh", os.X_OK)
    assert (sources / "pyproject.toml").is_file()


@needs_programs
def test_later_steps_have_the_device(job: Job) -> None:
    job.use_action()
    done = job.step(on_a_free_port(two_programs_talk()))

    assert done.returncode == 0, done.stderr
    assert "lanewise0" in done.stdout
    assert done.stdout.count("1000 iters in") == 2


@needs_programs
def test_a_job_without_privileges_and_without_device_files_has_the_device(job: Job) -> None:
    tried = subprocess.run([*WITHOUT_PRIVILEGES, "true"], capture_output=True, check=False)
    if tried.returncode != 0 or Path("/dev/infiniband").exists():
        pytest.skip("user namespaces are refused here, or there is a device")
    job.before = WITHOUT_PRIVILEGES

    job.use_action()
    done = job.step(on_a_free_port(two_programs_talk()))

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("1000 iters in") == 2


@needs_programs
def test_later_steps_meet_the_faults_and_leave_a_log(job: Job) -> None:
    (job.folder / "faults.toml").write_text(FAILS)

    job.use_action(**{"faults": "faults.toml", "fault-log": "faults.jsonl"})
    done = job.step("ibv_rc_pingpong -g 0")

    assert done.returncode == 1
    assert "Couldn't register MR" in done.stderr
    assert (job.folder / "faults.jsonl").read_text().count("\n") == 1


def test_a_mistake_in_the_inputs_fails_the_step(job: Job) -> None:
    with pytest.raises(AssertionError, match="no such interface"):
        job.use_action(ports="eth77")

    assert "LD_PRELOAD" not in job.settings
