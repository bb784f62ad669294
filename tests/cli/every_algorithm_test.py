# SPDX-License-Identifier: BSD-3-Clause
"""Programs like those of MPIs' own test suites, under forced rules for every algorithm.

In each turn every collective has a rule for all sizes, by another of its algorithms than in the
turn before.  LANEWISE_TEST_EVERY_ALGORITHM asks for all turns on 1 to 10 ranks, in all languages.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import write_platform
from run_test import LANGUAGES
from tuned_job import (
    EVERY_SIZE,
    PROGRAMS,
    REQUESTED,
    Compile,
    Run,
    counted,
    is_mpich_4_0,
    launch_line,
    tuning,
)

from lanewise.errors import RequestError
from lanewise.model.schedule import Algorithm, read_algorithms
from lanewise.tuning.content import NEIGHBORHOOD

ALL = bool(os.environ.get("LANEWISE_TEST_EVERY_ALGORITHM"))
# Of bcast, which has the most that need neither several hosts or sites nor a platform file.
MOST_ALGORITHMS = 10
TURN_NUMBERS = range(MOST_ALGORITHMS) if ALL else (0, 4)
STARTED_TURNS = range(MOST_ALGORITHMS) if ALL else (1,)
RANKS = range(1, 11) if ALL else (3,)
FEW = (2, 4, 7)
# Every turn on a few numbers of ranks, and each other number in one of the turns.
FEW_OR_ONCE = [
    *((turn, ranks) for turn in TURN_NUMBERS for ranks in FEW),
    *((ranks % MOST_ALGORITHMS, ranks) for ranks in RANKS if ranks not in FEW),
]
# None of them refuses a call, and under MPICH before 4.3 most go on.
SERVE_ALL = {
    "barrier": "dissemination",
    "bcast": "chain",
    "scatter": "linear_nb",
    "scatterv": "linear_nb",
    "gather": "linear_nb",
    "gatherv": "linear_nb",
    "allgather": "linear_nb",
    "allgatherv": "linear_nb",
    "alltoall": "linear_nb",
    "reduce": "linear_nb",
    "allreduce": "linear_nb",
    "reduce_scatter": "direct",
    "scan": "direct",
    "exscan": "direct",
}
ALLS = ("allgather", "alltoallv", "alltoallw")
# What a program on one host lacks unless files tell of it.
OF_PLACES = {"platform", "hosts", "sites"}
# Of scatter and gather, which have the most of these.
MOST_OF_PLACES = 5
PLACED_TURNS = range(MOST_OF_PLACES) if ALL else (0,)
PLACED_RANKS = range(2, 11) if ALL else (4,)
# Hosts with one to four ranks, in no order; those with even numbers are at one site.
HOSTS = (0, 1, 2, 0, 0, 1, 3, 2, 1, 3)


def by_collective(is_meant: Callable[[Algorithm], bool]) -> dict[str, list[Algorithm]]:
    """Return those algorithms of each collective that are meant."""
    try:
        listed = read_algorithms()
    except RequestError as missing:
        pytest.skip(str(missing))
    found: dict[str, list[Algorithm]] = {}
    for one in filter(is_meant, listed):
        found.setdefault(one.collective, []).append(one)
    return found


def usable() -> dict[str, list[Algorithm]]:
    """Return the algorithms of each collective that a program on one host can have."""
    return by_collective(lambda one: not OF_PLACES & set(one.restrictions))


def of_places() -> dict[str, list[Algorithm]]:
    """Return those that look at hosts, sites or a platform; those on two levels come first."""
    found = by_collective(lambda one: bool(OF_PLACES & set(one.restrictions)))
    for several in found.values():
        several.sort(key=lambda one: "hosts" not in one.restrictions)
    return found


def of_turn(turn: int) -> dict[str, Algorithm]:
    """Return the algorithm that each collective has a rule for in a turn."""
    return {c: found[turn % len(found)] for c, found in usable().items()}


def serves(one: Algorithm, ranks: int) -> bool:
    """Return whether an algorithm is for so many ranks; otherwise the MPI serves the call."""
    if "power_of_two" in one.restrictions:
        return ranks.bit_count() == 1
    return ranks > 1 and ("even_ranks" not in one.restrictions or ranks % 2 == 0)


def rules_of(family: str, turn: int, ranks: int) -> dict[str, object]:
    """Return a tuning file with the algorithms of a turn."""
    named = {c: one.name for c, one in of_turn(turn).items()}
    requested = {f"i{c}": name for c, name in named.items() if family == "openmpi"}
    named |= requested or REQUESTED[family]
    rules = {c: {"rules": [{**EVERY_SIZE, "algorithm": name}]} for c, name in named.items()}
    return tuning(family, ranks=ranks, layout=[ranks], collectives=rules)


def started_rules(family: str, named: dict[str, str], ranks: int) -> dict[str, object]:
    """Return a tuning file with these rules and no others."""
    rules = {c: {"rules": [{**EVERY_SIZE, "algorithm": name}]} for c, name in named.items()}
    return tuning(family, ranks=ranks, layout=[ranks], collectives=rules)


def rules_of_places(family: str, turn: int, ranks: int) -> dict[str, object]:
    """Return a tuning file with the algorithms of a turn that look at places."""
    rules = {}
    for collective, found in of_places().items():
        one = found[turn % len(found)]
        lanes = {"lanes": 2} if "lanes" in one.restrictions else {}
        rule = {"rules": [{**EVERY_SIZE, "algorithm": one.name, **lanes}]}
        rules[collective] = rule
        if family == "openmpi":
            rules[f"i{collective}"] = rule
    # What is compared with the layout is where ranks really are.
    return tuning(family, ranks=ranks, layout=[ranks], collectives=rules)


def write_placement(path: Path, ranks: int) -> None:
    """Write that the ranks are on `HOSTS`."""
    placed = [
        {"rank": rank, "host": f"h{host}", "site": "ab"[host % 2]}
        for rank, host in enumerate(HOSTS[:ranks])
    ]
    placement = {"schema": "lanewise-placement", "version": 1, "hosts": [], "ranks": placed}
    path.write_text(json.dumps(placement), encoding="utf-8")


def neighbor_rules(family: str, turn: int, ranks: int) -> dict[str, object]:
    """Return a tuning file with rules for neighborhood collectives, blocking and not."""
    named = {c: one.name for c, one in of_turn(turn).items() if c in NEIGHBORHOOD}
    started = {f"i{c}": name if family == "openmpi" else "linear_nb" for c, name in named.items()}
    return started_rules(family, named | started, ranks)


def assert_right(done: subprocess.CompletedProcess[str], turn: int) -> None:
    assert (done.returncode, done.stdout) == (0, "all right\n"), (
        f"turn {turn}: {done.stdout}{done.stderr}"
    )


def test_no_collective_has_more_algorithms_than_there_are_turns() -> None:
    assert max(map(len, usable().values())) <= MOST_ALGORITHMS
    assert max(map(len, of_places().values())) <= MOST_OF_PLACES


@pytest.mark.parametrize("case", [(turn, ranks) for turn in TURN_NUMBERS for ranks in RANKS])
@pytest.mark.one_mpi
def test_a_suite_of_collectives_is_right(
    mpi: str, case: tuple[int, int], compiled: Compile, run: Run, tmp_path: Path
) -> None:
    turn, ranks = case
    program = str(compiled(mpi, "mpicc", "suite.c -pthread"))

    done = run([*launch_line(mpi, ranks), program], rules_of(mpi, turn, ranks))

    assert_right(done, turn)
    intercepted = counted(tmp_path, "intercepted")
    served = {c for c in ALLS if intercepted.get(c)}
    assert ranks == 1 or served >= {c for c in ALLS if serves(of_turn(turn)[c], ranks)}


@pytest.mark.parametrize("case", [(turn, ranks) for turn in PLACED_TURNS for ranks in PLACED_RANKS])
@pytest.mark.one_mpi
def test_a_suite_is_right_by_algorithms_that_look_at_hosts_sites_or_a_platform(
    mpi: str, case: tuple[int, int], compiled: Compile, run: Run, tmp_path: Path
) -> None:
    turn, ranks = case
    program = str(compiled(mpi, "mpicc", "suite.c -pthread"))
    platform, placement = tmp_path / "platform.json", tmp_path / "placement.json"
    write_platform(platform, ranks)
    write_placement(placement, ranks)
    rules, where = rules_of_places(mpi, turn, ranks), {"LANEWISE_PLACEMENT": str(placement)}

    done = run([*launch_line(mpi, ranks), program], rules, "--platform", str(platform), **where)

    assert_right(done, turn)
    assert done.stderr == ""
    intercepted = counted(tmp_path, "intercepted")
    assert {c for c in of_places() if not intercepted.get(c)} == set()


@pytest.mark.parametrize("case", [(turn, ranks) for turn in TURN_NUMBERS for ranks in RANKS])
def test_neighborhood_collectives_are_right_on_every_topology(
    mpi: str, case: tuple[int, int], compiled: Compile, run: Run, tmp_path: Path
) -> None:
    turn, ranks = case
    program = str(compiled(mpi, "mpicc", "neighbors.c"))
    # MPICH 4.0 fails in persistent collectives of its own.
    words = ["without"] if is_mpich_4_0(mpi) else []

    done = run([*launch_line(mpi, ranks), program, *words], neighbor_rules(mpi, turn, ranks))

    assert_right(done, turn)
    intercepted = counted(tmp_path, "intercepted")
    served = {name for name in intercepted if "neighbor" in name and intercepted[name] > 0}
    assert ranks == 1 or served == {f"{i}{name}" for i in ("", "i") for name in NEIGHBORHOOD}


@pytest.mark.parametrize("case", [(turn, ranks) for turn in STARTED_TURNS for ranks in RANKS])
@pytest.mark.one_mpi
def test_persistent_collectives_are_right(
    mpi: str, case: tuple[int, int], compiled: Compile, run: Run, tmp_path: Path
) -> None:
    if is_mpich_4_0(mpi):
        pytest.skip("MPICH 4.0 fails in persistent collectives of its own")
    turn, ranks = case
    program = str(compiled(mpi, "mpicc", "persistent_rules.c"))
    named = {f"i{c}": one.name for c, one in of_turn(turn).items()}

    done = run([*launch_line(mpi, ranks), program], started_rules(mpi, named, ranks))

    assert_right(done, turn)
    assert ranks == 1 or counted(tmp_path, "intercepted")["ibcast"] > 0


@pytest.mark.one_mpi
def test_what_persistent_collectives_need_may_be_freed_before_they_are_started(
    mpi: str, compiled: Compile, run: Run, tmp_path: Path
) -> None:
    program = str(compiled(mpi, "mpicc", "persistent_rules.c"))
    rules = started_rules(mpi, {f"i{c}": name for c, name in SERVE_ALL.items()}, 3)
    # Of MPICH 4.0 these are its own, and it fails to test them.
    left_out = {"barrier", "bcast"} if is_mpich_4_0(mpi) else set()

    done = run([*launch_line(mpi, 3), program, "early", *sorted(left_out)], rules)

    assert_right(done, 0)
    intercepted, forwarded = counted(tmp_path, "intercepted"), counted(tmp_path, "forwarded")
    used = {f"i{c}" for c in SERVE_ALL if c not in left_out}
    assert {c for c in used if intercepted[c] > 0 and forwarded[c] == 0} == used


if ALL:

    @pytest.mark.parametrize("case", FEW_OR_ONCE)
    @pytest.mark.parametrize("language", LANGUAGES)
    def test_a_program_in_any_language_is_right(
        mpi: str, language: str, case: tuple[int, int], compiled: Compile, run: Run
    ) -> None:
        turn, ranks = case
        wrapper, words = LANGUAGES[language]
        program = str(compiled(mpi, wrapper, " ".join(words)))

        assert_right(run([*launch_line(mpi, ranks), program], rules_of(mpi, turn, ranks)), turn)

    @pytest.mark.parametrize("case", FEW_OR_ONCE)
    def test_a_python_program_is_right(
        mpi: str, case: tuple[int, int], abi_names: Path, run: Run
    ) -> None:
        turn, ranks = case
        # The mpi4py of Debian is for Open MPI, and the one of PyPI for any MPI that it finds.
        python = shutil.which("python3", path="/usr/bin") if mpi == "openmpi" else None
        python = python or sys.executable
        found = {"MPI4PY_MPIABI": mpi, "LD_LIBRARY_PATH": str(abi_names)}
        if subprocess.run(
            [python, "-c", "import mpi4py"], capture_output=True, check=False
        ).returncode:
            pytest.skip("no mpi4py; install python3-mpi4py, and pip install 'lanewise[dev]'")
        line = [*launch_line(mpi, ranks), python, str(PROGRAMS / "collectives.py")]

        done = run(line, rules_of(mpi, turn, ranks), **found)

        assert_right(done, turn)
