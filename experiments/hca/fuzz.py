# SPDX-License-Identifier: BSD-3-Clause
"""Fuzzing the software device: libFuzzer against parser, engine, two engines, port and manager.

The fuzzers are built with Clang, AddressSanitizer and UndefinedBehaviorSanitizer from the sources
of the clone.  They start from the corpus in the repository if it has one for them; new inputs
are thrown away.  Every core runs one after the other, for SECONDS in all: first the fuzzers of
SHARES, each on one of the cores, and then the engine's, whose processes share what they find.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Quick, Row, Target
from experiments.workspace import Workspace, failing_as_run
from lanewise.errors import RunError
from lanewise.plots import Bar, draw_bars

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src" / "verbs" / "proto" / "fuzz"
BUILD = ROOT / "build" / "fuzz"
# CMake unpacks it there.
CORPUS = BUILD / SOURCES.relative_to(ROOT) / "corpus"
ENGINE = "engine"
# How much of the time of one core each of the others takes.
SHARES: Mapping[str, float] = {"port": 0.25, "packet": 0.17, "pair": 0.1, "cm": 0.08}
FUZZERS = (ENGINE, *SHARES)
SECONDS, SECONDS_QUICK = 600, 60
INPUTS_MIN = 10_000_000.0
PORT_INPUTS_MIN = 1_000_000.0  # each of which goes through real sockets
_BYTES_MAX = 400
_INPUT_LIMIT_S = 10
# The engine allocates some 15 kB with each input and frees all of it; a larger quarantine would
# only evict the caches. Nobody reads who allocated what until an input is replayed.
_QUARANTINE_MB = {ENGINE: 1}
_COMPILERS = ("clang++", *(f"clang++-{version}" for version in range(22, 13, -1)))
_OPTIONS = (
    "-DLANEWISE_MPI=openmpi", "-DLANEWISE_BENCHMARKS=OFF", "-DCMAKE_BUILD_TYPE=Release",
    "-DLANEWISE_UNIT_TESTS=OFF", "-DLANEWISE_SANITIZE=address,undefined,fuzzer-no-link",
)  # fmt: skip


class MissingError(RunError):
    """What the fuzzers are built with, or from, is not on this machine."""


def build() -> None:
    """Build the fuzzers; RunError where they do not build, MissingError without what it takes."""
    compiler = next((path for name in _COMPILERS if (path := shutil.which(name))), None)
    if compiler is None or not SOURCES.is_dir() or not _links_fuzzers(compiler):
        remedy = "install clang and libclang-rt-dev"
        raise MissingError(f"the fuzzers need a clone and Clang; {remedy}")
    compilers = (f"-DCMAKE_CXX_COMPILER={compiler}",
                 f"-DCMAKE_C_COMPILER={compiler.replace('++', '')}")  # fmt: skip
    targets = [f"{name}_fuzz" for name in FUZZERS]
    _must("cmake", "-S", str(ROOT), "-B", str(BUILD), "-G", "Ninja", *_OPTIONS, *compilers)
    _must("cmake", "--build", str(BUILD), "--target", *targets)


def _links_fuzzers(compiler: str) -> bool:
    """Return whether the compiler has its library for fuzzers, which is a package of its own."""
    program = 'extern "C" int LLVMFuzzerTestOneInput(const char *, unsigned long) { return 0; }'
    with tempfile.TemporaryDirectory() as folder:
        words = [compiler, "-fsanitize=fuzzer", "-x", "c++", "-", "-o", f"{folder}/fuzzer"]
        done = subprocess.run(words, input=program, text=True, capture_output=True, check=False)
    return done.returncode == 0


def _must(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunError(f"{' '.join(words)}: {(done.stderr or done.stdout).strip()[-2000:]}")


@dataclass(frozen=True)
class Turn:
    """A fuzzer that runs on a core for a while."""

    fuzzer: str
    seconds: int


@dataclass(frozen=True)
class Found:
    """How many inputs a fuzzer tried, how many of its processes ended early, and what they said."""

    inputs: int = 0
    crashes: int = 0
    said: str = ""

    def __add__(self, other: Found) -> Found:
        """Return what two processes of a fuzzer found together."""
        both = (self.inputs + other.inputs, self.crashes + other.crashes)
        return Found(*both, self.said if self.crashes else other.said)


def turns(core_count: int, seconds: int, shares: Mapping[str, float] = SHARES) -> list[list[Turn]]:
    """Return what each core runs, one after the other; every core is busy for `seconds`."""
    cores: list[list[Turn]] = [[] for _ in range(core_count)]

    def left(core: list[Turn]) -> int:
        return seconds - sum(turn.seconds for turn in core)

    for name, share in shares.items():
        # A fuzzer that is given no time takes all there is.
        max(cores, key=left).append(Turn(name, max(1, int(share * seconds))))
    for core in cores:
        core.append(Turn(ENGINE, left(core)))
    return cores


def fuzz(turn: Turn, folder: Path) -> Found:
    """Run a fuzzer for its time.  Processes of one fuzzer read what the others write to its folder.

    An input over which a process was found asleep, beside much other work, does no harm if it is
    quick when it is run again; the fuzzer then goes on.
    """
    found, left_s = Found(), float(turn.seconds)
    while left_s >= 1:
        began_s = time.monotonic()
        done = _run(turn.fuzzer, folder, _told(turn.fuzzer, folder, int(left_s)))
        left_s -= time.monotonic() - began_s
        executed = re.search(r"number_of_executed_units: (\d+)", done.stderr)
        is_asleep = _was_asleep(turn.fuzzer, folder, done.stderr)
        crashes = int(done.returncode != 0 and not is_asleep)
        found += Found(int(executed[1]) if executed else 0, crashes, done.stderr[-2000:])
        if not is_asleep:
            break
    return found


def _told(name: str, folder: Path, seconds: int) -> list[str]:
    """Return the arguments of a fuzzer that runs for so long."""
    written = folder / name
    written.mkdir(parents=True, exist_ok=True)
    corpus = [str(CORPUS / name)] if (CORPUS / name).is_dir() else []
    return [
        str(written), *corpus, f"-max_total_time={seconds}", f"-max_len={_BYTES_MAX}",
        "-print_final_stats=1",
        # Weighing features by how rare they are takes longer than running an input.
        "-entropic=0",
    ]  # fmt: skip


def _run(name: str, folder: Path, told: list[str]) -> subprocess.CompletedProcess[str]:
    words = [str(BUILD / "bin" / f"{name}_fuzz"), *told, f"-timeout={_INPUT_LIMIT_S}",
             f"-artifact_prefix={folder}/{name}-"]  # fmt: skip
    quarantine = f"quarantine_size_mb={_QUARANTINE_MB.get(name, 16)}"
    given = os.environ.get("ASAN_OPTIONS")
    options = ":".join(filter(None, (quarantine, "malloc_context_size=2", given)))
    return subprocess.run(
        words, env={**os.environ, "ASAN_OPTIONS": options}, capture_output=True, text=True,
        errors="replace", check=False,
    )  # fmt: skip


def _was_asleep(name: str, folder: Path, said: str) -> bool:
    """Tell whether a fuzzer ended over an input that took long, and does so no more."""
    slow = re.search(r"Test unit written to (\S*-timeout-\S+)", said)
    return slow is not None and _run(name, folder, [slow[1]]).returncode == 0


def core_count() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))


def core_seconds(planned: list[list[Turn]]) -> dict[str, int]:
    """Return how long each fuzzer runs on all cores together."""
    together = dict.fromkeys(FUZZERS, 0)
    for turn in chain.from_iterable(planned):
        together[turn.fuzzer] += turn.seconds
    return together


def fuzz_all(folder: Path, planned: list[list[Turn]]) -> dict[str, Found]:
    """Run the fuzzers as planned, and return what each found."""

    def run_turns(core: Iterable[Turn]) -> list[tuple[str, Found]]:
        return [(turn.fuzzer, fuzz(turn, folder)) for turn in core]

    together = dict.fromkeys(FUZZERS, Found())
    with ThreadPoolExecutor(len(planned)) as pool:
        for of_core in pool.map(run_turns, planned):
            for name, found in of_core:
                together[name] += found
    return together


def run(workspace: Workspace, seconds: int = SECONDS) -> Outcome:
    """Build the fuzzers, run them for `seconds` on all cores, and count inputs and crashes."""
    with failing_as_run():
        workspace.say("building the fuzzers")
        build()
        planned = turns(core_count(), seconds)
        workspace.say(f"{', '.join(FUZZERS)} on {len(planned)} cores for {seconds} s in all")
        results = fuzz_all(workspace.folder, planned)
    counts = {name: found.inputs for name, found in results.items()}
    crashes = sum(found.crashes for found in results.values())
    notes = [f"{name}: {found.said}" for name, found in results.items() if found.crashes]
    figures = {f"{name}_inputs": float(count) for name, count in counts.items()}
    figures = {"inputs": float(sum(counts.values())), "crashes": float(crashes), **figures}
    bars = [Bar(name, float(count), "each") for name, count in counts.items()]
    bars.append(Bar("all together", figures["inputs"], "all"))
    return Outcome(
        figures=figures,
        rows=[Row(name, "-", f"{value:,.0f}") for name, value in figures.items()],
        conditions={
            "seconds": seconds, "core_seconds": core_seconds(planned), "bytes_max": _BYTES_MAX,
        },
        files=workspace.save(
            draw_bars(
                [(f"Inputs in {seconds} s", bars)], lambda value: f"{value:,.0f}",
                target=INPUTS_MIN,
            ),
            "hca-fuzz",
        ),
        notes=notes,
    )  # fmt: skip


_RUN = f"run of all fuzzers, for {SECONDS} s on each core"

EXPERIMENT = Experiment(
    name="hca-fuzz",
    paper="003 §2",
    summary="hostile bytes against parser, engine, port layer and connection manager",
    run=run,
    quick=Quick(partial(run, seconds=SECONDS_QUICK), takes_s=SECONDS_QUICK),
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
