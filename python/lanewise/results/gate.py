# SPDX-License-Identifier: BSD-3-Clause
"""Gate: tell whether the candidate is slower than the base, with a known rate of false alarms.

The unit is the launch: of each launch every point gives one number, its median.  All points are
tested together by exchanging whole launches between base and candidate, so that whatever makes the
points of a launch alike stays as it is (single-step max-T: P. H. Westfall and S. S. Young,
"Resampling-Based Multiple Testing", Wiley 1993).  Where launches were interleaved in blocks of
random order they are exchanged within their block, which makes the test exact on a machine that
drifts.

The statistic of a point is the sum of the candidate's ranks among all launches (Wilcoxon), that of
an operation the sum over its sizes; both are in units of their standard deviation under exchange.
Ranks lose little where launches are normal and stay sharp where they are not: launches often have
two levels or a long tail.  A slowdown is estimated by the median of the differences between
launches of the two sides (J. L. Hodges and E. L. Lehmann, 1963).

Where each launch also has a reference, in which the sides should not differ, launches are first
compared with those that are like it (gate_reference.py).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from lanewise.errors import RequestError
from lanewise.results import gate_reference
from lanewise.results.gate_reference import State

METHOD = "max-T permutation of launches, Westfall and Young 1993"
FALSE_ALARMS = 0.01
POWER = 0.99
# As many ways to exchange launches are looked at, and more for small rates of false alarms; all of
# them where there are no more.
EXCHANGES = 20_000
EXCHANGES_MAX = 1_000_000
# So many exchanges are looked at for one that is expected beyond the smallest level of a test.
EXCHANGES_BEYOND = 5
# Elements of exchanges that are numbers of 8 bytes at a time.
EXCHANGES_AT_ONCE = 4_000_000
# Exchanged sets of launches that the least visible slowdown is found from, and its upper bound.
REPLAYS = 400
REPLAYS_MAX_ELEMENTS = 4_000_000
BISECTIONS = 14
LOG_SLOWDOWN_MAX = math.log(8)
# The share of the false alarms that the test takes which tells whether the sides differ in the
# reference.  With less it could find nothing in the first look, at five blocks of four launches.
REFERENCE_SHARE = 0.125

Matrix = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, order=True)
class PointName:
    """What was measured: an operation at one size; `ranks` names a pair, as in 0-1."""

    operation: str
    message_bytes: int
    ranks: str = ""


@dataclass(frozen=True)
class Launches:
    """Launches of both sides: one row per launch and one column per point.

    `candidate` marks the rows of the side that is judged.  Launches of one block were interleaved,
    in random order; launches that were not interleaved are one block.  `reference_s` has the time
    of each size of the reference, where all launches have one.
    """

    points: tuple[PointName, ...]
    times_s: Matrix
    candidate: Matrix
    blocks: Matrix
    reference_s: Matrix | None = None

    @property
    def counts(self) -> tuple[int, int]:
        """Return how many launches base and candidate have."""
        judged = int(self.candidate.sum())
        return len(self.candidate) - judged, judged

    @property
    def shape(self) -> tuple[tuple[int, int], ...]:
        """Return the launches of each block: all of them, and those of the candidate."""
        return tuple(
            (int((self.blocks == one).sum()), int(self.candidate[self.blocks == one].sum()))
            for one in np.unique(self.blocks)
        )


@dataclass(frozen=True)
class Rule:
    """What raises an alarm: `gate` is the largest slowdown that passes (0.05 is 5 %).

    `false_alarms` is the rate over all points and over all `looks` together, of which this look has
    `share`; `power` is the rate at which a slowdown of the least visible size is found.
    """

    gate: float
    false_alarms: float = FALSE_ALARMS
    power: float = POWER
    looks: int = 1
    share: float = 1.0
    seed: int = 1

    @property
    def level(self) -> float:
        """Return the rate of false alarms of this look; those of all looks add up (Bonferroni)."""
        return self.false_alarms * self.share

    @property
    def points_level(self) -> float:
        """Return what is left of it for the points where launches have a reference."""
        return (1 - REFERENCE_SHARE) * self.level

    @property
    def reference_level(self) -> float:
        """Return what the test of the reference has of it."""
        return REFERENCE_SHARE * self.level


@dataclass(frozen=True)
class Finding:
    """One point, or an operation over all of its sizes (`message_bytes` is None).

    `slowdown` is the estimate, 0.05 for 5 % slower; `p_value` is adjusted for all points.
    """

    operation: str
    message_bytes: int | None
    ranks: str
    base_s: float
    candidate_s: float
    slowdown: float
    p_value: float
    alarm: bool


@dataclass(frozen=True)
class Verdict:
    """What the gate found; `least_visible` has a slowdown for each operation, infinite for none.

    `reference` tells what became of the reference.
    """

    rule: Rule
    counts: tuple[int, int]
    interleaved: bool
    findings: list[Finding]
    least_visible: dict[str, float]
    exchanges: int
    reference: State = "none"
    look: int = 1
    notes: list[str] = field(default_factory=list)

    @property
    def alarms(self) -> list[Finding]:
        """Return what is slower."""
        return [finding for finding in self.findings if finding.alarm]

    @property
    def operations(self) -> list[str]:
        """Return the operations in their order."""
        return list(dict.fromkeys(finding.operation for finding in self.findings))

    @property
    def least_visible_anywhere(self) -> float:
        """Return the slowdown that would have been found in any operation."""
        return max(self.least_visible.values())


def judge(launches: Launches, rule: Rule, *, with_least_visible: bool = True) -> Verdict:
    """Judge the candidate; RequestError for launches that are too few to ever raise an alarm.

    Without `with_least_visible` the least visible slowdown, which takes longest, is left out;
    `least_visible_anywhere` is then not to be asked for.
    """
    require_rate(rule)
    launches = of_enough_for_reference(launches, rule)
    level = level_of(launches, rule)
    require_enough(launches, level)
    operations = list(dict.fromkeys(point.operation for point in launches.points))
    members = [
        [place for place, point in enumerate(launches.points) if point.operation == name]
        for name in operations
    ]
    count = exchanges_for(level if launches.reference_s is None else rule.reference_level)
    exchanged = exchanges(launches.shape, rule.seed, count)[:, places_of(launches)]
    state = state_of(launches, rule, exchanged)
    logs = np.log(launches.times_s)
    slowdowns = None
    if state == "used" and launches.reference_s is not None:
        references = np.log(launches.reference_s)
        slowdowns = gate_reference.slowdowns(logs, references, launches.candidate)
        logs = gate_reference.without(logs, references)
    scores = hypotheses(ranks_of(logs), launches, members)
    observed = launches.candidate.astype(float) @ scores
    highest = highest_of(exchanged, scores)
    complete = len(exchanged) == ways(launches.shape)
    p_values = adjusted(observed, highest, complete=complete)
    critical = critical_value(highest, level, complete=complete)
    shifts, spreads = differences(logs, launches)
    estimates = shifts if slowdowns is None else slowdowns
    means, weights = over_sizes(estimates, spreads, members)
    shares = np.expm1(np.concatenate([estimates, means]))
    alarms = (p_values <= level) & (shares > rule.gate)
    return Verdict(
        rule=rule,
        counts=launches.counts,
        interleaved=len(launches.shape) > 1,
        findings=findings_of(launches, operations, members, (shares, p_values, alarms)),
        least_visible={
            name: least_visible(logs, launches, rule, critical, (own, weights[place], shifts))
            for place, (name, own) in enumerate(zip(operations, members, strict=True))
            if with_least_visible
        },
        exchanges=len(exchanged),
        reference=state,
    )


def of_enough_for_reference(launches: Launches, rule: Rule) -> Launches:
    """Leave the reference out where launches are too few to see that the sides differ in it.

    A slowdown would be taken off with the state in which all launches of its side were.
    """
    if ways_looked_at(launches.shape) * rule.reference_level < 2:
        return replace(launches, reference_s=None)
    return launches


def level_of(launches: Launches, rule: Rule) -> float:
    """Return the rate of false alarms of one look that is left for the points."""
    return rule.level if launches.reference_s is None else rule.points_level


def state_of(launches: Launches, rule: Rule, exchanged: Matrix) -> State:
    """Tell whether the reference can be used: not where base and candidate differ in it."""
    if launches.reference_s is None:
        return "none"
    columns = unit_columns(ranks_of(np.log(launches.reference_s)), launches)
    observed = abs(launches.candidate.astype(float) @ columns).max(keepdims=True)
    highest = highest_of(exchanged, np.concatenate([columns, -columns], axis=1))
    p_value = adjusted(observed, highest, complete=len(exchanged) == ways(launches.shape))
    return "differs" if p_value[0] <= rule.reference_level else "used"


def require_rate(rule: Rule) -> None:
    """Raise RequestError, with a rate that will do, where exchanges cannot tell one so small."""
    if rule.points_level * EXCHANGES_MAX >= 1:
        return
    # A tenth more, so that what is left of its digits is no less.
    enough = 1.1 * rule.false_alarms / (rule.points_level * EXCHANGES_MAX)
    raise RequestError(
        f"{EXCHANGES_MAX} exchanges of launches cannot resolve a rate of false alarms of "
        f"{rule.level:.2g} per look; use --false-alarms {100 * enough:.2g}% or more"
    )


def require_enough(launches: Launches, level: float) -> None:
    """Raise RequestError, with the number needed, where the level can never be reached."""
    if ways_looked_at(launches.shape) * level < 1:
        needed = launches_needed(level)
        if len(launches.shape) > 1:
            needed = interleaved_launches_needed(level, launches.shape[0])
        raise too_few(*launches.counts, level, needed)


def require_enough_launches(base: int, candidate: int, level: float) -> None:
    """Raise RequestError where so many launches, not interleaved, can never reach the level."""
    if ways_looked_at([(base + candidate, candidate)]) * level < 1:
        raise too_few(base, candidate, level, launches_needed(level))


def too_few(base: int, candidate: int, level: float, needed: int) -> RequestError:
    """Return the error that says how many launches are needed."""
    return RequestError(
        f"{base} and {candidate} launches are too few for a rate of false alarms of {level:.2g}; "
        f"measure {needed} or more of each side, with --launches"
    )


def ways(shape: Sequence[tuple[int, int]]) -> int:
    """Return in how many ways launches can be exchanged within their blocks."""
    return math.prod(math.comb(size, judged) for size, judged in shape)


def ways_looked_at(shape: Sequence[tuple[int, int]]) -> int:
    """Return how many of these ways a test can tell apart, the launches as they were among them."""
    return min(ways(shape), EXCHANGES_MAX + 1)


def launches_needed(level: float) -> int:
    """Return the least number of launches a side, in one block, for which `level` is reached."""
    return next(count for count in itertools.count(1) if math.comb(2 * count, count) * level >= 1)


def interleaved_launches_needed(level: float, block: tuple[int, int]) -> int:
    """Return the same where launches are exchanged within blocks of so many, so many judged."""
    ways_each = math.comb(*block)
    blocks = next(count for count in itertools.count(1) if ways_each**count * level >= 1)
    return blocks * max(block[1], block[0] - block[1])


def places_of(launches: Launches) -> Matrix:
    """Return for each launch its place in the order of the blocks."""
    order = np.argsort(launches.blocks, kind="stable")
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return places


def exchanges_for(level: float) -> int:
    """Return how many exchanges are looked at for a test of this level."""
    return max(EXCHANGES, min(EXCHANGES_MAX, math.ceil(EXCHANGES_BEYOND / level)))


@lru_cache(maxsize=4)
def exchanges(shape: tuple[tuple[int, int], ...], seed: int, count: int) -> Matrix:
    """Return which launches are the candidate's in each exchange, a row an exchange.

    All exchanges where there are at most `count`, else so many at random.  Launches are in the
    order of their blocks.
    """
    if ways(shape) <= count:
        found = np.array(list(every_exchange(shape)), dtype=np.uint8)
    else:
        found = random_exchanges(shape, count, np.random.default_rng(seed))
    found.setflags(write=False)
    return found


def highest_of(exchanged: Matrix, columns: Matrix) -> Matrix:
    """Return for each exchange the highest sum of the candidate's launches in any column."""
    parts = -(-exchanged.size // EXCHANGES_AT_ONCE)
    return np.concatenate(
        [(part.astype(float) @ columns).max(axis=1) for part in np.array_split(exchanged, parts)]
    )


def every_exchange(shape: Sequence[tuple[int, int]]) -> Iterator[list[bool]]:
    """Yield every way to exchange launches within their blocks."""
    choices = [
        [[place in judged for place in range(size)] for judged in chosen]
        for size, count in shape
        for chosen in [[set(one) for one in itertools.combinations(range(size), count)]]
    ]
    for parts in itertools.product(*choices):
        yield [mark for part in parts for mark in part]


def random_exchanges(
    shape: Sequence[tuple[int, int]], count: int, source: np.random.Generator
) -> Matrix:
    """Return `count` exchanges at random."""
    found = np.empty((count, sum(size for size, _ in shape)), dtype=np.uint8)
    place = 0
    for size, judged in shape:
        rows = max(1, EXCHANGES_AT_ONCE // size)
        for first in range(0, count, rows):
            keys = source.random((min(rows, count - first), size))
            marks = keys.argsort(axis=1).argsort(axis=1) < judged
            found[first : first + rows, place : place + size] = marks
        place += size
    return found


def ranks_of(logs: Matrix) -> Matrix:
    """Return the rank of each launch at each point, launches along the axis before the last."""
    from scipy import stats  # noqa: PLC0415 (half a second, and a verdict alone needs it)

    ranks: Matrix = stats.rankdata(logs, axis=-2)
    return ranks


def hypotheses(ranks: Matrix, launches: Launches, members: Sequence[Sequence[int]]) -> Matrix:
    """Return a column for each point and each operation, of which the candidate's sum is tested.

    A sum over the candidate's launches has mean 0 and variance 1 under exchange.
    """
    points = unit_columns(ranks, launches)
    sums = np.stack([points[..., own].sum(axis=-1) for own in members], axis=-1)
    return np.concatenate([points, unit_columns(sums, launches)], axis=-1)


def unit_columns(values: Matrix, launches: Launches) -> Matrix:
    """Centre values in their blocks and scale each column to unit variance under exchange."""
    centred = values - 0.0
    variance = np.zeros((*values.shape[:-2], 1, values.shape[-1]))
    for block, (size, judged) in zip(np.unique(launches.blocks), launches.shape, strict=True):
        rows = np.flatnonzero(launches.blocks == block)
        part = values[..., rows, :]
        part = part - part.mean(axis=-2, keepdims=True)
        centred[..., rows, :] = part
        if size > 1:
            share = judged * (size - judged) / (size * (size - 1))
            variance += share * (part**2).sum(axis=-2, keepdims=True)
    return np.divide(centred, np.sqrt(variance), out=np.zeros_like(centred), where=variance > 0)


# Sums of the same terms in another order differ by rounding; they count as equal.
ROUNDING = 1e-9


def adjusted(observed: Matrix, highest: Matrix, *, complete: bool) -> Matrix:
    """Return for each statistic the share of exchanges with a statistic as high anywhere.

    Exchanges at random do not hold the launches as they were, which therefore count as one more
    (B. Phipson and G. K. Smyth 2010).
    """
    ordered = np.sort(highest)
    as_high = len(ordered) - np.searchsorted(ordered, observed - ROUNDING)
    more = 0 if complete else 1
    shares: Matrix = (as_high + more) / (len(ordered) + more)
    return shares


def critical_value(highest: Matrix, level: float, *, complete: bool) -> float:
    """Return the statistic from which on an adjusted p is at most `level`."""
    ordered = np.sort(highest)[::-1]
    more = 0 if complete else 1
    may_be_as_high = math.floor(level * (len(ordered) + more) + ROUNDING) - more
    return math.inf if may_be_as_high < 0 else float(ordered[may_be_as_high]) + 2 * ROUNDING


def pairs_of(launches: Launches) -> tuple[Matrix, Matrix]:
    """Return all pairs of a base's and a candidate's launch in one block, as two lists of rows."""
    same = launches.blocks[:, None] == launches.blocks[None, :]
    base, candidate = np.nonzero(same & ~launches.candidate[:, None] & launches.candidate[None, :])
    return base, candidate


def differences(logs: Matrix, launches: Launches) -> tuple[Matrix, Matrix]:
    """Return of each point the median difference of the logarithms, and how far pairs are off."""
    base, candidate = pairs_of(launches)
    found = logs[candidate] - logs[base]
    centre = np.median(found, axis=0)
    return centre, np.median(abs(found - centre), axis=0)


def over_sizes(
    estimates: Matrix, spreads: Matrix, members: Sequence[Sequence[int]]
) -> tuple[Matrix, list[Matrix]]:
    """Return each operation's mean of the estimates, and the weights: a noisy size counts less."""
    weights = []
    for own in members:
        squares = spreads[own] ** 2
        least = max(float(squares.max()) * 1e-6, 1e-12)
        inverse = 1 / np.maximum(squares, least)
        weights.append(inverse / inverse.sum())
    means = [float(estimates[own] @ weight) for own, weight in zip(members, weights, strict=True)]
    return np.array(means), weights


def least_visible(
    logs: Matrix,
    launches: Launches,
    rule: Rule,
    critical: float,
    of_operation: tuple[Sequence[int], Matrix, Matrix],
) -> float:
    """Return the slowdown at all sizes of one operation that is found with probability `power`.

    The launches are exchanged again and again, a slowdown is added to those that are then the
    candidate's, and the least one that raises an alarm is found by bisection.  It is infinite where
    even eight times as slow would not be found: so few launches can be too few for one operation.
    """
    own, weight, shifts = of_operation
    level = logs[:, own] - np.outer(launches.candidate, shifts[own])
    count = min(REPLAYS, max(50, REPLAYS_MAX_ELEMENTS // level.size))
    source = np.random.default_rng(rule.seed + 1)
    marks = random_exchanges(launches.shape, count, source)[:, places_of(launches)]
    replayed = replays(level, launches, marks)
    estimated = estimates_of(replayed, launches)
    estimated = np.concatenate([estimated, (estimated @ weight)[:, None]], axis=1)

    def seen(slowdown: Matrix) -> Matrix:
        shifted = replayed + slowdown[:, None, None] * launches.candidate[:, None]
        columns = hypotheses(ranks_of(shifted), launches, [range(len(own))])
        statistics = columns[:, launches.candidate, :].sum(axis=1)
        slower = estimated + slowdown[:, None] > math.log1p(rule.gate)
        alarms: Matrix = ((statistics >= critical) & slower).any(axis=1)
        return alarms

    low, high = np.zeros(count), np.full(count, LOG_SLOWDOWN_MAX)
    ever_seen = seen(high)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        found = seen(middle)
        high, low = np.where(found, middle, high), np.where(found, low, middle)
    least = np.quantile(np.where(ever_seen, high, np.inf), rule.power, method="higher")
    return math.inf if math.isinf(least) else math.expm1(least)


def replays(level: Matrix, launches: Launches, marks: Matrix) -> Matrix:
    """Return the launches once for each row of `marks`, so ordered that the marked are judged."""
    rows = np.arange(len(level))
    here = np.lexsort((rows, launches.candidate, launches.blocks))
    blocks = np.broadcast_to(launches.blocks, marks.shape)
    there = np.lexsort((np.broadcast_to(rows, marks.shape), marks, blocks), axis=-1)
    order = np.empty_like(there)
    order[:, here] = there
    taken: Matrix = level[order]
    return taken


def estimates_of(replayed: Matrix, launches: Launches) -> Matrix:
    """Return the estimates of each replay."""
    base, candidate = pairs_of(launches)
    found = [np.median(one[candidate] - one[base], axis=0) for one in replayed]
    return np.array(found)


def findings_of(
    launches: Launches,
    operations: Sequence[str],
    members: Sequence[Sequence[int]],
    judged: tuple[Matrix, Matrix, Matrix],
) -> list[Finding]:
    """Return the points of each operation, and the operation over all of its sizes after them."""
    logs = np.log(launches.times_s)
    base_s = np.exp(np.median(logs[~launches.candidate], axis=0))
    candidate_s = np.exp(np.median(logs[launches.candidate], axis=0))
    slowdowns, p_values, alarms = judged
    found = []
    for number, (name, own) in enumerate(zip(operations, members, strict=True)):
        for place in own:
            point = launches.points[place]
            found.append(
                Finding(
                    name, point.message_bytes, point.ranks, float(base_s[place]),
                    float(candidate_s[place]), float(slowdowns[place]), float(p_values[place]),
                    bool(alarms[place]),
                )
            )  # fmt: skip
        place = len(launches.points) + number
        found.append(
            Finding(
                name, None, "", math.nan, math.nan, float(slowdowns[place]),
                float(p_values[place]), bool(alarms[place]),
            )
        )  # fmt: skip
    return found
