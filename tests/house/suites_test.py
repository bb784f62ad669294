# SPDX-License-Identifier: BSD-3-Clause
"""Every test is of a suite: what `make test` leaves out, `make test-all` runs."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch

import pytest
from tree import ROOT, files

import suites

ALL = suites.everyday() + suites.thorough()
MARK = re.compile(r"\bmark\.(thorough|one_mpi)\b")


@dataclass(frozen=True)
class Choice:
    """What a suite of pytest runs: files below places, but for others, with a mark or without."""

    places: tuple[str, ...]
    ignored: tuple[str, ...]
    expression: str
    by_name: str

    def takes(self, name: str, *, marked: bool) -> bool:
        """Tell whether it runs tests of a file, marked thorough or not."""
        if self.by_name or not _below(name, self.places) or _below(name, self.ignored):
            return False
        return self.expression in {"", "thorough" if marked else "not thorough"}


def _below(name: str, places: tuple[str, ...]) -> bool:
    return any(name == place or name.startswith(f"{place}/") for place in places)


def choices(chosen: list[suites.Suite]) -> Iterator[Choice]:
    """Return what the suites of pytest among these run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("places", nargs="+")
    parser.add_argument("--ignore", action="append", default=[])
    parser.add_argument("-m", default="")
    parser.add_argument("-k", default="")
    for option in ("--numprocesses", "--dist", "--tb", "--junitxml", "-p"):
        parser.add_argument(option)
    for flag in ("-v", "--no-loadscope-reorder"):
        parser.add_argument(flag, action="store_true")
    for suite in chosen:
        if "pytest" in suite.run:
            words = suite.run[suite.run.index("pytest") + 1 :]
            read = parser.parse_args(words)
            yield Choice(tuple(read.places), tuple(read.ignore), read.m, read.k)


def python_files() -> list[str]:
    found = (path.as_posix() for path in files(ROOT, ".py"))
    return [name for name in found if name.endswith("_test.py")]


def is_marked(name: str) -> bool:
    return bool(MARK.search((ROOT / name).read_text(encoding="utf-8")))


@pytest.mark.parametrize("marked", [False, True], ids=["unmarked", "marked"])
def test_make_test_all_runs_every_test_in_python(marked: bool) -> None:  # noqa: FBT001
    known = list(choices(ALL))
    tests = [name for name in python_files() if not marked or is_marked(name)]

    left = [name for name in tests if not any(one.takes(name, marked=marked) for one in known)]

    assert tests
    assert left == []


def test_make_test_runs_no_test_that_is_marked_thorough() -> None:
    daily = list(choices(suites.everyday()))

    marked = [name for name in python_files() if is_marked(name)]
    assert marked
    assert [name for name in marked if any(one.takes(name, marked=True) for one in daily)] == []


def test_each_suite_of_marked_tests_has_some() -> None:
    marked = [name for name in python_files() if is_marked(name)]
    for one in choices(suites.thorough()):
        if one.expression == "thorough":
            assert any(one.takes(name, marked=True) for name in marked), one.places


def runs(suite: suites.Suite, labels: tuple[str, ...]) -> bool:
    """Tell whether a suite of CTest runs a test with these labels."""
    words = suite.run
    if {"-R", "-E"} & set(words):
        return False
    wanted = {option: words[words.index(option) + 1] for option in ("-L", "-LE") if option in words}
    found = {option: any(re.search(e, one) for one in labels) for option, e in wanted.items()}
    return found.get("-L", True) and not found.get("-LE", False)


def of_ctest(folder: str) -> list[suites.Suite]:
    return [suite for suite in ALL if suite.run[0] == "ctest" and folder in suite.run]


@pytest.mark.parametrize("folder", suites.TREES.values())
@pytest.mark.parametrize("often", ["daily", "thorough", ""])
def test_every_test_of_a_tree_is_of_one_suite(folder: str, often: str) -> None:
    labels = ("unit", often) if often else ("unit",)

    (only,) = [suite for suite in of_ctest(folder) if runs(suite, labels)]

    assert (only in suites.everyday()) == (often == "daily")


@pytest.mark.parametrize("folder", ["build/release", "build/mpich"])
def test_what_is_slow_is_run_by_make_test_all(folder: str) -> None:
    of_tree = [suite for suite in of_ctest(folder) if runs(suite, ("mpi", "slow"))]

    assert len(of_tree) == 1
    assert of_tree[0] not in suites.everyday()


def called(name: str) -> suites.Suite:
    (one,) = [suite for suite in ALL if suite.name == name]
    return one


TIDY = [suite for suite in ALL if suite.run[0] == "run-clang-tidy"]


@pytest.mark.parametrize("suite", TIDY, ids=lambda suite: suite.name)
def test_what_clang_tidy_reads_is_written_before_it_runs(suite: suites.Suite) -> None:
    folder = suite.run[suite.run.index("-p") + 1]

    configured = [step for step in suite.prepare if step[0] == "cmake" and folder in step]
    assert any("-DCMAKE_EXPORT_COMPILE_COMMANDS=ON" in step for step in configured)
    # No step builds precompiled headers.
    assert any("-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON" in step for step in configured)


def test_one_of_the_suites_of_clang_tidy_makes_each_check() -> None:
    text = (ROOT / ".clang-tidy").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^Checks: >\n((?:  .*\n)+)", text, re.M)
    checks = [name for name in re.split(r"[\s,]+", listed) if name and name[0] != "-"]
    left_out = [
        word.removeprefix("-checks=").replace(",-", " ").removeprefix("-").split()
        for suite in TIDY for word in suite.run if word.startswith("-checks=")
    ]  # fmt: skip

    made = {
        check: sum(not any(fnmatch(check, one) for one in those) for those in left_out)
        for check in checks
    }

    assert len(left_out) == 2
    assert set(made.values()) == {1}, made


def test_all_fuzzers_end_within_the_time_of_their_suite() -> None:
    suite = called("fuzz")

    (seconds,) = [word.partition("=")[2] for word in suite.run if word.startswith("LANEWISE_FUZZ")]
    assert int(seconds) < 0.8 * suite.limit_s  # they are also built


@pytest.mark.parametrize(
    ("user", "program", "steps"),
    [(0, "/usr/bin/mmdebstrap", 2), (1000, "/usr/bin/mmdebstrap", 0), (0, None, 0)],
    ids=["root", "anybody", "no program"],
)
def test_the_debian_with_open_mpi_6_is_made_where_it_can_be(
    user: int, program: str | None, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("suites.os.geteuid", lambda: user)
    monkeypatch.setattr("suites.shutil.which", lambda _name: program)

    (suite,) = [one for one in suites.thorough() if one.name == "Open MPI 6"]

    assert len(suite.prepare) == steps
