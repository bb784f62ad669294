# SPDX-License-Identifier: BSD-3-Clause
"""The demonstration tells what it found, and says so where it found nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from examples.demo import count_bytes
from examples.demo.__main__ import CHAPTERS
from examples.demo.cable import IDLE_BYTES, Samples
from examples.demo.measure import of_intervals, of_message
from examples.demo.page import write_page
from examples.demo.picture import stacked
from examples.demo.sites import bars_of
from examples.demo.story import Chapter, Shown, Stage, tell
from examples.demo.sweep import end_of
from lanewise.errors import RunError
from lanewise.plots import Bar, draw_bars
from lanewise.results.records import Point as Measured
from lanewise.tuning.content import Candidate, Choice, Figures, Point

ROOT = Path(__file__).parents[2]


def chapter(show: Callable[[Stage], Shown]) -> Chapter:
    return Chapter("trial", "A trial", "Does it work?", 1, "tune.md", show)


def on_stage(folder: Path) -> Callable[[Chapter], Stage]:
    return lambda _: Stage(folder, folder, ("mpirun",))


def shown(_: Stage) -> Shown:
    return Shown("It works.", draw_bars([("times", [Bar("one", 1.0)])], str))


def fails(_: Stage) -> Shown:
    raise RunError("no <network> here")


def counting(lines: list[list[float]]) -> subprocess.Popen[str]:
    text = "\\n".join(json.dumps(line) for line in lines)
    return subprocess.Popen(["printf", text], stdout=subprocess.PIPE, text=True)


def measured(half_width: float) -> Measured:
    return Measured(
        "pingpong", root=0, message_bytes=8, median_s=1e-6, low_s=1e-6 - half_width * 1e-6,
        high_s=1e-6 + half_width * 1e-6, mean_s=1e-6, repetitions=30, late_count=0,
        outlier_count=0, batches=3, stopped="time", elapsed_s=1.0, samples_s=(),
    )  # fmt: skip


def test_the_page_has_the_finding_and_the_picture_of_each_chapter(tmp_path: Path) -> None:
    told = tell([chapter(shown)], on_stage(tmp_path))
    write_page(tmp_path / "index.html", told)

    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "It works." in page
    assert "<svg" in page


def test_the_picture_has_its_figures_one_below_the_other_above_the_caption() -> None:
    figure = draw_bars([("times", [Bar("one", 1.0)])], str)
    picture = stacked([figure, figure], "Measured <here>")

    root = ElementTree.fromstring(picture)
    upper, lower = (one for one in root if one.tag.endswith("svg"))
    assert float(lower.attrib["y"]) > float(upper.attrib["height"])
    assert "Measured &lt;here&gt;" in picture


def test_a_chapter_that_fails_gives_its_reason_and_the_others_go_on(tmp_path: Path) -> None:
    told = tell([chapter(fails), chapter(shown)], on_stage(tmp_path))
    write_page(tmp_path / "index.html", told)

    assert [one.reason for one in told] == ["no <network> here", ""]
    assert "no &lt;network&gt; here" in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_commands_are_kept_as_typed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    stage = Stage(tmp_path, ROOT / "bin", ("mpirun",))

    assert stage.lanewise("--version").startswith("lanewise ")
    assert stage.typed(str(ROOT / "bin" / "frames")) == "frames"
    assert stage.commands == ["lanewise --version"]
    assert "$ lanewise --version" in capfd.readouterr().err


def test_a_command_that_fails_is_an_error_with_its_status(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="lanewise compare ended with status 2"):
        Stage(tmp_path, tmp_path, ("mpirun",)).lanewise("compare", "nothing", "here")


def test_narrow_intervals_are_told_in_percent() -> None:
    points = [measured(width) for width in (0.1, 0.12, 118.25)]

    assert of_message(points[0]).startswith("A message of 8 B takes 1")
    assert "within ±12 %." in of_intervals(points)


def test_intervals_that_tell_nothing_are_laid_to_the_machine_and_not_told_in_percent() -> None:
    points = [measured(width) for width in (0.1, 118.25, 118.25)]

    assert "too busy to tell how long a message of 8 B takes" in of_message(points[1])
    said = of_intervals(points)
    assert "This machine was too busy for a figure" in said
    assert "wider than ±100 %" in said
    assert "11825" not in said


def test_data_on_the_second_port_is_found_after_the_cut() -> None:
    much = 2 * IDLE_BYTES
    samples = Samples(
        counting([[0.0, 0, 0], [0.1, much, much], [0.2, much, much], [0.3, much, 2 * much]])
    )
    for _ in range(4):
        samples.read()

    assert samples.first_data_s(1, 0.15) == 0.3
    times, rates = samples.rates()
    assert times == pytest.approx([0.1, 0.2, 0.3])
    assert rates[0] == pytest.approx([10 * much, 0, 0])
    assert rates[1] == pytest.approx([10 * much, 0, 10 * much])


def test_a_counter_that_ends_is_an_error() -> None:
    with pytest.raises(RunError, match="could not be counted"):
        Samples(counting([])).read()


def test_interfaces_are_counted_in_the_order_asked_for() -> None:
    assert count_bytes.carried(["nothing0", "lo"])[0] == 0


def test_bars_are_the_default_and_then_each_number_of_lanes() -> None:
    figures = Figures(2.0, 1.5, 2.5, 10)
    lanes = [Candidate(Choice("lanewise", "multilane", 0, number), figures) for number in (4, 1)]

    bars = bars_of(Point(8, figures, tuple(lanes)))

    assert [bar.name for bar in bars] == ["the MPI's choice", "1 lane", "4 lanes"]
    assert (bars[0].value, bars[0].low, bars[0].high) == (2.0, 1.5, 2.5)


def test_the_end_of_a_sweep_is_its_last_event() -> None:
    assert end_of('{"event": "plan"}\n{"event": "end", "iterations": 8}\n')["iterations"] == 8
    with pytest.raises(RunError, match="told no end"):
        end_of('{"event": "plan"}\n')


def test_every_chapter_names_a_guide_that_is_there() -> None:
    assert all((ROOT / "docs" / one.page).is_file() for one in CHAPTERS)


def test_the_demonstration_ends_with_status_1_where_nothing_can_be_shown(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.demo", str(tmp_path / "demo"), "nowhere", "--", "mpirun"],
        env={"PATH": "/usr/bin:/bin", "LANEWISE_NATIVE": str(tmp_path)},
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip

    assert done.returncode == 1
    assert "0 of 4 chapters shown" in done.stderr
    assert (tmp_path / "demo" / "index.html").is_file()
