# SPDX-License-Identifier: BSD-3-Clause
"""Rules for Open MPI up to 5.0: coll_tuned_dynamic_rules_filename, the classic grammar.

    NCOL {COLID NCOMM {COMMSIZE NMSG {MSGSIZE ALG FANINOUT SEGSIZE}}}

Open MPI takes the largest COMMSIZE and MSGSIZE not above the call's, and the first where all are
above; algorithm 0 leaves the choice to it.  So the rules for n ranks stand between two entries
that say 0, one for 1 rank and one for n + 1.  What MSGSIZE counts depends on the collective.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lanewise.tuning.content import BYTES_MAX, Rule, Tuning
from lanewise.tuning.safety import Emittable, Emitted, by_size, printable, warning

COLLECTIVE_IDS = {
    "allgather": 0, "allgatherv": 1, "allreduce": 2, "alltoall": 3, "alltoallv": 4, "barrier": 6,
    "bcast": 7, "exscan": 8, "gather": 9, "gatherv": 10, "reduce": 11, "reduce_scatter": 12,
    "scan": 14, "scatter": 15, "scatterv": 16,
}  # fmt: skip
# By collective, in the order of their numbers from 1.
ALGORITHMS: dict[str, tuple[str, ...]] = {
    "allgather": ("linear", "bruck", "recursive_doubling", "ring", "neighbor", "two_proc",
                  "sparbit"),
    "allgatherv": ("default", "bruck", "ring", "neighbor", "two_proc", "sparbit"),
    "allreduce": ("basic_linear", "nonoverlapping", "recursive_doubling", "ring",
                  "segmented_ring", "rabenseifner"),
    "alltoall": ("linear", "pairwise", "modified_bruck", "linear_sync", "two_proc"),
    "alltoallv": ("basic_linear", "pairwise"),
    "barrier": ("linear", "double_ring", "recursive_doubling", "bruck", "two_proc", "tree"),
    "bcast": ("basic_linear", "chain", "pipeline", "split_binary_tree", "binary_tree", "binomial",
              "knomial", "scatter_allgather", "scatter_allgather_ring"),
    "exscan": ("linear", "recursive_doubling"),
    "gather": ("basic_linear", "binomial", "linear_sync"),
    "reduce": ("linear", "chain", "pipeline", "binary", "binomial", "in-order_binary",
               "rabenseifner"),
    "reduce_scatter": ("non-overlapping", "recursive_halving", "ring", "butterfly"),
    "scan": ("linear", "recursive_doubling"),
    "scatter": ("basic_linear", "binomial", "linear_nb"),
}  # fmt: skip
# Where MSGSIZE is the sum over the ranks of what tuning.json counts for one.
COUNTED_OVER_RANKS = frozenset({"allgather", "allgatherv", "alltoall", "gather", "scatter",
                                "reduce_scatter"})  # fmt: skip
# A forced chain has Open MPI's own number of chains; a rule must say it.
CHAINS = 4
SIZE_MAX = 2**63 - 1
# No collective has so many algorithms: a call to which this applies is refused.
NO_ALGORITHM = 99

Parameters = Callable[[str, Rule], str]


def write(tuning: Tuning) -> Emitted:
    """Return the rules file."""
    return file_with(tuning, parameters)


def probe(tuning: Tuning) -> str:
    """Return the rules file with an algorithm that does not exist in place of each.

    Under it just those calls are refused that a rule applies to.
    """
    return file_with(tuning, lambda _name, _rule: f"{NO_ALGORITHM} 0 0").text


def emittable(tuning: Tuning) -> Emittable:
    """Return the rules that the file has; those of a collective are all there, or none is."""
    rules, left_out = {}, []
    for name, content in tuning.collectives.items():
        found, why_not = by_size(name, content, tuning.margin)
        if any(rule.algorithm not in ALGORITHMS.get(name, ()) for rule in found):
            why_not = f"{name}: an algorithm whose number is not known"
        if why_not:
            left_out.append(why_not)
        elif found:
            rules[name] = found
    return Emittable(rules, tuple(left_out))


def file_with(tuning: Tuning, parameters_of: Parameters) -> Emitted:
    """Return the rules file, each rule with the parameters that the function gives."""
    there = emittable(tuning)
    blocks = [
        block(name, rules, tuning.ranks, parameters_of) for name, rules in there.rules.items()
    ]
    library = printable(tuning.mpi_library)
    warned = warning(there)
    head = [
        f"# Rules of coll/tuned for {tuning.ranks} ranks, measured with {library}.",
        "# mpirun --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_dynamic_rules_filename "
        "THIS_FILE",
        "# With Open MPI 5 on several hosts add: --mca coll_han_priority 0",
        *([f"# {warned.capitalize()}."] if warned else []),
        f"{len(blocks)} # collectives",
    ]
    return Emitted("\n".join([*head, *(line for lines in blocks for line in lines)]) + "\n",
                   there.left_out)  # fmt: skip


def block(name: str, rules: Sequence[Rule], ranks: int, parameters_of: Parameters) -> list[str]:
    """Return the lines of one collective."""
    nothing = ["1", "0 0 0 0"]
    entries = message_entries(name, rules, ranks, parameters_of)
    lines = [f"{COLLECTIVE_IDS[name]} # {name}"]
    sizes = [("1", nothing)] if ranks > 1 else []
    sizes += [(str(ranks), [str(len(entries)), *entries]), (str(ranks + 1), nothing)]
    lines.append(f"{len(sizes)} # comm sizes")
    for comm_size, content in sizes:
        lines += [f"{comm_size} # ranks", *content]
    return lines


def message_entries(
    name: str, rules: Sequence[Rule], ranks: int, parameters_of: Parameters
) -> list[str]:
    """Return a line for each MSGSIZE, the first of them 0."""
    scale = ranks if name in COUNTED_OVER_RANKS else 1
    entries: dict[int, str] = {0: "0 0 0"}
    for rule in rules:
        entries[rule.from_bytes * scale] = parameters_of(name, rule)
        if rule.to_bytes < BYTES_MAX and (rule.to_bytes + 1) * scale <= SIZE_MAX:
            entries[(rule.to_bytes + 1) * scale] = "0 0 0"
    return [f"{size} {entry}" for size, entry in sorted(entries.items())]


def parameters(name: str, rule: Rule) -> str:
    """Return algorithm, fan-out and segment of a rule."""
    number = ALGORITHMS[name].index(rule.algorithm) + 1
    fan_out = CHAINS if rule.algorithm == "chain" else 0
    return f"{number} {fan_out} {rule.segment_bytes}"
