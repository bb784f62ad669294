# SPDX-License-Identifier: BSD-3-Clause
"""Prove that an MPI obeys an emitted file: what to call under it, and what must come of it.

Open MPI says nothing of a file that it misreads.  So it gets the file twice: once as it is, where
every call must be right, also with insignificant arguments empty and, unless the user says that all
do, with an operator that does not commute; and once with an algorithm that does not exist in place
of each, where just the calls must be refused that a rule applies to, on both sides of every bound
and with a rank less.  That the numbers mean the algorithms measured is
looked up in the MPI itself.  Open MPI 6 leaves out a rule that it does not understand, but can be
told to say of every call which rule it takes.  MPICH tells what its variables hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lanewise.results.quantity import size_text
from lanewise.tuning.content import BYTES_MAX, Rule
from lanewise.tuning.emit_openmpi import ALGORITHMS, COUNTED_OVER_RANKS
from lanewise.tuning.emit_openmpi6 import RENAMED
from lanewise.tuning.safety import WITHOUT_SIZE

REDUCTIONS = frozenset({"reduce", "allreduce", "reduce_scatter", "scan", "exscan"})
# Of a reduction; lanewise-prove adds up floats.
ELEMENT_BYTES = 4
# Larger calls take long, and need memory for all ranks.
PROOF_BYTES_MAX = 1 << 22

Answers = Iterable[Mapping[str, Any]]


@dataclass(frozen=True)
class Call:
    """A call to try, and whether a rule applies to it."""

    collective: str
    message_bytes: int
    ranks: int
    ruled: bool

    def __str__(self) -> str:
        """Write the call as lanewise-prove reads it."""
        return f"{self.collective}:{self.message_bytes}:{self.ranks}"


def calls_for(rules: Mapping[str, Sequence[Rule]], ranks: int) -> list[Call]:
    """Return calls on both sides of each bound of each rule, and with a rank less.

    Of two ranks that would be one, whose calls no MPI looks up rules for.
    """
    calls = []
    for name, list_of_rules in rules.items():
        sizes = {8, 1024, 1 << 16, *beside_bounds(name, list_of_rules)}
        # Open MPI answers a call that moves nothing without looking at its rules.
        possible = [size for size in sorted(sizes) if 0 < size <= PROOF_BYTES_MAX]
        calls += [
            Call(name, size, some, some == ranks and applies(list_of_rules, size))
            for size in (possible if name != "barrier" else [0])
            for some in ({ranks, ranks - 1} if ranks > 2 else {ranks})
        ]
    return calls


def beside_bounds(name: str, rules: Sequence[Rule]) -> set[int]:
    """Return the nearest sizes on both sides of each bound; a reduction has whole elements."""
    step = ELEMENT_BYTES if name in REDUCTIONS else 1
    begins = {begin for rule in rules for begin in (rule.from_bytes, rule.to_bytes + 1)}
    below = {(begin - 1) // step * step for begin in begins if begin > 0}
    return below | {-(-begin // step) * step for begin in begins if begin <= BYTES_MAX}


def not_tried(rules: Mapping[str, Sequence[Rule]]) -> list[str]:
    """Return a sentence for each collective with bounds that are too large to be tried."""
    most = size_text(PROOF_BYTES_MAX)
    found = []
    for name, list_of_rules in rules.items():
        large = {rule.from_bytes for rule in list_of_rules if rule.from_bytes > PROOF_BYTES_MAX}
        ends = {rule.to_bytes for rule in list_of_rules if rule.to_bytes >= PROOF_BYTES_MAX}
        sizes = ", ".join(map(size_text, sorted((large | ends) - {BYTES_MAX})))
        if sizes:
            found.append(f"{name}: the bounds {sizes}, as calls have {most} at most")
    return found


def applies(rules: Sequence[Rule], message_bytes: int) -> bool:
    """Tell whether one of the rules holds for a size."""
    return any(rule.from_bytes <= message_bytes <= min(rule.to_bytes, BYTES_MAX) for rule in rules)


def faults_under_file(calls: Sequence[Call], answers: Answers) -> list[str]:
    """Return a sentence for each call that was not right under the file itself."""
    found = []
    heard = {key_of(answer): answer for answer in answers}
    for call in calls:
        answer = heard.get(str(call))
        if answer is None:
            found.append(f"{call} did not come to an end")
        elif answer["full"] != "right":
            found.append(f"{call} was {answer['full']}")
        elif answer["sparse"] != "right":
            found.append(f"{call} was {answer['sparse']} with insignificant arguments empty")
        elif answer.get("ordered", "right") != "right":
            found.append(f"{call} was {answer['ordered']} with an operator that does not commute")
    return found


def faults_under_probe(calls: Sequence[Call], answers: Answers) -> list[str]:
    """Return a sentence for each call where a rule applied that should not, or the reverse."""
    heard = {key_of(answer): answer["full"] for answer in answers}
    expected = {True: "refused", False: "right"}
    return [
        f"a rule {'does not apply' if call.ruled else 'applies'} to {call}"
        for call in calls
        if heard.get(str(call)) != expected[call.ruled]
    ]


# What Open MPI 6 says with coll_tuned_verbose 25 (coll_tuned_dynamic_rules.c of v6.0.x), each line
# after "[HOST:PID] ": of a call, which rule it takes, and in that process's next line the rule.
TAKEN = re.compile(
    r"(\[\S+\]) coll:tuned:dynamic:? For (\w+) with msg_size=(\d+): (no matching|selected) rule"
)
TAKEN_RULE = re.compile(r"(\[\S+\])\s+msg_size \S+ -> (\S+) \(.*segsize +(\d+)")
NOT_TAKEN = re.compile(r"\[\S+\] coll:tuned:dynamic: For (\w+) with communicator size (\d+)\s+no ")
# An algorithm and its segment; no algorithm where Open MPI keeps to its own choice.
Taken = tuple[str, int]
ITS_OWN: Taken = ("", 0)


@dataclass(frozen=True)
class Said:
    """What Open MPI 6 takes, by collective and size; for which numbers of ranks it has no rule."""

    taken: Mapping[tuple[str, int], frozenset[Taken]]
    without_rules: frozenset[tuple[str, int]]


def said_in(lines: Iterable[str]) -> Said:
    """Return what the lines of all ranks say; each speaks for itself, and they are mixed."""
    taken: dict[tuple[str, int], set[Taken]] = {}
    without: set[tuple[str, int]] = set()
    open_calls: dict[str, tuple[str, int]] = {}
    for line in lines:
        if found := TAKEN.match(line):
            process, name, size, which = found.groups()
            if which == "selected":
                open_calls[process] = (name, int(size))
            else:
                taken.setdefault((name, int(size)), set()).add(ITS_OWN)
        elif found := TAKEN_RULE.match(line):
            call = open_calls.pop(found[1], None)
            if call is not None:
                taken.setdefault(call, set()).add((found[2], int(found[3])))
        elif found := NOT_TAKEN.match(line):
            without.add((found[1], int(found[2])))
    return Said({call: frozenset(all_of_it) for call, all_of_it in taken.items()},
                frozenset(without))  # fmt: skip


def faults_of_what_is_said(
    rules: Mapping[str, Sequence[Rule]], calls: Sequence[Call], ranks: int, said: Said
) -> list[str]:
    """Return a sentence for each call for which Open MPI 6 takes another rule than it should."""
    found = []
    for call in calls:
        if call.ranks != ranks:
            if (call.collective, call.ranks) not in said.without_rules:
                found.append(f"a rule may apply to {call}")
            continue
        wanted = taken_for(rules[call.collective], call)
        taken = said.taken.get((call.collective, looked_up_bytes(call)), frozenset())
        if taken != {wanted}:
            is_taken = ", ".join(sorted(map(str, taken))) or "nothing is said of it"
            found.append(f"{call}: {is_taken}, not {wanted}")
    return found


def looked_up_bytes(call: Call) -> int:
    """Return the size by which Open MPI looks up the rule for a call of lanewise-prove."""
    if call.collective == "alltoallv":
        return 0
    if call.collective in WITHOUT_SIZE:
        return ELEMENT_BYTES * call.ranks
    return call.message_bytes * (call.ranks if call.collective in COUNTED_OVER_RANKS else 1)


def taken_for(rules: Sequence[Rule], call: Call) -> Taken:
    """Return what Open MPI 6 should take for a call."""
    for rule in rules:
        if rule.from_bytes <= call.message_bytes <= rule.to_bytes:
            name = RENAMED.get((call.collective, rule.algorithm), rule.algorithm)
            return name, rule.segment_bytes
    return ITS_OWN


def faults_of_numbers(rules: Mapping[str, Sequence[Rule]], answers: Answers) -> list[str]:
    """Return a sentence for each algorithm whose number is another in this Open MPI."""
    found = []
    for answer in answers:
        name = answer["collective"]
        for rule in rules.get(name, ()):
            number = ALGORITHMS[name].index(rule.algorithm) + 1
            here = answer["algorithms"].get(rule.algorithm)
            if here != number:
                found.append(f"{name} {rule.algorithm} is number {here} here, not {number}")
    return sorted(set(found))


def faults_of_variables(rules: Mapping[str, Sequence[Rule]], answers: Answers) -> list[str]:
    """Return a sentence for each variable of MPICH that does not hold its algorithm."""
    found = set()
    for answer in answers:
        name = answer["collective"]
        algorithm = rules[name][0].algorithm
        if answer["forced"] != answer["algorithms"].get(algorithm, -1):
            found.add(f"{name} is not forced to {algorithm}")
    return sorted(found)


def key_of(answer: Mapping[str, Any]) -> str:
    """Return the call that an answer belongs to."""
    return f"{answer['collective']}:{answer['message_bytes']}:{answer['ranks']}"
