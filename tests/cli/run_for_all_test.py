# SPDX-License-Identifier: BSD-3-Clause
"""What docs/cluster.md gives to administrators tunes the programs of all users.

The text of the guide is run as it stands there, with the paths of this machine.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

from tuned_job import TIMEOUT_S, Compile, counted, launch_line, library_of, tuning

GUIDE = Path(__file__).parents[2] / "docs/cluster.md"
PLACE = "/opt/lanewise/openmpi"
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def in_the_guide(begins: str, tmp_path: Path) -> str:
    """Return a block of the guide, in which this clone is what is installed."""
    command = f"{shlex.quote(sys.executable)} -m lanewise"
    library = library_of("openmpi")
    (block,) = [
        block.split("```")[0]
        for block in GUIDE.read_text(encoding="utf-8").split("```bash\n")
        if block.startswith(begins)
    ]
    return (
        block.replace(f"{PLACE}/bin/lanewise", command)
        .replace(f"{PLACE}/tuning.json", shlex.quote(str(tmp_path / "tuning.json")))
        .replace(f"{PLACE}/libexec/lanewise/openmpi/lib/{library.name}", shlex.quote(str(library)))
    )


def in_bash(text: str, tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a script that the guide shows, with the rules of these tests, and a report."""
    (tmp_path / "tuning.json").write_text(json.dumps(tuning("openmpi")), encoding="utf-8")
    assert PLACE not in text, text
    return subprocess.run(
        ["bash", "-ec", text, "tuned", *words],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
        env={**os.environ, **AS_ROOT, "LANEWISE_REPORT": str(tmp_path / "report.json")},
    )  # fmt: skip


def test_a_program_follows_the_rules_under_the_script_of_the_guide(
    compiled: Compile, tmp_path: Path
) -> None:
    program = compiled("openmpi", "mpicc", "collectives.c")
    script = in_the_guide("#!/bin/sh\n# tuned", tmp_path)

    done = in_bash(script, tmp_path, *launch_line("openmpi"), str(program))

    assert (done.returncode, done.stdout, done.stderr) == (0, "all right\n", "")
    assert counted(tmp_path, "intercepted")["bcast"] > 0


def test_a_program_follows_the_rules_with_the_variables_of_the_guide_alone(
    compiled: Compile, tmp_path: Path
) -> None:
    program = compiled("openmpi", "mpicc", "collectives.c")
    variables = in_the_guide("export LD_PRELOAD", tmp_path)
    line = shlex.join([*launch_line("openmpi"), str(program)])

    done = in_bash(f"{variables}\nls tuning.json\n{line}", tmp_path)

    assert (done.returncode, done.stdout) == (0, "tuning.json\nall right\n"), done.stderr
    assert done.stderr == ""
    assert counted(tmp_path, "intercepted")["bcast"] > 0
