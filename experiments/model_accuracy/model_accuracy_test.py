# SPDX-License-Identifier: BSD-3-Clause
"""The arithmetic of model-accuracy, and the clusters that it is done on."""

import math
from xml.etree import ElementTree

import pytest

from experiments.model_accuracy.experiment import (
    EXPERIMENT,
    Found,
    Left,
    errors_unseen,
    figures_default,
    figures_here,
    figures_of,
    parameters,
    relative,
    rms_of,
)
from experiments.model_accuracy.known_clusters import KnownCluster, heterogeneous, homogeneous


@pytest.mark.parametrize("cluster", [homogeneous(4), heterogeneous(5)], ids=lambda c: c.name)
def test_a_platform_has_each_host_and_one_route_a_pair(cluster: KnownCluster) -> None:
    platform = ElementTree.fromstring(cluster.simulated().platform.split("\n", 2)[2])

    hosts = [host.attrib["id"] for host in platform.iter("host")]
    routes = {(route.attrib["src"], route.attrib["dst"]) for route in platform.iter("route")}

    assert hosts == [f"host{rank}" for rank in range(cluster.ranks)]
    assert len(routes) == cluster.ranks * (cluster.ranks - 1) // 2


def test_errors_are_shares_of_the_truth() -> None:
    cluster = homogeneous(2)
    processor, wire = cluster.processors[0], cluster.wires[0, 1]
    whole_s = 2 * processor.fixed_s + wire.fixed_s + 16 * wire.s_per_byte
    link = {
        "ranks": [0, 1],
        "latency_s": {"value": 1.1 * whole_s},
        "s_per_byte": {"value": 2 * processor.s_per_byte + wire.s_per_byte},
    }
    nothing = {"value": 1.0}
    models = {
        "hockney": {"links": [link]},
        "lmo": {"processors": [{"fixed_s": nothing, "s_per_byte": nothing}] * 2, "links": [link]},
        "loggp": dict.fromkeys(("latency_s", "overhead_s", "gap_s", "gap_s_per_byte"), nothing),
        "plogp": {"latency_s": nothing, "sizes": []},
    }

    errors = [relative(*pair) for pair in parameters(models, cluster)["hockney"]]

    assert math.isclose(errors[0], 0.1)
    assert math.isclose(errors[1], 0.0, abs_tol=1e-12)


def test_figures_are_the_worst_over_the_clusters_and_of_what_each_calls_best() -> None:
    figures = figures_of(
        {
            "a": Found("lmo", {"lmo": 0.01, "loggp": 0.02}, {"lmo": 0.03, "loggp": 0.5}),
            "b": Found("loggp", {"lmo": 0.04}, {"lmo": 0.9, "loggp": 0.05}),
        }
    )

    assert figures == {
        "parameter_error_worst": 0.04,
        "parameter_error_loggp": 0.02,
        "parameter_error_lmo": 0.04,
        "prediction_error_loggp": 0.5,
        "prediction_error_lmo": 0.9,
        "prediction_error_worst_of_best": 0.05,
    }


def test_the_figure_of_this_host_is_that_of_the_best_model() -> None:
    figures = figures_here({"piecewise": 0.06, "hockney": 0.4})

    assert figures == {
        "error_held_out_percent": 6.0,
        "error_held_out_percent_piecewise": 6.0,
        "error_held_out_percent_hockney": 40.0,
    }


def test_a_launch_judges_the_model_that_others_have_chosen() -> None:
    alone = [{"lmo": 0.02, "piecewise": 0.3}, {"piecewise": 0.05, "lmo": 0.08}, {"lmo": 0.04}]

    errors = errors_unseen(["piecewise", "lmo", "hockney"], alone)

    assert errors == [pytest.approx(30), pytest.approx(8), math.inf]
    assert EXPERIMENT.targets["error_unseen_launch_percent"].value == 10


def test_the_residual_of_a_model_is_over_points_and_not_over_operations() -> None:
    many = {"points": 3, "relative_rms": 0.1}
    one = {"points": 1, "relative_rms": 0.5}

    assert rms_of([many, one]) == pytest.approx(math.sqrt((3 * 0.01 + 0.25) / 4))


def test_of_the_default_cluster_the_residual_of_lmo_alone_has_a_target() -> None:
    figures = figures_default(Left({"lmo": 0.05, "hockney": 0.12}, {"lmo": 0.08}))

    assert figures == pytest.approx(
        {
            "residual_percent_default_lmo": 5.0,
            "residual_percent_default_hockney": 12.0,
            "error_held_out_percent_default_lmo": 8.0,
        }
    )
    targets = {key: figure.target for key in figures if (figure := EXPERIMENT.figure(key))}
    assert [key for key, target in targets.items() if target] == ["residual_percent_default_lmo"]
    assert len(targets) == 3
