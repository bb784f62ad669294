# SPDX-License-Identifier: BSD-3-Clause
"""The formats in which rules are written for an MPI itself, by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, replace

from lanewise.errors import RequestError
from lanewise.tuning import emit_mpich, emit_openmpi, emit_openmpi6
from lanewise.tuning.content import Tuning
from lanewise.tuning.safety import (
    Emittable,
    Emitted,
    Exportable,
    Operators,
    for_any_operator,
)


@dataclass(frozen=True)
class Emitter:
    """A format: the family of MPI that reads it, and the pure function that writes it.

    `emittable` returns the rules that are written.
    """

    name: str
    family: str
    write: Callable[[Tuning], Emitted]
    emittable: Callable[[Tuning], Emittable]

    def exportable(self, tuning: Tuning, operators: Operators) -> Exportable:
        """Return what may be written for programs that reduce with these operators."""
        looks_at_operators = self.family != "openmpi"
        if looks_at_operators or operators is Operators.COMMUTATIVE:
            return Exportable(tuning)
        return for_any_operator(tuning)

    def emit(self, tuning: Tuning) -> Emitted:
        """Return the file; RequestError where the rules were measured with another MPI."""
        if tuning.mpi_family != self.family:
            raise RequestError(
                f"the rules were measured with {tuning.mpi_family}, not {self.family}; "
                f"tune with --launcher {self.family}"
            )
        emitted = self.write(tuning)
        return replace(emitted, left_out=(*emitted.left_out, *only_ours(tuning)))


def only_ours(tuning: Tuning) -> list[str]:
    """Return a sentence for each collective that only algorithms of Lanewise make faster."""
    return [
        f"{name}: its rules are for algorithms of Lanewise, which only lanewise run applies"
        for name, content in tuning.collectives.items()
        if content.rules and not content.mpi_rules
    ]


EMITTERS: dict[str, Emitter] = {
    emitter.name: emitter
    for emitter in (
        Emitter("openmpi", "openmpi", emit_openmpi.write, emit_openmpi.emittable),
        Emitter("openmpi6", "openmpi", emit_openmpi6.write, emit_openmpi6.emittable),
        Emitter("mpich", "mpich", emit_mpich.write, emit_mpich.emittable),
    )
}


def emitter_named(name: str) -> Emitter:
    """Return the format called `name`; RequestError with a suggestion for any other name."""
    if name in EMITTERS:
        return EMITTERS[name]
    close = difflib.get_close_matches(name, EMITTERS, n=1)
    hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(EMITTERS)}"
    raise RequestError(f"unknown format '{name}'; {hint}")
