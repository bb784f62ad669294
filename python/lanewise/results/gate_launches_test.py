# SPDX-License-Identifier: BSD-3-Clause
"""What the gate takes from launches: points to judge, and the reference of each."""

from pathlib import Path
from typing import Any

import pytest

from lanewise.errors import RequestError
from lanewise.results import specimen
from lanewise.results.gate import PointName
from lanewise.results.gate_launches import installations, joined, of_files, require_same_ranks
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
        "are, without shared_memory_ring as a reference",
    ]


def test_sides_on_different_cores_without_a_reference_say_which(tmp_path: Path) -> None:
    sides = [
        written(tmp_path / cpus, placement=[{"rank": 0, "host": "node1", "cpus": cpus}])
        for cpus in "01"
    ]

    assert of_files(sides[0], sides[1])[1] == [
        "affinities differ: 0 and 1; the alarm may be about that"
    ]


def written(path: Path, **context: Any) -> Samples:
    """Return a file of three launches of one operation."""
    records = specimen.launched_records(operations=("bcast",), sizes_bytes=[8], context=context)
    return load(specimen.write(path, records))


def skewed(path: Path, rule: str) -> Samples:
    """Return a file of three launches whose means are twice their medians."""
    context, *_ = specimen.launched_records(operations=("bcast",), sizes_bytes=[8])
    context["stopping"] = {**context["stopping"], "rule": rule}
    points = [
        specimen.point_record("bcast", 8, [1e-6, 1e-6, 4e-6], launch=launch) for launch in (1, 2, 3)
    ]
    return load(specimen.write(path, [context, *points]))


def test_the_times_of_both_sides_are_means_where_one_side_asks_for_them(tmp_path: Path) -> None:
    launches, notes = of_files(skewed(tmp_path / "a", "median"), skewed(tmp_path / "b", "student"))

    assert launches.times_s.ravel().tolist() == pytest.approx([2e-6] * 6)
    assert "the times of A and B are means, as --rule student asks for" in notes


def test_operations_from_another_root_have_nothing_in_common(tmp_path: Path) -> None:
    context, *points = specimen.launched_records(operations=("bcast",), sizes_bytes=[8])
    rooted = [{**one, "root": 1} if one["record"] == "point" else one for one in points]
    base = load(specimen.write(tmp_path / "a", [context, *points]))
    candidate = load(specimen.write(tmp_path / "b", [context, *rooted]))

    with pytest.raises(RequestError, match="no point in common"):
        of_files(base, candidate)
    launches, _ = of_files(candidate, candidate)
    assert launches.points == (PointName("bcast (root 1)", 8),)


def test_sides_on_different_numbers_of_ranks_are_refused(tmp_path: Path) -> None:
    base, candidate = written(tmp_path / "a", ranks=4), written(tmp_path / "b", ranks=2)

    with pytest.raises(RequestError, match=r"^the base is of 4 ranks and the candidate of 2; "):
        require_same_ranks({"the base": base, "the candidate": candidate})


def test_weights_that_differ_are_told(tmp_path: Path) -> None:
    base = written(tmp_path / "a", weights=[1, 1])
    candidate = written(tmp_path / "b", weights=[1, 3])

    _, notes = of_files(base, candidate)

    assert notes == ["weights differ: (1.0, 1.0) and (1.0, 3.0); the alarm may be about that"]


def test_two_builds_of_one_mpi_are_told_apart(tmp_path: Path) -> None:
    mpi = {"family": "openmpi", "standard": "3.1", "library": "Open MPI v4.1.4, package: Debian"}
    base = written(tmp_path / "a", mpi=mpi)
    candidate = written(tmp_path / "b", mpi={**mpi, "library": "Open MPI v4.1.4, package: mine"})

    assert installations(base, base) == []
    assert installations(base, candidate) == [
        "the base is Open MPI v4.1.4, package: Debian, the candidate Open MPI v4.1.4, package: mine"
    ]


def looped(path: Path, definitions: tuple[str, ...] = ("osu",)) -> Samples:
    """Return a file of two launches whose loops take twice as long as isolated repetitions."""
    points = [
        specimen.point_record(
            "bcast", 8, [time_s] * 10, launch=launch, **({"definition": one} if one else {})
        )
        for launch in (1, 2)
        for one, time_s in (("", 1e-6), *((one, 2e-6) for one in definitions))
    ]
    end = {"record": "end", "points": len(points), "elapsed_s": 1.0}
    records = [specimen.context_record(launches=2, ranks=2), *points, end]
    return load(specimen.write(path, records))


