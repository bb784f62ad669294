# SPDX-License-Identifier: BSD-3-Clause
"""Cautions: a file that has nothing against it is silent, and each defect is said once."""

import math
from pathlib import Path
from typing import Any

from lanewise.results import specimen
from lanewise.results.cautions import cautions_of, half_width
from lanewise.results.read import load

ONE_LAUNCH = (
    "the interval is within one launch of the ranks and says nothing about the next at "
    "scatter 8 B; measure with --launches 5 or more"
)


def cautions(path: Path, context: dict[str, Any] | None = None, **point: Any) -> list[str]:
    """Return the cautions of a file with one point besides that it is of one launch."""
    return [one for one in all_cautions(path, context, **point) if one != ONE_LAUNCH]


def all_cautions(path: Path, context: dict[str, Any] | None = None, **point: Any) -> list[str]:
    lines = [
        specimen.context_record(**(context or {})),
        specimen.point_record("scatter", 8, [1e-6] * 10, **point),
        {"record": "end", "points": 1, "elapsed_s": 1.0},
    ]
    return cautions_of(load(specimen.write(path / "samples.jsonl", lines)))


def test_a_good_file_has_no_cautions(tmp_path: Path) -> None:
    lines = specimen.launched_records(20, spread=0.001)

    assert cautions_of(load(specimen.write(tmp_path / "samples.jsonl", lines))) == []


def test_a_single_launch_is_said(tmp_path: Path) -> None:
    assert all_cautions(tmp_path) == [ONE_LAUNCH]


def test_launches_that_differ_are_said_with_their_remedy(tmp_path: Path) -> None:
    lines = specimen.launched_records(3, spread=0.2, sizes_bytes=[8])

    (said,) = cautions_of(load(specimen.write(tmp_path / "samples.jsonl", lines)))

    assert said.startswith("the interval is wider than 2.5% of the median at scatter 8 B")
    assert said.endswith("add --launches")


def test_a_simulation_needs_one_launch_only(tmp_path: Path) -> None:
    mpi = {"family": "smpi", "library": "SMPI", "standard": "3.1"}

    assert all_cautions(tmp_path, context={"mpi": mpi}) == []


def test_more_ranks_than_cores_is_said(tmp_path: Path) -> None:
    found = cautions(tmp_path, context={"cores": 2})

    assert found == ["4 ranks share 2 cores and take turns; measure with at most 2 ranks a host"]


def test_ranks_spread_over_hosts_do_not_share_cores(tmp_path: Path) -> None:
    placement = [{"rank": rank, "host": f"node{rank % 2}", "cpus": "0-1"} for rank in range(4)]

    assert cautions(tmp_path, context={"cores": 2, "placement": placement}) == []


def test_ranks_that_may_use_few_of_the_cores_share_these(tmp_path: Path) -> None:
    lists = ("0", "0,5-6")
    placement = [{"rank": rank, "host": "node1", "cpus": lists[rank % 2]} for rank in range(4)]

    found = cautions(tmp_path, context={"cores": 64, "placement": placement})

    assert found == [
        "4 ranks share 3 cores and take turns; "
        "measure with at most 3 ranks a host or let them use more of its 64"
    ]


def test_ranks_bound_to_a_core_each_do_not_share_it(tmp_path: Path) -> None:
    placement = [{"rank": rank, "host": "node1", "cpus": str(rank)} for rank in range(4)]

    assert cautions(tmp_path, context={"placement": placement}) == []


def test_affinity_that_is_unknown_counts_as_all_cores(tmp_path: Path) -> None:
    placement = [{"rank": rank, "host": "node1", "cpus": "unknown"} for rank in range(4)]

    assert cautions(tmp_path, context={"placement": placement}) == []


def test_simulated_ranks_share_no_cores(tmp_path: Path) -> None:
    mpi = {"family": "smpi", "library": "SMPI", "standard": "3.1"}

    assert cautions(tmp_path, context={"cores": 1, "mpi": mpi}) == []


def test_a_changing_clock_rate_is_said(tmp_path: Path) -> None:
    assert "'powersave'" in cautions(tmp_path, context={"governor": "powersave"})[0]


def test_late_repetitions_are_said(tmp_path: Path) -> None:
    found = cautions(tmp_path, late_count=7)

    assert found == ["7 repetitions were late and dropped (scatter 8 B)"]


def test_a_wide_interval_is_said(tmp_path: Path) -> None:
    assert "wider than 2.5%" in cautions(tmp_path, low_s=0.5e-6, high_s=1.5e-6)[0]


def test_a_time_that_is_not_positive_is_said_and_not_as_an_interval_of_no_width(
    tmp_path: Path,
) -> None:
    found = cautions(tmp_path, median_s=-1e-7, low_s=-2e-7, high_s=1e-7)

    assert found == [
        "1 point without a positive time can have neither a width in per cent nor a place on a "
        "logarithmic axis, only a row of the table: scatter 8 B"
    ]
    point = load(tmp_path / "samples.jsonl").points[0]
    assert math.isnan(half_width(point))


def test_points_of_one_name_are_counted_and_named_once(tmp_path: Path) -> None:
    points = [
        specimen.point_record(
            "pairs", 8, [0.0] * 20, root=root, peer=peer, median_s=0.0, low_s=0.0, high_s=0.0
        )
        for root in range(4)
        for peer in range(root + 1, 4)
    ]
    end = {"record": "end", "points": 6, "elapsed_s": 1.0}
    path = specimen.write(tmp_path / "s.jsonl", [specimen.context_record(), *points, end])

    of_one_launch, not_positive = cautions_of(load(path))

    assert " at pairs 8 B; " in of_one_launch
    assert not_positive.startswith("6 points ") and not_positive.endswith(": pairs 8 B")


def test_a_point_without_any_time_is_none_of_a_time_that_is_not_positive(tmp_path: Path) -> None:
    found = cautions(tmp_path, median_s=None, mean_s=None, low_s=None, high_s=None)

    assert found == ["too few repetitions for an interval at scatter 8 B"]


def test_a_missing_interval_is_said(tmp_path: Path) -> None:
    assert "too few repetitions" in cautions(tmp_path, low_s=None, high_s=None)[0]
