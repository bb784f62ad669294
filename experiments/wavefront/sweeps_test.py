# SPDX-License-Identifier: BSD-3-Clause
"""The program that measures the kernel in memory, on matrices that are quickly swept."""

import os

import pytest

from experiments.wavefront import sweeps
from lanewise.errors import RequestError
from lanewise.launch.native import find_program


def test_the_kernel_in_memory_leaves_the_bits_of_the_naive_loop() -> None:
    try:
        find_program("lanewise-wavefront-rates", os.environ)
    except RequestError as error:
        pytest.skip(str(error))

    found = sweeps.rates_in_memory(side=64, waves=4)

    assert found["bits_equal"] == 1
    assert found["simd_chained_cells_per_s"] > 0
