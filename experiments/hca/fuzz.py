# SPDX-License-Identifier: BSD-3-Clause
"""Fuzzing the software device: libFuzzer against parser, engine, two engines, port and manager.

The fuzzers are built with Clang, AddressSanitizer and UndefinedBehaviorSanitizer from the sources
of the checkout.  They start from the corpus in the repository if it has one for them; new inputs
are thrown away.  Two run at the same time, each on a core of its own where there are two.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row, Target
from experiments.workspace import Workspace, failing_as_run
from lanewise.errors import RunError
from lanewise.plots import Bar, draw_bars

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src" / "verbs" / "proto" / "fuzz"
BUILD = ROOT / "build" / "fuzz"
# CMake unpacks it there.
CORPUS = BUILD / SOURCES.relative_to(ROOT) / "corpus"
FUZZERS = ("packet", "engine", "pair", "port", "cm")
SECONDS = int(os.environ.get("LANEWISE_FUZZ_SECONDS", "240"))
INPUTS_MIN = 10_000_000.0
PORT_INPUTS_MIN = 1_000_000.0  # each of which goes through real sockets
AT_ONCE = 2
_BYTES_MAX = 400
# The engine allocates much and frees all of it with each input; a larger quarantine would only
# evict the caches, and nobody reads who allocated what until an input is replayed.
_SANITIZER = "quarantine_size_mb=16:malloc_context_size=2"
_COMPILERS = ("clang++", *(f"clang++-{version}" for version in range(22, 13, -1)))
_OPTIONS = (
    "-DLANEWISE_MPI=openmpi", "-DLANEWISE_BENCHMARKS=OFF", "-DCMAKE_BUILD_TYPE=Release",
    "-DLANEWISE_UNIT_TESTS=OFF", "-DLANEWISE_SANITIZE=address,undefined,fuzzer-no-link",
)  # fmt: skip


def build() -> None:
    """Build the fuzzers; RunError where they cannot be built."""
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
    """Run a fuzzer; return how many inputs it tried, how many crashed it, and its last output."""
    found = folder / name
    found.mkdir(parents=True, exist_ok=True)
    corpus = [str(CORPUS / name)] if (CORPUS / name).is_dir() else []
    words = [
        str(BUILD / "bin" / f"{name}_fuzz"), str(found), *corpus,
        f"-max_total_time={seconds}", f"-max_len={_BYTES_MAX}", "-print_final_stats=1",
        "-timeout=10", f"-artifact_prefix={folder}/{name}-",
        # Weighing features by how rare they are takes longer than running an input.
        "-entropic=0",
    ]  # fmt: skip
    options = ":".join(filter(None, (_SANITIZER, os.environ.get("ASAN_OPTIONS"))))
    done = subprocess.run(
        words, env={**os.environ, "ASAN_OPTIONS": options}, capture_output=True, text=True,
        errors="replace", check=False,
    )  # fmt: skip
    executed = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    return int(executed[1]) if executed else 0, int(done.returncode != 0), done.stderr[-2000:]


def fuzz_all(folder: Path, seconds: int) -> dict[str, tuple[int, int, str]]:
    """Run all fuzzers, AT_ONCE at a time, and return what `fuzz` says of each."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = pool.map(lambda name: fuzz(name, folder, seconds), FUZZERS)
        return dict(zip(FUZZERS, found, strict=True))


def run(workspace: Workspace) -> Outcome:
    """Build the fuzzers, run each for SECONDS, and count inputs and crashes."""
    with failing_as_run():
        workspace.say("building the fuzzers")
        build()
        workspace.say(f"{', '.join(FUZZERS)} for {SECONDS} s each")
        results = fuzz_all(workspace.folder, SECONDS)
    counts = {name: inputs for name, (inputs, _, _) in results.items()}
    crashes = sum(crashed for _, crashed, _ in results.values())
    notes = [f"{name}: {said}" for name, (_, crashed, said) in results.items() if crashed]
    figures = {f"{name}_inputs": float(count) for name, count in counts.items()}
    figures = {"inputs": float(sum(counts.values())), "crashes": float(crashes), **figures}
    bars = [Bar(name, float(count), "each") for name, count in counts.items()]
    bars.append(Bar("all together", figures["inputs"], "all"))
    return Outcome(
        figures=figures,
        rows=[Row(name, "-", f"{value:,.0f}") for name, value in figures.items()],
        conditions={"seconds_each": SECONDS, "bytes_max": _BYTES_MAX},
        files=workspace.save(
            draw_bars(
                [(f"Inputs in {SECONDS} s", bars)], lambda value: f"{value:,.0f}",
                target=INPUTS_MIN,
            ),
            "hca-fuzz",
        ),
        notes=notes,
    )  # fmt: skip


_RUN = "run of each fuzzer"

EXPERIMENT = Experiment(
    name="hca-fuzz",
    paper="003 §2",
    summary="hostile bytes against parser, engine, port layer and connection manager",
    run=run,
    figures=(
        Figure(
            "crashes", "fuzzers", Estimator("fuzzers that ended early", 1, 1, _RUN),
            Target("<=", 0.0),
        ),
        Figure(
            "inputs", "inputs", Estimator("inputs of all fuzzers together", 1, 1, _RUN),
            Target(">=", INPUTS_MIN),
        ),
        Figure(
            "packet_inputs", "inputs", Estimator("inputs of the parser", 1, 1, _RUN),
            Target(">=", INPUTS_MIN),
        ),
        Figure(
            "engine_inputs", "inputs", Estimator("scripts for a device under attack", 1, 1, _RUN),
            Target(">=", INPUTS_MIN),
        ),
        Figure(
            "port_inputs", "inputs", Estimator("inputs of the port layer", 1, 1, _RUN),
            Target(">=", PORT_INPUTS_MIN),
        ),
        Figure(
            "{fuzzer}_inputs", "inputs", Estimator("inputs of one fuzzer", 1, 1, _RUN),
            "the targets are for parser, engine and port",
        ),
    ),
)  # fmt: skip
