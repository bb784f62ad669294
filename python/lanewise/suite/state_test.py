# SPDX-License-Identifier: BSD-3-Clause
"""The state: kept whole, read back, and not mixed with another request's."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from lanewise.errors import RequestError
from lanewise.suite import state

SCHEMA = json.loads(
    (Path(__file__).parents[3] / "schema" / "suite.schema.json").read_text(encoding="utf-8")
)
ASKED = state.Asked(2, "quick", ("a", "b"), ("pingpong",), 160, 1, 2)


def some_state() -> state.State:
    known = state.State(ASKED, "2026-11-21T19:00:00Z")
    known.transports["a"] = state.TransportState("A", "", "Open MPI", 0.5, {"partitioned": "MPI 4"})
    known.transports["b"] = state.TransportState("B", "no such transport")
    known.launches.update({"a.point.1": "", "a.stream.1": "a rank died"})
    return known


def test_what_is_saved_is_read_back_and_follows_the_schema(tmp_path: Path) -> None:
    state.save(some_state(), tmp_path)

    assert state.load(tmp_path) == some_state()
    Draft202012Validator(SCHEMA).validate(json.loads((tmp_path / state.FILE).read_text()))


def test_a_transport_whose_name_is_not_text_is_the_same_when_read_back(tmp_path: Path) -> None:
    asked = replace(ASKED, transports=("a\udce9", "a\udcea"))
    state.save(state.State(asked, "today"), tmp_path)

    assert state.load(tmp_path).asked == asked


def test_failures_are_told_from_successes() -> None:
    assert some_state().failed() == {"a.stream.1": "a rank died"}


def test_a_state_from_before_buffers_could_be_chosen_is_read(tmp_path: Path) -> None:
    state.save(some_state(), tmp_path)
    values = json.loads((tmp_path / state.FILE).read_text())
    del values["asked"]["buffers"]
    (tmp_path / state.FILE).write_text(json.dumps(values))

    assert state.load(tmp_path).asked.buffers == ""


def test_another_request_does_not_go_on_here(tmp_path: Path) -> None:
    other = replace(ASKED, window=64)

    with pytest.raises(RequestError, match="was begun with window 160, not 64"):
        state.require_same(ASKED, other, tmp_path)


def test_a_transport_whose_file_has_changed_does_not_go_on_here(tmp_path: Path) -> None:
    before, now = replace(ASKED, digests=("1", "2")), replace(ASKED, digests=("1", "3"))

    with pytest.raises(RequestError, match="was begun with another file of transport b; name"):
        state.require_same(before, now, tmp_path)
    state.require_same(now, now, tmp_path)


def test_a_suite_from_before_there_were_digests_goes_on(tmp_path: Path) -> None:
    state.require_same(ASKED, replace(ASKED, digests=("1", "2")), tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON"),
        ("{}", "is no lanewise-suite file"),
        ('{"schema": "lanewise-suite", "version": 9}', "version 9 is newer than version 2"),
        ('{"schema": "lanewise-suite", "version": 1}', "key 'asked' is missing"),
    ],
)
def test_a_file_that_is_no_state_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / state.FILE).write_text(text, encoding="utf-8")

    with pytest.raises(RequestError, match=said):
        state.load(tmp_path)


def test_a_version_that_is_no_number_is_refused(tmp_path: Path) -> None:
    state.save(state.State(ASKED, "today"), tmp_path)
    path = tmp_path / state.FILE
    path.write_text(path.read_text().replace('"version": 2', '"version": true'))

    with pytest.raises(RequestError, match="key 'version' is true, not 2"):
        state.load(tmp_path)


def test_version_1_had_other_names(tmp_path: Path) -> None:
    now = state.State(state.Asked(2, "quick", ("tcp",), ("pingpong",), 160, 1, 2), "today")
    now.transports["tcp"] = state.TransportState("TCP")
    state.save(now, tmp_path)
    path = tmp_path / state.FILE
    old = path.read_text().replace('"transports"', '"fabrics"').replace("benchmarks", "kernels")
    path.write_text(old.replace('"version": 2', '"version": 1'))

    assert state.load(tmp_path) == now
