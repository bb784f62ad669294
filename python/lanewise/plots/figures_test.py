# SPDX-License-Identifier: BSD-3-Clause
"""A figure shows what it was given, has a place for size zero, and becomes two files."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from PIL import Image

from lanewise.plots import (
    Bar,
    Curve,
    Strip,
    draw_bars,
    draw_curves,
    draw_ratios,
    draw_strips,
    save_figure,
)
from lanewise.plots.curves import linear_size_ticks, size_ticks, zero_place
from lanewise.plots.style import PANEL_HEIGHT_IN, PANEL_WIDTH_IN
from lanewise.results.quantity import time_text

SIZES = (0, 8, 64, 512)
TIMES_S = (1e-6, 1.1e-6, 1.5e-6, 4e-6)


def test_each_curve_is_drawn_in_its_panel() -> None:
    curves = [Curve("max", SIZES, TIMES_S, TIMES_S, TIMES_S), Curve("root", SIZES, TIMES_S)]

    figure = draw_curves([("Scatter", curves), ("Gather", curves[:1])])

    assert [len(panel.lines) for panel in figure.axes] == [2, 1]
    assert [panel.get_title(loc="left") for panel in figure.axes] == ["Scatter", "Gather"]


@pytest.mark.parametrize("draw", [draw_curves, draw_ratios])
def test_no_two_of_many_curves_look_alike(
    draw: Callable[[Sequence[tuple[str, Sequence[Curve]]]], Figure],
) -> None:
    labels = [f"run {number}" for number in range(28)]

    figure = draw([("Scatter", [Curve(label, SIZES, TIMES_S) for label in labels])])

    lines = [line for line in figure.axes[0].lines if line.get_label() in labels]
    looks = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in lines}
    assert len(looks) == len(lines) == len(labels)


def test_size_zero_stands_left_of_the_others_on_a_logarithmic_axis() -> None:
    figure = draw_curves([("Scatter", [Curve("max", SIZES, TIMES_S)])])

    places = np.asarray(figure.axes[0].lines[0].get_xdata())

    assert places.tolist() == [2, 8, 64, 512]
    assert figure.axes[0].get_xticklabels()[0].get_text() == "0"


def test_a_curve_of_size_zero_alone_can_be_drawn() -> None:
    assert zero_place([0]) == 1.0
    assert size_ticks([0]) == ([1.0], ["0"])


@pytest.mark.parametrize(
    ("sizes", "ticks", "texts"),
    [
        ([1000], [1000], ["1000 B"]),
        ([1000, 1500, 2000], [1000, 1500, 2000], ["1000 B", "1500 B", "2000 B"]),
        ([4098, 4100], [4098, 4100], ["4098 B", "4100 B"]),
        ([0, 1000], [250, 1000], ["0", "1000 B"]),
        ([512, 1024], [512, 1024], ["512 B", "1 KiB"]),
        ([1000, 1001, 2000], [1000, 2000], ["1000 B", "2000 B"]),
        ([1025], [1025], ["1025 B"]),
        ([1000, 1536], [1000, 1536], ["1000 B", "1.5 KiB"]),
        ([1000, 1000], [1000], ["1000 B"]),
        ([0, 0, 1500, 1500, 1000], [250, 1000, 1500], ["0", "1000 B", "1500 B"]),
    ],
)
def test_between_powers_of_two_there_are_ticks_at_the_sizes(
    sizes: list[int], ticks: list[float], texts: list[str]
) -> None:
    assert size_ticks(sizes) == (ticks, texts)


@given(st.lists(st.integers(min_value=0, max_value=1 << 40), min_size=1))
def test_there_are_few_ticks_and_all_within_the_sizes(sizes: list[int]) -> None:
    places, texts = size_ticks(sizes)

    assert len(set(places)) == len(set(texts)) == len(places)
    assert 1 <= len(places) == len(texts) <= 9
    assert all(zero_place(sizes) <= place <= max(*sizes, 1) for place in places)


@given(st.integers(min_value=1, max_value=1 << 40))
def test_linear_ticks_are_powers_of_two_apart(largest_bytes: int) -> None:
    places, _ = linear_size_ticks(largest_bytes)

    assert places[0] == 0
    assert places[-1] <= largest_bytes
    assert len(places) <= 9
    assert len(places) == 1 or math.log2(places[1]).is_integer()


def test_a_larger_value_has_a_longer_bar() -> None:
    bars = [Bar("max", 0.8, "paper"), Bar("max", 0.004, "here")]

    figure = draw_bars([("Scatter", bars)], time_text, target=0.1)

    ends = [patch.get_extents().width for patch in figure.axes[0].patches[:2]]
    assert ends[0] > ends[1] > 0


def test_a_series_has_the_same_colour_in_every_panel() -> None:
    one = [Bar("lmo", 0.1, "lmo"), Bar("piecewise", 0.2, "piecewise")]

    figure = draw_bars([("Simulated", one), ("Here", one[1:])], str)

    first, second = (panel.patches for panel in figure.axes)
    assert second[0].get_facecolor() == first[1].get_facecolor() != first[0].get_facecolor()


def test_a_target_that_no_bar_reaches_is_seen() -> None:
    figure = draw_bars([("Share", [Bar("one wave", 0.57)])], time_text, target=0.85)

    assert figure.axes[0].get_xlim()[1] > 0.85


def test_values_on_a_logarithmic_axis_are_dots() -> None:
    bars = [Bar("max", 0.8, "paper"), Bar("max", 0.004, "here")]

    panel = draw_bars([("Scatter", bars)], time_text, scale="log").axes[0]

    assert [np.asarray(dot.get_xdata()).tolist() for dot in panel.lines] == [[0.8], [0.004]]


def test_every_value_of_a_strip_is_a_dot() -> None:
    figure = draw_strips(
        "Error", [Strip("2 ranks", [1e-7, 2e-7]), Strip("4", [3e-7])], time_text, limit=1e-6
    )

    drawn = [np.asarray(line.get_ydata()).tolist() for line in figure.axes[0].lines]

    assert drawn[:2] == [[1e-7, 2e-7], [3e-7]]


@pytest.mark.parametrize(
    ("count", "rows", "across"), [(1, 1, 1), (3, 1, 3), (4, 2, 2), (6, 2, 3), (7, 3, 3)]
)
def test_many_panels_stand_in_rows(count: int, rows: int, across: int) -> None:
    figure = draw_bars([(f"panel {number}", [Bar("one", 1.0)]) for number in range(count)], str)
    assert [panel.get_title(loc="left") for panel in figure.axes] == [
        f"panel {number}" for number in range(count)
    ]
    assert figure.get_size_inches().tolist() == pytest.approx(
        [PANEL_WIDTH_IN * across, PANEL_HEIGHT_IN * rows]
    )


def test_a_saved_figure_is_a_picture_and_a_drawing(tmp_path: Path) -> None:
    figure = draw_curves([("Scatter", [Curve("max", SIZES, TIMES_S)])])

    picture, drawing = save_figure(figure, tmp_path / "new" / "scatter")

    with Image.open(picture) as image:
        assert image.width > 600
    assert "<svg" in drawing.read_text(encoding="utf-8")


def test_a_dot_in_the_name_is_kept(tmp_path: Path) -> None:
    figure = draw_curves([("Scatter", [Curve("max", SIZES, TIMES_S)])])

    assert save_figure(figure, tmp_path / "v1.2")[0].name == "v1.2.png"


def test_drawing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    curves = [("Scatter", [Curve("max", SIZES, TIMES_S)])]

    first = save_figure(draw_curves(curves), tmp_path / "a")[1]
    second = save_figure(draw_curves(curves), tmp_path / "b")[1]

    assert first.read_bytes() == second.read_bytes()
