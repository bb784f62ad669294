# SPDX-License-Identifier: BSD-3-Clause
"""What events become: rows on standard output, plain lines on standard error."""

from typing import Any

import pytest

from lanewise.cli.growing_table import Seen, take
from lanewise.cli.progress import progress
from lanewise.results import specimen
from lanewise.results.records import RecordError


def point_event(operation: str, message_bytes: int, **changes: Any) -> dict[str, Any]:
    values = specimen.point_record(operation, message_bytes, [1e-6] * 10, **changes)
    del values["record"], values["samples_s"]
    return {"event": "point", **values}


def feed(*events: dict[str, Any], display: Any = "shown") -> Seen:
    seen = Seen(points=3)
    with progress(seen, lambda event: take(event, seen, {"rule": "median"}), display) as on_event:
        for event in events:
            on_event(event)
    return seen


def test_each_operation_opens_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    feed(point_event("scatter", 8), point_event("scatter", 16), point_event("gather", 8))

    first_words = [line.split()[:2] for line in capsys.readouterr().out.splitlines() if line]
    assert first_words == [
        ["#", "scatter"], ["#", "Size"], ["8", "1.00"], ["16", "1.00"],
        ["#", "gather"], ["#", "Size"], ["8", "1.00"],
    ]  # fmt: skip


@pytest.mark.parametrize(("launches", "title"), [(1, "# scatter (1 launch)"), (2, "# scatter")])
def test_the_title_says_where_all_is_of_a_single_launch(
    launches: int, title: str, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = Seen(points=1, launches=launches)
    for launch in range(1, launches + 1):
        seen.begin(launch)
        take(point_event("scatter", 8, launch=launch), seen, {})

    assert capsys.readouterr().out.splitlines()[0] == title


def test_a_row_comes_with_the_last_launch_and_is_over_all(
    capsys: pytest.CaptureFixture[str],
) -> None:
    seen = Seen(points=1, launches=3)
    for launch, median_s in enumerate((1e-6, 2e-6, 4e-6), start=1):
        seen.begin(launch)
        assert capsys.readouterr().out == ""
        take(point_event("scatter", 8, launch=launch, median_s=median_s), seen, {})

    row = capsys.readouterr().out.splitlines()[-1].split()
    assert (row[0], row[1], row[4]) == ("8", "2.00", "30")
    assert float(row[2]) < 1 and float(row[3]) > 4


def test_progress_counts_the_points_of_all_launches() -> None:
    seen = Seen(points=2, launches=2)
    batch = {"event": "batch", "operation": "scatter", "message_bytes": 8, "points": 2}
    for launch in (1, 2):
        seen.begin(launch)
        take({"event": "start", "points": 2}, seen, {})
        for number in (1, 2):
            take({**batch, "points_done": number}, seen, {})
            assert (seen.finished, seen.points) == (2 * (launch - 1) + number, 4)
            take(point_event("scatter", 8 * number, launch=launch), seen, {})

    assert (seen.done, seen.doing) == (4, "launch 2 of 2: scatter 16 B")


def test_a_log_gets_a_plain_line_a_point(capsys: pytest.CaptureFixture[str]) -> None:
    feed(point_event("scatter", 8), point_event("scatter", 16))

    lines = capsys.readouterr().err.splitlines()
    assert [line.rpartition(" (")[0] for line in lines] == ["1/3 scatter 8 B", "2/3 scatter 16 B"]


def test_quiet_writes_the_table_only(capsys: pytest.CaptureFixture[str]) -> None:
    feed(point_event("scatter", 8), display="quiet")

    shown = capsys.readouterr()
    assert (len(shown.out.splitlines()), shown.err) == (3, "")


def test_points_that_an_adaptive_run_adds_are_counted() -> None:
    seen = feed(*(point_event("scatter", size) for size in range(5)))

    assert (seen.done, seen.points) == (5, 5)


def test_a_batch_tells_how_many_points_are_finished_before_they_are_printed() -> None:
    batch = {"event": "batch", "operation": "scatter", "message_bytes": 8, "elapsed_s": 1.0}

    seen = feed({**batch, "points_done": 2, "points": 3})

    assert (seen.done, seen.finished, seen.doing) == (0, 2, "scatter 8 B")


def test_a_warning_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    feed({"event": "warning", "text": "4 ranks on 2 cores"})

    assert capsys.readouterr().err == "lanewise measure: warning: 4 ranks on 2 cores\n"


def test_the_end_is_noticed() -> None:
    assert not feed().ended
    assert feed({"event": "end", "points": 3, "elapsed_s": 1.0}).ended


def test_a_clock_check_is_shown_in_microseconds(capsys: pytest.CaptureFixture[str]) -> None:
    check = {"residual_s": 2e-7, "uncertainty_s": 1e-7, "span_s": 10.0, "error_s": None}

    feed({"event": "clock", **check})

    assert capsys.readouterr().out.splitlines()[1].split() == ["0.20", "0.10", "-", "10.0"]


def test_a_point_of_another_version_is_refused_by_its_key() -> None:
    with pytest.raises(RecordError, match=r"not of this version \(.*unknown key 'colour'\)"):
        feed(point_event("scatter", 8, colour="red"))


def test_availability_is_printed_as_it_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    seen = Seen(points=2)
    event = {
        "event": "polling", "record": "polling", "message_bytes": 100_000, "interval_s": 1e-4,
        "depth": 4, "availability": [0.5, 0.7, 0.6], "rate_bytes_per_s": [1e8, 2e8, 3e8],
    }  # fmt: skip

    take(event, seen, {})
    take(event, seen, {})

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["#", "Size"]
    assert [line.split() for line in lines[1:]] == [["100000", "100.00", "0.600", "200.0"]] * 2
    assert seen.done == 2
