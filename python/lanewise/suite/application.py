# SPDX-License-Identifier: BSD-3-Clause
"""The application of a suite: LAMMPS with a Lennard-Jones liquid of our own, scaled (Fig. 11).

Debian's LAMMPS is linked with one MPI, so it runs on the transports of that one only.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from lanewise.errors import RequestError, RunError
from lanewise.files.whole import write_whole
from lanewise.launch.packages import package_of
from lanewise.suite import scale
from lanewise.suite.start import HERE, Location, Ranks
from lanewise.suite.transport import Transport

PROGRAM = "lmp"
INPUT = "in.lj"
RUNS = 3
LIMIT_S = 60.0


def input_file() -> Path:
    """Return where the input is: beside the package where it is installed, else in the source."""
    here = Path(__file__).resolve()
    places = [here.parent / "files" / INPUT, here.parents[3] / "examples" / "lammps" / INPUT]
    found = next((path for path in places if path.is_file()), None)
    if found is None:
        raise RequestError(f"{INPUT} is not where it was installed; install lanewise again")
    return found


def plan_for(ranks: int, location: Location = HERE) -> scale.Plan:
    """Return what is run: on one rank and in doubles up to all, the work growing with them."""
    counts = [1]
    while 2 * counts[-1] <= ranks:
        counts.append(2 * counts[-1])
    command = (
        PROGRAM, "-in", str(input_file()), "-log", "none", "-var", "ranks", "{ranks}",
    )  # fmt: skip
    return scale.Plan(
        command,
        tuple(counts),
        "scaled",
        scale.pattern_for(command, ""),
        limit_s=LIMIT_S,
        location=location,
    )


def lacking(transport: Transport) -> str:
    """Return what a transport lacks to run the application; empty where it runs."""
    if shutil.which(PROGRAM) is None:
        return f"LAMMPS (apt-get install {package_of(PROGRAM)})"
    family = scale.mpi_of(PROGRAM)
    return (
        ""
        if family in ("", transport.mpi)
        else f"a LAMMPS for {transport.mpi} (this is {family}'s)"
    )


def run(ranks: Ranks, path: Path) -> None:
    """Interleave a few runs on each number of ranks, and write the seconds; or RunError."""
    plan = plan_for(ranks.count, ranks.location)
    times: dict[int, list[float]] = {count: [] for count in plan.ranks}
    for _ in range(RUNS):
        for count in plan.ranks:
            times[count].append(scale.run_once(plan, ranks.transport, count))
    write_whole(path, json.dumps({str(count): found for count, found in times.items()}) + "\n")


def read(paths: list[Path]) -> dict[int, list[float]]:
    """Return the seconds of all rounds by number of ranks."""
    times: dict[int, list[float]] = {}
    for path in paths:
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RunError(f"{path} cannot be read: {error}; measure it again") from None
        for count, found in values.items():
            times.setdefault(int(count), []).extend(found)
    return times
