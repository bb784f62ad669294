# SPDX-License-Identifier: BSD-3-Clause
"""Settings for MPICH: environment variables, one a collective.

MPICH's selection file replaces its whole table and changes from version to version; a variable
changes one collective for all sizes, so it is written only where one algorithm wins at every
measured size.
"""

from __future__ import annotations

import re

from lanewise.tuning.content import Tuning
from lanewise.tuning.safety import Emittable, Emitted, for_all_sizes, printable, too_few

# What a shell takes as one word, whoever wrote the tuning file.
NAME = re.compile(r"[A-Za-z0-9_-]+")

# MPICH ends a program that uses it with other numbers of ranks, and a variable is for all.
FOR_POWERS_OF_TWO = "noncommutative"


def emittable(tuning: Tuning) -> Emittable:
    """Return the rules that the file has, one of a collective."""
    rules, left_out = {}, []
    for name, content in tuning.collectives.items():
        rule = for_all_sizes(content, tuning.margin)
        if rule is None and content.unmeasured_bytes and content.mpi_rules:
            left_out.append(f"{name}: {too_few(content)}")
        elif rule is None and content.mpi_rules:
            left_out.append(
                f"{name}: no algorithm wins at every size, and MPICH's variable has all"
            )
        elif rule is not None and not NAME.fullmatch(rule.algorithm):
            left_out.append(f"{name}: {rule.algorithm!a} is no name of an algorithm")
        elif rule is not None and rule.algorithm == FOR_POWERS_OF_TWO:
            left_out.append(
                f"{name}: {rule.algorithm} ends programs on communicators whose number of ranks "
                "is no power of two"
            )
        elif rule is not None:
            rules[name] = (rule,)
    return Emittable(rules, tuple(left_out))


def write(tuning: Tuning) -> Emitted:
    """Return the lines `NAME=value`, as `env` and a shell take them."""
    there = emittable(tuning)
    head = [
        f"# For jobs of {tuning.ranks} ranks, measured with {printable(tuning.mpi_library)}.",
        "# env $(grep -v '^#' THIS_FILE) mpiexec -n N PROGRAM",
    ]
    lines = [f"{variable(name)}={rule.algorithm}" for name, (rule,) in there.rules.items()]
    return Emitted("\n".join([*head, *lines]) + "\n", there.left_out)


def variable(collective: str) -> str:
    """Return the name of the variable that chooses a collective's algorithm."""
    return f"MPIR_CVAR_{collective.upper()}_INTRA_ALGORITHM"
