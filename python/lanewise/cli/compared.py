# SPDX-License-Identifier: BSD-3-Clause
"""What the events of a comparison of algorithms have said so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lanewise.cli.progress import Counted
from lanewise.launch.run import Event
from lanewise.results.quantity import size_text
from lanewise.toml.quantities import duration_s


@dataclass
class Compared(Counted):
    """Sizes that were compared.  `records` are those of this run; `place` says where it stands.

    `least_s` is how long the ranks would have needed where the budget was too short for any size.
    """

    budget_s: float = 0.0
    place: str = ""
    elapsed_s: float = 0.0
    least_s: float = 0.0
    out_of_budget: bool = False
    context: dict[str, Any] = field(default_factory=dict)
    records: list[dict[str, Any]] = field(default_factory=list)

    @property
    def done_with(self) -> bool:
        """Tell whether the run came to its end, or to that of its budget."""
        return self.ended or self.out_of_budget

    def take(self, event: Event) -> None:
        """Take in an event."""
        kind = event["event"]
        self.started = True
        if kind == "start":
            self.points = int(event["points"])
            self.done = self.finished = int(event["points_done"])
            self.context = event["context"]
        elif kind == "point":
            self.done = self.finished = int(event["points_done"])
            self.doing = f"{event['collective']} {size_text(event['message_bytes'])}{self.place}"
            dropped = ("event", "points_done")
            self.records.append({key: value for key, value in event.items() if key not in dropped})
        elif kind == "trial":
            what = f"{event['collective']} {size_text(event['message_bytes'])}{self.place}"
            place = f"{event['number']} of {event['contenders']}"
            self.doing = f"{what}: {event['contender']}, {place}"
        elif kind == "budget":
            self.out_of_budget = True
            self.elapsed_s = float(event["elapsed_s"])
            self.least_s = float(event["least_s"])
        elif kind == "end":
            self.ended = True
            self.elapsed_s = float(event["elapsed_s"])


def budget_s(values: Mapping[str, Any]) -> float:
    """Return the budget asked for in seconds, 0 for none; RequestError where it is no duration."""
    return duration_s("--budget", values["budget"]) if values["budget"] else 0.0
