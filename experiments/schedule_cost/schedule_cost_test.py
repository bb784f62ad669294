# SPDX-License-Identifier: BSD-3-Clause
"""What is made of several launches of the comparison."""

from __future__ import annotations

from experiments.schedule_cost.experiment import Point, figures_of, median_points


def _launch(isolated: float, pipelined: float) -> list[tuple[str, Point]]:
    """Return the one point of a launch, with these ratios and times that tell launches apart."""
    point: Point = {
        "message_bytes": 8,
        "isolated": {"ratio": isolated, "ours_s": isolated * 2e-7},
        "pipelined": {"ratio": pipelined, "ours_s": pipelined * 5e-8},
    }
    return [("bcast binomial", point)]


def test_each_mode_is_that_of_the_launch_with_its_median_ratio() -> None:
    launches = [_launch(1.10, 0.90), _launch(0.97, 0.95), _launch(0.99, 0.80)]

    [(name, point)] = median_points(launches)

    assert name == "bcast binomial"
    assert point["isolated"] == launches[2][0][1]["isolated"]
    assert point["pipelined"] == launches[0][0][1]["pipelined"]


def test_the_figure_is_the_worst_of_the_collectives() -> None:
    better = median_points([_launch(0.97, 0.90)])
    worse = [("gather binomial", _launch(1.02, 0.95)[0][1])]

    figures = figures_of([*better, *worse])

    assert figures["ratio_8B"] == 1.02
    assert figures["ratio_8B_pipelined"] == 0.95
