# SPDX-License-Identifier: BSD-3-Clause
"""What `lanewise check same-bits` says of reductions that it has not compared."""

from pathlib import Path

import pytest

from lanewise import __version__
from lanewise.bits.compare import Run
from lanewise.bits.records import RankResults
from lanewise.cli import run
from lanewise.cli.check_same_bits import Compared, sentences_on
from lanewise.launch.native import NativeBuild


@pytest.mark.parametrize(
    ("ranks", "reason"),
    [
        (2, "the result could not be read"),
        (3, "not over all ranks, or rank 0 has another part of the result, or none, or it could "
            "not be read"),
    ],
)  # fmt: skip
def test_reductions_on_as_many_ranks_are_left_out_only_where_they_could_not_be_read(
    ranks: int, reason: str
) -> None:
    runs = [Run(name, n, "", {0: RankResults([], [], world=n)})
            for name, n in (("first", 2), ("other", ranks))]  # fmt: skip
    one = Compared(runs[1], runs[0], None, "", output_differs=False, not_compared=1)

    assert sentences_on(one) == [f"other: 1 reduction was not compared with first: {reason}"]


def test_a_build_that_is_not_optimised_is_named_once_before_the_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    build = NativeBuild(tmp_path, "openmpi", "4.1", "Debug", "", __version__, tmp_path, tmp_path)
    monkeypatch.setattr("lanewise.launch.tuned.family_of", lambda *_: "openmpi")
    monkeypatch.setattr("lanewise.launch.tuned.build_of", lambda *_: build)

    run(["check", "same-bits", "--", "true"])

    caution, _ = capsys.readouterr().err.splitlines()
    assert caution.startswith("lanewise check same-bits: ")
    assert "are not optimised" in caution
