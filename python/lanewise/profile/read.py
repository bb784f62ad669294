# SPDX-License-Identifier: BSD-3-Clause
"""Read a profile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lanewise.errors import RequestError
from lanewise.files.schemas import object_in, require
from lanewise.profile.content import Calls, CallSite, Part, Place, Process, Profile

SCHEMA = "lanewise-profile"
AGAIN = "record it again with: lanewise run --profile FILE"


def load(path: Path) -> Profile:
    """Read the file; RequestError naming what is unknown, missing, of another kind or nowhere."""
    values = object_in(path, missing=AGAIN, damaged=AGAIN)
    require(values, "profile", str(path), remedy=AGAIN)
    for fault in inconsistencies(values):
        raise RequestError(f"{path}: {fault}; {AGAIN}")
    return Profile(
        path=path,
        program=values.get("program", ""),
        hosts=values["clock"]["hosts"],
        drift_s=values["clock"]["drift_s"],
        calls=Calls(**values["calls"]),
        processes=[Process(**one) for one in values["processes"]],
        sites=[CallSite(**one) for one in values["sites"]],
        places=[
            Place(one["operation"], one["site"], [Part(**part) for part in one["ranks"]])
            for one in values["places"]
        ],
    )


def inconsistencies(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield what does not fit together in a profile that follows its schema."""
    ranks, sites = len(values["processes"]), len(values["sites"])
    if [one["rank"] for one in values["processes"]] != list(range(ranks)):
        yield "processes are not in the order of their ranks"
    if values["clock"]["hosts"] > ranks:
        yield f"clock.hosts is {values['clock']['hosts']}, and there are {ranks} processes"
    for number, place in enumerate(values["places"]):
        for one in (place, *place["ranks"]):
            if one["site"] >= sites:
                yield f"places[{number}] has site {one['site']}, and there are {sites} sites"
        for part in place["ranks"]:
            if part["rank"] >= ranks:
                yield f"places[{number}] has rank {part['rank']}, and there are {ranks} processes"