def of_osu(path: Path, time_s: float) -> Samples:
    """Return what was imported of two runs of osu_bcast."""
    tool = {"tool": "OSU 7.4", "number": "average", "notes": []}
    nothing: dict[str, object] = {"median_s": None, "low_s": None, "high_s": None, "samples_s": []}
    points = [
        {**specimen.point_record("bcast", 8, [time_s], launch=launch), **nothing}
        for launch in (1, 2)
    ]
    end = {"record": "end", "points": 2, "elapsed_s": 0.0}
    context = specimen.context_record(launches=2, ranks=2, imported=tool)
    return load(specimen.write(path, [context, *points, end]))


@pytest.mark.parametrize("base", ["text", "samples"])
def test_a_loop_as_that_of_a_tool_is_compared_with_the_text_of_the_tool(
    base: str, tmp_path: Path
) -> None:
    text, measured = of_osu(tmp_path / "osu", 2e-6), looped(tmp_path / "a", ("imb", "osu"))

    launches, notes = of_files(*((text, measured) if base == "text" else (measured, text)))

    assert launches.points == (PointName("bcast", 8),)
    assert launches.times_s.ravel().tolist() == pytest.approx([2e-6] * 4)
    assert notes == []


def test_isolated_repetitions_beside_the_text_of_a_tool_are_told(tmp_path: Path) -> None:
    text = of_osu(tmp_path / "osu", 2e-6)

    launches, notes = of_files(looped(tmp_path / "a", ()), text)

    assert launches.times_s.ravel().tolist() == pytest.approx([1e-6, 1e-6, 2e-6, 2e-6])
    assert [note.partition(";")[0] for note in notes] == [
        "A: isolated repetitions, B: the mean of a loop"
    ]


def test_a_last_launch_that_was_interrupted_is_left_out_and_told(tmp_path: Path) -> None:
    records = specimen.launched_records(launches=3, operations=("bcast",), sizes_bytes=[8, 16])
    base = load(specimen.write(tmp_path / "a", records))
    candidate = load(specimen.write(tmp_path / "b", records[:-2]))

    launches, notes = of_files(base, candidate)

    assert launches.counts == (3, 2)
    assert [point.message_bytes for point in launches.points] == [8, 16]
    path = tmp_path / "b"
    assert notes == [
        f"{path}: the run was interrupted after 1 point of launch 3 of 3; measure again with "
        "--resume to finish it",
        f"{path}: launch 3 is left out, since it was interrupted",
    ]


def test_a_run_that_was_interrupted_in_its_second_launch_is_to_be_finished(tmp_path: Path) -> None:
    records = specimen.launched_records(launches=3, operations=("bcast",), sizes_bytes=[8, 16])
    whole = load(specimen.write(tmp_path / "a", records))
    stopped = load(specimen.write(tmp_path / "b", records[:4]))

    with pytest.raises(RequestError, match=r"1 launch of its ranks.*finish it .* --resume"):
        of_files(whole, stopped)


def test_a_run_that_was_interrupted_between_launches_loses_none(tmp_path: Path) -> None:
    records = specimen.launched_records(launches=3, operations=("bcast",), sizes_bytes=[8, 16])
    candidate = load(specimen.write(tmp_path / "b", records[:5]))

    launches, notes = of_files(candidate, candidate)

    assert launches.counts == (2, 2)
    assert len(launches.points) == 2
    assert "the run was interrupted after 2 points of launch 2 of 3" in notes[0]


def test_a_launch_without_a_time_leaves_its_point_out(tmp_path: Path) -> None:
    context, *points = specimen.launched_records(operations=("bcast",), sizes_bytes=[8, 16])
    points[3] |= {"median_s": None, "mean_s": None, "low_s": None, "high_s": None}
    candidate = load(specimen.write(tmp_path / "b", [context, *points]))

    launches, notes = of_files(written(tmp_path / "a"), candidate)

    assert [point.message_bytes for point in launches.points] == [8]
    assert notes == ["left out, since not every launch has it: bcast 16 B"]
