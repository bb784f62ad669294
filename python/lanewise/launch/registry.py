# SPDX-License-Identifier: BSD-3-Clause
"""The fabrics by name, in the order in which the default is sought."""

from __future__ import annotations

import difflib

from lanewise.errors import RequestError
from lanewise.launch import flux, mpich, openmpi, smpi, srun
from lanewise.launch.job import Fabric

FABRICS: dict[str, Fabric] = {
    part.FABRIC.name: part.FABRIC for part in (openmpi, mpich, srun, flux, smpi)
}


def fabric_named(name: str) -> Fabric:
    """Return the fabric called `name`; RequestError with a suggestion for any other name."""
    if name in FABRICS:
        return FABRICS[name]
    close = difflib.get_close_matches(name, FABRICS, n=1)
    hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(FABRICS)}"
    raise RequestError(f"unknown fabric '{name}'; {hint}")
