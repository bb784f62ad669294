# SPDX-License-Identifier: BSD-3-Clause
"""Two runs by the same definition: the loop of a tool, or isolated repetitions.  Pure."""

from __future__ import annotations

from dataclasses import replace

from lanewise.results.read import Samples

DEFINED = "IMB, NetPIPE and OSU"


def by_definition_of(other: Samples, samples: Samples) -> Samples:
    """Return `samples` with the points that were measured with the loop of the other's tool.

    Without such points they are what they were.
    """
    tool = other.context.tool.lower()
    looped = [one for one in samples.looped if tool.startswith(one.definition)]
    if not looped:
        return samples
    definitions = {one.definition for one in looped}
    launched = [one for one in samples.launch_points if one.definition in definitions]
    return replace(samples, points=looped, launch_points=launched)


def notes_of_definitions(first: Samples, second: Samples) -> list[str]:
    """Return a note where one side is a loop of a tool and the other isolated repetitions."""
    sides = {"A": first, "B": second}
    return [
        f"{mine}: isolated repetitions, {other}: the mean of a loop; "
        f"lanewise measure --as measures the loop of {DEFINED}"
        for mine, other in (("A", "B"), ("B", "A"))
        if not sides[mine].context.tool
        and sides[other].context.tool
        and not any(point.definition for point in sides[mine].points)
    ]
