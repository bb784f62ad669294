# SPDX-License-Identifier: BSD-3-Clause
"""What the gate takes from files of samples: one time for each point of each launch."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from lanewise.errors import RequestError
from lanewise.results import gate_reference
from lanewise.results.compare import require_points
from lanewise.results.definitions import by_definition_of, notes_of_definitions
from lanewise.results.differing import around_what_differs, differing, mpi_of
from lanewise.results.gate import Launches, Matrix, PointName
from lanewise.results.read import Samples
from lanewise.results.records import Point

# The times of one launch.
Times = Mapping[PointName, float]
Statistic = Literal["mean", "median"]


def name_of(point: Point) -> PointName:
    """Return what a point is of, in any launch."""
    ranks = "" if point.peer is None else f"{point.root}-{point.peer}"
    if point.second_peer is not None:
        ranks += f",{point.second_peer}"
    definition = f" as {point.definition}" if point.definition else ""
    root = f" (root {point.root})" if point.root and point.peer is None else ""
    return PointName(f"{point.operation}{definition}{root}", point.message_bytes, ranks)


def statistic_of(base: Samples, candidate: Samples) -> Statistic:
    """Return what the times of both sides are: medians, or means where either side has those."""
    rules = [samples.context.stopping.get("rule") for samples in (base, candidate)]
    return "mean" if "student" in rules else "median"


def times_of(samples: Samples, statistic: Statistic) -> list[dict[PointName, float]]:
    """Return the times of each launch of a file, in the order of the launches.

    A launch that has no time of a point does not have the point.
    """
    found: dict[int, dict[PointName, float]] = {}
    for point in samples.launch_points:
        time_s = point.mean_s if statistic == "mean" else point.centre_s
        times = found.setdefault(point.launch, {})
        if not math.isnan(time_s):
            times[name_of(point)] = time_s
    return [found[launch] for launch in sorted(found)]


def of_whole_launches(samples: Samples) -> tuple[Samples, list[str]]:
    """Return samples without a last launch that was interrupted, and what the file warns of.

    Its points would be the only ones that all launches have.
    """
    counts = Counter(point.launch for point in samples.launch_points)
    last = samples.launches
    if samples.end is not None or counts[last] >= max(counts.values(), default=0):
        return samples, samples.warnings
    points = [point for point in samples.launch_points if point.launch != last]
    note = f"{samples.path}: launch {last} is left out, since it was interrupted"
    return replace(samples, launch_points=points), [*samples.warnings, note]


def as_measured_by(other: Samples, samples: Samples) -> Samples:
    """Return `samples` by the definition of the other's tool, with points named as it names them.

    Without such points they are what they were.
    """
    chosen = by_definition_of(other, samples)
    if chosen is samples:
        return samples
    return replace(
        chosen, launch_points=[replace(one, definition="") for one in chosen.launch_points]
    )


def notes_of_statistic(statistic: Statistic) -> list[str]:
    """Return a note where the time of a launch is a mean, and not a median."""
    if statistic == "median":
        return []
    return ["the times of A and B are means, as --rule student asks for"]


def several(samples: Samples, statistic: Statistic) -> list[dict[PointName, float]]:
    """Return the times of each launch; RequestError for a file of a single one."""
    require_points(samples)
    times = times_of(samples, statistic)
    if len(times) < 2:
        again = "measure again with --launches 10"
        if samples.context.imported:
            again = f"append the text of 10 runs of {samples.context.tool}"
        elif samples.end is None:
            again = "it was interrupted: finish it with the same command and --resume"
        raise RequestError(
            f"{samples.path} has {len(times)} launch of its ranks, which says nothing of the "
            f"next; {again}, or let lanewise gate launch both"
        )
    return times


def of_files(base: Samples, candidate: Samples) -> tuple[Launches, list[str]]:
    """Return the launches of two files, and what to know of them.

    Raises RequestError for a file of one launch, or where no point is in all launches.
    """
    require_same_ranks({str(base.path): base, str(candidate.path): candidate})
    base, warnings = of_whole_launches(base)
    candidate, more = of_whole_launches(candidate)
    warnings = [*warnings, *more]
    base, candidate = as_measured_by(candidate, base), as_measured_by(base, candidate)
    statistic = statistic_of(base, candidate)
    launches, notes = joined(several(base, statistic), several(candidate, statistic))
    launches, cores = on_the_same_cores(launches, base, candidate)
    notes += [*cores, *notes_of_statistic(statistic), *notes_of_conditions(base, candidate, cores)]
    return launches, [*warnings, *notes, *notes_of_definitions(base, candidate)]


def require_same_ranks(sides: Mapping[str, Samples]) -> None:
    """Raise RequestError where two sides, by their names, are of different numbers of ranks."""
    known = {name: samples.context.ranks for name, samples in sides.items()}
    if all(known.values()) and len(set(known.values())) > 1:
        base, candidate = known
        raise RequestError(
            f"{base} is of {known[base]} ranks and {candidate} of {known[candidate]}; "
            "measure both on the same number"
        )


def joined(
    base: Sequence[Times], candidate: Sequence[Times], blocks: Sequence[int] = ()
) -> tuple[Launches, list[str]]:
    """Return both sides' launches with the points that all of them have.

    `blocks` has the block of each launch, those of the base first; without it all are one block.
    The reference is no point, unless nothing else was measured.
    """
    every = [*base, *candidate]
    references = [name for name in every[0] if is_reference(name)]
    if any(not is_reference(name) for name in every[0]):
        every = [
            {name: time_s for name, time_s in times.items() if not is_reference(name)}
            for times in every
        ]
    else:
        references = []
    common = [name for name in every[0] if all(name in times for times in every)]
    if not common:
        raise RequestError(
            "base and candidate have no point in common (same operation, ranks and size); "
            "measure the same operations and sizes"
        )
    bad = next((name for name in common for times in every if not times[name] > 0), None)
    if bad is not None:
        raise RequestError(
            f"{bad.operation} {bad.message_bytes} B has a time that is not above 0; "
            "measure it with --method max, or leave that size out"
        )
    left_out = sorted({name for times in every for name in times} - set(common))
    points = tuple(in_order(common))
    launches = Launches(
        points=points,
        times_s=np.array([[times[name] for name in points] for times in every]),
        candidate=np.array([False] * len(base) + [True] * len(candidate)),
        blocks=np.array(blocks or [0] * len(every)),
        reference_s=reference_times(references, [*base, *candidate]),
    )
    return launches, [left_out_note(left_out)] if left_out else []


def is_reference(name: PointName) -> bool:
    """Tell whether a point is of the reference."""
    return name.operation == gate_reference.OPERATION


def reference_times(references: Sequence[PointName], every: Sequence[Times]) -> Matrix | None:
    """Return the time of each size of the reference for each launch.

    None where no size of the reference is in all launches.
    """
    whole = [name for name in references if all(times.get(name, 0) > 0 for times in every)]
    return np.array([[times[name] for name in whole] for times in every]) if whole else None


def on_the_same_cores(
    launches: Launches, base: Samples, candidate: Samples
) -> tuple[Launches, list[str]]:
    """Return launches without their reference, and a note, where the sides have other cores."""
    cores = [
        [(place.get("host"), place.get("cpus")) for place in samples.context.placement]
        for samples in (base, candidate)
    ]
    if launches.reference_s is None or cores[0] == cores[1]:
        return launches, []
    note = (
        "base and candidate have their ranks on different cores, so times are compared as they "
        f"are, without {gate_reference.OPERATION} as a reference"
    )
    return replace(launches, reference_s=None), [note]


def in_order(names: Iterable[PointName]) -> list[PointName]:
    """Return points by operation, in the order in which these come, then by size."""
    names = list(names)
    operations = list(dict.fromkeys(name.operation for name in names))
    return sorted(names, key=lambda name: (operations.index(name.operation), name))


def left_out_note(names: Sequence[PointName]) -> str:
    """Return the note for points that some launch does not have."""
    shown = ", ".join(f"{name.operation} {name.message_bytes} B" for name in names[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"left out, since not every launch has it: {shown}{more}"


def notes_of_conditions(base: Samples, candidate: Samples, cores: Sequence[str]) -> list[str]:
    """Return notes on conditions that differ between two files and may be all that is found.

    `cores` are the notes on other cores, which tell that affinities differ.
    """
    found = differing(base.context, candidate.context, *(["affinities"] if cores else []))
    return [f"{sentence}; the alarm may be about that" for sentence in found]


def installations(base: Samples, candidate: Samples) -> list[str]:
    """Return a note on what is compared, where interleaved sides use two MPIs."""
    left, right = mpi_of(base.context), mpi_of(candidate.context)
    if left == right:
        return []
    left, right = around_what_differs(left, right)
    return [f"the base is {left}, the candidate {right}"]
