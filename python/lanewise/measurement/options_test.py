# SPDX-License-Identifier: BSD-3-Clause
"""Values of Python become the words of the command line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lanewise.launch.describe import OptionDescription
from lanewise.measurement.options import texts_of


def option(name: str, kind: str, *, repeatable: bool = False) -> OptionDescription:
    return OptionDescription(
        names=(name,), type=kind, metavar="", default=None, help="", group="", required=False,
        repeatable=repeatable,
    )  # fmt: skip


OPTIONS = (
    option("operations", "text", repeatable=True),
    option("--sizes", "sizes"),
    option("--time-limit", "duration"),
    option("--repetitions", "repetitions"),
    option("--error", "percentage"),
    option("--operation", "text", repeatable=True),
    option("--validate", "flag"),
    option("--output", "text"),
    option("--budget", "duration"),
    option("collectives", "text", repeatable=True),
    option("--events", "flag"),
)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("sizes", "1:1M:x2", "1:1M:x2"),
        ("sizes", 8, "8"),
        ("sizes", [8, 1024], "8,1024"),
        ("sizes", range(8, 33, 8), "8,16,24,32"),
        ("sizes", np.array([8, 16]), "8,16"),
        ("time_limit", 0.5, "0.5s"),
        ("time_limit", np.float64(0.5), "0.5s"),
        ("time_limit", "500ms", "500ms"),
        ("repetitions", 10, "10"),
        ("repetitions", (10, 100), "10:100"),
        ("error", 0.01, "0.01"),
        ("operation", ["a.so:f"], ["a.so:f"]),
        ("operation", "a.so:f", ["a.so:f"]),
        ("validate", True, True),
        ("validate", np.False_, False),
        ("sizes", None, None),
    ],
)
def test_a_value_becomes_the_text_of_its_option(name: str, value: Any, text: Any) -> None:
    assert texts_of({name: value}, OPTIONS) == {name: text}


@pytest.mark.parametrize("value", ["no", 1, [True]], ids=str)
def test_a_flag_that_is_neither_true_nor_false_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match=r"^validate=.* is neither True nor False"):
        texts_of({"validate": value}, OPTIONS)


@pytest.mark.parametrize(
    "name", ["operations", "collectives", "budget", "output", "events", "timelimit"]
)
def test_what_is_no_option_of_a_measurement_is_refused_by_name(name: str) -> None:
    with pytest.raises(TypeError, match=f"unknown option '{name}'"):
        texts_of({name: "1"}, OPTIONS)


def test_a_name_that_is_near_is_suggested() -> None:
    with pytest.raises(TypeError, match="did you mean time_limit"):
        texts_of({"timelimit": 1}, OPTIONS)
