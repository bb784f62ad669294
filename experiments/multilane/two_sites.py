# SPDX-License-Identifier: BSD-3-Clause
"""Two sites: the measurements of the multilane experiments in a testbed that is up.

Lane rates are measured into a platform.json, and the ways to carry out a collective are compared,
all with Open MPI across the hosts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiments.workspace import LOCAL, Workspace
from lanewise.errors import RunError
from lanewise.launch.choose import Choice, choose, require_launcher
from lanewise.testbed import running
from lanewise.testbed.bed import Bed

# How often lanewise-lane-compare carries out a way in each round; once in a simulation.
IN_A_ROW = 3
# The segment that the algorithm chooses by itself.
OWN = "0"

Times = dict[str, list[float]]


@dataclass(frozen=True)
class Comparison:
    """Interleaved ways to carry out `collective`; a way is `default` or NAME[:SEGMENT[:LANES]].

    `settings` are environment variables of the launcher; `hosts` are those of the ranks in order,
    unless they are placed as the testbed has them.
    """

    collective: str
    sizes: Sequence[str]
    rounds: int
    ways: Sequence[str]
    settings: Mapping[str, str] = field(default_factory=dict)
    hosts: Sequence[str] = ()


@dataclass(frozen=True)
class Sites:
    """A testbed that is up, and the number of ranks to start in it."""

    raised: Bed
    workspace: Workspace
    ranks: int

    def compare(self, comparison: Comparison) -> dict[int, Times]:
        """Return the seconds of each execution, by message size and way."""
        words = [
            comparison.collective,
            ",".join(comparison.sizes),
            str(comparison.rounds),
            *comparison.ways,
        ]
        answer = self.ask("lanewise-lane-compare", words, comparison.settings, comparison.hosts)
        return {point["message_bytes"]: point["times_s"] for point in answer["points"]}

    def lane_rates(self, name: str) -> Path:
        """Measure b(P) between the sites; return the platform.json that holds it."""
        path = self.workspace.fresh(f"{name}.json")
        self.ask("lanewise-lane-rates", ["-o", str(path)], {})
        return path

    def ask(
        self,
        program: str,
        words: Sequence[str],
        settings: Mapping[str, str],
        hosts: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Run a native program on all ranks in the testbed and return the JSON that it prints."""
        choice = chosen()
        self.workspace.say(f"{program} {' '.join(words)}")
        answer = self.workspace.folder / "answer.txt"
        variables = [f"{key}={value}" for key, value in settings.items()]
        keep = ["sh", "-c", 'exec "$@" > "$0"', str(answer)]
        launch = [choice.executable, "-n", str(self.ranks), str(choice.build.program(program))]
        status = running.run_in(
            self.raised, running.Wanted(["env", *variables, *keep, *launch, *words], hosts)
        )
        text = answer.read_text(encoding="utf-8")
        answer.unlink()
        if status != 0 or not text.startswith("{"):
            raise RunError(f"{program} ended with status {status} in the testbed")
        return dict(json.loads(text))


def chosen() -> Choice:
    """Return Open MPI's launcher and build."""
    choice = choose(LOCAL, os.environ)
    require_launcher(choice)
    return choice
