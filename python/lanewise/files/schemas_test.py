# SPDX-License-Identifier: BSD-3-Clause
"""What is wrong in a file is one sentence with the place, the key, and what would be right."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lanewise.errors import RequestError
from lanewise.files import platform, schemas
from lanewise.files.schemas import fault_in, object_in, parsed, require, unknown_key

COUNTS = {"root": 0, "message_bytes": 8, "repetitions": 2, "late_count": 0, "outlier_count": 0}
TIMES = {"median_s": 1e-6, "low_s": None, "high_s": None, "mean_s": 1e-6, "elapsed_s": 1.0}
POINT = {
    **{"record": "point", "operation": "scatter", "batches": 2, "stopped": "interval"},
    **COUNTS,
    **TIMES,
    "samples_s": [1e-6, 1e-6],
}

SUITE = {
    **{"schema": "lanewise-suite", "version": 2, "started": "today", "elapsed_s": 1.0},
    **{"transports": {}, "launches": {}, "left_out": []},
}

PLATFORM = {
    "schema": "lanewise-platform", "version": 3, "lanewise": "0.1.0",
    "created": "2026-01-01T00:00:00Z", "ranks": 2, "hosts": ["a", "b"],
    "fingerprint": {
        "mpi": {"family": "openmpi", "library": "Open MPI v4.1.4"},
        "launcher": "openmpi", "kernel": "6.1.0", "cpus": ["0", "1"], "settings": {},
    },
    "best": "hockney",
    "models": {},
}  # fmt: skip


def sentence(**changes: Any) -> str:
    fault = fault_in({**POINT, **changes}, "samples", "point")
    assert fault is not None
    return fault.sentence


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"repetition": 3}, "unknown key 'repetition'; did you mean repetitions?"),
        ({"colour": 3}, "unknown key 'colour'"),
        ({"root": -1}, "key 'root' is -1, below 0"),
        ({"samples_s": [1, None]}, "key 'samples_s[1]' is null, not a number"),
        (
            {"message_bytes": 10**400},
            f"key 'message_bytes' is 1{'0' * 36}..., outside the range of a double",
        ),
        (
            {"repetitions": -(10**400)},
            f"key 'repetitions' is -1{'0' * 35}..., outside the range of a double",
        ),
        ({"median_s": 10**400}, f"key 'median_s' is 1{'0' * 36}..., outside the range of a double"),
        ({"operation": ["x" * 50]}, f"""key 'operation' is ["{"x" * 35}..., not a string"""),
        (
            {"stopped": "intervall"},
            "key 'stopped' is \"intervall\", none of interval, maximum, time_limit, fixed; "
            "did you mean interval?",
        ),
    ],
)
def test_a_fault_is_one_sentence(changes: dict[str, Any], said: str) -> None:
    assert sentence(**changes) == said


def test_a_value_that_only_the_compiled_check_refuses_gets_a_sentence_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(schemas, "check_of", lambda *_: lambda _value: False)

    assert sentence() == "it does not follow samples.schema.json"


def test_of_many_faults_the_first_ones_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    fault = next(schemas.explainer()(schemas.schema_of("samples", "point")).iter_errors({}))
    looked_at = 0

    def faults(_value: object) -> Iterator[object]:
        nonlocal looked_at
        for looked_at in range(1, 10 * schemas.FAULTS_MAX):  # noqa: B007 (counted)
            yield fault

    monkeypatch.setattr(
        schemas, "explainer", lambda: lambda _schema: SimpleNamespace(iter_errors=faults)
    )

    assert fault_in({}, "samples", "point") is not None
    assert looked_at == schemas.FAULTS_MAX


def test_the_place_within_a_file_is_said() -> None:
    asked = {"ranks": 2, "effort": "quick", "transport": [], "benchmarks": [], "window": 1}
    fault = fault_in({"asked": asked}, "suite", "")
    nested = fault_in({**SUITE, "asked": {**asked, "seed": 1, "rounds": 1}}, "suite")

    assert fault is not None
    assert fault.sentence == "key 'schema' is missing"
    assert nested is not None
    assert nested.path == ("asked",)
    assert nested.sentence == "asked: unknown key 'transport'; did you mean transports?"


def test_the_error_has_the_file_and_the_remedy() -> None:
    with pytest.raises(RequestError, match=r"^f.jsonl:7: key 'root' is 1.5, .*; try again$"):
        require({**POINT, "root": 1.5}, "samples", "f.jsonl:7", definition="point",
                remedy="try again")  # fmt: skip


