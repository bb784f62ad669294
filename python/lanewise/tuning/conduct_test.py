# SPDX-License-Identifier: BSD-3-Clause
"""Which launches a tuning makes, and what they are told to run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lanewise.errors import RequestError
from lanewise.tuning.conduct import Launch, conduct
from lanewise.tuning.course import Course
from lanewise.tuning.evidence import launches_in
from lanewise.tuning.judging_test import size_of

CONTEXT = {"record": "context", "schema": "lanewise-evidence", "margin": 0.03}


@dataclass(frozen=True)
class Ending:
    """What a launch gave."""

    ended: bool
    least_s: float = 0.0


@dataclass
class World:
    """Launches that write `records` of evidence and then end as they are told to."""

    evidence: Path
    records: list[dict[str, object]]
    ending: Ending
    launches: int = 0
    sizes_max: int | None = None
    found_s: Mapping[str, float] = field(default_factory=dict)
    places: list[str] = field(default_factory=list)
    slower: Callable[[], None] | None = None

    def launch(self, one: Launch) -> Ending:
        """Make a launch."""
        self.launches += 1
        self.places.append(one.place)
        if self.slower:
            self.slower()
        if not one.resumed:
            lines = [json.dumps(record) for record in (CONTEXT, *self.records)]
            self.evidence.write_text("\n".join(lines) + "\n", encoding="utf-8")
        else:
            self.find(one)
        return self.ending if self.launches == 1 else Ending(ended=True)

    def find(self, one: Launch) -> None:
        """Screen or judge as many sizes as there is time for, in the order of the file."""
        finalists = Path(one.words[0].removeprefix("--finalists="))
        number = int(one.words[1].removeprefix("--launch="))
        content = json.loads(finalists.read_text(encoding="utf-8"))
        kept = map(json.loads, self.evidence.read_text(encoding="utf-8").splitlines())
        there = {
            (one["record"], one["launch"], one["message_bytes"]) for one in kept if "launch" in one
        }
        records = [
            {
                "record": content["stage"], "launch": number, "collective": point["collective"],
                "message_bytes": point["message_bytes"], "root": 0, "default": {"median_s": 1.0},
                "candidates": [
                    {**each, "median_s": self.found_s.get(each["algorithm"], 0.5)}
                    for each in point["candidates"]
                ],
            }
            for point in content["points"][: self.sizes_max]
            if (content["stage"], number, point["message_bytes"]) not in there
        ]  # fmt: skip
        with self.evidence.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)


@pytest.mark.parametrize(
    ("look_s", "remedy"), [(22.5, "name --budget 4min or more"), (0.0, "name a longer one")]
)
def test_a_budget_without_time_for_a_size_is_refused_with_one_that_has(
    tmp_path: Path, look_s: float, remedy: str
) -> None:
    evidence = tmp_path / "t.json.evidence"
    world = World(evidence, [], Ending(ended=False, least_s=look_s))

    with pytest.raises(RequestError, match=remedy) as refused:
        conduct(Course(10.0), evidence, 1, world.launch)

    assert str(refused.value).startswith("a budget of 10s is too small for one launch: ")
    assert world.launches == 1
    assert list(tmp_path.iterdir()) == []


def test_a_budget_that_ends_after_a_size_is_not_refused(tmp_path: Path) -> None:
    evidence = tmp_path / "t.json.evidence"
    world = World(evidence, [size_of(1.0)], Ending(ended=False))

    done = conduct(Course(1000.0), evidence, 2, world.launch)

    assert not done.complete
    assert world.launches == 8


def test_launches_for_which_there_is_no_time_make_a_tuning_incomplete(tmp_path: Path) -> None:
    evidence = tmp_path / "t.json.evidence"
    world = World(evidence, [size_of(1.0)], Ending(ended=True))

    done = conduct(Course(290.0), evidence, 1, world.launch)

    assert (done.judged, done.wanted, done.complete) == (5, 7, False)


def test_launches_that_are_cut_short_judge_all_sizes_alike(tmp_path: Path) -> None:
    evidence = tmp_path / "t.json.evidence"
    sizes = [size_of(1e-5, 8 << i) for i in range(4)]
    world = World(evidence, sizes, Ending(ended=True), sizes_max=3)

    done = conduct(Course(0.0, 8, enough=8), evidence, 4, world.launch)

    assert {len(one) for one in launches_in(evidence).values()} == {6}
    assert (done.judged, done.wanted, done.complete) == (6, 8, False)


def test_what_more_launches_find_slow_is_not_judged(tmp_path: Path) -> None:
    evidence = tmp_path / "t.json.evidence"
    world = World(evidence, [size_of(1e-5)], Ending(ended=True))
    world.found_s = {"fast_of_lanewise": 3.0, "fast_of_mpi": 3.0, "slower_of_mpi": 3.0}

    conduct(Course(100.0, 6), evidence, 1, world.launch)

    ((launch, *_),) = launches_in(evidence).values()
    assert [one.algorithm for one in launch.times_s] == ["slower_of_lanewise"]
    assert world.places[1:6] == [*(f", screening {k} of 4" for k in range(1, 5)), ", launch 1 of 6"]


def test_a_tuning_that_is_resumed_while_it_judges_screens_nothing_more(tmp_path: Path) -> None:
    evidence = tmp_path / "t.json.evidence"
    world = World(evidence, [size_of(1e-5)], Ending(ended=True))
    conduct(Course(100.0, 6), evidence, 1, world.launch)
    world.records = [json.loads(line) for line in evidence.read_text().splitlines()[1:]]
    world.places = []

    conduct(Course(100.0, 6), evidence, 1, world.launch)

    assert not any("screening" in place for place in world.places)


def test_sizes_that_only_a_resumed_tuning_measures_are_screened_like_the_others(
    tmp_path: Path,
) -> None:
    evidence = tmp_path / "t.json.evidence"
    world = World(evidence, [size_of(1e-5, 8)], Ending(ended=False))
    conduct(Course(100.0, 6), evidence, 2, world.launch)
    found = [json.loads(line) for line in evidence.read_text().splitlines()[1:]]
    world.records, world.places = [*found, size_of(1e-5, 64)], []

    conduct(Course(100.0, 6), evidence, 2, world.launch)

    lines = [json.loads(line) for line in evidence.read_text().splitlines()]
    screened = [one["message_bytes"] for one in lines if one["record"] == "screening"]
    assert screened == [8] * 4 + [64] * 4


def test_without_a_budget_a_tuning_that_is_resumed_screens_as_one_that_is_not(
    tmp_path: Path,
) -> None:
    evidence = tmp_path / "t.json.evidence"
    world = World(evidence, [{**size_of(1e-5), "elapsed_s": 20.0}], Ending(ended=True))

    conduct(Course(0.0, 6, clock=lambda: 0.0, enough=6), evidence, 1, world.launch)

    assert sum("screening" in place for place in world.places) == 4


def test_launches_that_become_slow_leave_the_time_of_those_that_judge(tmp_path: Path) -> None:
    evidence = tmp_path / "t.json.evidence"
    now_s = 0.0
    world = World(evidence, [size_of(1e-5)], Ending(ended=True))
    course = Course(100.0, 7, clock=lambda: now_s)

    def slower() -> None:
        nonlocal now_s
        began_s = now_s
        now_s += 0.5 if world.launches == 1 else 9.0
        course.launched(began_s, 0.25)

    world.slower = slower
    conduct(course, evidence, 1, world.launch)

    assert sum("screening" in place for place in world.places) == 1
    assert now_s <= 100.0


def test_few_launches_that_are_cut_short_begin_far_apart(tmp_path: Path) -> None:
    evidence = tmp_path / "t.json.evidence"
    sizes = [size_of(1e-5, 8 << i) for i in range(8)]
    world = World(evidence, sizes, Ending(ended=True), sizes_max=6)

    conduct(Course(100.0, 7), evidence, 8, world.launch)

    lines = [json.loads(line) for line in evidence.read_text().splitlines()]
    screened = Counter(one["message_bytes"] for one in lines if one["record"] == "screening")
    assert set(screened.values()) == {3}
    assert len(screened) == 8


def test_finalists_that_a_hurried_run_left_out_are_judged_when_it_is_resumed(
    tmp_path: Path,
) -> None:
    evidence = tmp_path / "t.json.evidence"
    world = World(evidence, [size_of(1.0)], Ending(ended=True))
    hurried = conduct(Course(180.0), evidence, 1, world.launch)
    world.records = [json.loads(line) for line in evidence.read_text().splitlines()[1:]]

    resumed = conduct(Course(2000.0), evidence, 1, world.launch)
    (of_size,) = launches_in(evidence).values()

    assert [len(one.times_s) for one in of_size[: hurried.judged]] == [2] * hurried.judged
    assert hurried.judged >= 5
    assert resumed.complete
    assert sum(len(one.times_s) == 4 for one in of_size) == resumed.judged
    assert [one.launch for one in of_size] == list(range(1, len(of_size) + 1))


def test_a_tuning_that_is_resumed_with_the_same_small_budget_is_complete_at_last(
    tmp_path: Path,
) -> None:
    evidence = tmp_path / "t.json.evidence"
    world = World(evidence, [size_of(1.0)], Ending(ended=True))
    judged: list[int] = []

    while not judged or judged[-1] < 20:
        done = conduct(Course(300.0, 20, enough=20, screenings=0), evidence, 1, world.launch)
        world.records = [json.loads(line) for line in evidence.read_text().splitlines()[1:]]
        judged.append(done.judged)
        assert len(judged) < 20
    (of_size,) = launches_in(evidence).values()

    assert judged == sorted(set(judged))
    assert done.complete
    assert [one.launch for one in of_size] == list(range(1, 21))
    assert all(len(one.times_s) == 4 for one in of_size)


def test_a_launch_too_long_for_the_budget_of_a_resumed_tuning_judges_the_sizes_it_can(
    tmp_path: Path,
) -> None:
    evidence = tmp_path / "t.json.evidence"
    sizes = [size_of(1.0, 8), size_of(1.0, 64)]
    world = World(evidence, sizes, Ending(ended=True))
    conduct(Course(360.0, screenings=0), evidence, 2, world.launch)
    hurried = launches_in(evidence).values()
    world.records = [json.loads(line) for line in evidence.read_text().splitlines()[1:]]
    world.sizes_max = 1

    conduct(Course(100.0, screenings=0), evidence, 2, world.launch)
    resumed = launches_in(evidence).values()

    assert [[len(one.times_s) for one in of_size] for of_size in hurried] == [[2] * 5] * 2
    assert [[len(one.times_s) for one in of_size] for of_size in resumed] == [
        [2, 2, 2, 2, 2, 4],
        [2, 2, 2, 2, 2],
    ]


def test_launches_that_were_cut_short_are_the_first_that_a_resumed_tuning_makes(
    tmp_path: Path,
) -> None:
    evidence = tmp_path / "t.json.evidence"
    sizes = [size_of(1e-5, 8 << i) for i in range(4)]
    world = World(evidence, sizes, Ending(ended=True), sizes_max=3)
    course = Course(0.0, 8, enough=8)
    conduct(course, evidence, 4, world.launch)
    world.records = [json.loads(line) for line in evidence.read_text().splitlines()[1:]]
    world.places, world.sizes_max = [], None

    done = conduct(Course(0.0, 8, enough=8), evidence, 4, world.launch)

    assert done.complete
    assert world.places == ["", *(f", launch {n} of 8" for n in range(1, 9))]
    assert {len(one) for one in launches_in(evidence).values()} == {8}


def test_a_tuning_that_is_resumed_when_all_is_judged_makes_no_launch_that_judges(
    tmp_path: Path,
) -> None:
    evidence = tmp_path / "t.json.evidence"
    world = World(evidence, [size_of(1e-5)], Ending(ended=True))
    conduct(Course(100.0, 6), evidence, 1, world.launch)
    world.records = [json.loads(line) for line in evidence.read_text().splitlines()[1:]]
    world.places = []

    done = conduct(Course(100.0, 6), evidence, 1, world.launch)

    assert (world.places, done.complete) == ([""], True)
