# SPDX-License-Identifier: BSD-3-Clause
"""Registry: every experiment that a folder beside this file defines, in the order of the papers.

A folder takes part by having an `experiment.py` with EXPERIMENT, or with EXPERIMENTS where several
share a program.
"""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from pathlib import Path

from experiments.experiment import Experiment
from lanewise.errors import RequestError


def discover(folder: Path, package: str) -> tuple[Experiment, ...]:
    """Return what the folders in `folder`, which is the package called `package`, define."""
    found: list[Experiment] = []
    for path in sorted(folder.glob("*/experiment.py")):
        module = import_module(f"{package}.{path.parent.name}.experiment")
        several = getattr(module, "EXPERIMENTS", None)
        found += [module.EXPERIMENT] if several is None else several
    return tuple(sorted(found, key=lambda experiment: experiment.paper))


EXPERIMENTS = discover(Path(__file__).parent, "experiments")


def find_experiment(name: str) -> Experiment:
    """Return the experiment called `name`; raises RequestError, with a suggestion, for no such."""
    for experiment in EXPERIMENTS:
        if name in (experiment.name, *experiment.old_names):
            return experiment
    names = [experiment.name for experiment in EXPERIMENTS]
    close = get_close_matches(name, names, n=1)
    remedy = f"did you mean {close[0]}?" if close else f"there are {', '.join(names)}"
    raise RequestError(f"no experiment {name!r}; {remedy}")
