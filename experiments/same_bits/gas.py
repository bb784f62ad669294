# SPDX-License-Identifier: BSD-3-Clause
"""The gas of examples/gas.c on several numbers of ranks: how far its energies come apart."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.native import compiled_with_lanewise
from experiments.session import run_in_session
from experiments.workspace import LOCAL, Workspace, failing_as_run
from lanewise.errors import RunError
from lanewise.launch.choose import choose, require_launcher
from lanewise.launch.job import Job
from lanewise.plots.style import COLOURS, house_style, make_panels

SOURCE = Path(__file__).parents[2] / "examples" / "gas.c"
RANKS = (2, 3, 4)
STEPS = 16000
TIMEOUT_S = 300.0
# Where a difference of zero stands on a logarithmic axis.
ZERO = 1e-18


@dataclass(frozen=True)
class Energies:
    """The energy by step, and as it was printed."""

    steps: tuple[int, ...]
    texts: tuple[str, ...]

    def apart(self, other: Energies) -> list[float]:
        """Return the relative differences from those of another run."""
        pairs = zip(map(float, self.texts), map(float, other.texts), strict=True)
        return [abs(here - there) / abs(there) for here, there in pairs]


def energies(workspace: Workspace) -> dict[bool, dict[int, Energies]]:
    """Return the energies by whether they were added exactly, and by the number of ranks."""
    program = workspace.folder.resolve() / "gas"
    with failing_as_run():
        compiled_with_lanewise(LOCAL, SOURCE, program, "-ffp-contract=off")
    found: dict[bool, dict[int, Energies]] = {False: {}, True: {}}
    for exact, by_ranks in found.items():
        for ranks in RANKS:
            workspace.say(f"gas, {'exact' if exact else 'as usual'}, {ranks} ranks")
            by_ranks[ranks] = run(program, ranks, exact=exact)
    return found


def run(program: Path, ranks: int, *, exact: bool) -> Energies:
    """Run the gas and return its energies."""
    with failing_as_run():
        choice = choose(LOCAL, os.environ)
        require_launcher(choice)
    words = (str(program), str(STEPS), *(("exact",) if exact else ()))
    job = Job(
        program=words, ranks=ranks, executable=choice.executable, mpi=LOCAL, slots=1, cores=1,
        user_id=os.getuid(),
    )  # fmt: skip
    line, variables = choice.launcher.command(job), choice.launcher.environment(job)
    done = run_in_session(line, variables, limit_s=TIMEOUT_S)
    if done.status != 0:
        raise RunError(f"gas on {ranks} ranks failed", done.complaints.splitlines()[-5:])
    rows = [line.split() for line in done.output.splitlines()]
    return Energies(tuple(int(row[0]) for row in rows), tuple(row[1] for row in rows))


@house_style()
def draw(found: Mapping[bool, Mapping[int, Energies]]) -> Figure:
    """Draw how far the energies are from those on the fewest ranks, by step."""
    figure, axes = make_panels(2)
    for panel, exact in zip(axes, (False, True), strict=True):
        panel.set_title("energies added exactly" if exact else "energies added as usual")
        _draw_panel(panel, found[exact])
    axes[0].set_ylabel(f"difference from {RANKS[0]} ranks, relative")
    return figure


def _draw_panel(panel: Axes, by_ranks: Mapping[int, Energies]) -> None:
    reference = by_ranks[RANKS[0]]
    for index, ranks in enumerate(RANKS[1:]):
        places = [max(one, ZERO) for one in by_ranks[ranks].apart(reference)]
        panel.plot(
            by_ranks[ranks].steps, places, ("-", "--")[index], color=COLOURS[index],
            label=f"{ranks} ranks",
        )  # fmt: skip
    panel.set_yscale("log")
    panel.set_ylim(ZERO / 3, 10)
    ticks: Sequence[float] = (ZERO, 1e-16, 1e-12, 1e-8, 1e-4, 1)
    texts = ["0", *(f"1e{exponent}" for exponent in (-16, -12, -8, -4)), "1"]
    panel.set_yticks(ticks, texts)
    panel.minorticks_off()
    panel.set_xlabel("step")
    panel.legend(loc="center right")
