# SPDX-License-Identifier: BSD-3-Clause
"""The experiments that are exact or short, run for real: keys, plots, and targets of simulations.

What depends on how busy this machine is (times, clock errors) is looked at by `make bench`, not
here: a test must not fail because somebody compiles.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from experiments.multilane.simulated import WINDOW_BYTES, lane_rates
from experiments.multilane.simulated_sites import SimulatedSites
from experiments.workspace import Workspace
from lanewise.launch.choose import executable_of
from lanewise.launch.native import build_for, find_builds
from lanewise.launch.registry import LAUNCHERS
from lanewise.results.read import load


def require(launcher: str) -> None:
    """Skip where a launcher cannot launch here."""
    if executable_of(LAUNCHERS[launcher], os.environ) is None:
        pytest.skip(f"{launcher} has no launcher here; install {LAUNCHERS[launcher].package}")
    if build_for(LAUNCHERS[launcher], find_builds(os.environ)) is None:
        pytest.skip(f"{launcher} has no native build; make build")


def printed_by(*words: str) -> tuple[dict[str, Any], int]:
    """Run the command; return the object on its last line, and its exit status."""
    done = subprocess.run(
        [sys.executable, "-m", "lanewise", "reproduce", *words, "--json"],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.stdout, done.stderr
    printed = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(printed, dict)
    return printed, done.returncode


def reproduce_quickly(name: str, folder: Path) -> dict[str, Any]:
    """Run an experiment at a smaller scale, which judges and keeps nothing."""
    printed, status = printed_by(name, "--quick", "--folder", str(folder))
    assert status == 0
    return printed


def reproduce(name: str, folder: Path) -> dict[str, Any]:
    """Run an experiment and return what it prints, which it also keeps."""
    folders = ["--folder", str(folder), "--results", str(folder / "results")]
    printed, status = printed_by(name, *folders)
    met = all(target["met"] for target in printed["targets"].values())
    assert status == (0 if met else 1)
    (line,) = (folder / "results" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["figures"] == printed["figures"]
    return printed


def test_disjoint_pairs_take_a_quarter_of_the_time_and_no_time_changes(tmp_path: Path) -> None:
    require("smpi")

    printed = reproduce("parallel-pairs", tmp_path)

    assert printed["figures"]["speedup"] >= 3.5
    assert printed["figures"]["median_deviation_percent"] <= 5
    assert all(target["met"] for target in printed["targets"].values())
    assert all(Path(path).stat().st_size > 0 for path in printed["files"])


@pytest.mark.thorough
def test_the_interval_holds_the_truth_as_often_as_it_says(tmp_path: Path) -> None:
    require("openmpi")

    printed = reproduce("interval-coverage", tmp_path)

    assert printed["figures"]["coverage_lognormal"] >= 0.93
    assert printed["figures"]["coverage_spikes"] >= 0.93


def test_a_series_is_measured_beside_isolated_repetitions(tmp_path: Path) -> None:
    require("openmpi")

    printed = reproduce_quickly("pipeline-effect", tmp_path)

    assert printed["paper"] == "000 Fig. 1"
    medians_s = []
    for name, series in (("scatter-isolated", 1), ("scatter-pipelined", 100)):
        (path,) = tmp_path.rglob(f"{name}.jsonl")
        samples = load(path)
        assert samples.context.pipeline_length == series
        medians_s += [point.median_s for point in samples.points if point.message_bytes == 8]
    isolated_s, pipelined_s = medians_s
    # Figures are printed with six digits.
    assert printed["figures"]["isolated_over_pipelined_8B"] == pytest.approx(
        isolated_s / pipelined_s, rel=1e-5
    )
    assert {Path(path).suffix for path in printed["files"]} == {".png", ".svg"}


@pytest.mark.thorough
def test_every_method_is_costed_under_the_keys_of_the_issue(tmp_path: Path) -> None:
    require("openmpi")

    printed = reproduce_quickly("timing-methods", tmp_path)

    keys = {"deferred_max_cost_ratio", "global_over_max_cost_ratio", "methods_agree_percent"}
    assert keys <= printed["figures"].keys()
    assert printed["quick"] is True
    assert printed["targets"] == {}


def lane_curves(sites: SimulatedSites, folder: Path) -> list[dict[str, Any]]:
    """Return what lanewise-lane-rates finds between simulated sites."""
    platform = lane_rates(Workspace(folder), sites, "rates")
    return list(json.loads(platform.read_text(encoding="utf-8"))["lanes"])


def test_a_slow_connection_is_told_from_a_slow_host(tmp_path: Path) -> None:
    """Four connections of 125 Mb/s take half of an interface of 1 Gb/s from the LAN."""
    require("smpi")
    sites = SimulatedSites(4, 5e-3, WINDOW_BYTES / 2)

    for curve in lane_curves(sites, tmp_path):
        assert curve["bandwidth_Bps"][0] == pytest.approx(sites.connection_Bps, rel=0.05)
        host = curve["one_host"]
        for does in ("sends", "receives"):
            assert host[f"{does}_Bps"] == pytest.approx(4 * sites.connection_Bps, rel=0.1)
            apart_Bps = 4 * sites.connection_Bps + sites.rate_Bps  # noqa: N806 - bytes a second
            assert host[f"{does}_with_lan_Bps"] < 0.9 * apart_Bps


def test_a_host_sends_no_more_than_its_interface_carries(tmp_path: Path) -> None:
    require("smpi")
    sites = SimulatedSites(4, 5e-3, 8 << 20, rate_bits_per_s=250e6, wan_bits_per_s=1e9)

    for curve in lane_curves(sites, tmp_path):
        assert curve["bandwidth_Bps"][3] == pytest.approx(4 * sites.rate_Bps, rel=0.05)
        assert curve["one_host"]["sends_Bps"] == pytest.approx(sites.rate_Bps, rel=0.05)
        assert curve["one_host"]["receives_Bps"] == pytest.approx(sites.rate_Bps, rel=0.05)
