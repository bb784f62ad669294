# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks of a communicator agree on before they add or multiply.

The number of collective calls follows from the format and from the shape of the result, so these
have to be the same on all ranks, and a rank that cannot take part may not leave the others waiting.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanewise.errors import RequestError, RunError
from lanewise.sums.library import library


@dataclass(frozen=True)
class Share:
    """What one rank brings, or what several bring together; mpi4py adds those of all."""

    format: str = ""
    has_numbers: bool = False
    shape: tuple[int, ...] = ()
    failure: str = ""

    def __add__(self, other: Share) -> Share:
        if self.failure or other.failure:
            return self if self.failure else other
        if self.shape != other.shape:
            shapes = " and ".join(map(str, sorted((self.shape, other.shape))))
            return Share(failure=f"the results on its ranks have the shapes {shapes}")
        # The format of nothing, which is that of an empty list, decides nothing.
        if self.has_numbers != other.has_numbers:
            return self if self.has_numbers else other
        joined = np.promote_types(self.format, other.format)
        return Share(joined.name, self.has_numbers, self.shape)


def refuse_intercommunicator(comm: Any) -> None:
    """Raise RequestError for an intercommunicator: each group would get what the other has."""
    if comm.Is_inter():
        raise RequestError("comm is an intercommunicator; merge its groups with comm.Merge()")


def agreed(comm: Any, prepared: Callable[[], NDArray[Any]]) -> NDArray[Any]:
    """Return the rows that `prepared` gives, in a format that holds the numbers of all ranks.

    Where it raises on one rank, the others raise RunError; so do all where their results differ
    in shape.  RequestError for an intercommunicator.
    """
    refuse_intercommunicator(comm)
    try:
        library()
        rows = prepared()
    except Exception as error:  # of whatever kind: the others wait
        comm.allreduce(Share(failure=f"a rank cannot take part: {error}"))
        raise
    together = comm.allreduce(Share(rows.dtype.name, rows.size > 0, rows.shape[:-1]))
    if together.failure:
        raise RunError(f"no result over the communicator: {together.failure}")
    return rows.astype(together.format, copy=False)
