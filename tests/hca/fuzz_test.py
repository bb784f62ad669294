# SPDX-License-Identifier: BSD-3-Clause
"""The fuzzers of the device, for as long as LANEWISE_FUZZ_SECONDS says; else not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from experiments.hca import fuzz as hca_fuzz
from lanewise.errors import RunError


@pytest.mark.parametrize("name", hca_fuzz.FUZZERS)
def test_no_input_does_harm(name: str, tmp_path: Path) -> None:
    if "LANEWISE_FUZZ_SECONDS" not in os.environ:
        pytest.skip("set LANEWISE_FUZZ_SECONDS; make test-all does, make test replays the corpus")
    try:
        hca_fuzz.build()
    except RunError as error:
        pytest.skip(str(error))
    inputs, crashes, said = hca_fuzz.fuzz(name, tmp_path, hca_fuzz.SECONDS)
    assert crashes == 0, said
    assert inputs > 1000
