# SPDX-License-Identifier: BSD-3-Clause
"""What the gate takes from launches: points to judge, and the reference of each."""

from pathlib import Path

import pytest

from lanewise.results import specimen
from lanewise.results.gate import PointName
from lanewise.results.gate_launches import joined, of_files
from lanewise.results.gate_reference import OPERATION as REFERENCE
from lanewise.results.read import Samples, load

BCAST = [PointName("bcast", size) for size in (8, 1024, 65536)]


def launch(*sizes_bytes: int, factor: float = 1.0) -> dict[PointName, float]:
    """Return a launch whose reference has these sizes, and takes as many ns as bytes."""
    references = {PointName(REFERENCE, size): 1e-9 * size * factor for size in sizes_bytes}
    return {**references, **dict.fromkeys(BCAST, 1e-06)}


def test_each_launch_has_all_sizes_of_the_reference_which_are_no_points() -> None:
    launches, notes = joined([launch(16, 4096)], [launch(16, 4096, factor=2.0)])

    assert launches.points == tuple(BCAST)
    assert launches.reference_s is not None
    assert launches.reference_s.tolist() == [
        pytest.approx([16e-9, 4096e-9]),
        pytest.approx([32e-9, 8192e-9]),
    ]
    assert notes == []


def test_a_reference_that_is_measured_alone_is_judged_itself() -> None:
    alone = {PointName(REFERENCE, 8): 1e-7}

    launches, _ = joined([alone], [alone])

    assert launches.points == tuple(alone)
    assert launches.reference_s is None


@pytest.mark.parametrize(
    "other", [launch(), launch(8, factor=0.0)], ids=["not measured", "of no time"]
)
def test_a_reference_that_one_launch_lacks_is_none(other: dict[PointName, float]) -> None:
    launches, _ = joined([launch(8)], [other])

    assert launches.points == tuple(BCAST)
    assert launches.reference_s is None


def samples(path: Path, cpus: str) -> Samples:
    """Return a file of three launches on these cores, with the reference."""
    placement = [{"rank": rank, "host": "node1", "cpus": cpus} for rank in range(4)]
    records = specimen.launched_records(
        operations=(REFERENCE, "bcast"), sizes_bytes=[8], context={"placement": placement}
    )
    return load(specimen.write(path, records))


def test_sides_on_the_same_cores_have_a_reference(tmp_path: Path) -> None:
    launches, notes = of_files(samples(tmp_path / "a", "0"), samples(tmp_path / "b", "0"))

    assert launches.reference_s is not None
    assert notes == []


def test_sides_on_different_cores_are_compared_without_it_and_say_so(tmp_path: Path) -> None:
    launches, notes = of_files(samples(tmp_path / "a", "0"), samples(tmp_path / "b", "1"))

    assert launches.reference_s is None
    assert notes == [
        "base and candidate have their ranks on different cores, so times are compared as they "
        "are, without shared_memory_ring as a reference"
    ]
