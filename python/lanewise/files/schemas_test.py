# SPDX-License-Identifier: BSD-3-Clause
"""What is wrong in a file is one sentence with the place, the key, and what would be right."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from lanewise.errors import RequestError
from lanewise.files import platform
from lanewise.files.schemas import fault_in, object_in, require
from lanewise.results import specimen

POINT = specimen.point_record("scatter", 8, [1e-6, 2e-6])


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


def test_the_place_within_a_file_is_said() -> None:
    context = copy.deepcopy(specimen.context_record())
    context["stopping"]["rul"] = context["stopping"].pop("rule")
    fault = fault_in(context, "samples", "context")

    assert fault is not None
    assert fault.path == ("stopping",)
    assert fault.sentence == "stopping: unknown key 'rul'; did you mean rule?"


def test_the_error_has_the_file_and_the_remedy() -> None:
    with pytest.raises(RequestError, match=r"^f.jsonl:7: key 'root' is 1.5, .*; try again$"):
        require({**POINT, "root": 1.5}, "samples", "f.jsonl:7", definition="point",
                remedy="try again")  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"), [("{", r"is not JSON .*; do b"), ("[]", "is no JSON object; do b")]
)
def test_what_is_no_object_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "x.json"
    with pytest.raises(RequestError, match="does not exist; do a"):
        object_in(path, missing="do a", damaged="do b")
    path.write_text(text)
    with pytest.raises(RequestError, match=said):
        object_in(path, missing="do a", damaged="do b")


def test_version_1_of_a_platform_had_other_names() -> None:
    old = {"version": 1, "fingerprint": {"fabric": "smpi"}, "models": {"lmo": {"held_back": {}}}}

    assert platform.as_version_2(old) == {
        "version": 2,
        "fingerprint": {"launcher": "smpi"},
        "models": {"lmo": {"held_out": {}}},
    }
