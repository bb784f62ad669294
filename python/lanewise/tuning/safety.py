# SPDX-License-Identifier: BSD-3-Clause
"""Which of the MPI's own algorithms may be written into a file of the MPI's without harm.

Open MPI's coll/tuned looks rules up by the size that a rank's own arguments give.  In scatter and
gather some of these arguments are insignificant on some ranks and may hold anything there: ranks
then take different rules, and where those name algorithms that do not understand each other the
program hangs (seen with 4.1.4; the same code is in 5.0 and 6.0).  So scatter and gather get one
algorithm for all sizes, or for scatter linear and linear_nb, whose messages are the same.

In scan and exscan it looks them up by the size of one element and the number of ranks, whatever the
count is (4.1.4, 5.0 and 6.0 alike).  So these get one algorithm for all sizes as well.

It also takes the algorithm of a rule for a reduction without asking whether the operator commutes.
Some of its algorithms combine the ranks in another order than theirs, and an operator that does not
commute then gives a wrong result (seen with 4.1.4).  Rules for these are left out, unless the user
says that all operators commute.  MPICH looks at the operator itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import pairwise

from lanewise.tuning.content import BYTES_MAX, CollectiveTuning, Rule, Tuning
from lanewise.tuning.decide import everywhere

# Algorithms that understand each other, by collective.
COMPATIBLE = {
    "scatter": frozenset({"basic_linear", "linear_nb"}),
    "gather": frozenset[str](),
}
# Where the size that Open MPI looks up says nothing of the message.
WITHOUT_SIZE = frozenset({"scan", "exscan", "alltoallv"})
# Open MPI's algorithms that combine the ranks in their order, or go over to one that does where the
# operator does not commute.
IN_RANK_ORDER = {
    "reduce": frozenset({"linear", "in-order_binary", "rabenseifner"}),
    "allreduce": frozenset(
        {"basic_linear", "nonoverlapping", "recursive_doubling", "rabenseifner"}
    ),
    "reduce_scatter": frozenset({"non-overlapping", "butterfly"}),
}


class Operators(Enum):
    """Which operators the reductions of a program have that will run under an exported file."""

    ANY = "any"
    COMMUTATIVE = "commutative"


@dataclass(frozen=True)
class Emitted:
    """A file for an MPI, and a sentence for each rule that it cannot hold.

    `warning` is for who writes a file of a format that has no place for it.
    """

    text: str
    left_out: tuple[str, ...] = field(default=())
    warning: str = ""


@dataclass(frozen=True)
class Emittable:
    """The rules that a file for an MPI has, by collective, and a sentence for each other one."""

    rules: Mapping[str, tuple[Rule, ...]]
    left_out: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class Exportable:
    """What of a tuning may be exported, and a sentence for each collective that loses rules."""

    tuning: Tuning
    left_out: tuple[str, ...] = field(default=())


def for_any_operator(tuning: Tuning) -> Exportable:
    """Return a tuning without the rules of Open MPI that need an operator that commutes."""
    kept, left_out = {}, []
    for name, content in tuning.collectives.items():
        rules = tuple(rule for rule in content.mpi_rules if not needs_commuting(name, rule))
        if len(rules) < len(content.mpi_rules):
            lost = sorted({one.algorithm for one in content.mpi_rules if one not in rules})
            left_out.append(
                f"{name}: {' and '.join(lost)} would give wrong results with operators that do "
                "not commute; lanewise tune export --commutative-only keeps them"
            )
        if rules or not content.mpi_rules:
            kept[name] = replace(content, mpi_rules=rules)
    return Exportable(replace(tuning, collectives=kept), tuple(left_out))


def needs_commuting(name: str, rule: Rule) -> bool:
    """Tell whether a rule gives wrong results with an operator that does not commute."""
    return name in IN_RANK_ORDER and rule.algorithm not in IN_RANK_ORDER[name]


def warning(there: Emittable) -> str:
    """Say for which programs the rules of Open MPI are not; empty where they are for all."""
    names = [
        name
        for name, rules in there.rules.items()
        if any(needs_commuting(name, rule) for rule in rules)
    ]
    if not names:
        return ""
    return f"wrong results in {', '.join(names)} with operators that do not commute"


def printable(text: str) -> str:
    """Return a text on one line of a file, whatever it holds."""
    return "".join(one if one.isprintable() else " " for one in text)


def by_size(name: str, content: CollectiveTuning, margin: float) -> tuple[tuple[Rule, ...], str]:
    """Return the rules that Open MPI can look up by size, and why others are missing."""
    if name not in {*COMPATIBLE, *WITHOUT_SIZE} or not content.mpi_rules:
        return content.mpi_rules, ""
    one = for_all_sizes(content, margin)
    if one is not None:
        return (one,), ""
    if content.unmeasured_bytes:
        return (), f"{name}: {too_few(content)}"
    if name in WITHOUT_SIZE:
        return (), (
            f"{name}: no algorithm wins at every size, and Open MPI does not look at the size there"
        )
    rules = content.mpi_rules
    compatible = all(rule.algorithm in COMPATIBLE[name] for rule in rules)
    if compatible and covers(rules, content):
        return stretched(rules), ""
    return (), (
        f"{name}: its best algorithm changes with the size, which hangs programs "
        "whose ranks give different insignificant arguments"
    )


def for_all_sizes(content: CollectiveTuning, margin: float) -> Rule | None:
    """Return the one rule for all sizes, where an algorithm wins at every measured one.

    A file may have such a rule without the measurements.
    """
    for rule in content.mpi_rules:
        if (rule.from_bytes, rule.to_bytes) == (0, BYTES_MAX):
            return rule
    if content.unmeasured_bytes:
        return None
    choice = everywhere(content.points, "mpi", margin)
    if choice is None:
        return None
    return Rule(0, BYTES_MAX, choice.algorithm, choice.segment_bytes, choice.lanes)


def too_few(content: CollectiveTuning) -> str:
    """Say that not all sizes were measured, and what measures them."""
    missing = len(content.unmeasured_bytes)
    sizes = missing + len(content.points)
    are = "is" if missing == 1 else "are"
    return (
        f"{missing} of {sizes} sizes {are} not measured, and the rule would be for all; "
        "lanewise tune --resume measures them"
    )


def covers(rules: Sequence[Rule], content: CollectiveTuning) -> bool:
    """Tell whether the rules leave no gap between the first and the last measured size."""
    if not content.points:
        return False
    first, last = content.points[0].message_bytes, content.points[-1].message_bytes
    gapless = all(after.from_bytes == rule.to_bytes + 1 for rule, after in pairwise(rules))
    return gapless and rules[0].from_bytes <= first and rules[-1].to_bytes >= last


def stretched(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Return rules without a gap as rules for all sizes, the outer ones reaching to the ends."""
    ends = [rule.to_bytes for rule in rules[:-1]] + [BYTES_MAX]
    begins = [0, *(rule.from_bytes for rule in rules[1:])]
    return tuple(
        Rule(begin, end, rule.algorithm, rule.segment_bytes, rule.lanes)
        for begin, end, rule in zip(begins, ends, rules, strict=True)
    )
