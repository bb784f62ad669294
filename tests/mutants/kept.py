# SPDX-License-Identifier: BSD-3-Clause
"""What mutation runs gave: kept.jsonl has a line for each part that a run judged.

Lines are only ever appended, whatever they say; CONTRIBUTING.md shows them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

KEPT = Path(__file__).with_name("kept.jsonl")


@dataclass(frozen=True)
class Judged:
    """How many changes of a part were judged and killed, and those that survived.

    `by_time` of those that were killed made a test run too long, None where that was not recorded.
    """

    date: str
    commit: str
    processor: str
    load_average: float | None
    seed: int
    part: str
    judged: int
    killed: int
    by_time: int | None
    took_s: int | None
    survived: tuple[str, ...] = ()

    @property
    def row(self) -> str:
        """Return the row of the table in CONTRIBUTING.md."""
        cells = [self.date, self.seed, f"`{self.part.removeprefix('src/')}`", self.judged,
                 self.killed, self.by_time, self.took_s, self.load_average]  # fmt: skip
        return "| " + " | ".join("" if cell is None else str(cell) for cell in cells) + " |"


def append(found: Sequence[Judged], path: Path = KEPT) -> None:
    """Append lines."""
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in found)


def read(path: Path = KEPT) -> list[Judged]:
    """Return all lines, the oldest first."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [Judged(**{**line, "survived": tuple(line["survived"])}) for line in lines]
