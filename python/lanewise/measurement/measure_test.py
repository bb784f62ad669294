# SPDX-License-Identifier: BSD-3-Clause
"""What `lanewise.measure` refuses in a running job."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lanewise.errors import RequestError
from lanewise.measurement.measure import measure

COMM = SimpleNamespace(size=1)


@pytest.mark.parametrize(
    "launching",
    [
        {"launcher": "mpich"},
        {"hosts": ["a"]},
        {"smpi_rate": 0},
        {"smpi_latency": 0.0},
        {"smpi_speeds": np.array([1e9, 2e9])},
        {"smpi_speeds": np.array(2e9)},
        {"smpi_speeds": np.array([])},
    ],
    ids=str,
)
def test_a_running_job_is_not_asked_to_launch(launching: dict[str, Any]) -> None:
    (name,) = launching

    with pytest.raises(RequestError, match=f"^{name} describes a launch, but a running job"):
        measure("bcast", comm=COMM, **launching)


def test_what_is_left_out_or_empty_asks_for_no_launch() -> None:
    empty: dict[str, Any] = {"launcher": "", "hosts": [], "launcher_arguments": (), "hostfile": "",
                             "smpi_speeds": None}  # fmt: skip

    with pytest.raises(RequestError, match="ranks=3: the running job has 1"):
        measure("bcast", comm=COMM, ranks=3, **empty)
