# SPDX-License-Identifier: BSD-3-Clause
"""Lateness: profiles as figures and tables of the page."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lanewise.profile.content import Profile
from lanewise.profile.read import SCHEMA, load
from lanewise.profile.table import notes_of, place_rows, rank_rows, summary
from lanewise.report.decisions import schema_of
from lanewise.report.figures import Json

# Bars are this high, and the axes and the legend take the rest.
_BAR_REM = 1.6
_FRAME_REM = 7.0

Rows = Sequence[Sequence[str]]


@dataclass(frozen=True)
class LatenessSection:
    """What the page says of one profile."""

    figure: Json
    title: str
    summary: str
    places: Rows
    ranks: Rows
    notes: Sequence[str]
    height_rem: float


def profiles_in(paths: Sequence[Path]) -> list[Profile]:
    """Read those of the files that are profiles."""
    return [load(path) for path in paths if schema_of(path) == SCHEMA]


def sections_of(profiles: Sequence[Profile]) -> list[LatenessSection]:
    """Return a section for each profile."""
    return [_section(index, profile) for index, profile in enumerate(profiles)]


def _section(index: int, profile: Profile) -> LatenessSection:
    times = profile.rank_times()
    sentence = summary(profile, times).partition(": ")[2]
    return LatenessSection(
        figure=figure_of(f"lateness-{index}", profile),
        title=f"Who was late: {profile.program or profile.path.name}",
        summary=f"{sentence[:1].upper()}{sentence[1:]}.",
        places=place_rows(profile, profile.by_waiting()),
        ranks=rank_rows(times),
        notes=notes_of(profile),
        height_rem=_FRAME_REM + _BAR_REM * len(times),
    )


def figure_of(name: str, profile: Profile) -> Json:
    """Return what the script draws: one bar per rank."""
    times = profile.rank_times()
    return {
        "id": name,
        "kind": "lateness",
        "names": [
            f"rank {one.rank}" + (f" on {one.host}" if profile.hosts > 1 else "") for one in times
        ],
        "outside_s": [one.outside_s for one in times],
        "waiting_s": [one.waiting_s for one in times],
        "transfer_s": [one.transfer_s for one in times],
        "unattributed_s": [one.unattributed_s for one in times],
        "lateness_s": [one.lateness_s for one in times],
    }


def title_of_profiles(profiles: Sequence[Profile]) -> str:
    """Return the title of a page that has nothing else."""
    return f"Who was late in {profiles[0].program or profiles[0].path.name}"


def command_of_profile(profile: Profile) -> str:
    """Return the command that records a profile again."""
    name = shlex.quote(str(profile.path))
    return f"lanewise run --profile {name} -- {profile.program or 'mpirun ./app'}"
