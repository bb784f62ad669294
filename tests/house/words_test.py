# SPDX-License-Identifier: BSD-3-Clause
"""No retired word is left, and one that comes back is named with the word that took its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import tree
import words

Plant = Callable[[dict[str, str]], Path]


def test_no_retired_word_is_left() -> None:
    offences = words.word_offences(tree.ROOT)

    assert not offences, "\n".join(offences)


OFFENCES = {
    "in an identifier": ("src/verbs/a.cpp", "int stay_patient();\n"),
    "at the end of a compound": ("src/measure/a.hpp", "int count_meetings();\n"),
    "in prose": ("docs/a.md", "The winner is faster beyond doubt.\n"),
    "in a file's name": ("src/collectives/whereabouts.hpp", "int a;\n"),
    "in a template": ("python/lanewise/report/a.html.j2", "<p>Fabrics</p>\n"),
    "an old paper number": ("src/model/a.cpp", "// Paper 000, section 2.\n"),
}


@pytest.mark.parametrize(("name", "text"), OFFENCES.values(), ids=OFFENCES.keys())
def test_a_retired_word_is_caught(plant: Plant, name: str, text: str) -> None:
    (offence,) = words.word_offences(plant({name: text}))

    assert offence.startswith(f"{name}:")


FINE = {
    "a longer word": ("src/a.cpp", "// Surround the attendance of burying grounds.\n"),
    "the network itself": ("docs/a.md", "Open MPI over libfabric's tcp provider.\n"),
    "where an old file is read": ("python/lanewise/results/read.py", 'values["fabric"]\n'),
    "the history of changes": ("CHANGELOG.md", "`--launcher` was `--fabric`.\n"),
}


@pytest.mark.parametrize(("name", "text"), FINE.values(), ids=FINE.keys())
def test_a_word_that_is_allowed_passes(plant: Plant, name: str, text: str) -> None:
    assert words.word_offences(plant({name: text})) == []
