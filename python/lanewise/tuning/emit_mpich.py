# SPDX-License-Identifier: BSD-3-Clause
"""Settings for MPICH: environment variables, one a collective.

MPICH's selection file replaces its whole table and changes from version to version; a variable
changes one collective for all sizes, so it is written only where one algorithm wins at every
measured size.
"""

from __future__ import annotations

from lanewise.tuning.content import Tuning
from lanewise.tuning.safety import Emitted, for_all_sizes


def write(tuning: Tuning) -> Emitted:
    """Return the lines `NAME=value`, as `env` and a shell take them."""
    lines, left_out = [], []
    for name, content in tuning.collectives.items():
        rule = for_all_sizes(content, tuning.margin)
        if rule is not None:
            lines.append(f"{variable(name)}={rule.algorithm}")
        elif content.mpi_rules:
            left_out.append(
                f"{name}: no algorithm wins at every size, and MPICH's variable has all"
            )
    head = [
        f"# For jobs of {tuning.ranks} ranks, measured with {tuning.mpi_library}.",
        "# env $(grep -v '^#' THIS_FILE) mpiexec -n N PROGRAM",
    ]
    return Emitted("\n".join([*head, *lines]) + "\n", tuple(left_out))


def variable(collective: str) -> str:
    """Return the name of the variable that chooses a collective's algorithm."""
    return f"MPIR_CVAR_{collective.upper()}_INTRA_ALGORITHM"
