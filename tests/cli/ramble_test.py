# SPDX-License-Identifier: BSD-3-Clause
"""The Ramble application makes commands that run, and finds its figures in what they print.

Ramble itself comes from a Git repository, which no test fetches: the application is read, its
commands are filled in as Ramble would and run.
"""

from __future__ import annotations

import ast
import re
import shlex
import string
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import why_not
from osu_side import side

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")

ROOT = Path(__file__).resolve().parents[2]
RAMBLE = ROOT / "packaging" / "ramble"
SOURCE = (RAMBLE / "applications/lanewise/application.py").read_text(encoding="utf-8")
BASH = ["bash", "--noprofile", "--norc"]
# What Ramble gives to every experiment, here as one would on two ranks.
GIVEN = {"n_ranks": "2", "experiment_run_dir": ".", "workspace_root": "."}


def constants() -> dict[str, str]:
    """Return the strings that the application gives a name."""
    assigned = [node for node in ast.walk(ast.parse(SOURCE)) if isinstance(node, ast.Assign)]
    return {ast.unparse(node.targets[0]): ast.literal_eval(node.value) for node in assigned}


def directives(name: str) -> list[dict[str, Any]]:
    """Return the arguments of each call of a directive; those without a name as `0`, `1`."""
    known = constants()

    def value(node: ast.expr) -> Any:
        return known[node.id] if isinstance(node, ast.Name) else ast.literal_eval(node)

    calls = [
        node
        for node in ast.walk(ast.parse(SOURCE))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == name
    ]
    return [
        {str(index): value(node) for index, node in enumerate(call.args)}
        | {one.arg or "": value(one.value) for one in call.keywords}
        for call in calls
    ]


TEMPLATES = {one["0"]: one["1"] for one in directives("executable")}
WORKLOADS = {one["0"]: one["executables"] for one in directives("workload")}


def variables(workload: str) -> dict[str, str]:
    declared = directives("workload_variable")
    return {one["0"]: one["default"] for one in declared if workload in one["workloads"]}


def filled(workload: str, **chosen: str) -> str:
    """Return the script of an experiment of this workload."""
    values = {**GIVEN, **variables(workload), **chosen}
    return "\n".join(TEMPLATES[name].format(**values) for name in WORKLOADS[workload])


def printed(script: str, folder: Path) -> str:
    """Run a script with the command `lanewise`, and return what it printed."""
    command = f'lanewise() {{ {sys.executable} -m lanewise "$@"; }}\n'
    done = subprocess.run([*BASH, "-c", command + script], cwd=folder, capture_output=True,
                          text=True, check=True)  # fmt: skip
    return done.stdout


def found(name: str, text: str) -> list[str]:
    """Return the values of a figure in a text; Ramble compares from the start of each line."""
    (figure,) = [one for one in directives("figure_of_merit") if one["0"] == name]
    matches = [re.match(figure["fom_regex"], line) for line in text.splitlines()]
    return [match[figure["group_name"]] for match in matches if match]


def succeeded(text: str) -> bool:
    (criterion,) = directives("success_criteria")
    return any(re.match(criterion["match"], line) for line in text.splitlines())


@pytest.mark.parametrize("workload", WORKLOADS)
def test_each_option_is_one_of_the_command(workload: str) -> None:
    page = (ROOT / f"docs/reference/lanewise-{workload}.md").read_text(encoding="utf-8")

    options = re.findall(r"(?<= )--[a-z-]+", TEMPLATES[workload])

    assert options
    assert [one for one in options if f"`{one} " not in page and f"`{one}`" not in page] == []


@pytest.mark.parametrize("workload", WORKLOADS)
def test_each_variable_of_a_command_is_declared(workload: str) -> None:
    named = {field for name in WORKLOADS[workload]
             for _, field, _, _ in string.Formatter().parse(TEMPLATES[name]) if field}  # fmt: skip

    assert named <= {*GIVEN, *variables(workload)}
    assert set(variables(workload)) <= named


def test_the_workspace_sets_variables_that_the_application_has() -> None:
    workspace = yaml.safe_load((RAMBLE / "example-workspace.yaml").read_text(encoding="utf-8"))
    workloads = workspace["ramble"]["applications"]["lanewise"]["workloads"]

    assert set(workloads) <= set(WORKLOADS)
    for workload, described in workloads.items():
        for experiment in described["experiments"].values():
            assert set(experiment["variables"]) <= {*variables(workload), "n_ranks"}


def test_a_measurement_has_its_figures_and_succeeds(tmp_path: Path) -> None:
    if why_not("openmpi"):
        pytest.skip(why_not("openmpi"))
    script = filled("measure", sizes="8,1K", launches="1", options="--launcher openmpi")

    text = printed(script, tmp_path)

    (context,) = directives("figure_of_merit_context")
    sizes = [re.match(context["regex"], line) for line in text.splitlines()]
    assert [match["message_bytes"] for match in sizes if match] == ["8", "1024"]
    assert [len(found(name, text)) for name in ("median", "low", "high")] == [2, 2, 2]
    assert succeeded(text)
    assert (tmp_path / "samples.jsonl").is_file()


def test_a_measurement_that_cannot_be_made_does_not_succeed(tmp_path: Path) -> None:
    text = printed(filled("measure", operation="scater"), tmp_path)

    assert "lanewise ended with status 2" in text
    assert not succeeded(text)


@pytest.mark.parametrize(("factor", "status"), [(1.0, 0), (1.3, 1)])
def test_a_gate_succeeds_where_nothing_is_slower(
    factor: float, status: int, tmp_path: Path
) -> None:
    base, candidate = (shlex.join(side(tmp_path, one)) for one in (1.0, factor))
    keep = f"lanewise gate -n 2 --launches 8 --folder kept -- {base} -- {base} >&2\n"
    script = filled("gate", operation="", baseline="kept/base.jsonl", gate_launches="8",
                    candidate=candidate)  # fmt: skip

    text = printed(keep + script, tmp_path)

    assert f"lanewise ended with status {status}" in text
    assert succeeded(text) is (status == 0)
    assert len(found("least_visible", text)) == (1 if status == 0 else 0)
    assert (tmp_path / "gate.xml").is_file()
