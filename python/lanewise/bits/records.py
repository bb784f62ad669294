# SPDX-License-Identifier: BSD-3-Clause
"""What each rank of a run wrote about its reductions, as src/collectives/tuned/results.hpp says."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanewise.errors import RunError

PERSISTENT = "persistent_"


@dataclass(frozen=True)
class CallSite:
    """Where a call returns to: a file, and an offset in it."""

    object: str
    offset: int
    symbol: str


@dataclass(frozen=True)
class Reduction:
    """One reduction as it was called.

    `operation` is "allreduce", or "iallreduce" or "persistent_allreduce" where the call does not
    wait for the result.
    """

    operation: str
    count: int
    type: str
    op: str
    ranks: int
    site: CallSite

    def what(self) -> str:
        """Return the call in words."""
        name = self.operation.removeprefix(PERSISTENT).capitalize()
        if self.operation.startswith(PERSISTENT):
            name += "_init"
        return f"MPI_{name} of {self.count} {self.type} by {self.op}"

    def gives_a_part(self) -> bool:
        """Tell whether each rank gets another part of the result, or one over fewer ranks."""
        return self.operation.endswith(("reduce_scatter", "scan"))

    def call(self) -> tuple[str, str, str]:
        """Return what must be the same for two reductions to be compared."""
        return self.operation, self.type, self.op


@dataclass(frozen=True)
class RankResults:
    """The reductions of one rank as it called or started them, without those that never ended.

    There may be millions, so those that were called alike are one object.  `hashes` has what each
    gave, 0 where the rank does not get the result, or it could not be read.  `unseen` counts those
    that never ended, and `between_groups` those over intercommunicators, which are not noted.
    `world` is the number of all ranks.
    """

    reductions: Sequence[Reduction]
    hashes: Sequence[int]
    unseen: int = 0
    between_groups: int = 0
    several_threads: bool = False
    world: int = 1


def results_in(folder: Path) -> dict[int, RankResults]:
    """Return what the ranks wrote to a folder; RunError where one wrote nothing, or not all."""
    if not path_of(folder, 0).is_file():
        raise RunError(
            "no result was noted; the program must call MPI_Init, and its ranks must be able to "
            f"write to {folder.parent}"
        )
    first = read(folder, 0)
    others = range(1, first.world)
    missing = [rank for rank in others if not path_of(folder, rank).is_file()]
    if missing:
        more = f" and {len(missing) - 1} others" if len(missing) > 1 else ""
        raise RunError(
            f"no result of rank {missing[0]}{more} was noted; every host must be able to write to "
            f"{folder.parent}; set TMPDIR to a folder that all of them share"
        )
    return {0: first} | {rank: read(folder, rank) for rank in others}


def path_of(folder: Path, rank: int) -> Path:
    """Return the file that a rank writes to a folder."""
    return folder / f"rank-{rank}.jsonl"


def read(folder: Path, rank: int) -> RankResults:
    """Return what one rank wrote; a line that is cut off is left out."""
    path = path_of(folder, rank)
    with path.open(encoding="utf-8") as lines:
        return parsed((json.loads(line) for line in lines if line.endswith("\n")), path)


def parsed(records: Iterable[dict[str, Any]], path: Path) -> RankResults:
    """Return the results that the records of a rank's file hold, which end in any order.

    Raises RunError where the last record is missing: a rank that cannot write stops noting.
    """
    sites: dict[int, CallSite] = {}
    known: dict[tuple[Any, ...], Reduction] = {}
    reductions: list[Reduction] = []
    numbers, hashes = array("Q"), array("Q")
    told: dict[str, Any] = {}
    for record in records:
        if "site" in record:
            sites[record["site"]] = CallSite(record["object"], record["offset"], record["symbol"])
        elif "hash" in record:
            numbers.append(record.pop("number"))
            hashes.append(int(record.pop("hash") or "0", 16))
            alike = tuple(record.values())
            if alike not in known:
                known[alike] = Reduction(site=sites[record.pop("from")], **record)
            reductions.append(known[alike])
        else:
            told |= record
    if not told.pop("end", False):
        raise RunError(
            f"the results of {path.stem.replace('-', ' ')} end early; free space in "
            f"{path.parent.parent}, or let every rank call MPI_Finalize"
        )
    order = sorted(range(len(numbers)), key=numbers.__getitem__)
    return RankResults(
        [reductions[place] for place in order], array("Q", [hashes[place] for place in order]),
        **told,
    )  # fmt: skip
