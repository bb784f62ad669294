# SPDX-License-Identifier: BSD-3-Clause
"""All items of the papers are there, as data that hangs together; each is answered and drawn."""

from __future__ import annotations

import json
import math
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from experiments import gain_picture, results
from experiments.experiment import Experiment, Outcome, Target
from experiments.papers import gallery, interconnects
from experiments.papers.answers import (
    Answer,
    Run,
    all_kept,
    answers,
    answers_of_kept,
    measured_in,
    newest_of,
    papers_json,
)
from experiments.papers.catalogue import ITEMS, experiments_of
from experiments.papers.conduct import UNKNOWN_S, conduct, expected, left_text
from experiments.papers.draw import limits, number_text, pictures, svg, told_text
from experiments.papers.item import Here, Item, Measured, between, number, over, ratio, words
from experiments.papers.page import (
    alt_of,
    bound_of,
    held_text,
    lacks_text,
    missing_text,
    render,
    verdict,
)
from experiments.papers.whole import Request, reproduce_all, text_of
from experiments.registry import find_experiment
from experiments.run import Finished
from lanewise.errors import RequestError, RunError

EACH = pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.name)
SCHEMA = json.loads((gallery.ROOT / "schema/papers.schema.json").read_text(encoding="utf-8"))
NOTHING = Run(None, {}, why="no run is kept")


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the pictures out of the page, where another test looks at them."""
    monkeypatch.setattr("experiments.papers.page.pictures", lambda _answer: {})


@pytest.fixture(scope="module")
def kept() -> list[Answer]:
    """Return the answers of the newest kept runs."""
    return answers_of_kept([one.name for one in experiments_of()])[0]


def test_there_are_35_items_and_no_two_alike() -> None:
    assert len(ITEMS) == 35
    assert len({item.name for item in ITEMS}) == 35
    papers = [item.paper for item in ITEMS]
    assert [papers.count(f"00{key}") for key in range(5)] == [5, 7, 4, 8, 11]


def test_every_figure_of_the_interconnects_is_an_item_of_its_own() -> None:
    places = [item.item for item in interconnects.ITEMS]

    assert places == [f"Fig. {place}" for place in range(1, 12)]


@EACH
def test_an_item_is_whole(item: Item) -> None:
    assert re.fullmatch(r"Fig\. \d+[ab]?|Table \d|§\d", item.item)
    for text in (item.finding.says, item.difference, item.unread or "None."):
        assert re.fullmatch(r".{4,}\.", text)
    drawn = [one for chart in item.charts for one in chart.quantities]
    assert any(one.paper is not None for one in drawn), "nothing of the paper is drawn"
    for one in item.quantities:
        assert (one.paper is None) == (one.place == ""), f"{one.label}: a number has its place"


@EACH
def test_a_bound_of_the_paper_follows_from_what_it_tells(item: Item) -> None:
    finding = item.finding
    told = finding.quantity.paper
    assert told is not None
    if finding.bound == "ours":
        return
    direction = 1.0 if finding.unit in ("ratio", "share") else math.nan
    for bound in (finding.holds.value, finding.holds.at_most):
        told_bounds = (pytest.approx(told.low), pytest.approx(told.high), direction)
        assert bound is None or bound in told_bounds


@EACH
def test_an_item_names_what_its_experiment_measures(item: Item) -> None:
    for one in item.quantities:
        experiment = find_experiment(one.experiment or item.experiment)
        for key in one.here.keys:
            if not key.endswith("/"):
                assert experiment.figure(key) is not None, key
    for condition in item.finding.besides:
        for key in condition.here.keys:
            own = find_experiment(item.experiment)
            assert key.endswith("/") or own.figure(key) is not None, key


def test_what_is_told_is_a_number_a_range_an_end_or_words() -> None:
    told = (number(3.5), between(5, 7), over(2), words("flat", 1.0))

    assert [one.plain() for one in told] == [3.5, {"low": 5, "high": 7}, {"low": 2}, "flat"]
    assert [told_text(one, "s") for one in told] == [
        "3.50 s", "5.00 s to 7.00 s", "over 2.00 s", "flat",
    ]  # fmt: skip
    assert told_text(None, "s") == "not stated"


def test_a_number_of_ours_needs_all_its_keys_and_must_be_defined() -> None:
    measured = Measured({"a": 6.0, "zero": 0.0, "inf": math.inf}, {"kind/x": [(1, 2.0)]})

    assert Here(("a",), lambda a: a / 2).value(measured) == 3.0
    assert Here(("a", "b"), lambda a, b: a / b).value(measured) is None
    assert Here(("inf",), lambda a: a).value(measured) is None
    assert ratio("a", "zero").value(measured) is None
    assert Here(("kind/",), lambda curves: curves["y"][0][1]).value(measured) is None
    assert Here(("kind/",), lambda curves: curves["x"][0][1]).value(measured) == 2.0
    assert Here(("other/",), len).value(measured) is None


def test_curves_of_transports_are_compared_at_the_nearest_size() -> None:
    curves = {"a": [(8, 1.0), (1024, 40.0)], "b": [(8, 4.0), (1000, 50.0)]}

    assert interconnects.spread(8)(curves) == 4.0
    assert interconnects.lead(1024)(curves) == 1.25
    assert interconnects.peak(curves) == 50.0
    assert interconnects.steepness(curves) == 40.0 / 12.5


def test_a_curve_that_ends_early_is_not_compared_at_another_size() -> None:
    curves = {"a": [(8, 1.0), (64, 2.0), (1024, 40.0)], "b": [(8, 4.0), (64, 4.0)]}
    measured = Measured({}, {f"exchange/{name}": points for name, points in curves.items()})

    assert math.isnan(interconnects.spread(1024)(curves))
    assert math.isnan(interconnects.lead(1024)(curves))
    assert interconnects.steepness(curves) == 2.0
    assert Answer(item_of("004-fig-4"), Run(measured, {})).here is None


def test_one_curve_has_no_lead() -> None:
    assert math.isnan(interconnects.lead(8)({"a": [(8, 1.0)]}))


def item_of(name: str) -> Item:
    return next(item for item in ITEMS if item.name == name)


def test_a_finding_holds_where_our_number_keeps_its_bound() -> None:
    item = item_of("000-section-5")
    good, bad = ({"speedup_16_ranks": value} for value in (7.2, 6.9))

    assert Answer(item, Run(Measured(good, {}), {})).met is True
    assert Answer(item, Run(Measured(bad, {}), {})).met is False
    assert Answer(item, NOTHING).met is None


@pytest.mark.parametrize(("short", "holds"), [(6.0, True), (4.0, False), (None, None)])
def test_a_longer_sort_must_lose_less_than_a_short_one(
    short: float | None,
    holds: bool | None,  # noqa: FBT001 - what is expected
) -> None:
    figures = {"integer_sort_wall_slowdown_percent": 5.0}
    if short is not None:
        figures["integer_sort_short_wall_slowdown_percent"] = short

    answer = Answer(item_of("003-fig-10"), Run(Measured(figures, {}), {}))

    assert answer.met is holds
    assert f"besides, {answer.item.finding.besides[0].label}" in bound_of(answer)
    Draft202012Validator(SCHEMA).validate(papers_json([answer]))


def test_a_condition_that_was_not_measured_is_told_with_its_reason() -> None:
    figures = {"integer_sort_wall_slowdown_percent": -0.2}
    answer = Answer(item_of("003-fig-10"), Run(Measured(figures, {}), {}))

    (besides,) = answer.plain()["besides"]

    assert (answer.met, answer.verdict) == (None, "not measured")
    assert besides["here"] is None
    assert besides["why_null"] == (
        "the run of migration-mpi did not measure integer_sort_short_wall_slowdown_percent"
    )
    assert missing_text(answer) == ""
    assert lacks_text(answer) == f"{besides['why_null'][0].upper()}{besides['why_null'][1:]}."
    assert text_of([answer]).splitlines()[1:] == [besides["why_null"]]


def test_sorts_that_are_compared_run_with_the_same_mpi() -> None:
    (condition,) = item_of("003-fig-10").finding.besides

    assert len({"mpich" in key for key in condition.here.keys}) == 1


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(1.0, 6.9, "holds"), (-10.9, 26.5, "not resolved"), (7.1, 26.5, "does not hold")],
)
def test_a_number_whose_interval_has_the_bound_inside_decides_nothing(
    low: float, high: float, verdict: str
) -> None:
    key = "fourier_transform_wall_slowdown_percent"
    figures = {key: (low + high) / 2, f"{key}_low": low, f"{key}_high": high}
    answer = Answer(item_of("003-fig-11"), Run(Measured(figures, {}), {}))

    assert answer.verdict == verdict
    assert answer.met is {"holds": True, "does not hold": False}.get(verdict)
    assert (answer.plain()["low"], answer.plain()["high"]) == (low, high)
    assert f"{low:.3g}" in bound_of(answer)
    Draft202012Validator(SCHEMA).validate(papers_json([answer]))


def test_a_difference_of_two_intervals_is_as_uncertain_as_both() -> None:
    measured = Measured(
        {"a": 6.0, "a_low": 4.0, "a_high": 8.0, "b": 3.0, "b_low": 1.0, "b_high": 5.0}, {}
    )

    assert Here(("a", "b"), lambda a, b: a - b).interval(measured) == (-1.0, 7.0)
    assert Here(("b",), lambda b: b).interval(measured) == (1.0, 5.0)
    assert Here(("a_low",), lambda a: a).interval(measured) is None


@pytest.mark.parametrize(
    ("arming", "migrating", "holds"),
    [(1.2, 0.9, True), (0.38, 1.0, False), (1.0, 52.6, False), (3.0, 1.0, False)],
)
def test_a_flat_curve_goes_neither_up_nor_down(
    *, arming: float, migrating: float, holds: bool
) -> None:
    figures = {
        f"{kind}_us_{number}_queue_pairs": times if number == 512 else 1.0
        for kind, times in (("arming", arming), ("migrating", migrating))
        for number in (1, 512)
    }

    assert Answer(item_of("003-fig-7"), Run(Measured(figures, {}), {})).met is holds


@pytest.mark.parametrize("item", ["003-fig-5", "003-fig-6"])
def test_migrating_that_is_the_cheaper_transition_contradicts_the_paper(item: str) -> None:
    number = 1 if item == "003-fig-5" else 512
    figures = {f"armed_migrated_us_{number}": 0.4, f"migrated_armed_us_{number}": 1.0}

    assert Answer(item_of(item), Run(Measured(figures, {}), {})).met is False


@pytest.mark.parametrize(("left", "holds"), [(0.07, False), (0.52, True), (0.9, False)])
def test_nearly_half_of_a_processor_is_neither_all_of_it_nor_nothing(
    *, left: float, holds: bool
) -> None:
    measured = Measured({}, {"availability/ours": [(1e-6, left), (1e-3, 0.99)]})

    assert Answer(item_of("004-fig-10"), Run(measured, {})).met is holds


def test_the_page_says_in_how_many_kept_runs_a_finding_held(kept: list[Answer]) -> None:
    item = item_of("000-section-5")
    runs = [Run(Measured({"speedup_16_ranks": value}, {}), {}) for value in (7.2, 6.9)]
    unmeasured = Run(Measured({}, {}), {})
    answer = Answer(item, runs[-1], kept=[*runs, unmeasured])

    assert answer.held == (1, 2)
    assert held_text(answer) == "held in 1 of 2 kept runs"
    assert answer.plain()["kept_runs"] == {"held": 1, "of": 2}
    assert Answer(item, runs[0]).plain()["kept_runs"] is None
    assert "It held in 1 of 2 kept runs." in gallery.page([answer])
    assert "| does not hold here, held in 1 of 2 kept runs |" in gallery.page([answer])
    assert all(one.held[1] <= len(one.kept) for one in kept)


def test_a_lost_run_does_not_hold_and_counts_among_the_kept_ones() -> None:
    item = item_of("000-section-5")
    figures: tuple[dict[str, float | None], ...] = (
        {"speedup_16_ranks": 7.2}, {}, {"speedup_16_ranks": None},
    )  # fmt: skip
    runs = [Run(measured_in(each, {}), {}) for each in figures]

    answer = Answer(item, runs[-1], kept=runs)

    assert (answer.met, answer.verdict, answer.held) == (False, "does not hold", (1, 2))
    assert answer.why_null == "the run of parallel-pairs has no value of speedup_16_ranks"
    assert Answer(item, runs[1]).verdict == "not measured"
    Draft202012Validator(SCHEMA).validate(papers_json([answer]))


def test_what_a_run_lost_is_told_apart_from_what_it_did_not_measure() -> None:
    lost = Answer(item_of("000-section-5"), Run(measured_in({"speedup_16_ranks": None}, {}), {}))
    absent = Answer(lost.item, Run(Measured({}, {}), {}))

    for answer, told in ((lost, "no value (the run was lost)"), (absent, "not measured")):
        alt, page = alt_of(answer, "here"), gallery.page([answer])
        assert f"{told} here" in bound_of(answer)
        assert f"sequential over parallel: {told}" in alt
        assert alt in page
        assert told in svg(pictures(answer)["here"])
        assert page.count(answer.why_null[1:]) == 1


def test_drawn_numbers_that_a_run_lost_are_not_said_to_be_unrecorded() -> None:
    item = item_of("000-table-1")
    figures = {"global_over_max_cost_ratio": 5.0, "cost_gather_global_s": None}

    text = missing_text(Answer(item, Run(measured_in(figures, {}), {})))

    assert "Lost in this run: gather, global." in text
    assert "gather, maximum; gather, root" in text
    assert "gather, global" not in text.partition("Lost")[0]


def test_a_number_that_the_paper_does_not_print_says_so() -> None:
    item = item_of("001-table-1")

    told = [one for one in item.quantities if one.paper is not None and one.paper.exact]
    assert {one.place for one in told} == {"Table 1, evaluated by us"}


@pytest.mark.parametrize(("lanes_s", "holds"), [(0.4, True), (0.6, False)])
def test_a_gather_must_gain_at_every_size(
    lanes_s: float,
    holds: bool,  # noqa: FBT001 - what is expected
) -> None:
    curves = {
        "gather_5ms_over_sizes/single lane": [(262144.0, 1.0), (4194304.0, 4.0)],
        "gather_5ms_over_sizes/three steps, 32 lanes": [(262144.0, lanes_s), (4194304.0, 1.6)],
    }
    measured = Measured({"speedup_gather_three_step": 2.5}, curves)

    assert Answer(item_of("001-fig-5"), Run(measured, {})).met is holds


def test_the_gain_of_a_gather_is_of_sizes_that_both_curves_have() -> None:
    curves = {
        "gather_5ms_over_sizes/single lane": [(1.0, 9.0), (2.0, 8.0), (4.0, 9.0)],
        "gather_5ms_over_sizes/three steps, 32 lanes": [(2.0, 2.0), (4.0, 3.0), (8.0, 1.0)],
    }
    item = item_of("001-fig-5")

    answer = Answer(item, Run(Measured({"speedup_gather_three_step": 2.5}, curves), {}))

    assert answer.value_besides(item.finding.besides[0]) == 3.0


def test_a_network_that_takes_nearly_half_of_the_processor_as_in_the_paper_holds() -> None:
    item = item_of("004-fig-10")
    measured = Measured({}, {"availability/ours": [(1e-6, 0.52), (1e-3, 0.99)]})

    assert Answer(item, Run(measured, {})).met is True
    assert "which is ours" in bound_of(Answer(item, Run(measured, {})))


def test_a_curve_that_ends_early_says_nothing_of_most_ranks() -> None:
    whole, partial = [(1, 1.0), (2, 0.8)], [(1, 1.0)]

    assert interconnects.lowest_with_most({"a": whole, "b": partial}) == 0.8


@pytest.mark.parametrize("runs", ["kept", "missing"])
def test_the_data_follows_its_schema(runs: str, kept: list[Answer]) -> None:
    missing = {one.name: NOTHING for one in experiments_of()}

    data = papers_json(kept if runs == "kept" else answers(missing))

    assert len(data["items"]) == 35
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    Draft202012Validator(SCHEMA).validate(data)


def test_each_number_that_is_missing_has_its_reason() -> None:
    item = item_of("000-table-1")
    figures = {"global_over_max_cost_ratio": 5.0, "cost_gather_global_s": 1.25}
    answer = Answer(item, Run(Measured(figures, {}), {}))

    numbers = {one["label"]: one for one in answer.plain()["numbers"]}

    assert answer.why_null == ""
    measured = numbers["gather, global"]
    assert (measured["here"], measured["why_null"]) == (1.25, None)
    assert numbers["gather, root"]["why_null"] == (
        "the run of timing-methods did not measure cost_gather_root_s"
    )
    assert all((one["here"] is None) == bool(one["why_null"]) for one in numbers.values())
    assert "gather, maximum; gather, root" in missing_text(answer)
    assert missing_text(Answer(item, NOTHING)) == ""


@pytest.mark.parametrize("change", [{"why_null": None}, {"met": True}, {"here": 1.0}], ids=str)
def test_a_number_that_is_missing_without_a_reason_breaks_the_schema(
    change: dict[str, Any],
) -> None:
    missing = {one.name: NOTHING for one in experiments_of()}
    data = papers_json(answers(missing))
    data["items"][0] |= change

    assert not Draft202012Validator(SCHEMA).is_valid(data)


def test_a_number_whose_formula_has_no_value_says_so() -> None:
    curves = {f"exchange/{name}": [(8.0, 1.0)] for name in ("shm", "tcp")}

    answer = Answer(item_of("004-fig-4"), Run(Measured({}, curves), {}))

    assert answer.why_null == (
        "the run of transports measured exchange/, which give no value of this number"
    )


def test_a_run_without_the_keys_of_an_item_says_which_are_missing() -> None:
    answer = Answer(item_of("000-section-5"), Run(Measured({}, {}), {}))

    assert answer.why_null == "the run of parallel-pairs did not measure speedup_16_ranks"


@EACH
def test_an_item_is_drawn_for_the_paper_and_for_here_on_one_axis(
    item: Item, kept: list[Answer]
) -> None:
    answer = next(one for one in kept if one.item is item)

    drawn = pictures(answer)

    paper, here = (drawn[side].axes for side in ("paper", "here"))
    assert len(paper) == len(here) == len(item.charts)
    for left, right, chart in zip(paper, here, item.charts, strict=True):
        assert left.get_xlim() == right.get_xlim()
        assert left.get_title(loc="left") == right.get_title(loc="left") == chart.title
        low, high = limits(chart, answer)
        assert left.get_xlim()[0] <= low < high < left.get_xlim()[1]


def test_numbers_are_written_at_their_bars() -> None:
    item = item_of("000-table-1")
    answer = Answer(item, Run(Measured({"cost_gather_global_s": 1.25}, {}), {}))

    drawn = pictures(answer)

    assert "44.7 s" in svg(drawn["paper"])
    assert "1.25 s" in svg(drawn["here"])
    assert "not measured" in svg(drawn["here"])
    assert number_text(1300, "MB/s") == "1.30 GB/s"


def test_our_curves_are_drawn_where_a_run_has_them() -> None:
    item = item_of("000-fig-1")
    curves = {"scatter/isolated": [(1.0, 2e-6), (8.0, 3e-6)]}

    assert list(pictures(Answer(item, Run(Measured({}, curves), {})))) == [
        "paper", "here", "curves-1",
    ]  # fmt: skip


@pytest.mark.usefixtures("undrawn")
def test_a_quick_run_is_marked_and_a_missing_one_named(kept: list[Answer]) -> None:
    runs = {one.name: NOTHING for one in experiments_of()}
    runs["pipeline-effect"] = Run(Measured({}, {}), {"load_average": 3.0}, "2026-11-25", quick=True)

    page = render(answers(runs), runs, "papers.json")

    assert page.count('<b class="mark">quick</b>') == 2  # in the introduction, and at its item
    assert "a quick run of 2026-11-25 with a load average of 3" in page
    assert "<code>parallel-pairs</code>: no run is kept" in page
    assert "35 were not measured" in verdict(answers(runs))
    assert render(kept, {}, "papers.json").count('class="mark"') == 0


class Prepared:
    """Runs that measure nothing but a speedup, but for those that fail."""

    def __init__(self, **failing: Exception) -> None:
        self.failing = failing
        self.ran: list[str] = []

    def __call__(self, experiment: Experiment, folder: Path) -> Finished:
        self.ran.append(experiment.name)
        if experiment.name.replace("-", "_") in self.failing:
            raise self.failing[experiment.name.replace("-", "_")]
        outcome = Outcome({"speedup_16_ranks": 7.5}, [], {"load_average": 1.0}, [])
        return Finished(experiment, outcome)


def test_the_others_go_on_when_an_experiment_fails() -> None:
    said: list[str] = []
    prepared = Prepared(timing_methods=RunError("no launcher"), opt_scatter=ValueError("no points"))

    found = {
        experiment.name: run
        for experiment, run, _ in conduct(experiments_of(), Path("x"), said.append, run=prepared)
    }

    assert prepared.ran == [one.name for one in experiments_of()]
    assert found["timing-methods"].why == "timing-methods failed: no launcher"
    assert found["opt-scatter"].why == "opt-scatter failed: ValueError: no points"
    assert found["parallel-pairs"].measured == Measured({"speedup_16_ranks": 7.5}, {})
    assert any(re.fullmatch(r"\[\d+/\d+\] parallel-pairs \(about .+ left\)", one) for one in said)


def test_the_load_before_all_experiments_is_among_the_conditions_of_each() -> None:
    said: list[str] = []

    found = [run for _, run, _ in conduct(experiments_of(), Path("x"), said.append, run=Prepared())]

    loads = {run.conditions["load_average_before_all"] for run in found}
    assert len(loads) == 1
    assert all(run.conditions["load_average"] == 1.0 for run in found)


def test_an_experiment_is_expected_to_take_what_it_declares_or_took(tmp_path: Path) -> None:
    experiment = find_experiment("opt-scatter")
    assert experiment.quick is not None
    assert expected(experiment, quick=False, folder=tmp_path) == UNKNOWN_S
    lines = [
        {"date": str(took), "figures": {}, "conditions": {"took_s": took}}
        for took in (40.0, 50.0, 90.0)
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "opt-scatter.jsonl").write_text(text)

    assert expected(experiment, quick=False, folder=tmp_path) == 50.0
    assert expected(experiment, quick=True, folder=tmp_path) == experiment.quick.takes_s


def test_the_time_left_follows_how_long_the_others_took() -> None:
    assert left_text([10, 20, 30], 0, 0) == "about 60 s left"
    assert left_text([10, 20, 30], 1, 20) == "about 2 min left"
    assert left_text([600, 600], 1, 300) == "about 5 min left"


@pytest.mark.usefixtures("undrawn")
def test_a_quick_run_of_all_keeps_nothing_and_says_what_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "kept"
    request = Request(tmp_path / "papers.html", tmp_path / "out", kept, quick=True)

    assert not reproduce_all(request, Prepared(opt_scatter=RunError("no points")))

    items = json.loads((tmp_path / "papers.json").read_text())["items"]
    by_name = {f"{one['paper']} {one['item']}": one for one in items}
    assert by_name["000 §5"]["here"] == 7.5
    assert by_name["000 §5"]["quick"] is False  # it has no smaller scale
    assert by_name["001 Fig. 4"]["quick"] is True
    assert by_name["000 §4"]["why_null"] == "opt-scatter failed: no points"
    assert "opt-scatter failed: no points" in (tmp_path / "papers.html").read_text()
    said = capsys.readouterr()
    assert "opt-scatter failed: no points" in said.out
    assert not kept.exists()
    assert "target" not in said.err


@pytest.mark.usefixtures("undrawn")
def test_a_quick_run_of_all_leaves_the_pages_of_the_clone_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("published", "papers.gallery"):
        monkeypatch.setattr(f"experiments.{module}.write", lambda _root: pytest.fail("written"))

    assert reproduce_all(Request(tmp_path / "papers.html", tmp_path, quick=True), Prepared())


@pytest.mark.usefixtures("undrawn")
def test_all_are_refused_before_any_runs_where_they_could_not_be_kept(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("")
    prepared = Prepared()

    with pytest.raises(RequestError, match="cannot be kept"):
        reproduce_all(
            Request(tmp_path / "papers.html", tmp_path / "out", tmp_path / "kept"), prepared
        )

    assert prepared.ran == []
    assert not (tmp_path / "papers.html").exists()


@pytest.mark.usefixtures("undrawn")
def test_a_whole_run_is_kept_and_missed_targets_end_it_badly(tmp_path: Path) -> None:
    request = Request(tmp_path / "papers.html", tmp_path / "out", tmp_path / "kept")

    with pytest.raises(
        RunError, match=r"is not kept: .* does not declare .*; its line is in .*/out"
    ):
        reproduce_all(request, Prepared())

    (line,) = (tmp_path / "kept/parallel-pairs.jsonl").read_text().splitlines()
    assert json.loads(line)["figures"] == {"speedup_16_ranks": 7.5}


class AsDeclared(Prepared):
    """Runs that keep every target, in each of the launches that are declared."""

    def __init__(self, *files: str) -> None:
        super().__init__()
        self.files = [Path(name) for name in files]

    def __call__(self, experiment: Experiment, folder: Path) -> Finished:
        values = {name: target.value for name, target in experiment.targets.items()}
        launches = {
            figure.name: [values[figure.name]] * figure.estimator.launches
            for figure in experiment.figures
            if figure.target
        }
        outcome = Outcome(values, [], {"load_average": 1.0}, self.files, launches=launches)
        return Finished(experiment, outcome)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("files", [("plot.png",), ("plot.svg",)], ids=["a plot", "no plot"])
def test_a_whole_run_tells_the_launches_within_each_target_and_needs_plots(
    files: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request = Request(tmp_path / "papers.html", tmp_path / "out", tmp_path / "kept")

    good = reproduce_all(request, AsDeclared(*files))

    said = capsys.readouterr().err
    assert good == (files == ("plot.png",))
    assert ("draws no plot" in said) == (not good)
    for experiment in experiments_of():
        for figure in experiment.figures:
            if figure.target:
                number = figure.estimator.launches
                launches = f"{number} of {number} launch{'es' * (number > 1)} within it"
                sentence = rf"target {figure.name} .*: met, .*; {launches}"
                assert re.search(sentence, said), figure.name


@pytest.mark.usefixtures("undrawn")
def test_an_interrupted_run_leaves_a_page_of_what_there_is(tmp_path: Path) -> None:
    class Interrupted(Prepared):
        def __call__(self, experiment: Experiment, folder: Path) -> Finished:
            if experiment.name == "opt-scatter":
                raise KeyboardInterrupt
            return super().__call__(experiment, folder)

    with pytest.raises(KeyboardInterrupt):
        request = Request(tmp_path / "papers.html", tmp_path, tmp_path / "kept", quick=True)
        reproduce_all(request, Interrupted())

    items = json.loads((tmp_path / "papers.json").read_text())["items"]
    assert next(one for one in items if one["item"] == "§5")["here"] == 7.5
    assert "interrupted" in next(one for one in items if one["item"] == "§4")["why_null"]


def test_what_is_not_defined_in_a_run_is_left_out() -> None:
    measured = measured_in({"a": None, "b": 1.0}, {"kind/x": [(1, 2.0), (2, None), (3, math.nan)]})

    assert measured == Measured({"b": 1.0}, {"kind/x": [(1, 2.0)]}, frozenset({"a"}))


def test_a_number_of_another_experiment_is_read_from_its_run() -> None:
    item = item_of("002-fig-7b")
    runs = {one.name: NOTHING for one in experiments_of()}
    runs["wavefront-blocks"] = Run(Measured({"chained_gain_over_flushed": 0.9}, {}), {})

    (answer,) = answers(runs, [item])

    assert item.experiments == ["wavefront-chaining", "wavefront-blocks"]
    assert [answer.value(one) for one in item.charts[0].quantities] == [None, 0.9]


def test_the_newest_kept_run_answers(tmp_path: Path) -> None:
    lines = [
        {"date": f"2026-11-2{day}", "figures": {"speedup_16_ranks": value}, "conditions": {}}
        for day, value in ((4, 7.4), (3, 7.3))
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "parallel-pairs.jsonl").write_text(text)

    run = newest_of("parallel-pairs", all_kept("parallel-pairs", tmp_path))

    assert Answer(item_of("000-section-5"), run).here == 7.4
    assert newest_of("opt-scatter", []).why.startswith("no run of opt-scatter is kept")


def test_the_gallery_has_the_numbers_of_the_newest_kept_runs() -> None:
    stale = [str(path) for path in gallery.stale(gallery.ROOT)]

    assert stale == [], "not what the kept runs say; run: python -m experiments.papers.gallery"


def test_the_gallery_has_the_curves_that_a_run_has_kept() -> None:
    item = item_of("004-fig-1")
    curves = {"latency/shm": [(8.0, 1e-6), (64.0, 2e-6)], "latency/tcp": [(8.0, 9e-6)]}
    other = {**curves, "latency/tcp": [(8.0, 8e-6)]}

    both, drawn = gallery.pictures(Answer(item, Run(Measured({}, curves), {})))
    _, redrawn = gallery.pictures(Answer(item, Run(Measured({}, other), {})))

    assert (both.path.name, drawn.path.name) == ("004-fig-1.svg", "004-fig-1-curves-1.svg")
    assert drawn.alt == "Latency here, by transport, over bytes: shm, tcp."
    assert "tcp" in svg(drawn.draw())
    assert redrawn.mark != drawn.mark
    assert len(list(gallery.pictures(Answer(item, NOTHING)))) == 1


def test_another_bound_makes_a_picture_stale() -> None:
    item = item_of("004-fig-10")
    stricter = replace(item, finding=replace(item.finding, holds=Target("<=", 0.5)))

    one, other = (next(gallery.pictures(Answer(each, NOTHING))) for each in (item, stricter))

    assert one.mark != other.mark


def test_another_run_makes_page_and_picture_stale(tmp_path: Path) -> None:
    folder = results.FOLDER.relative_to(gallery.ROOT)
    shutil.copytree(results.FOLDER, tmp_path / folder)
    shutil.copytree(gallery.ROOT / gallery.PICTURES, tmp_path / gallery.PICTURES)
    for path in (gallery.PAGE, gain_picture.PICTURE):
        (tmp_path / path).write_text((gallery.ROOT / path).read_text())
    assert gallery.stale(tmp_path) == []
    kept_file = tmp_path / folder / "parallel-pairs.jsonl"
    run = json.loads(kept_file.read_text().splitlines()[-1])
    run = {**run, "date": "2031-01-01", "figures": {**run["figures"], "speedup_16_ranks": 7.77}}
    with kept_file.open("a") as file:
        file.write(json.dumps(run) + "\n")
    (tmp_path / gallery.PICTURES / "left-over.svg").write_text("<svg/>")
    changed = [gallery.PAGE, *(gallery.PICTURES / f"{name}.svg"
                               for name in ("000-section-5", "left-over"))]  # fmt: skip

    assert gallery.stale(tmp_path) == changed
    assert gallery.write(tmp_path) == changed
    assert gallery.stale(tmp_path) == []
    assert "7.77" in (tmp_path / gallery.PICTURES / "000-section-5.svg").read_text()


def test_the_readme_shows_what_programs_gained_in_the_newest_kept_run() -> None:
    run = results.read("programs-gain")[-1]
    text = " ".join((gallery.ROOT / "README.md").read_text().split())
    (drawn,) = gallery.picture_of_readme(gallery.ROOT)
    _, (_, one_host) = gain_picture.panels_of(run)
    ratios = [bar.value for bar in one_host]

    assert f"took {run['figures']['two_site_ratio_neighbours']:.2f} of its untuned time" in text
    assert f"that sums gradients took {run['figures']['two_site_ratio_training']:.2f}." in text
    assert f"six programs took {min(ratios):.2f} to {max(ratios):.2f} of their untuned time" in text
    assert f"![{drawn.alt}]({drawn.path})" in text


def test_another_run_of_programs_makes_another_picture(tmp_path: Path) -> None:
    folder = tmp_path / results.FOLDER.relative_to(gallery.ROOT)
    drawn: list[gallery.Picture] = []
    for took in (1.0, 1.2):
        figures = {"two_site_ratio_app": 0.5, "one_host_ratio_app": took}
        results.append({"name": "programs-gain", "figures": figures, "conditions": {}}, folder)
        drawn += gallery.picture_of_readme(tmp_path)

    assert drawn[0].mark != drawn[1].mark
    assert "1.20" in svg(drawn[1].draw())


def test_the_map_links_each_item_to_a_heading_of_the_page() -> None:
    text = (gallery.ROOT / gallery.PAGE).read_text()
    headings = {
        re.sub(r"[^\w\- ]", "", line.removeprefix("### ").lower()).replace(" ", "-")
        for line in text.splitlines() if line.startswith("### ")
    }  # fmt: skip

    linked = re.findall(r"\]\(#([^)]+)\)", text)

    assert len(linked) == 35
    assert set(linked) == headings
