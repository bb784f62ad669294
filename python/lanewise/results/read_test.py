# SPDX-License-Identifier: BSD-3-Clause
"""Reading samples.jsonl: what is written comes back, and what is damaged is named."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lanewise.errors import RequestError
from lanewise.results import specimen
from lanewise.results.read import load

times = st.floats(min_value=1e-9, max_value=1e3, allow_nan=False)
sizes = st.integers(min_value=0, max_value=2**64 - 1)
points = st.builds(
    specimen.point_record,
    operation=st.sampled_from(["scatter", "pairs", "mine.so:é"]),
    message_bytes=sizes,
    samples_s=st.lists(times, min_size=1, max_size=20),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(points, max_size=5))
def test_every_point_comes_back_as_it_was_written(
    tmp_path: Path, written: list[dict[str, Any]]
) -> None:
    path = specimen.write(tmp_path / "samples.jsonl", [specimen.context_record(), *written])

    samples = load(path)

    found = [
        {"record": "point", **vars(point), "samples_s": list(point.samples_s)}
        for point in samples.launch_points
    ]
    kept = [{key: values[key] for key in written[0]} for values in found]
    assert sorted(map(json.dumps, kept)) == sorted(map(json.dumps, written))


def test_points_come_in_the_order_asked_for_not_that_of_the_file(tmp_path: Path) -> None:
    asked = specimen.records(
        ["scatter", "gather"], [8, 16], context={"arguments": ["scatter", "gather"]}
    )
    path = specimen.write(tmp_path / "s.jsonl", [asked[0], *asked[4:0:-1], asked[5]])

    found = [(point.operation, point.message_bytes) for point in load(path).points]

    assert found == [("scatter", 8), ("scatter", 16), ("gather", 8), ("gather", 16)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(min_value=0, max_value=10_000))
def test_a_file_cut_anywhere_after_its_first_line_gives_its_whole_lines(
    tmp_path: Path, cut: int
) -> None:
    path = specimen.write(tmp_path / "samples.jsonl", specimen.records())
    text = path.read_text()
    first = text.index("\n") + 1
    kept = text[: first + cut % (len(text) - first)]
    path.write_text(kept)

    samples = load(path)

    assert len(samples.points) == max(0, kept.count("\n") - 1)
    assert samples.end is None


def test_a_cut_last_line_is_said_with_its_number(tmp_path: Path) -> None:
    path = specimen.write(tmp_path / "samples.jsonl", specimen.records(sizes_bytes=[8, 16]))
    path.write_text(path.read_text()[:-5])

    samples = load(path)

    assert samples.warnings[0] == f"{path}:4: the last line is cut off; read up to line 3"


def test_an_interrupted_run_is_valid_and_said(tmp_path: Path) -> None:
    path = specimen.write(tmp_path / "samples.jsonl", specimen.records(sizes_bytes=[8])[:-1])

    samples = load(path)

    assert len(samples.points) == 1
    assert "interrupted after 1 point;" in samples.warnings[0]


def test_a_finished_run_gives_no_warning(tmp_path: Path) -> None:
    path = specimen.write(tmp_path / "samples.jsonl", specimen.records())

    assert load(path).warnings == []


@pytest.mark.parametrize("key", ["root", "peer", "second_peer"])
def test_a_point_of_a_rank_that_is_not_there_is_refused(tmp_path: Path, key: str) -> None:
    ranks = {"root": 0, "peer": 1, "second_peer": 2, key: 4}
    point = specimen.point_record("triplets", 8, [1e-6], **ranks)
    path = specimen.write(tmp_path / "s.jsonl", [specimen.context_record(ranks=4), point])

    with pytest.raises(
        RequestError, match=f"s.jsonl:2: key '{key}' is 4, but .* 0 to 3; .* damaged"
    ):
        load(path)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"root": 4}, "key 'root' is 4"),
        (
            {"placement": [{"rank": 1, "host": "a"}, {"rank": 4, "host": "b"}]},
            r"key 'placement\[1\].rank' is 4",
        ),
    ],
)
def test_a_context_with_a_rank_that_is_not_there_is_refused(
    tmp_path: Path, changes: dict[str, Any], fault: str
) -> None:
    path = specimen.write(tmp_path / "s.jsonl", [specimen.context_record(ranks=4, **changes)])

    with pytest.raises(RequestError, match=f"s.jsonl:1: {fault}, but the ranks are 0 to 3;"):
        load(path)


def test_lines_that_are_missing_are_said(tmp_path: Path) -> None:
    lines = specimen.records()
    path = specimen.write(tmp_path / "samples.jsonl", [*lines[:3], *lines[5:]])

    assert load(path).warnings == [
        f"{path}: 6 points where the end record says 8; lines are missing, so measure again"
    ]


def test_points_that_were_gone_on_with_count_against_the_last_end_record(tmp_path: Path) -> None:
    lines = specimen.records()
    first_end = {"record": "end", "points": 8, "elapsed_s": 1.0}
    last_end = {"record": "end", "points": 1, "elapsed_s": 1.0}
    more = specimen.point_record("scatter", 2048, [1e-6] * 20)
    path = specimen.write(tmp_path / "samples.jsonl", [*lines[:-1], first_end, more, last_end])

    assert load(path).warnings == []


def test_a_newer_schema_is_refused_with_both_versions(tmp_path: Path) -> None:
    path = specimen.write(tmp_path / "new.jsonl", [specimen.context_record(version=3)])

    with pytest.raises(
        RequestError, match=r"new.jsonl:1: schema version 3 is newer than 2.*upgrade"
    ):
        load(path)


@pytest.mark.parametrize("place", ["context", "point", "end"])
def test_an_unknown_key_is_refused_by_name_and_line(tmp_path: Path, place: str) -> None:
    lines = specimen.records(sizes_bytes=[8])
    number = {"context": 1, "point": 2, "end": 3}[place]
    lines[number - 1]["colour"] = "red"
    path = specimen.write(tmp_path / "odd.jsonl", lines)

    with pytest.raises(RequestError, match=rf"odd.jsonl:{number}: unknown key 'colour'"):
        load(path)


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("median_s", "fast", "key 'median_s' is \"fast\", not a number or null"),
        ("message_bytes", 8.5, "key 'message_bytes' is 8.5, not an integer"),
        ("root", True, "key 'root' is true, not an integer"),
        ("samples_s", [1e-6, "x"], r"key 'samples_s\[1\]' is \"x\", not a number"),
        ("elapsed_s", math.nan, "key 'elapsed_s' is NaN, not a number"),
        ("median_s", math.nan, "key 'median_s' is NaN, not a number or null"),
        ("median_s", math.inf, "key 'median_s' is Infinity, not a number or null"),
        ("median_s", 10**400, "key 'median_s' is 1000.*, outside the range of a double"),
        ("samples_s", [1e-6, -math.inf], r"key 'samples_s\[1\]' is -Infinity, not a number"),
        ("samples_s", [10**400], r"key 'samples_s\[0\]' is 1000.*, outside the range of a double"),
    ],
    ids=[
        "word", "fraction", "truth", "word in samples",
        "NaN", "NaN or null", "infinity", "too large", "infinite sample", "too large sample",
    ],
)  # fmt: skip
def test_a_value_that_is_no_such_number_is_refused_by_name(
    tmp_path: Path, key: str, value: object, complaint: str
) -> None:
    point = {**specimen.point_record("scatter", 8, [1e-6]), key: value}
    path = specimen.write(tmp_path / "odd.jsonl", [specimen.context_record(), point])

    with pytest.raises(RequestError, match=f"odd.jsonl:2: {complaint}"):
        load(path)


def test_a_device_is_not_read_since_it_may_have_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda *_, **_named: pytest.fail("it was read"))

    with pytest.raises(RequestError, match=r"^/dev/zero cannot be read: it is a device$"):
        load("/dev/zero")


def test_a_missing_key_is_refused_by_name(tmp_path: Path) -> None:
    point = specimen.point_record("scatter", 8, [1e-6])
    del point["median_s"]
    path = specimen.write(tmp_path / "odd.jsonl", [specimen.context_record(), point])

    with pytest.raises(RequestError, match=r"odd.jsonl:2: key 'median_s' is missing"):
        load(path)


def test_a_time_may_be_less_than_nothing_since_some_methods_subtract_a_cost(
    tmp_path: Path,
) -> None:
    point = specimen.point_record("bcast", 8, [-1e-6])
    path = specimen.write(tmp_path / "short.jsonl", [specimen.context_record(), point])

    assert load(path).points[0].median_s == -1e-6


@pytest.mark.parametrize("version", [0, -1, True, 1.0, "2", None])
def test_a_version_that_there_never_was_is_refused(tmp_path: Path, version: object) -> None:
    path = specimen.write(tmp_path / "odd.jsonl", [specimen.context_record(version=version)])

    with pytest.raises(RequestError, match=r"odd.jsonl:1: key 'version' is .*, not 1 or 2"):
        load(path)


def test_an_unknown_record_is_refused(tmp_path: Path) -> None:
    path = specimen.write(tmp_path / "odd.jsonl", [specimen.context_record(), {"record": "song"}])

    with pytest.raises(RequestError, match=r"odd.jsonl:2: unknown record 'song'"):
        load(path)


def test_a_damaged_line_in_the_middle_is_refused_with_its_number(tmp_path: Path) -> None:
    lines = [json.dumps(record) for record in specimen.records(sizes_bytes=[8, 16])]
    lines[1] = lines[1][:-3]
    path = tmp_path / "bad.jsonl"
    path.write_text("\n".join(lines) + "\n")

    with pytest.raises(RequestError, match=r"bad.jsonl:2: not JSON at column"):
        load(path)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("[" * 100_000, "values are nested too deeply"),
        (f'{{"seed": {"1" * 5000}}}', "a number has too many digits"),
    ],
    ids=["deep", "digits"],
)
def test_a_line_with_more_than_can_be_read_is_refused_with_its_number(
    tmp_path: Path, line: str, why: str
) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(f"{json.dumps(specimen.context_record())}\n{line}\n")

    with pytest.raises(
        RequestError, match=rf"bad.jsonl:2: not JSON \({why}\); the file is damaged$"
    ):
        load(path)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "no whole line"),
        (b"no newline", "no whole line"),
        (b"[1, 2]\n", "not a JSON object"),
        (b'{"record": "point"}\n', "not a lanewise-samples context"),
        (b"\xff\xfe\n", "is not text"),
    ],
)
def test_what_is_not_a_result_file_is_refused(
    tmp_path: Path, content: bytes, complaint: str
) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)

    with pytest.raises(RequestError, match=complaint):
        load(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="does not exist"):
        load(tmp_path / "none.jsonl")


def test_null_times_become_nan(tmp_path: Path) -> None:
    point = specimen.point_record("scatter", 8, [1e-6], low_s=None, high_s=None)
    path = specimen.write(tmp_path / "few.jsonl", [specimen.context_record(), point])

    assert math.isnan(load(path).points[0].low_s)


def test_version_1_called_the_launcher_fabric(tmp_path: Path) -> None:
    old = specimen.context_record(version=1)
    old["fabric"] = old.pop("launcher")
    path = specimen.write(tmp_path / "old.jsonl", [old])

    context = load(path).context

    assert (context.launcher, context.transport_name) == ("openmpi", "openmpi")


def test_a_rank_may_be_written_with_a_point(tmp_path: Path) -> None:
    point = specimen.point_record("pairs", 8, [1e-6] * 20, peer=2.0, reply_bytes=8.0)

    (found,) = load(specimen.write(tmp_path / "a.jsonl", [specimen.context_record(), point])).points

    assert (found.peer, found.reply_bytes, found.second_peer) == (2, 8, None)
    assert isinstance(found.peer, int)
