# SPDX-License-Identifier: BSD-3-Clause
"""The statuses of the native library are those of its header, and errors those of the programs."""

import re
from pathlib import Path

import pytest

from lanewise.errors import LanewiseError, RequestError, RunError
from lanewise.launch.native_library import REFUSALS, Sentences, Status, error_of

ROOT = Path(__file__).parents[3]


def test_the_statuses_are_those_of_the_header() -> None:
    header = (ROOT / "include/lanewise/status.h").read_text(encoding="utf-8")
    enumerators = header.partition("enum lw_status {")[2].partition("}")[0]

    names = re.findall(r"^\s*LW_(?:ERR_)?(\w+)", enumerators, re.MULTILINE)

    assert [status.name for status in sorted(Status)] == names
    assert sorted(Status) == list(range(len(names)))


def test_what_ends_a_native_program_with_2_is_a_request_that_cannot_be_served() -> None:
    source = (ROOT / "src/tools/program.cpp").read_text(encoding="utf-8")
    cases = re.search(r"((?:case LW_ERR_\w+:\s*)+)return 2;", source)

    assert cases
    assert re.findall(r"LW_ERR_(\w+)", cases[1]) == [status.name for status in REFUSALS]


@pytest.mark.parametrize(
    ("status", "kind"), [(Status.NOT_FOUND, RequestError), (Status.IO, RunError), (99, RunError)]
)
def test_a_status_decides_the_kind_of_error(status: int, kind: type[LanewiseError]) -> None:
    error = error_of(status, "what, where, remedy")

    assert (type(error), str(error)) == (kind, "what, where, remedy")


def test_reasons_and_things_to_know_are_kept_apart() -> None:
    sentences = Sentences()

    sentences.callback(None, Status.OK, b"slow")
    sentences.callback(None, Status.IO, b"\xff is full")

    assert (sentences.notes, sentences.reasons) == (["slow"], ["\ufffd is full"])
