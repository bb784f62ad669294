# SPDX-License-Identifier: BSD-3-Clause
"""Copies of the sources that may be changed, their tests, and which lines each test executes.

Everything lies in build/mutants and is built without optimisation, so that lines are counted (gcov)
as they stand.  The first copy also tells what the tests execute before anything is changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "build" / "mutants"
COUNTS = HOME / "counting"  # where programs write how often each line was executed
PARTS = ("src/base", "src/measure", "src/collectives", "src/verbs/proto", "src/wavefront")

# What a changed program may take before the system stops it.
MEMORY_BYTES = 6 << 30
FILE_BYTES = 1 << 30
# How long a test may run: so many times what it took unchanged, and more where it took little. For
# what waits for ever, this is time by the clock, which a busy machine makes longer.
SLOWDOWN = 20
GRACE_S = 30.0
# The same for what computes for ever, in processor time of each process, which it does not. Ranks
# that wait for a message that never comes compute, too.
COMPUTING_SLOWDOWN = 5
COMPUTING_S = 10
# Of the runs of an MPI test on different numbers of ranks: the largest up to this, and the largest.
FEW_RANKS = 4
# Tests of many cases take no more of them than every day.
FEW_CASES = {"LANEWISE_FEW_CASES": "1"}
# Headers that more objects include are left alone; a change of one would build half of the tree.
INCLUDED_MAX = 12

_FLAGS = "-O0 --coverage"
_OPTIONS = {
    "CMAKE_BUILD_TYPE": "Debug",
    "CMAKE_C_FLAGS_DEBUG": _FLAGS,
    "CMAKE_CXX_FLAGS_DEBUG": _FLAGS,
    "CMAKE_EXPORT_COMPILE_COMMANDS": "ON",
    "LANEWISE_TESTS": "ON",
    "LANEWISE_TESTS_ALONE": "ON",
    "LANEWISE_EXPERIMENTS": "OFF",
    "LANEWISE_BENCHMARKS": "OFF",
    "LANEWISE_EXAMPLES": "OFF",
}


@dataclass(frozen=True)
class Test:
    """A test as CTest knows it, and the target that builds its program."""

    name: str
    target: str
    command: list[str]
    environment: dict[str, str]
    source: str  # where its test file lies, relative to the root
    ranks: int

    def moved(self, of: Path, to: Path) -> Test:
        """Return the same test in another build."""
        command = [word.replace(str(of), str(to)) for word in self.command]
        variables = {
            key: value.replace(str(of), str(to)) for key, value in self.environment.items()
        }
        return replace(self, command=command, environment=variables)


class Tree:
    """A copy of the sources with a build of its own."""

    def __init__(self, number: int) -> None:
        self.source = HOME / str(number) / "source"
        self.build = HOME / str(number) / "build"

    def prepare(self) -> None:
        """Bring the copy up to date and configure its build."""
        listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT,
                                capture_output=True, check=True).stdout.decode()  # fmt: skip
        wanted = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
        for name in wanted:
            self.write(name, (ROOT / name).read_bytes())
        for path in [path for path in self.source.rglob("*") if path.is_file()]:
            if str(path.relative_to(self.source)) not in wanted:
                path.unlink()
        if not (self.build / "build.ninja").exists():
            words = [f"-D{key}={value}" for key, value in _OPTIONS.items()]
            output_of(
                ["cmake", "-G", "Ninja", "-S", str(self.source), "-B", str(self.build), *words]
            )
        # What was added since then is a target, too.
        output_of(["ninja", "-C", str(self.build), "build.ninja"])

    def write(self, name: str, content: bytes) -> None:
        """Give a file of the copy this content, where it has another."""
        path = self.source / name
        if path.exists() and path.read_bytes() == content:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        shutil.copymode(ROOT / name, path)

    def ninja(self, targets: Iterable[str], jobs: int) -> bool:
        """Build targets; tell whether they could be built."""
        line = ["ninja", "-C", str(self.build), "-j", str(jobs), *targets]
        done = subprocess.run(line, capture_output=True, text=True, check=False,
                              env={**os.environ, "CCACHE_DIR": str(HOME / "ccache")})  # fmt: skip
        (self.build / "last.log").write_text(done.stdout + done.stderr, encoding="utf-8")
        return done.returncode == 0

    def programs(self, parts: Sequence[str]) -> dict[str, str]:
        """Return the test programs of parts, and where the first source of each lies."""
        found = re.findall(
            r"^build (src/\S+)/CMakeFiles/([\w-]+)\.dir/(\S+?_test\.cpp)\.o:",
            (self.build / "build.ninja").read_text(encoding="utf-8"), flags=re.MULTILINE,
        )  # fmt: skip
        folders = {
            target: f"{(Path(folder) / inside).parent}/"
            for folder, target, inside in reversed(found)
        }
        return {
            target: folder
            for target, folder in folders.items()
            if folder.startswith(tuple(f"{part}/" for part in parts))
        }

    def tests(self, parts: Sequence[str]) -> list[Test]:
        """Return the tests by those programs, once they are built."""
        shown = output_of(["ctest", "--test-dir", str(self.build), "--show-only=json-v1"])
        programs = self.programs(parts)
        found: dict[str, list[Test]] = defaultdict(list)
        for entry in json.loads(shown)["tests"]:
            if test := _test(entry, programs):
                found[test.target].append(test)
        return [test for tests in found.values() for test in _few(tests)]

    def included(self) -> dict[str, int]:
        """Return how many objects have each header among their dependencies."""
        count: dict[str, int] = defaultdict(int)
        prefix = f"{self.source}/"
        for line in output_of(["ninja", "-C", str(self.build), "-t", "deps"]).splitlines():
            path = os.path.normpath(self.build / line.strip())
            if line.startswith("    ") and path.startswith(prefix):
                count[path[len(prefix) :]] += 1
        return count

    def optimised(self, name: str) -> str | None:
        """Return the assembly that -O2 makes of a source, or None where it makes none."""
        commands = json.loads((self.build / "compile_commands.json").read_text(encoding="utf-8"))
        for entry in commands:
            if entry["file"] == str(self.source / name):
                line = re.sub(r" -o \S+ -c ", " -O2 -g0 -S -o - -c ", entry["command"])
                line = line.replace(" -O0", "").replace(" --coverage", "")
                done = subprocess.run(line, shell=True, cwd=entry["directory"], text=True,
                                      capture_output=True, check=False)  # fmt: skip
                return done.stdout if done.returncode == 0 else None
        return None


def output_of(line: list[str]) -> str:
    """Run a command that must succeed and return what it prints."""
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(line)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def _test(entry: dict[str, Any], programs: dict[str, str]) -> Test | None:
    """Return a test, or None for one that is not a program of its own or takes minutes."""
    properties = {each["name"]: each["value"] for each in entry["properties"]}
    name, _, ranks = entry["name"].rpartition("_")
    target, count = (name, int(ranks)) if ranks.isdigit() else (entry["name"], 1)
    pairs = [tuple(word.split("=", 1)) for word in properties.get("ENVIRONMENT", [])]
    loads = any(key == "LD_PRELOAD" and "give_way" not in value for key, value in pairs)
    if (
        target not in programs
        or "command" not in entry
        or loads
        or "slow" in properties.get("LABELS", [])
    ):
        return None
    return Test(entry["name"], target, entry["command"], dict(pairs), programs[target], count)


def _few(tests: list[Test]) -> list[Test]:
    """Return two of the runs of one program."""
    by_ranks = sorted(tests, key=lambda test: test.ranks)
    few = [test for test in by_ranks if test.ranks <= FEW_RANKS] or by_ranks[:1]
    return list({test.name: test for test in (few[-1], by_ranks[-1])}.values())


def execute(test: Test, limit_s: float) -> tuple[int | None, float]:
    """Run a test; return its exit status, None where it was stopped, and how long it took."""
    computing_s = COMPUTING_S + int((limit_s - GRACE_S) / SLOWDOWN * COMPUTING_SLOWDOWN)
    limits = [f"--as={MEMORY_BYTES}", f"--fsize={FILE_BYTES}", "--core=0",
              f"--cpu={computing_s}:{computing_s + 5}"]  # fmt: skip
    began_s = time.monotonic()
    running = subprocess.Popen(
        ["prlimit", *limits, *test.command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True,
        env={**os.environ, **test.environment, "GCOV_PREFIX": str(COUNTS), **FEW_CASES},
    )  # fmt: skip
    status: int | None = None
    # A launcher that is told to end ends its ranks; one that is killed leaves them behind.
    for wait_s, then in ((limit_s, signal.SIGTERM), (5.0, signal.SIGKILL), (5.0, None)):
        try:
            status = running.wait(wait_s)
            break
        except subprocess.TimeoutExpired:
            if then is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(running.pid, then)
    took_s = time.monotonic() - began_s
    late = took_s >= limit_s or status == -signal.SIGXCPU
    return (None if late else status), took_s


@dataclass
class Coverage:
    """Which programs execute which lines, and how long each test takes."""

    lines: dict[str, dict[int, list[str]]]  # of each source: line to the programs
    executable: dict[str, int]  # of each source: lines that are code
    took_s: dict[str, float]  # of each test that passes
    failing: list[str]

    def limit_s(self, test: Test) -> float:
        """Return how long a test of changed code may take."""
        return GRACE_S + SLOWDOWN * self.took_s[test.name]


def measure_coverage(tree: Tree, tests: list[Test]) -> Coverage:
    """Run every test once, or read what it executed when its program was the same."""
    coverage = Coverage(defaultdict(dict), {}, {}, [])
    code: dict[str, set[int]] = defaultdict(set)
    by_target: dict[str, list[Test]] = defaultdict(list)
    for test in tests:
        by_target[test.target].append(test)
    for target, runs in by_target.items():
        one = _coverage_of(tree, target, runs)
        coverage.took_s.update(one["took_s"])
        coverage.failing += one["failing"]
        for name, (executable, executed) in one["lines"].items():
            code[name].update(executable)
            for line in executed:
                coverage.lines[name].setdefault(line, []).append(target)
    coverage.executable = {name: len(lines) for name, lines in code.items()}
    return coverage


def _coverage_of(tree: Tree, target: str, runs: list[Test]) -> dict[str, Any]:
    """Run the tests of one program; return their times and failures, and lines by source."""
    program = hashlib.sha256((tree.build / "bin" / target).read_bytes()).hexdigest()
    kept = HOME / "counts" / f"{target}-{program[:16]}.json"
    if kept.exists():
        return dict(json.loads(kept.read_text(encoding="utf-8")))
    shutil.rmtree(COUNTS, ignore_errors=True)
    found: dict[str, Any] = {"took_s": {}, "failing": [], "lines": {}}
    for test in runs:
        status, took_s = execute(test, 600.0)
        if status == 0:
            found["took_s"][test.name] = took_s
        elif status != 77:
            found["failing"].append(test.name)
    code: dict[str, set[int]] = defaultdict(set)
    executed: dict[str, set[int]] = defaultdict(set)
    for name, line, count in _counted(tree, COUNTS):
        code[name].add(line)
        if count > 0:
            executed[name].add(line)
    found["lines"] = {name: (sorted(code[name]), sorted(executed[name])) for name in sorted(code)}
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(json.dumps(found), encoding="utf-8")
    return found


def _counted(tree: Tree, counts: Path) -> Iterable[tuple[str, int, int]]:
    """Return each line of PARTS in the counts of one program, and how often it was executed."""
    prefix = f"{tree.source}/"
    for data in counts.rglob("*.gcda"):
        notes = Path("/") / data.relative_to(counts).with_suffix(".gcno")
        if notes.exists():
            data.with_suffix(".gcno").symlink_to(notes)
    for folder in {data.parent for data in counts.rglob("*.gcda")}:
        names = [str(data) for data in folder.glob("*.gcda") if data.with_suffix(".gcno").exists()]
        if not names:
            continue
        done = subprocess.run(["gcov", "--json-format", "--stdout", *names], cwd=folder,
                              capture_output=True, text=True, check=False)  # fmt: skip
        for report in done.stdout.splitlines():
            compiled = json.loads(report)
            for file in compiled["files"]:
                where = Path(compiled["current_working_directory"]) / file["file"]
                path = os.path.normpath(where)
                name = path.removeprefix(prefix)
                if name == path or not name.startswith(tuple(f"{part}/" for part in PARTS)):
                    continue
                for line in file["lines"]:
                    yield name, line["line_number"], line["count"]
