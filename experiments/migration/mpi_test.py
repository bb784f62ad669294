# SPDX-License-Identifier: BSD-3-Clause
"""What a cut costs is the time of mpirun over rounds, and a wrong result is told."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.experiment import Outcome
from experiments.migration import mpi_cuts
from experiments.migration.mpi import (
    CUT,
    EXPERIMENT,
    FOR_EVER,
    KINDS,
    WHOLE,
    WHOLE_RUN,
    Rounds,
    cut_into,
    order_of,
    outcome,
    rank_count,
)
from experiments.migration.mpi_cuts import FOR_EVER_S, Pull, Ran
from experiments.run import Finished
from experiments.show import as_object
from experiments.workspace import Workspace
from lanewise.errors import RunError

TIMED = Path(mpi_cuts.__file__).with_name("timed_launch.py")


def ran(launch_s: float, seconds: float | None = 10.0, result: str = "") -> Ran:
    return Ran(seconds, result, launch_s, launch_s + 5, 1, "the end", launch_s)


def rounds_of(*, stays: float = 12.0, last_result: str = "") -> Rounds:
    found = Rounds()
    for number in range(WHOLE.rounds):
        found.runs[WHOLE_RUN].append(ran(12.0 + number))
        found.runs[CUT].append(ran((12.0 + number) * 1.01, 10.5))
        found.runs[FOR_EVER].append(ran((12.0 + number) * stays / 12))
    found.runs[FOR_EVER][-1] = ran(stays / 12 * 16, result=last_result)
    return found


def outcome_of(folder: Path, rounds: Rounds) -> Outcome:
    return outcome(Workspace(folder), {"integer_sort": rounds}, {"ranks": 2}, [])


def test_the_time_of_the_launcher_is_judged_round_by_round(tmp_path: Path) -> None:
    found = outcome_of(tmp_path, rounds_of(stays=12.6))

    assert found.figures["wall_slowdown_percent"] == pytest.approx(1.0)
    assert found.figures["cut_for_ever_over_uncut"] == pytest.approx(1.05)
    assert found.figures["slowdown_percent"] == pytest.approx(5.0)
    for key in ("wall_slowdown_percent", "cut_for_ever_over_uncut"):
        assert found.figures[f"{key}_low"] <= found.figures[f"{key}_high"]
    assert Finished(EXPERIMENT, found).faults == []


@pytest.mark.parametrize(
    ("spoilt", "verified"),
    [
        (ran(12.0), 1.0),
        (ran(12.0, seconds=None), 0.0),
        (ran(12.0, result="another energy"), 0.0),
    ],
)
def test_one_wrong_result_of_many_is_told(tmp_path: Path, spoilt: Ran, verified: float) -> None:
    rounds = rounds_of()
    rounds.runs[CUT][1] = spoilt

    found = outcome_of(tmp_path, rounds)

    assert found.figures["verified"] == verified
    assert Finished(EXPERIMENT, found).faults == []


def test_the_slowdown_that_an_application_tells_is_compared_within_each_round() -> None:
    rounds = Rounds()
    cut_s = [1.32 * 8.0, 0.87 * 12.0, 1.064 * 9.0, 0.954 * 11.0, 1.145 * 10.0]
    for whole_s, own_s in zip((8.0, 12.0, 9.0, 11.0, 10.0), cut_s, strict=True):
        rounds.runs[WHOLE_RUN].append(ran(12.0, whole_s))
        rounds.runs[CUT].append(ran(12.0, own_s))

    assert rounds.slowdown_percent == pytest.approx(6.4)
    assert rounds.each_slowdown_percent == pytest.approx([32, -13, 6.4, -4.6, 14.5])


@pytest.mark.parametrize("right", [0, 1])
def test_cuts_that_no_run_survives_are_kept_as_missed_targets(tmp_path: Path, right: int) -> None:
    rounds = rounds_of()
    rounds.runs[CUT] = [ran(12.0)] * right + [ran(0.5, seconds=None)] * (WHOLE.rounds - right)

    found = outcome_of(tmp_path, rounds)

    assert found.figures["verified"] == 0
    finished = Finished(EXPERIMENT, found)
    missed = {judged.figure.name for judged in finished.judged if not judged.met}
    assert missed == {"verified", "slowdown_percent", "wall_slowdown_percent"}
    assert finished.faults == []
    kept = json.loads(json.dumps(as_object(finished), default=str, allow_nan=False))
    assert kept["figures"]["slowdown_percent"] is None
    assert kept["launches"]["slowdown_percent"].count(None) == WHOLE.rounds - right
    assert f"{WHOLE.rounds - right} of 5 were not right: the end" in found.notes[0]


@pytest.mark.parametrize("survived", [True, False], ids=["survived", "not survived"])
def test_a_cut_is_not_blamed_for_a_run_without_one_that_was_not_right(
    *, survived: bool, tmp_path: Path
) -> None:
    rounds = rounds_of()
    rounds.runs[WHOLE_RUN][1] = ran(12.0, seconds=None)
    if not survived:
        rounds.runs[CUT] = [ran(0.5, seconds=None)] * WHOLE.rounds

    found = outcome_of(tmp_path, rounds)

    lost = {key for key, value in found.figures.items() if value == math.inf}
    assert ("wall_slowdown_percent" in lost) == ("slowdown_percent" in lost) == (not survived)
    assert ("wall_slowdown_percent" in found.figures) == (not survived)
    assert "cut_for_ever_over_uncut" not in found.figures
    assert math.isnan(found.launches["wall_slowdown_percent"][1])
    assert found.figures["verified"] == 0
    assert Finished(EXPERIMENT, found).faults == []


def test_where_no_run_without_a_cut_is_right_nothing_is_compared(tmp_path: Path) -> None:
    rounds = rounds_of()
    rounds.runs[WHOLE_RUN] = rounds.runs[CUT] = [ran(12.0, seconds=None)] * WHOLE.rounds

    found = outcome_of(tmp_path, rounds)

    assert not {"slowdown_percent", "wall_slowdown_percent"} & found.figures.keys()
    assert not any(judged.met for judged in Finished(EXPERIMENT, found).judged)


def test_cuts_that_were_made_again_are_counted(tmp_path: Path) -> None:
    rounds = rounds_of()
    rounds.repeated = 2

    assert outcome_of(tmp_path, rounds).conditions["runs_repeated"] == 2


def test_runs_are_counted_for_each_application() -> None:
    for name in ("verified", "migrations"):
        figure = EXPERIMENT.figure(name)
        assert figure is not None
        assert figure.estimator.counts == "1 launch of 15 runs of each application"


def test_each_kind_of_run_comes_first_in_turn() -> None:
    assert {order_of(number)[0] for number in range(3)} == set(KINDS)
    assert all(sorted(order_of(number)) == sorted(KINDS) for number in range(4))


@pytest.mark.parametrize(
    ("cores", "memory_gib", "ranks"), [(2, 64, 2), (8, 4, 2), (8, 8, 8), (64, 512, 8)]
)
def test_the_papers_processes_run_where_there_is_room(
    cores: int, memory_gib: int, ranks: int
) -> None:
    assert rank_count(cores, memory_gib * 2.0**30) == ranks


def test_a_cable_that_stays_out_is_not_put_back_by_the_script(tmp_path: Path) -> None:
    script = mpi_cuts.script_of(tmp_path, Pull(1.5, FOR_EVER_S))

    text = Path(script[1]).read_text(encoding="utf-8")

    assert "cut = " in text
    assert "for = " not in text
    assert math.isinf(FOR_EVER_S)


@pytest.mark.parametrize("status", [0, 3])
def test_a_launch_is_timed_and_its_status_kept(tmp_path: Path, status: int) -> None:
    file = tmp_path / "took.json"
    words = [sys.executable, "-c", f"raise SystemExit({status})"]

    done = subprocess.run([sys.executable, str(TIMED), str(file), *words], check=False)

    took = json.loads(file.read_text(encoding="utf-8"))
    assert (done.returncode, took["status"]) == (status, status)
    assert took["launch_s"] > 0


def test_an_interrupt_ends_a_run_at_once(tmp_path: Path) -> None:
    said = tmp_path / "number"
    words = 'echo $$ > "$0"; kill -INT $PPID; exec sleep 100'

    with pytest.raises(KeyboardInterrupt):
        mpi_cuts.heard_of(["sh", "-c", words, str(said)], {}, 100.0, tmp_path)

    assert not Path("/proc", said.read_text().strip()).exists()


def test_a_run_that_takes_too_long_is_ended_and_says_so(tmp_path: Path) -> None:
    words = ["sh", "-c", "echo begun; exec sleep 100"]

    (_, begun), (limit_s, last) = mpi_cuts.heard_of(words, {}, 0.2, tmp_path)

    assert (begun, limit_s, last) == ("begun\n", 0.2, "it had not ended after 0.2 s\n")


def test_a_cut_that_did_not_fall_into_the_work_is_made_again() -> None:
    def without(done: Ran) -> Ran:
        return replace(done, migrations=0)

    endings = [without(ran(12.0)), ran(13.0)]
    made: list[Pull] = []

    def one_run(pull: Pull) -> Ran:
        made.append(pull)
        return endings[len(made) - 1]

    assert [one.launch_s for one in cut_into(ran(12.0), 2.0, one_run, "sort")] == [12.0, 13.0]
    assert [pull.for_s for pull in made] == [2.0, 2.0]
    with pytest.raises(RunError, match="none of 3 cuts fell into sort"):
        cut_into(ran(12.0), 2.0, lambda _: without(ran(12.0)), "sort")


def test_the_cut_falls_a_third_into_the_work_whatever_the_testbed_takes() -> None:
    whole = Ran(9.0, "", ended_s=16.0, wall_s=20.0, migrations=0, last_words="", launch_s=11.0)

    assert mpi_cuts.pull_into(whole, 2.0) == Pull(at_s=5.0, for_s=2.0)
