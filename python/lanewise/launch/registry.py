# SPDX-License-Identifier: BSD-3-Clause
"""The launchers by name, in the order in which the default is sought.

Each is the LAUNCHER of the module of its name.
"""

from __future__ import annotations

import difflib
from importlib import import_module

from lanewise.errors import RequestError
from lanewise.launch.job import Launcher

NAMES = (
    "openmpi",
    "mpich",
    "srun",
    "flux",
    "smpi",
)

LAUNCHERS: dict[str, Launcher] = {
    name: import_module(f"lanewise.launch.launchers.{name}").LAUNCHER for name in NAMES
}


def launcher_named(name: str) -> Launcher:
    """Return the launcher called `name`; RequestError with a suggestion for any other name."""
    if name in LAUNCHERS:
        return LAUNCHERS[name]
    close = difflib.get_close_matches(name, LAUNCHERS, n=1)
    hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(LAUNCHERS)}"
    raise RequestError(f"unknown launcher '{name}'; {hint}")
