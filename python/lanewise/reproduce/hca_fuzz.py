# SPDX-License-Identifier: BSD-3-Clause
"""Hca fuzz: libFuzzer against the packet parser and against a whole device in the midst of work.

The fuzzers are built with Clang, AddressSanitizer and UndefinedBehaviorSanitizer from the sources
of the checkout. They start from the corpus that is kept there, and every new input is thrown away.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from lanewise.errors import RunError
from lanewise.reproduce.experiment import Experiment, Outcome, Row, Target
from lanewise.reproduce.workspace import Workspace, failing_as_run

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "src" / "verbs" / "proto" / "fuzz"
BUILD = ROOT / "build" / "fuzz"
FUZZERS = ("packet", "engine")
SECONDS = int(os.environ.get("LANEWISE_FUZZ_SECONDS", "120"))
_BYTES_MAX = 400
_COMPILERS = ("clang++", *(f"clang++-{version}" for version in range(22, 13, -1)))
_OPTIONS = (
    "-DLANEWISE_MPI=openmpi", "-DLANEWISE_BENCHMARKS=OFF", "-DCMAKE_BUILD_TYPE=Release",
    "-DLANEWISE_UNIT_TESTS=OFF", "-DLANEWISE_SANITIZE=address,undefined,fuzzer-no-link",
)  # fmt: skip


def build() -> None:
    """Build the fuzzers; RunError where that cannot be."""
    compiler = next((path for name in _COMPILERS if (path := shutil.which(name))), None)
    if compiler is None or not SOURCES.is_dir():
        raise RunError("the fuzzers need a checkout and Clang; install clang and libclang-rt-dev")
    compilers = (f"-DCMAKE_CXX_COMPILER={compiler}",
                 f"-DCMAKE_C_COMPILER={compiler.replace('++', '')}")  # fmt: skip
    targets = [f"{name}_fuzz" for name in FUZZERS]
    _must("cmake", "-S", str(ROOT), "-B", str(BUILD), "-G", "Ninja", *_OPTIONS, *compilers)
    _must("cmake", "--build", str(BUILD), "--target", *targets)


def _must(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunError(f"{' '.join(words)}: {(done.stderr or done.stdout).strip()[-2000:]}")


def fuzz(name: str, folder: Path, seconds: int) -> tuple[int, int, str]:
    """Run a fuzzer; return how many inputs it tried, how many crashed it, and what it said last."""
    found = folder / name
    found.mkdir(parents=True, exist_ok=True)
    words = [
        str(BUILD / "bin" / f"{name}_fuzz"), str(found), str(SOURCES / "corpus" / name),
        f"-max_total_time={seconds}", f"-max_len={_BYTES_MAX}", "-print_final_stats=1",
        "-timeout=10", f"-artifact_prefix={folder}/{name}-",
    ]  # fmt: skip
    done = subprocess.run(
        words, capture_output=True, text=True, errors="replace", check=False
    )  # fmt: skip
    executed = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    return int(executed[1]) if executed else 0, int(done.returncode != 0), done.stderr[-2000:]


def run(workspace: Workspace) -> Outcome:
    """Build the fuzzers, run each for a while, and count."""
    with failing_as_run():
        workspace.say("building the fuzzers")
        build()
        counts: dict[str, int] = {}
        crashes = 0
        notes: list[str] = []
        for name in FUZZERS:
            workspace.say(f"{name} for {SECONDS} s")
            counts[name], crashed, said = fuzz(name, workspace.folder, SECONDS)
            crashes += crashed
            if crashed:
                notes.append(f"{name}: {said}")
    figures = {f"{name}_inputs": float(count) for name, count in counts.items()}
    figures = {"inputs": float(sum(counts.values())), "crashes": float(crashes), **figures}
    return Outcome(
        figures=figures,
        rows=[Row(name, "-", f"{value:,.0f}") for name, value in figures.items()],
        conditions={"seconds_each": SECONDS, "bytes_max": _BYTES_MAX},
        files=[],
        notes=notes,
    )


EXPERIMENT = Experiment(
    name="hca-fuzz",
    paper="003 §2",
    summary="hostile packets against the parser and the engine of the software device",
    run=run,
    targets=(Target("crashes", "<=", 0.0), Target("inputs", ">=", 10_000_000.0)),
)
