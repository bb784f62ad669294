# SPDX-License-Identifier: BSD-3-Clause
"""Options reach the native program as they were given, and only those that were given."""

import inspect

from lanewise.cli import measure, native_options


def test_nothing_given_passes_nothing() -> None:
    assert native_options.native_arguments({}) == []


def test_operations_come_first_and_options_keep_their_values() -> None:
    values = {
        "operations": ["scatter", "gather"],
        "libraries": ["./libmine.so:fast"],
        "sizes": "1:1M:x2",
        "skew_offset": "-1e-3",
        "output": "samples.jsonl",
        "resume": True,
    }

    assert native_options.native_arguments(values) == [
        "scatter",
        "gather",
        "--operation=./libmine.so:fast",
        "--sizes=1:1M:x2",
        "--skew-offset=-1e-3",
        "-o",
        "samples.jsonl",
        "--resume",
    ]


def test_every_passed_option_is_an_option_of_the_command() -> None:
    assert set(native_options.PASSED) <= set(inspect.signature(measure.measure).parameters)
