# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise run --profile`: ranks that come late on purpose are found, and where they come from."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from tuned_job import Run, launch_line, tuning

from lanewise.launch.choose import executable_of
from lanewise.launch.registry import LAUNCHERS
from lanewise.profile.content import Place, Profile
from lanewise.profile.read import load

PROGRAMS = Path(__file__).with_name("run_programs")
# Ranks of MPICH give way less readily while they wait, so there are not more than usual cores.
RANKS = {"openmpi": 4, "mpich": 2}
TIMEOUT_S = 120
# As in late.c: so often, so long.
INJECTED_S = 8 * 0.020
# Tests of one worker, which look at one run of late.c under each MPI.
OF_ONE_RUN = pytest.mark.xdist_group("late")
OF_DUPLICATES = pytest.mark.xdist_group("duplicates_in_turn")

Compile = Callable[[str, str, str], Path]
RunProfiled = Callable[..., Profile]


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> RunProfiled:
    """Give the function that runs a program on several ranks and reads its profile."""

    def run_profiled(family: str, *words: str, **variables: str) -> Profile:
        folder = tmp_path_factory.mktemp("profiled")
        shared = ["--oversubscribe", "--bind-to", "none"] if family == "openmpi" else []
        executable = str(executable_of(LAUNCHERS[family], os.environ))
        line = [executable, *shared, "-n", str(RANKS[family])]
        done = subprocess.run(
            [sys.executable, "-m", "lanewise", "run", "--profile", "profile.json", "--",
             *line, *words],
            cwd=folder, capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
            env={**os.environ, "OMPI_MCA_mpi_yield_when_idle": "1", **variables},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert f"who was late: {RANKS[family]} ranks" in done.stderr
        return load(folder / "profile.json")

    return run_profiled


@pytest.fixture(scope="module")
def profile_of_late(compiled: Compile, profiled: RunProfiled) -> RunProfiled:
    """Give the function that runs late.c once under an MPI, and gives its profile each time."""

    @cache
    def run_late(family: str, *words: str) -> Profile:
        return profiled(family, str(compiled(family, "mpicc", "-g late.c")), *words)

    return run_late


def place_in(profile: Profile, function: str, operation: str) -> Place:
    """Return the place of an operation that is called from a function of the program."""
    [place] = [
        place
        for place in profile.places
        if profile.sites[place.site].function == function and place.operation == operation
    ]
    return place


def lateness_of(place: Place, rank: int) -> float:
    return sum(part.lateness_s for part in place.ranks if part.rank == rank)


@OF_ONE_RUN
def test_each_late_rank_is_found_at_the_call_before_which_it_was_late(
    mpi: str, profile_of_late: RunProfiled
) -> None:
    profile = profile_of_late(mpi)

    late = {"barrier": 1, "allreduce": 2, "bcast": 0, "gather": 3}
    for operation, who in late.items():
        rank = who % RANKS[mpi]
        place = place_in(profile, f"before_{operation}", operation)
        assert profile.sites[place.site].source.startswith("late.c:"), operation
        assert place.calls == 8, operation
        assert lateness_of(place, rank) > 0.8 * INJECTED_S, operation
        assert place.latest()[0].rank == rank, operation
        assert place.waiting_s > 0.8 * INJECTED_S, operation


@OF_ONE_RUN
def test_a_rank_is_late_only_for_those_who_wait_for_it(
    mpi: str, profile_of_late: RunProfiled
) -> None:
    profile = profile_of_late(mpi)

    bcast = place_in(profile, "before_bcast", "bcast")
    assert [part.rank for part in bcast.ranks if part.lateness_s > 0] == [0]
    gather = place_in(profile, "before_gather", "gather")
    assert [part.rank for part in gather.ranks if part.waiting_s > 0] == [0]


@OF_ONE_RUN
def test_a_rank_is_late_only_for_the_neighbors_that_it_sends_to(
    mpi: str, profile_of_late: RunProfiled
) -> None:
    profile = profile_of_late(mpi)

    place = place_in(profile, "before_exchange", "neighbor_allgather")
    waiting = {part.rank: part.waiting_s for part in place.ranks}
    assert lateness_of(place, 0) > 0.8 * INJECTED_S
    assert place.latest()[0].rank == 0
    assert waiting.pop(1) > max(0.8 * INJECTED_S, sum(waiting.values()))


@OF_ONE_RUN
def test_communicators_that_come_and_go_are_told_apart(
    mpi: str, profile_of_late: RunProfiled
) -> None:
    profile = profile_of_late(mpi)

    pairs = place_in(profile, "in_pairs", "barrier")
    late = 3 % RANKS[mpi]
    waiting = {part.rank: part.waiting_s for part in pairs.ranks}
    assert pairs.calls == 8
    assert lateness_of(pairs, late) > 0.8 * INJECTED_S
    assert waiting.pop(late - 1) > max(0.8 * INJECTED_S, *waiting.values(), sum(waiting.values()))
    assert (profile.calls.incomplete, profile.calls.mismatched) == (0, 0)


@OF_ONE_RUN
@pytest.mark.one_mpi
def test_a_late_rank_is_found_however_the_end_of_a_call_that_does_not_block_is_asked_for(
    mpi: str, profile_of_late: RunProfiled
) -> None:
    profile = profile_of_late(mpi, "unblocked")

    late = {
        ("wait_for_allreduce", "iallreduce"): (2, 8),
        ("test_bcast", "ibcast"): (0, 8),
        ("start_bcast", "persistent_bcast"): (0, 8),
    }
    for (function, operation), (who, calls) in late.items():
        rank = who % RANKS[mpi]
        place = place_in(profile, function, operation)
        assert place.calls == calls, operation
        assert lateness_of(place, rank) > 0.8 * INJECTED_S, operation
        assert place.latest()[0].rank == rank, operation
        assert place.waiting_s > 0.8 * INJECTED_S, operation
    assert (profile.calls.nonblocking, profile.calls.incomplete) == (0, 0)


@OF_ONE_RUN
@pytest.mark.one_mpi
def test_a_delay_that_passes_while_others_compute_is_lateness_for_which_nobody_waits(
    mpi: str, profile_of_late: RunProfiled
) -> None:
    profile = profile_of_late(mpi, "unblocked")

    place = place_in(profile, "overlap_barrier", "ibarrier")
    rank = 1 % RANKS[mpi]
    assert lateness_of(place, rank) > 0.8 * INJECTED_S
    others = [part for part in place.ranks if part.rank != rank]
    assert max(part.waiting_s for part in others) < 0.5 * lateness_of(place, rank)


@OF_ONE_RUN
@pytest.mark.one_mpi
def test_of_several_pending_calls_each_ends_where_it_is_found_complete(
    mpi: str, profile_of_late: RunProfiled
) -> None:
    profile = profile_of_late(mpi, "unblocked")

    [*places] = [place for place in profile.places if place.operation == "igather"]
    rank = 3 % RANKS[mpi]
    assert [place.calls for place in places] == [8, 8]
    assert all(lateness_of(place, rank) > 0.8 * INJECTED_S for place in places)
    waiting = [part for place in places for part in place.ranks if part.waiting_s > 0]
    assert {part.rank for part in waiting} == {0}


@pytest.mark.one_mpi
def test_a_full_log_keeps_the_same_calls_on_all_ranks(
    mpi: str, compiled: Compile, profiled: RunProfiled
) -> None:
    program = compiled(mpi, "mpicc", "late.c")

    profile = profiled(mpi, str(program), "1000", LANEWISE_PROFILE_CALLS="100")

    assert profile.calls.one_in >= 8
    assert profile.calls.incomplete == 0
    ranks = RANKS[mpi]
    assert 10 * ranks < profile.calls.attributed <= 100 * ranks
    assert profile.calls.attributed + profile.calls.forgotten == ranks * (8 * 8 + 8 * 2 + 1000)


@pytest.mark.one_mpi
def test_a_function_that_is_inlined_is_one_place_for_each_of_its_callers(
    mpi: str, compiled: Compile, profiled: RunProfiled
) -> None:
    profile = profiled(mpi, str(compiled(mpi, "mpicc", "-g -O2 inlined.c")))

    texts = {profile.sites[place.site].text() for place in profile.places}
    assert texts == {
        "total inlined.c:7 in residual inlined.c:12",
        "total inlined.c:7 in energy inlined.c:16",
    }


@pytest.mark.parametrize(
    "folder",
    ["x" * 200 + "/" + "y" * 200, os.fsdecode(b"caf\xe9"), os.fsdecode(100 * b"\xe9")],
    ids=["long", "not UTF-8", "long and not UTF-8"],
)
@pytest.mark.one_mpi
def test_places_have_their_names_whatever_the_path_of_the_program_is(
    folder: str, mpi: str, compiled: Compile, profiled: RunProfiled, tmp_path: Path
) -> None:
    program = tmp_path / folder / "inlined"
    program.parent.mkdir(parents=True)
    shutil.copy(compiled(mpi, "mpicc", "-g -O2 inlined.c"), program)

    profile = profiled(mpi, str(program))

    assert {profile.sites[place.site].function for place in profile.places} == {"total"}


@OF_DUPLICATES
def test_duplicates_are_told_apart_in_whatever_order_ranks_use_them(
    mpi: str, compiled: Compile, profiled: RunProfiled
) -> None:
    profile = profiled(mpi, str(compiled(mpi, "mpicc", "-g duplicates_in_turn.c")))

    for function in ("start_on_first", "start_on_second"):
        place = place_in(profile, function, "ibarrier")
        assert {part.site for part in place.ranks} == {place.site}, function
        assert [part.calls for part in place.ranks] == [1] * RANKS[mpi], function
    assert (profile.calls.incomplete, profile.calls.mismatched) == (0, 0)


@OF_DUPLICATES
@pytest.mark.one_mpi
def test_a_call_with_a_wrong_argument_leaves_the_later_ones_where_they_are(
    mpi: str, compiled: Compile, profiled: RunProfiled
) -> None:
    profile = profiled(mpi, str(compiled(mpi, "mpicc", "-g duplicates_in_turn.c")))

    assert place_in(profile, "broadcast", "bcast").rank_count == RANKS[mpi]
    assert (profile.calls.incomplete, profile.calls.mismatched) == (0, 0)


@pytest.mark.one_mpi
def test_a_rank_without_memory_for_the_profile_ends_as_without_one(
    mpi: str, compiled: Compile, run: Run, tmp_path: Path
) -> None:
    program = str(compiled(mpi, "mpicc", "no_memory_at_end.c"))

    done = run(
        [*launch_line(mpi, 2), program], tuning(mpi), "--profile", "profile.json", report=False
    )

    assert (done.returncode, done.stdout) == (0, "ended well\n"), done.stderr
    assert "no memory to bring the recorded calls together" in done.stderr
    assert not (tmp_path / "profile.json").exists()


@pytest.mark.parametrize("how", ["-DWITH_HEADER -w -fallow-argument-mismatch", "-DWITH_F08"])
@pytest.mark.one_mpi
def test_calls_of_fortran_are_attributed_to_the_program(
    how: str, mpi: str, compiled: Compile, profiled: RunProfiled
) -> None:
    program = compiled(mpi, "mpif90", f"-g {how} collectives.F90")

    profile = profiled(mpi, str(program))

    objects = {Path(profile.sites[place.site].object).name for place in profile.places}
    assert objects == {program.name}
    assert {"bcast", "ibcast"} <= {place.operation for place in profile.places}
    assert (profile.calls.nonblocking, profile.calls.incomplete) == (0, 0)
