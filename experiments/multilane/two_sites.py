# SPDX-License-Identifier: BSD-3-Clause
"""Two sites: what the experiments of paper 001 do in a testbed that is up.

Lane rates are measured into a platform.json, predictions are asked of it, and ways to carry out
a collective race each other, all with Open MPI across the hosts.
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

# What a rank gets as its own choice of segment.
OWN = "0"

Times = dict[str, list[float]]


@dataclass(frozen=True)
class Contest:
    """Ways to carry out `collective`, in turns; a way is `default` or NAME[:SEGMENT[:LANES]].

    `settings` are in the environment of the launcher, `hosts` the ranks' in order, where they are
    not as the testbed has them.
    """

    collective: str
    sizes: Sequence[str]
    turns: int
    ways: Sequence[str]
    settings: Mapping[str, str] = field(default_factory=dict)
    hosts: Sequence[str] = ()


@dataclass(frozen=True)
class Sites:
    """A testbed that is up, with as many ranks as are started in it."""

    raised: Bed
    workspace: Workspace
    ranks: int

    def race(self, contest: Contest) -> dict[int, Times]:
        """Return the seconds of each turn, by message size and way."""
        words = [contest.collective, ",".join(contest.sizes), str(contest.turns), *contest.ways]
        answer = self.ask("lanewise-lane-race", words, contest.settings, contest.hosts)
        return {point["message_bytes"]: point["times_s"] for point in answer["points"]}

    def lane_rates(self, name: str) -> Path:
        """Measure b(P) between the sites; return the platform.json that holds it."""
        path = self.workspace.folder / f"{name}.json"
        path.unlink(missing_ok=True)
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
