# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise tune`: what it says of a run that ends early."""

from pathlib import Path

from lanewise.cli.compared import Compared
from lanewise.cli.tune import kept


def test_a_run_that_ends_early_says_in_which_launch_and_how_to_go_on(tmp_path: Path) -> None:
    output = tmp_path / "t.json"
    (tmp_path / "t.json.evidence").write_text("{}\n", encoding="utf-8")
    first = Compared(points=2, done=1)
    later = Compared(points=2, done=1, place=", launch 7 of 20")

    going_on = f"kept in {output}.evidence; the same command with --resume continues"
    assert kept(first, {"output": str(output)}) == f"after 1 of 2 sizes, {going_on}"
    assert kept(later, {"output": str(output)}) == (
        f"after 1 of 2 sizes, in launch 7 of 20, {going_on}"
    )


def test_nothing_is_said_to_be_kept_where_nothing_is(tmp_path: Path) -> None:
    unmeasured = kept(Compared(points=2), {"output": str(tmp_path / "t.json")})

    assert unmeasured == "before any size was measured"
