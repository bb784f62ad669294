# SPDX-License-Identifier: BSD-3-Clause
"""A shell that asks `lanewise` for completions gets commands, native options and their choices."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from lanewise.launch.native import find_builds

# What the scripts of --install-completion put into the environment, for a line with its cursor at
# the end.
SHELLS = {
    "bash": lambda line: {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))},
    "zsh": lambda line: {"_TYPER_COMPLETE_ARGS": line},
    "fish": lambda line: {
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    },
}

LINES = {
    "lanewise me": "measure",
    "lanewise model pre": "predict",
    "lanewise measure --siz": "--sizes",
    "lanewise measure scatter --method ro": "root",
    "lanewise model predict --ra": "--ranks",
    "lanewise ch": "check",
    "lanewise check ": "same-bits",
    "lanewise check same-bits --al": "--also",
    "lanewise tune ex": "export",
    "lanewise tune export --ver": "--verify",
    "lanewise tune --siz": "--sizes",
    "lanewise tune scatter --siz": "--sizes",
}


@pytest.mark.parametrize(("line", "completed"), LINES.items(), ids=LINES.keys())
@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes(shell: str, line: str, completed: str) -> None:
    if not find_builds(os.environ):
        pytest.skip("no native build; make build")
    asked = {"_LANEWISE_COMPLETE": f"complete_{shell}", **SHELLS[shell](line)}

    done = subprocess.run(
        [sys.executable, "-m", "lanewise"], env={**os.environ, **asked},
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip

    assert completed in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("shell", SHELLS)
def test_lanewise_prints_the_script_of_a_shell(shell: str) -> None:
    asked = {"_LANEWISE_COMPLETE": f"source_{shell}"}

    done = subprocess.run(
        [sys.executable, "-m", "lanewise"], env={**os.environ, **asked},
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip

    assert f"complete_{shell}" in done.stdout
