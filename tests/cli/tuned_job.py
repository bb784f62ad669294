# SPDX-License-Identifier: BSD-3-Clause
"""Jobs of `lanewise run` in tests: launch lines, and tuning files with a rule for every size."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from lanewise.launch.choose import choose, executable_of, version_text
from lanewise.launch.native import find_builds
from lanewise.launch.registry import LAUNCHERS
from lanewise.launch.trial import why_ranks_are_apart
from lanewise.launch.tuned import LIBRARY

PROGRAMS = Path(__file__).with_name("run_programs")
SCHEMA = Path(__file__).parents[2] / "schema/run.schema.json"
RANKS = 4
TIMEOUT_S = 120
RULES = {
    "barrier": "dissemination",
    "bcast": "binomial",
    "scatter": "binomial",
    "scatterv": "linear",
    "gather": "binomial",
    "gatherv": "linear",
    "allgather": "ring",
    "allgatherv": "ring",
    "alltoall": "pairwise",
    "alltoallv": "scattered:4",
    "alltoallw": "pairwise",
    "reduce": "binomial",
    "allreduce": "recursive_doubling",
    "reduce_scatter": "ring",
    "scan": "recursive_doubling",
    "exscan": "binomial",
    "neighbor_allgather": "pairwise",
    "neighbor_alltoallw": "scattered:4",
}
# MPICH before 4.3 asks only the request that is waited for: no message may wait for another there.
REQUESTED = {
    "openmpi": {
        "ibarrier": "dissemination",
        "ibcast": "chain",
        "iscatter": "binomial",
        "iallgather": "ring",
        "iallreduce": "recursive_doubling",
        "iscan": "linear",
        "iexscan": "direct",
    },
    "mpich": {"iscatter": "linear_nb", "iallgather": "linear_nb", "iscan": "direct"},
}
EVERY_SIZE = {"from_bytes": 0, "to_bytes": 2**64 - 1}
FAMILIES = ("openmpi", "mpich")

Compile = Callable[[str, str, str], Path]
Run = Callable[..., "subprocess.CompletedProcess[str]"]
# By MPI family, ranks and the text of a script in Python.
Job = Callable[[str, int, str], "subprocess.CompletedProcess[str]"]


def why_apart(launcher: str) -> str:
    """Return why the ranks of a launcher that is here do not find each other; empty if they do."""
    return why_ranks_are_apart(choose(launcher, os.environ))


def launch_line(family: str, ranks: int = RANKS) -> list[str]:
    """Return a launch line that lacks its program; skips the test where ranks are not together."""
    if apart := why_apart(family):
        pytest.skip(f"{family}: {apart}")
    shared = ["--oversubscribe", "--bind-to", "none"] if family == "openmpi" else []
    return [str(executable_of(LAUNCHERS[family], os.environ)), *shared, "-n", str(ranks)]


def is_version(family: str, pattern: str) -> bool:
    """Tell whether what the launcher says of its version has `pattern`."""
    launcher = LAUNCHERS[family]
    executable = executable_of(launcher, os.environ)
    return executable is not None and bool(
        re.search(pattern, version_text(launcher, str(executable)))
    )


def is_mpich_4_0(family: str) -> bool:
    """Tell whether persistent collectives may hang or fail: those of MPICH 4.0 do."""
    return family == "mpich" and is_version(family, r"Version:\s+4\.0\b")


def skip_unless_it_spawns(family: str) -> None:
    """Skip the test where the MPI cannot start processes from within a program."""
    if family == "mpich" and is_version(family, r"Version:\s+4\.0\b"):
        pytest.skip("MPICH 4.0 of Debian refuses MPI_Comm_spawn")


def tuning(family: str, **changes: Any) -> dict[str, Any]:
    """Return a tuning file with a rule for each operation."""
    named = {**RULES, **REQUESTED[family]}
    rules = {c: {"rules": [{**EVERY_SIZE, "algorithm": name}]} for c, name in named.items()}
    return {
        "schema": "lanewise-tuning",
        "version": 1,
        "lanewise": "0.1.0",
        "created": "2026-11-21T15:00:00Z",
        "mpi": {"family": family, "library": ""},
        "ranks": RANKS,
        "layout": [RANKS],
        "margin": 0.03,
        "confidence": 0.95,
        "collectives": rules,
        **changes,
    }


def tuning_of_calls(family: str, **rules: str) -> dict[str, Any]:
    """Return a file of the present version, whose rules are for calls as they were measured."""
    of_any = tuning(family)
    layout = {key: of_any.pop(key) for key in ("lanewise", "created", "margin", "confidence")}
    layout["hosts"] = [0] * of_any.pop("ranks")
    layout["collectives"] = {
        collective: {"rules": [{**EVERY_SIZE, "algorithm": name}]}
        for collective, name in rules.items()
    }
    return {
        "schema": "lanewise-tuning",
        "version": 2,
        "mpi": of_any["mpi"],
        "layouts": [layout],
    }


def counted(folder: Path, what: str) -> dict[str, float]:
    """Return how many calls of each collective the report says were intercepted, or forwarded."""
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    jsonschema.validate(report, json.loads(SCHEMA.read_text(encoding="utf-8")))
    counts: dict[str, float] = {}
    for entry in report["calls"]:
        name = entry["collective"]
        counts[name] = counts.get(name, 0) + entry[what]
    return counts


def library_of(family: str) -> Path:
    """Return the library that is preloaded into programs of an MPI."""
    return next(b.libraries / LIBRARY for b in find_builds(os.environ) if b.mpi == family)
