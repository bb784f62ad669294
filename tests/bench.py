# SPDX-License-Identifier: BSD-3-Clause
"""Runs the benchmarks and reproduces every table and figure that is here.

    .venv/bin/python tests/bench.py

Results go to bench/.  All run even where one fails; the exit status is 1 if any did.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from run import ROOT, environment

RESULTS = ROOT / "bench"
LANEWISE = Path(sys.executable).parent / "lanewise"


def benchmarks() -> list[list[str]]:
    """Return the command of each Google Benchmark program of the release build."""
    programs = sorted((ROOT / "build/release/bin").glob("*_bench"))
    return [
        [str(program), f"--benchmark_out={RESULTS / program.name}.json"] for program in programs
    ]


def reproductions() -> list[list[str]]:
    """Return the command that reproduces each table and figure."""
    listed = subprocess.run(
        [LANEWISE, "reproduce", "--list", "--json"], stdout=subprocess.PIPE, check=True
    )
    names = [each["name"] for each in json.loads(listed.stdout)["experiments"]]
    return [[str(LANEWISE), "reproduce", name, "--folder", str(RESULTS)] for name in names]


def main() -> int:
    """Run everything in turn."""
    RESULTS.mkdir(exist_ok=True)
    failed = []
    for command in benchmarks() + reproductions():
        print(f"\n$ {' '.join(command)}", flush=True)
        if subprocess.run(command, cwd=ROOT, env=environment(), check=False).returncode != 0:
            failed.append(" ".join(command))
    for command in failed:
        print(f"failed: {command}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
