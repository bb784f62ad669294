# SPDX-License-Identifier: BSD-3-Clause
"""What is asked of a run becomes what the library takes, or is refused."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise.errors import RequestError
from lanewise.wavefront.kernel import RowKernel
from lanewise.wavefront.options import Ending, run_options


def test_only_a_condition_makes_a_run_pause() -> None:
    def pause_every(until: str | None) -> int:
        return run_options(100, memory="1GiB", ending=Ending(until=until)).pause_every

    assert [pause_every(until) for until in (None, "", "residual<1")] == [0, 0, 32]


@pytest.mark.parametrize("radius", [0, 9, -1, 2**32 + 1, 1.0, "1"])
def test_a_kernel_reads_from_1_to_8_rows_around_a_cell(radius: int) -> None:
    with pytest.raises(RequestError, match=f"radius is a whole number from 1 to 8, not {radius}"):
        RowKernel(12345, radius=radius)

    assert RowKernel(12345, radius=np.uint8(8)).radius == 8
