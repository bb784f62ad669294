# SPDX-License-Identifier: BSD-3-Clause
"""The simulated sites are as the paper says, and a gain is that of the best number of lanes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from experiments.multilane import simulated as multilane_paper
from experiments.multilane.simulated import FORMS, LANES, LARGE, WINDOW_BYTES, Found
from experiments.multilane.simulated_sites import SimulatedSites


def route(platform: str, source: int, target: int) -> list[str]:
    """Return the links between two hosts, with their directions."""
    (found,) = (
        each
        for each in ElementTree.fromstring(platform).iter("route")
        if (each.get("src"), each.get("dst")) == (f"host{source}", f"host{target}")
    )
    return [f"{each.get('id')} {each.get('direction')}" for each in found]


def test_a_connection_carries_a_window_a_round_trip() -> None:
    """250 Mb/s at 5 ms; at 20 ms a quarter of that, as the paper saw."""
    near = SimulatedSites(32, 5e-3, WINDOW_BYTES)
    far = SimulatedSites(32, 20e-3, WINDOW_BYTES)

    assert near.connection_Bps * 8 == pytest.approx(250e6)
    assert far.connection_Bps * 8 == pytest.approx(62.9e6, rel=0.01)


def test_a_loss_bounds_the_rate_of_a_connection() -> None:
    """By Mathis et al., 1448 bytes times the root of 1.5 / 0.001 are in flight at 0.1 %."""
    lossy = SimulatedSites(8, 5e-3, 8 << 20, loss=1e-3)

    assert lossy.connection_Bps == pytest.approx(1448 * 38.73 / 10.1e-3, rel=1e-3)
    assert SimulatedSites(8, 5e-3, 1e4, loss=1e-6).connection_Bps == pytest.approx(1e4 / 10.1e-3)


def test_the_link_may_be_faster_than_a_host(tmp_path: Path) -> None:
    sites = SimulatedSites(2, 5e-3, 8 << 20, rate_bits_per_s=250e6, wan_bits_per_s=1e9)

    platform = ElementTree.fromstring(sites.simulated(tmp_path).platform)

    rates = {each.get("id"): each.get("bandwidth") for each in platform.iter("link")}
    assert rates["nic0"] == "29421326.4Bps"
    assert rates["wan"] == "117685306Bps"


def test_the_window_bounds_all_messages_of_a_pair_between_sites(tmp_path: Path) -> None:
    cluster = SimulatedSites(2, 5e-3, WINDOW_BYTES).simulated(tmp_path)

    assert route(cluster.platform, 0, 1) == ["nic0 UP", "nic1 DOWN"]
    assert route(cluster.platform, 1, 3) == ["nic1 UP", "tcp1-3 UP", "wan UP", "nic3 DOWN"]
    assert f"--cfg=network/TCP-gamma:{WINDOW_BYTES:.0f}" in cluster.configuration


def test_among_many_hosts_the_window_bounds_all_that_a_host_sends_away(tmp_path: Path) -> None:
    cluster = SimulatedSites(2, 5e-3, WINDOW_BYTES, windows="host").simulated(tmp_path)

    edges = {
        (each.get("src"), each.get("dst")): [link.get("id") for link in each]
        for each in ElementTree.fromstring(cluster.platform).iter("route")
    }
    assert edges["port3", "wan-b"] == ["tcp3", "up3"]
    assert edges["port3", "lan-b"] == ["lan3"]
    assert edges["wan-a", "wan-b"] == ["wan"]


def test_ranks_find_their_sites_in_the_placement(tmp_path: Path) -> None:
    cluster = SimulatedSites(2, 5e-3, WINDOW_BYTES).simulated(tmp_path)

    placement = json.loads(Path(cluster.variables["LANEWISE_PLACEMENT"]).read_text())
    assert [each["site"] for each in placement["ranks"]] == ["a", "a", "b", "b"]
    assert [each["host"] for each in placement["hosts"]] == ["host0", "host1", "host2", "host3"]


def test_the_gain_is_that_of_the_best_number_of_lanes() -> None:
    """Sixteen lanes are best, as in the paper's figure 9; T(P) promises more of 32."""
    lanes_s = {1: 5.2, 2: 4.0, 4: 3.2, 8: 2.8, 16: 2.6, 32: 2.7}
    sizes_s = {LARGE: {"default": 5.0, "single_lane": 5.2}}
    model_s = {lanes: 5.0 / lanes for lanes in LANES}
    found = Found(sizes_s, dict.fromkeys(FORMS, lanes_s), model_s)

    figures = multilane_paper.figures_of({("scatter", 5): found})

    assert figures["speedup_scatter"] == pytest.approx(2.0)
    assert figures["lanes_scatter"] == 16
    assert figures["lanes_scatter_by_model"] == 32
    assert figures["best_lanes_over_default_scatter"] == pytest.approx(2.6 / 5.0)


def test_the_default_stands_beside_every_number_of_lanes() -> None:
    found = found_with(2.4, 2.7)
    names = ("default", "single_lane", *(multilane_paper.way(form, 32) for form in FORMS))
    found = replace(found, sizes_s={LARGE: dict.fromkeys(names, 2.4)})

    curves = multilane_paper.curves_of({("scatter", 5): found})

    assert curves["scatter_5ms_over_lanes/MPI's default"] == [(p, 2.4) for p in LANES]


def found_with(default_s: float, promised_s: float) -> Found:
    """Return what is found where T(P) promises most of 32 lanes, and 16 are as fast as 2.6 s."""
    lanes_s = {1: 5.2, 2: 4.0, 4: 3.2, 8: 2.8, 16: 2.6, 32: promised_s}
    sizes_s = {LARGE: {"default": default_s, "single_lane": 5.2}}
    return Found(sizes_s, dict.fromkeys(FORMS, lanes_s), {p: 5.0 / p for p in LANES})


def test_the_default_is_chosen_where_lanes_are_not_faster_by_the_margin() -> None:
    for default_s, promised_s, chosen, over_best in (
        (5.0, 2.7, "multilane:0:32", 2.7 / 2.6),
        (2.75, 2.7, "default", 2.75 / 2.6),
        (2.3, 2.7, "default", 1.0),
        (5.0, 5.1, "default", 5.0 / 2.6),
    ):
        found = found_with(default_s, promised_s)
        assert found.chosen() == chosen
        assert found.chosen_over_best() == pytest.approx(over_best)


def test_the_worst_choice_is_the_figure() -> None:
    good, bad = found_with(5.0, 2.6), found_with(5.0, 3.9)

    figures = multilane_paper.figures_of({("scatter", 5): good, ("gather", 5): bad})

    assert figures["chosen_over_best"] == pytest.approx(1.5)


def test_among_many_hosts_each_form_has_its_gain_over_the_default_too() -> None:
    times_s = {"default": 2.7, "single_lane": 9.0, "three_step:0:32": 4.5, "multilane:0:32": 3.0}
    found = {"gather": times_s}

    figures = multilane_paper.figures_of_many(found)

    assert figures["speedup_gather"] == pytest.approx(3.0)
    assert figures["speedup_gather_three_step"] == pytest.approx(2.0)
    assert figures["speedup_over_default_gather"] == pytest.approx(0.9)
    assert figures["speedup_over_default_gather_three_step"] == pytest.approx(0.6)
