# SPDX-License-Identifier: BSD-3-Clause
"""What is typed after -- becomes a base and a candidate."""

from pathlib import Path

import pytest

from lanewise.errors import RequestError
from lanewise.launch import sides


def test_words_are_split_at_each_pair_of_dashes() -> None:
    found = sides.split(["bcast", "-n", "2", "--", "A=1", "--", "B=2", "-x"])

    assert found == (["bcast", "-n", "2"], [["A=1"], ["B=2", "-x"]])


def test_a_side_has_variables_and_then_options() -> None:
    side = sides.side_of("base", ["A=1", "B=x=y", "--transport", "openmpi-tcp"])

    assert side.variables == {"A": "1", "B": "x=y"}
    assert side.options == ("--transport", "openmpi-tcp")
    assert side.command == ()


def test_a_side_has_variables_and_then_a_command_that_keeps_its_assignments() -> None:
    side = sides.side_of("base", ["A=1", "./bench", "size=8", "-o", "{output}"])

    assert side.variables == {"A": "1"}
    assert side.writing_to(Path("out")) == ["./bench", "size=8", "-o", "out"]
    assert side.names_output


def test_a_preloaded_library_is_for_the_ranks_alone() -> None:
    side = sides.side_of("candidate", ["LD_PRELOAD=./libslow.so", "PATH=/opt/new/bin"])

    assert side.of_launcher == {"PATH": "/opt/new/bin"}


def test_a_side_may_be_empty() -> None:
    base, candidate = sides.read([[], ["A=1"]], baseline=False)

    assert (base.variables, candidate.variables) == ({}, {"A": "1"})


@pytest.mark.parametrize("words", [[], [["A=2"]]])
def test_with_a_baseline_there_is_a_candidate_alone(words: list[list[str]]) -> None:
    (side,) = sides.read(words, baseline=True)

    assert side.title == "candidate"


@pytest.mark.parametrize(
    ("words", "baseline", "remedy"),
    [
        ([], False, "name base and candidate after --"),
        ([["A=1"]], False, "name base and candidate after --"),
        ([["A=1"], ["B=1"], ["C=1"]], False, "wrap a command"),
        ([["A=1"], ["B=1"]], True, "wrap a command"),
        ([["A=1"], ["./bench"]], False, "the base is not a command"),
        ([["./bench"], []], False, "the candidate is not a command"),
    ],
)
def test_sides_that_cannot_be_compared_are_refused(
    words: list[list[str]],
    baseline: bool,  # noqa: FBT001
    remedy: str,
) -> None:
    with pytest.raises(RequestError, match=remedy):
        sides.read(words, baseline=baseline)
