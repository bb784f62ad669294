# SPDX-License-Identifier: BSD-3-Clause
"""Alignments by way of a store against plain loops, on small random sequences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lanewise import wavefront
from lanewise.errors import RequestError
from lanewise.launch import native_library

pytest.importorskip("numba", reason="install numba for kernels in Python")

from examples.affine_alignment import NEVER, Alignment, Scoring, align, main

try:
    native_library.path_of()
except RequestError as error:
    pytest.skip(str(error), allow_module_level=True)

SCORINGS = (Scoring(), Scoring(2, -1, 2, 2), Scoring(5, -4, 10, 0))


def tables(down: str, across: str, scoring: Scoring) -> list[list[list[int]]]:
    """Fill the three tables of Gotoh by plain loops."""
    rows, columns = len(down) + 2, len(across) + 2
    pairs = [[0] * columns for _ in range(rows)]
    right = [[NEVER] * columns for _ in range(rows)]
    below = [[NEVER] * columns for _ in range(rows)]
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            right[i][j] = max(right[i][j - 1] - scoring.further, pairs[i][j - 1] - scoring.first)
            below[i][j] = max(below[i - 1][j] - scoring.further, pairs[i - 1][j] - scoring.first)
            pair = pairs[i - 1][j - 1] + scoring.of_pair(down[i - 1], across[j - 1])
            pairs[i][j] = max(0, pair, right[i][j], below[i][j])
    return [pairs, right, below]


def score_of(found: Alignment, scoring: Scoring) -> int:
    """Score an alignment letter by letter."""
    total, before = 0, ""
    for one, other in zip(found.down, found.across, strict=True):
        gap = "down" if one == "-" else "across" if other == "-" else ""
        if gap:
            total -= scoring.further if gap == before else scoring.first
        else:
            total += scoring.of_pair(one, other)
        before = gap
    return total


@pytest.mark.parametrize("seed", range(12))
def test_the_way_back_is_the_best_alignment(tmp_path: Path, seed: int) -> None:
    generator = np.random.default_rng(seed)
    lengths = generator.integers(0, 90, 2)
    down, across = ("".join(generator.choice(list("ACGT"), n)) for n in lengths)
    scoring = SCORINGS[seed % len(SCORINGS)]

    found = align(tmp_path / "s", down, across, scoring, "64MiB")

    expected = tables(down, across, scoring)
    assert found.score == max(map(max, expected[0]))
    assert score_of(found, scoring) == found.score
    assert found.down.replace("-", "") in down
    assert found.across.replace("-", "") in across
    with wavefront.Store.open(tmp_path / "s") as store:
        for table in range(3):
            np.testing.assert_array_equal(store.read(table), expected[table])


def test_the_way_back_goes_through_many_strips(tmp_path: Path) -> None:
    generator = np.random.default_rng(5)
    down = "".join(generator.choice(list("ACGT"), 900))
    across = down[:200] + down[260:700]

    found = align(tmp_path / "s", down, across, memory="64MiB")

    assert found.down == down[:700]
    assert found.across.count("-") == 60
    assert score_of(found, Scoring()) == found.score == 3 * 640 - 5 - 59


def test_a_call_without_two_sequences_says_what_to_give(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["affine_alignment.py", "GGTTGACTA"])

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 2
    assert capsys.readouterr().err == "use: affine_alignment.py SEQUENCE SEQUENCE\n"
