# SPDX-License-Identifier: BSD-3-Clause
"""A profile as text: where ranks waited and for whom, what each rank did, and what is not known."""

from __future__ import annotations

from collections.abc import Sequence

from lanewise.profile.content import Part, Place, Profile, RankTimes
from lanewise.results.quantity import size_text, time_text

PLACES_SHOWN = 12
RANKS_SHOWN = 16
LATE_SHOWN = 2
UNATTRIBUTED = "not attributed"

Rows = list[list[str]]


def text_of(profile: Profile) -> list[str]:
    """Return the lines of the whole text."""
    places = profile.by_waiting()
    ranks = profile.rank_times()
    lines = [summary(profile, ranks)]
    if places:
        lines += ["", *columns(place_rows(profile, places[:PLACES_SHOWN]), left=(0, 1, 7))]
    if len(places) > PLACES_SHOWN:
        lines.append(f"and {len(places) - PLACES_SHOWN} places more in {profile.path.name}")
    lines += ["", *columns(rank_rows(ranks), left=(0, 1))]
    if len(ranks) > RANKS_SHOWN:
        lines.append(f"and {len(ranks) - RANKS_SHOWN} ranks more in {profile.path.name}")
    notes = notes_of(profile)
    return [*lines, *([""] if notes else []), *notes]


def summary(profile: Profile, ranks: Sequence[RankTimes]) -> str:
    """Return one line: how many ranks, how long, and what part of it was waiting."""
    total_s = sum(process.elapsed_s for process in profile.processes)
    hosts = "one host" if profile.hosts == 1 else f"{profile.hosts} hosts"
    waiting = share_text(sum(one.waiting_s for one in ranks), total_s)
    transfer = share_text(sum(one.transfer_s for one in ranks), total_s)
    unattributed_s = sum(one.unattributed_s for one in ranks)
    rest = f", {share_text(unattributed_s, total_s)} in calls that are not attributed"
    return (
        f"who was late: {len(ranks)} rank{'s' if len(ranks) > 1 else ''} on {hosts}, "
        f"{time_text(profile.elapsed_s)}; {waiting} of it waiting for late ranks in collectives, "
        f"{transfer} transfer{rest if is_shown(unattributed_s, total_s) else ''}"
    )


def place_rows(profile: Profile, places: Sequence[Place]) -> Rows:
    """Return a row for each place, under a heading."""
    heading = ["operation", "called from", "calls", "size", "time/rank", "waiting", "transfer",
               "waited for"]  # fmt: skip
    return [heading, *(place_row(profile, place) for place in places)]


def place_row(profile: Profile, place: Place) -> list[str]:
    """Return the cells of one place."""
    return [
        place.operation,
        profile.sites[place.site].text(),
        str(place.calls),
        size_text(place.mean_bytes),
        time_text(place.time_s / place.rank_count),
        share_text(place.waiting_s, place.time_s),
        share_text(place.transfer_s, place.time_s),
        waited_for(profile, place),
    ]


def waited_for(profile: Profile, place: Place) -> str:
    """Name the ranks that others waited for longest, and the part of the waiting for each."""
    late = place.latest()
    if not late:
        return "nobody"
    return ", ".join(late_text(profile, place, part) for part in late[:LATE_SHOWN]) + (
        f" and {len(late) - LATE_SHOWN} more" if len(late) > LATE_SHOWN else ""
    )


def late_text(profile: Profile, place: Place, part: Part) -> str:
    """Return one late rank: its share of the waiting, its lateness, and its own call site."""
    host = f" on {profile.processes[part.rank].host}" if profile.hosts > 1 else ""
    site = "" if part.site == place.site else f", in {profile.sites[part.site].text()}"
    return (
        f"rank {part.rank}{host} {share_text(part.awaited_s, place.waiting_s)} "
        f"({time_text(part.lateness_s)} late{site})"
    )


def rank_rows(ranks: Sequence[RankTimes]) -> Rows:
    """Return a row for each rank under a heading; of many ranks those that were waited for.

    Time in calls that are not attributed has a column only where some rank has more than noise.
    """
    shown = list(ranks)
    if len(shown) > RANKS_SHOWN:
        latest = sorted(shown, key=lambda one: -one.awaited_s)[:RANKS_SHOWN]
        shown = sorted(latest, key=lambda one: one.rank)
    heading = ["rank", "host", "outside", "waiting", "transfer", UNATTRIBUTED, "late",
               "waited for by others"]  # fmt: skip
    rows = [heading, *(rank_row(one) for one in shown)]
    if any(is_shown(one.unattributed_s, one.elapsed_s) for one in ranks):
        return rows
    column = heading.index(UNATTRIBUTED)
    return [[*row[:column], *row[column + 1 :]] for row in rows]


def rank_row(one: RankTimes) -> list[str]:
    """Return the cells of one rank."""
    times = (one.outside_s, one.waiting_s, one.transfer_s, one.unattributed_s, one.lateness_s,
             one.awaited_s)  # fmt: skip
    return [str(one.rank), one.host, *map(time_text, times)]


def notes_of(profile: Profile) -> list[str]:
    """Return a sentence for each kind of call that the tables leave out, merge or count twice."""
    calls = profile.calls
    found = []
    overlapping = sum(one.in_calls_s > one.elapsed_s for one in profile.processes)
    if overlapping:
        found.append(
            f"Calls of {overlapping} of {len(profile.processes)} ranks overlapped, as those of "
            "several threads do: their times add up to more than the run, and the time outside of "
            "them is not known."
        )
    if calls.one_in > 1:
        found.append(
            f"1 in {calls.one_in} calls was kept, chosen by a hash of its number; the sums by "
            "place are of those, and those by rank are scaled to all calls. "
            "LANEWISE_PROFILE_CALLS makes more room."
        )
    if calls.unplaced > 0:
        found.append(
            "Calls from more places than are told apart, which are in rows of an unknown place: "
            f"{calls.unplaced}."
        )
    lacking_room = calls.forgotten if calls.one_in == 1 else 0
    left_out = (
        (lacking_room, "on more communicators and persistent requests than there is room for"),
        (calls.nonblocking, "nonblocking and never complete"),
        (calls.intercommunicator, "on intercommunicators"),
        (calls.incomplete, "not recorded by all their ranks"),
        (calls.mismatched, "different on different ranks"),
    )
    words = [f"{count} {kind}" for count, kind in left_out if count > 0]
    if words:
        found.append(f"Calls that are not attributed: {', '.join(words)}.")
    return found


def share_text(part: float, whole: float) -> str:
    """Write a part of a whole as a percentage: `41 %`, `0.3 %`."""
    if whole <= 0:
        return "0 %"
    percent = 100 * part / whole
    return f"{percent:.1f} %" if 0 < percent < 10 else f"{percent:.0f} %"


def is_shown(part: float, whole: float) -> bool:
    """Return whether a part of a whole is more than the `0.0 %` that would be written."""
    return whole > 0 and round(100 * part / whole, 1) > 0


def columns(rows: Rows, left: Sequence[int]) -> list[str]:
    """Lay out rows in columns, those that are not named on the left aligned to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]

    def cell(text: str, column: int) -> str:
        return f"{text:<{widths[column]}}" if column in left else f"{text:>{widths[column]}}"

    return ["  ".join(cell(text, n) for n, text in enumerate(row)).rstrip() for row in rows]
