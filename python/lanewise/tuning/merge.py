# SPDX-License-Identifier: BSD-3-Clause
"""Merge: what several tuning files hold, as one file with all their layouts.  Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lanewise.errors import RequestError
from lanewise.tuning.content import Tuning


def merge(files: Mapping[str, Sequence[Tuning]]) -> list[Tuning]:
    """Return the layouts of all files, by number of ranks; RequestError where they do not fit.

    Of a collective that two files measured in the same layout, the newer measurement counts.
    """
    merged: dict[tuple[int, ...], Tuning] = {}
    first = next(iter(files))
    named_layouts = [(name, one) for name, layouts in files.items() for one in layouts]
    for name, one in named_layouts:
        refuse_unfit(name, one, first, files[first][0])
    # What is joined is as new as its newest collective, so the oldest come first.
    for name, one in sorted(named_layouts, key=lambda each: each[1].created):
        known = merged.get(one.hosts)
        merged[one.hosts] = one if known is None else joined(name, known, one)
    return sorted(merged.values(), key=lambda one: (one.ranks, one.hosts))


def replacements(files: Mapping[str, Sequence[Tuning]]) -> list[str]:
    """Return a sentence for each collective of a layout that another file has newer, or again."""
    found = []
    last: dict[tuple[tuple[int, ...], str], tuple[str, str]] = {}
    named_layouts = [(name, one) for name, layouts in files.items() for one in layouts]
    for name, one in sorted(named_layouts, key=lambda each: each[1].created):
        for collective in one.collectives:
            replaced, created = last.get((one.hosts, collective), ("", ""))
            if replaced:
                age = "as old" if created == one.created else "older"
                found.append(
                    f"{collective} for {one.placed}: {name} replaces {replaced}, which is {age}"
                )
            last[one.hosts, collective] = (name, one.created)
    return found


def refuse_unfit(name: str, one: Tuning, first: str, of_first: Tuning) -> None:
    """Raise RequestError where a layout of the file `name` cannot stand beside others."""
    if (one.mpi_family, one.mpi_library) != (of_first.mpi_family, of_first.mpi_library):
        raise RequestError(
            f"{name} is for {named(one)}, {first} for {named(of_first)}; "
            "a tuning file is for one MPI"
        )
    if one.same_bits != of_first.same_bits:
        raise RequestError(
            f"only one of {name} and {first} is for lanewise run --same-bits; keep them apart"
        )
    if one.in_any_order and len(set(one.hosts)) > 1:
        raise RequestError(
            f"{name} does not say in which order its {one.ranks} ranks are on their hosts; "
            "tune again there"
        )


def named(one: Tuning) -> str:
    """Return the MPI that a layout was measured with, as its file names it."""
    return f"{one.mpi_family} ({one.mpi_library})" if one.mpi_library else one.mpi_family


def joined(name: str, known: Tuning, one: Tuning) -> Tuning:
    """Return two tunings of one layout as one."""
    if (known.margin, known.confidence) != (one.margin, one.confidence):
        raise RequestError(
            f"{name} has margin {one.margin} and confidence {one.confidence} for {one.placed}, "
            f"another file {known.margin} and {known.confidence}; tune again with the same"
        )
    older, newer = sorted((known, one), key=lambda each: each.created)
    return replace(
        newer,
        collectives={**older.collectives, **newer.collectives},
        launches=min(older.launches, newer.launches),
    )