@pytest.mark.parametrize(
    "name", ["interleaved", "paths", "platform", "profile", "suite", "transport", "tuning"]
)
def test_a_file_of_a_later_version_is_called_newer(name: str) -> None:
    known = schemas.schema_of(name)["properties"]
    version = known["version"]["const"]
    newer = {"schema": known["schema"]["const"], "version": version + 1, "a later key": 1}

    said = (
        f"^x.json: version {version + 1} is newer than version {version}, "
        "which this lanewise reads; upgrade lanewise$"
    )
    with pytest.raises(RequestError, match=said):
        require(newer, name, "x.json", remedy="write it again")
    with pytest.raises(RequestError, match=r"^x.json: unknown key 'a later key'; write it again$"):
        require({**newer, "version": "1"}, name, "x.json", remedy="write it again")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", r"is not JSON .*; do b"),
        ("[" * 100_000, r"is not JSON \(values are nested too deeply\); do b"),
        (f'{{"a": {"[" * 64}{"]" * 64}}}', r"is not JSON \(values are nested too deeply\); do b"),
        ("1" * 5000, r"is not JSON \(a number has too many digits\); do b"),
        (
            '{"a": [{"b": 1, "c": 2, "b": 1}]}',
            r"is not JSON \(the key 'b' is there twice\); do b",
        ),
        ("[]", "is not a JSON object; do b"),
    ],
    ids=["cut off", "deep", "65 deep", "digits", "twice", "list"],
)
def test_what_is_no_object_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "x.json"
    with pytest.raises(RequestError, match="does not exist; do a"):
        object_in(path, missing="do a", damaged="do b")
    path.write_text(text)
    with pytest.raises(RequestError, match=said):
        object_in(path, missing="do a", damaged="do b")


def test_a_long_or_unprintable_key_is_shown_cut_off_and_escaped() -> None:
    long = "x" * 1000
    cut = "'" + "x" * 36 + "..."

    with pytest.raises(ValueError, match=rf"^the key {cut} is there twice$"):
        parsed(f'{{"{long}": 1, "{long}": 2}}')
    with pytest.raises(ValueError, match=r"^the key '\\x1b\[2J' is there twice$"):
        parsed(r'{"\u001b[2J": 1, "\u001b[2J": 2}')
    assert unknown_key([long], []) == f"unknown key {cut}"


def test_a_key_that_is_twice_among_many_is_found_in_no_time() -> None:
    keys = [*range(50_000), 49_999]
    text = "{" + ",".join(f'"{key}": 0' for key in keys) + "}"
    begin = time.process_time()

    with pytest.raises(ValueError, match=r"^the key '49999' is there twice$"):
        parsed(text)

    assert time.process_time() - begin < 2


def test_a_surrogate_without_its_pair_is_kept() -> None:
    values = parsed(r'{"\udc80": "\ud83d\ude00", "\uDC81": ["\ud83d"]}')

    assert list(values.items()) == [("\udc80", "\U0001f600"), ("\udc81", ["\ud83d"])]


def test_a_device_is_not_read_since_it_may_have_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda *_, **_named: pytest.fail("it was read"))

    with pytest.raises(RequestError, match=r"^/dev/zero cannot be read: it is a device; do a$"):
        object_in(Path("/dev/zero"), missing="do a", damaged="do b")


def test_a_name_with_a_nul_cannot_be_that_of_a_file() -> None:
    with pytest.raises(RequestError, match="cannot be read: its name contains a NUL character; do"):
        object_in(Path("a\0b"), missing="do a", damaged="do b")


def test_values_may_be_nested_64_deep(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(f'{{"a": {"[" * 63}{"]" * 63}, "b": "{"[" * 99}"}}')

    assert object_in(path, missing="do a", damaged="do b")["b"] == "[" * 99


def test_version_1_of_a_platform_had_other_names() -> None:
    old = {"version": 1, "fingerprint": {"fabric": "smpi"}, "models": {"lmo": {"held_back": {}}}}

    assert platform.as_version_2(old) == {
        "version": 2,
        "fingerprint": {"launcher": "smpi"},
        "models": {"lmo": {"held_out": {}}},
    }


def test_version_2_of_a_platform_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "platform.json"
    path.write_text(json.dumps({**PLATFORM, "version": 2}))

    assert platform.load(path) == PLATFORM


def test_a_version_of_a_platform_is_a_number(tmp_path: Path) -> None:
    path = tmp_path / "platform.json"
    path.write_text(json.dumps({**PLATFORM, "version": True}))

    with pytest.raises(RequestError, match="key 'version' is true, not 3"):
        platform.load(path)


def test_a_byte_order_mark_is_no_part_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "marked.json"
    path.write_text('{"a": 1}', encoding="utf-8-sig")
    assert object_in(path, missing="do a", damaged="do b") == {"a": 1}
