# SPDX-License-Identifier: BSD-3-Clause
"""The program sums.c under `lanewise run --same-bits`: which of its results have the same bits.

At `order` it runs on few ranks and many, at `ranks` on numbers of ranks that deal the same cells in
different ways.  The results at `ranks` are compared with fractions as well.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from experiments.native import compiled_with_lanewise
from experiments.session import run_in_session
from experiments.workspace import LOCAL, Workspace, failing_as_run
from lanewise.errors import RunError
from lanewise.launch.choose import choose, require_launcher
from lanewise.launch.job import Job

SOURCE = Path(__file__).parent / "sums.c"
MPIS = (LOCAL, "mpich")
# The cells of the runs in which bits do not depend on the number of ranks; others have two a rank.
CELLS = 12
RANKS = {"order": (1, 2, 3, 4, 6, 12), "ranks": (2, 3, 6, 9, 12, 13)}
OF_THE_SAME_CELLS = tuple(ranks for ranks in RANKS["ranks"] if 2 * ranks >= CELLS)
# All algorithms of an allreduce in the balanced bracketing, with segments.
ALGORITHMS = (
    "binomial:0", "direct:0", "direct:8192", "direct:32768", "rabenseifner:0",
    "recursive_doubling:0",
)  # fmt: skip
RESULTS = ("sums", "hash", "products", "floats")
SUBNORMAL_EVERY = 10
TIMEOUT_S = 300.0


class Ran(NamedTuple):
    """How the program ran."""

    level: str
    mpi: str
    ranks: int


def run_all(workspace: Workspace) -> dict[Ran, dict[str, Any]]:
    """Run the program at both levels, with both MPIs, on all numbers of ranks."""
    found = {}
    for mpi in MPIS:
        with failing_as_run():
            program = compiled_with_lanewise(
                mpi, SOURCE, workspace.folder.resolve() / f"sums-{mpi}", "-ffp-contract=off"
            )
        for level, counts in RANKS.items():
            for ranks in counts:
                workspace.say(f"{level}, {mpi}, {ranks} ranks")
                named = ALGORITHMS if level == "order" else ()
                words = (str(program), str(min(CELLS, 2 * ranks)), *named)
                text = run_program(mpi, ranks, words, ("--same-bits", level))
                found[Ran(level, mpi, ranks)] = json.loads(text)
    return found


def run_program(mpi: str, ranks: int, words: tuple[str, ...], options: Sequence[str]) -> str:
    """Run a program by `lanewise run` with `options` and return what it printed."""
    with failing_as_run():
        choice = choose(mpi, os.environ)
        require_launcher(choice)
    job = Job(
        program=words, ranks=ranks, executable=choice.executable, mpi=mpi, slots=1, cores=1,
        user_id=os.getuid(),
    )  # fmt: skip
    launched = ["run", *options, "--", *choice.launcher.command(job)]
    done = run_in_session(
        [sys.executable, "-m", "lanewise", *launched], choice.launcher.environment(job),
        limit_s=TIMEOUT_S,
    )  # fmt: skip
    if done.status != 0:
        raise RunError(
            f"{Path(words[0]).name} on {ranks} ranks failed", done.complaints.splitlines()[-5:]
        )
    return done.output


def figures(found: Mapping[Ran, Mapping[str, Any]]) -> dict[str, float]:
    """Return 1 for what was the same in all runs, and the largest error of the exact results."""
    exact = [found[ran] for ran in found if ran.level == "ranks" and ran.ranks in OF_THE_SAME_CELLS]
    apart = [(found[ran], found[ran._replace(mpi=MPIS[1])]) for ran in found if ran.mpi == MPIS[0]]
    return {
        "sizes_equal": float(_none_other(found.values(), "sizes")),
        "splits_equal": float(_none_other(found.values(), "splits")),
        "algorithms_equal": float(
            _none_other(found.values(), "collectives")
            and _none_other(
                [one for ran, one in found.items() if ran.level == "order"], "algorithms"
            )
        ),
        "mpis_equal": float(all(_same_results(one, other) for one, other in apart)),
        "ranks_equal": float(
            _none_other(exact, "dealt") and all(_same_results(one, exact[0]) for one in exact)
        ),
        "exact_error_ulp_max": error_ulp(exact[0]),
    }


def _none_other(runs: Iterable[Mapping[str, Any]], way: str) -> bool:
    return all(one[way]["tried"] > 0 and one[way]["others"] == 0 for one in runs)


def _same_results(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(one[name] == other[name] for name in RESULTS)


def error_ulp(results: Mapping[str, Sequence[str]]) -> float:
    """Return how far the results are from the exact ones at most, in units of the last place."""
    exact = {
        "sums": (DOUBLE, exact_sum),
        "products": (DOUBLE, exact_product),
        "floats": (FLOAT, exact_float),
    }
    return max(
        float(abs(Fraction(value) - of_element(at)) / kind.ulp(value))
        for name, (kind, of_element) in exact.items()
        for at, value in enumerate(map(float.fromhex, results[name]))
    )


class Format(NamedTuple):
    """A format of numbers: the bits of a significand, and the exponent of the least number."""

    bits: int
    least: int

    def ulp(self, value: float) -> Fraction:
        """Return the unit in the last place of a finite number."""
        return Fraction(2) ** max(math.frexp(value)[1] - self.bits, self.least)


DOUBLE = Format(53, -1074)
FLOAT = Format(24, -149)


def integer(cell: int, element: int) -> int:
    """Return what sums.c gives as the integer of a cell."""
    bits = cell * 2654435761 + element * 40503 + 12345
    bits = ((bits * 6364136223846793005 + 1442695040888963407) % 2**64) >> 20
    return bits % 33554432 - 16777216


def exponent(cell: int, element: int) -> int:
    """Return what sums.c gives as the exponent of a cell."""
    return (cell // 2 * 37 + element) % 90 - 45


def number(cell: int, element: int) -> Fraction:
    """Return what sums.c adds of a cell."""
    below = 1029 if element % SUBNORMAL_EVERY == SUBNORMAL_EVERY - 1 else 0
    return integer(cell, element) * Fraction(2) ** (exponent(cell, element) - below)


def factor(cell: int, element: int) -> Fraction:
    """Return by what sums.c multiplies for a cell."""
    if cell % 2:
        return Fraction(2) ** ((cell * 31 + element) % 60 - 30)
    return (2 * integer(cell, element) + 1) * Fraction(2) ** exponent(cell, element)


def float_number(cell: int, element: int) -> Fraction:
    """Return what sums.c adds of a cell as a float.  C divides towards zero."""
    return int(Fraction(integer(cell, element), 4)) * Fraction(2) ** exponent(cell, element)


def exact_sum(element: int) -> Fraction:
    """Return the sum of an element over all cells."""
    return sum((number(cell, element) for cell in range(CELLS)), Fraction(0))


def exact_product(element: int) -> Fraction:
    """Return the product of the factors of an element over all cells."""
    return math.prod((factor(cell, element) for cell in range(CELLS)), start=Fraction(1))


def exact_float(element: int) -> Fraction:
    """Return the sum of the float numbers of an element over all cells."""
    return sum((float_number(cell, element) for cell in range(CELLS)), Fraction(0))
