# SPDX-License-Identifier: BSD-3-Clause
"""Evidence: what lanewise-tune writes as it goes, a JSON line a size, and the tuning it makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lanewise.errors import RequestError
from lanewise.files.schemas import parsed
from lanewise.launch.native import build_command
from lanewise.tuning.content import COLLECTIVES, NONBLOCKING, Choice, Point, Tuning
from lanewise.tuning.decide import decide
from lanewise.tuning.judge import (
    FINALISTS_MAX,
    JudgedLaunch,
    Size,
    Standard,
    faster_at_once,
    finalists,
    judge,
    launches_of,
)
from lanewise.tuning.read import FaultError, number_hosts, point_of

# The launcher whose launches do not differ.
SIMULATED = "smpi"

# From so many repetitions on, the time of a comparison tells what one takes; the untimed calls
# and the start of each batch are about as much again.
REPETITIONS_MIN = 10
BESIDE = 2.0

NOTHING_ASKED: Mapping[str, Sequence[int]] = {}

# What a record has beside the point.
MORE = ("record", "key", "collective", "elapsed_s", "roots")


def read_evidence(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the context and the records of an evidence file, a cut-off last line left out."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")[:-1]
        records = [parsed(line) for line in lines]
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise RequestError(f"{path} is damaged; remove it and measure again") from None
    if not records or records[0].get("schema") != "lanewise-evidence":
        raise RequestError(
            f"{path} is not an evidence file of lanewise tune; remove it or name another"
        )
    return records[0], [record for record in records[1:] if record.get("record") != "end"]


def launches_of_stage(
    records: Iterable[Mapping[str, Any]], stage: str
) -> dict[Size, list[JudgedLaunch]]:
    """Return the launches that screened each size, or judged it: `screening` or `judgement`."""
    return launches_of([one for one in records if one.get("record") == stage])


def launches_in(path: Path) -> dict[Size, list[JudgedLaunch]]:
    """Return the launches that judged each size, of an evidence file."""
    return launches_of_stage(read_evidence(path)[1], "judgement")


def points_of(records: Iterable[Mapping[str, Any]]) -> dict[str, list[Point]]:
    """Return what the first launch measured, by collective; RequestError for no points."""
    points: dict[str, list[Point]] = {}
    for record in records:
        if record.get("record") != "point":
            continue
        values = {key: value for key, value in record.items() if key not in MORE}
        try:
            point = point_of(values, str(record.get("key")))
        except FaultError as fault:
            raise RequestError(
                f"the native program is not of this version ({fault}); build it again: "
                f"{build_command()}"
            ) from None
        points.setdefault(record["collective"], []).append(point)
    return points


def finalists_file(
    context: Mapping[str, Any], records: Iterable[Mapping[str, Any]], most: int = FINALISTS_MAX
) -> dict[str, Any]:
    """Return what the native program judges, as it reads it: sizes that have finalists.

    There are so many of each origin at most.
    """
    margin = float(context["margin"])
    records = list(records)
    screened = launches_of_stage(records, "screening")

    def choose(point: Point, measured: Mapping[str, Any]) -> tuple[Choice, ...]:
        name, roots = measured["collective"], int(measured.get("roots", 1))
        hopeful = faster_at_once(point, margin) if name in NONBLOCKING else point
        launches = screened.get((name, point.message_bytes), ())
        return finalists(hopeful, margin, most, roots, launches)

    return chosen_file("judgement", records, choose)


def chosen_file(
    stage: str, records: Sequence[Mapping[str, Any]],
    choose: Callable[[Point, Mapping[str, Any]], tuple[Choice, ...]],
) -> dict[str, Any]:  # fmt: skip
    """Return what the native program screens or judges: what `choose` does at each size.

    `default_s` is how long the default takes, `repetition_s` what a repetition took of the time of
    the launch, as more launches are planned.
    """
    more = {
        (one["collective"], one["message_bytes"]): one
        for one in records
        if one.get("record") == "point"
    }
    points = [
        {
            "collective": name,
            "message_bytes": point.message_bytes,
            "default_s": point.default.median_s,
            "repetition_s": repetition_s(point, float(measured.get("elapsed_s", 0.0))),
            "candidates": [asdict(choice) for choice in chosen],
        }
        for name, of_name in points_of(records).items()
        for point in of_name
        for measured in (more[name, point.message_bytes],)
        if (chosen := choose(point, measured))
    ]
    return {"stage": stage, "points": points}


def repetition_s(point: Point, elapsed_s: float) -> float:
    """Return how long a repetition takes in the mean, with what else it needs taken off.

    On a busy machine that is far longer than the median, since ranks wait for a core now and then.
    Few repetitions do not tell: then it is the median.
    """
    default = point.default
    if default.repetitions < REPETITIONS_MIN:
        return default.median_s
    repetitions = default.repetitions + sum(one.figures.repetitions for one in point.candidates)
    return max(default.median_s, elapsed_s / repetitions / BESIDE)


def tuning_from(
    context: Mapping[str, Any],
    records: Sequence[Mapping[str, Any]],
    asked_bytes: Mapping[str, Sequence[int]] = NOTHING_ASKED,
) -> Tuning:
    """Draw the rules from evidence; RequestError where a record does not fit.

    `asked_bytes` has the sizes that were to be measured of each collective.
    """
    launches = launches_of_stage(records, "judgement")
    standard = Standard(
        float(context["margin"]), float(context["confidence"]), context["launcher"] == SIMULATED
    )
    points = judge(points_of(records), launches, standard)
    return Tuning(
        lanewise=context["lanewise"],
        created=context["started"],
        mpi_family=context["mpi"]["family"],
        mpi_library=context["mpi"]["library"],
        hosts=number_hosts(place["host"] for place in context["placement"]),
        margin=standard.margin,
        confidence=standard.confidence,
        collectives={
            name: decide(name, points[name], standard.margin, asked_bytes.get(name, ()))
            for name in COLLECTIVES
            if name in points
        },
        launches=max((len(one) for one in launches.values()), default=0),
        same_bits=context.get("same_bits", ""),
    )
