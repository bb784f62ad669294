# SPDX-License-Identifier: BSD-3-Clause
"""Course: the launches of a tuning, some that choose and more that judge, within a budget.

The budget is for all of it, on the clock of who waits: starting ranks takes time that the ranks
know nothing of, so what a launch took beside its measurement is taken off the next ones.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

Clock = Callable[[], float]

# So many launches judge at most.  The more there are, the fewer gains lie so close to what can be
# told from none that one tuning finds them and the next does not.
LAUNCHES = 50
# So many judge if there is time for them at all: two more than a verdict needs.
LAUNCHES_ENOUGH = 7
# With fewer there is no rule.
LAUNCHES_MIN = 5
# So many screen the most promising of the first one; with it they are as many as a verdict needs.
SCREENINGS = LAUNCHES_MIN - 1
# The first launch runs every candidate, those that screen run 16 at most, those that judge four.
# The share of those that screen is of what the first one leaves.
CHOOSING_SHARE = 0.4
SCREENING_SHARE = 0.2
# Before any launch has shown what starting one takes, and for what follows the last one.
START_S = 1.0
END_S = 1.0
# A launch that is made at all measures for this long.
LEAST_S = 0.25
# Where there is time for many, each measures for so long beside what starting it takes: one that is
# cut short wastes its start, and a busy machine takes longer for both.
START_SHARE = 0.5


class Simulating(Protocol):
    """A launcher, of which only this matters here."""

    @property
    def simulates(self) -> bool:
        """Tell whether its launches do not differ."""


@dataclass(frozen=True)
class Launches:
    """How many launches judge at most, how many are enough, and how many screen before."""

    judging: int = LAUNCHES
    enough: int = LAUNCHES_ENOUGH
    screening: int = SCREENINGS


def launches_for(launcher: Simulating, named: int | None = None) -> Launches:
    """Return the launches of a tuning, `named` that judge; a simulated one tells all."""
    screening = 0 if launcher.simulates else SCREENINGS
    if named is not None:
        return Launches(named, named, screening)
    return Launches(1, 1, screening) if launcher.simulates else Launches()


@dataclass
class Course:
    """A tuning under way, `used_s` after its command began.  A budget of 0 is none.

    At most `launches` judge, and the tuning is complete if `enough` of them have.  As many as
    `screenings` may come before.
    """

    budget_s: float
    launches: int = LAUNCHES
    clock: Clock = time.monotonic
    start_s: float = START_S
    used_s: float = 0.0
    enough: int = LAUNCHES_ENOUGH
    screenings: int = SCREENINGS
    _began_s: float = field(init=False)
    _seen_start_s: float = field(init=False, default=0.0)
    _chose_s: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        """Begin now."""
        self._began_s = self.clock() - self.used_s
        self.enough = min(self.enough, self.launches)

    @property
    def left_s(self) -> float:
        """Return what is left of the budget."""
        return self.budget_s - END_S - (self.clock() - self._began_s)

    def each_s(self, launches: int) -> float:
        """Return how long each of so many launches may measure if they share what is left."""
        return self.left_s / launches - self.start_s

    def room_for(self, measured_s: float) -> int:
        """Return how many launches that measure for so long there is time for.

        Without a budget, those that judge take as long together as they would of one that gave the
        first launch the time it took, but there are enough of them.
        """
        launch_s = self.launch_s(measured_s)
        if self.budget_s > 0:
            return max(0, min(self.launches, int(self.left_s / launch_s)))
        judged_s = self._chose_s * (1 - CHOOSING_SHARE) / CHOOSING_SHARE
        return max(self.enough, min(self.launches, int(judged_s / launch_s)))

    def launch_s(self, measured_s: float) -> float:
        """Return how long a launch takes in which there is so much to measure."""
        return self.start_s + max(LEAST_S, START_SHARE * self.start_s, measured_s)

    def screenings_of(self, measured_s: float, judged_s: float) -> int:
        """Return how many launches screen that measure for so long.

        With a budget they take none of the time of the `enough` that judge for `judged_s` each.
        Without one they take as long together as the first launch at most.
        """
        room_s = self._chose_s
        if self.budget_s > 0:
            room_s = min(SCREENING_SHARE * self.left_s, self.spare_s(judged_s))
        return max(0, min(self.screenings, int(room_s / self.launch_s(measured_s))))

    def spare_s(self, judged_s: float) -> float:
        """Return the time left beside that of the `enough` launches that judge for so long each."""
        if self.budget_s == 0:
            return math.inf
        return self.left_s - self.enough * self.launch_s(judged_s)

    def chose(self, measured_s: float) -> None:
        """Learn that the first launch has measured for so long, perhaps in an earlier run."""
        self._chose_s = max(self._chose_s, self.start_s + measured_s)

    def least_s(self, look_s: float) -> float:
        """Return the least budget of a tuning in which a first look takes so long.

        It has time for the first launch, and for as many that judge as a rule needs; each of
        them takes about as long as a first look.
        """
        launch_s = self.start_s + look_s
        judged_s = min(self.enough, LAUNCHES_MIN) * launch_s
        return END_S + max(launch_s / CHOOSING_SHARE, judged_s / (1 - CHOOSING_SHARE))

    def choosing_s(self) -> float | None:
        """Return how long the ranks of the first launch may measure; None: as they like."""
        if self.budget_s == 0:
            return None
        return max(LEAST_S, CHOOSING_SHARE * self.left_s - self.start_s)

    def judging_s(self, launch: int) -> float | None:
        """Return how long the ranks of judging launch `launch` (from 1) may measure.

        None: as they like; 0: there is no time for it.
        """
        if self.budget_s == 0:
            return None
        share_s = self.each_s(self.launches - launch + 1)
        # What an early launch cannot have for its share it may take from what later ones leave.
        if share_s < LEAST_S and self.left_s - self.start_s >= LEAST_S:
            return LEAST_S
        return share_s if share_s >= LEAST_S else 0.0

    def launched(self, began_s: float, measured_s: float) -> None:
        """Learn from a launch that began at this time and measured for so long."""
        beside_s = self.clock() - began_s - measured_s
        self._seen_start_s = max(self._seen_start_s, beside_s)
        self.start_s = self._seen_start_s
        self._chose_s = self._chose_s or beside_s + measured_s
