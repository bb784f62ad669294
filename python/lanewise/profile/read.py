# SPDX-License-Identifier: BSD-3-Clause
"""Read a profile."""

from __future__ import annotations

from pathlib import Path

from lanewise.files.schemas import object_in, require
from lanewise.profile.content import Calls, Part, Place, Process, Profile, Site

SCHEMA = "lanewise-profile"
AGAIN = "record it again with: lanewise run --profile FILE"


def load(path: Path) -> Profile:
    """Read the file; RequestError naming the key that is unknown, missing or of another kind."""
    values = object_in(path, missing=AGAIN, damaged=AGAIN)
    require(values, "profile", str(path), remedy=AGAIN)
    return Profile(
        path=path,
        program=values.get("program", ""),
        hosts=values["clock"]["hosts"],
        drift_s=values["clock"]["drift_s"],
        calls=Calls(**values["calls"]),
        processes=[Process(**one) for one in values["processes"]],
        sites=[Site(**one) for one in values["sites"]],
        places=[
            Place(one["operation"], one["site"], [Part(**part) for part in one["ranks"]])
            for one in values["places"]
        ],
    )
