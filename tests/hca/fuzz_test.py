# SPDX-License-Identifier: BSD-3-Clause
"""The fuzzers of the device, for as long as LANEWISE_FUZZ_SECONDS says; else not at all."""

from __future__ import annotations

import os

import pytest

from experiments.hca import fuzz as hca_fuzz
from lanewise.errors import RunError


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, hca_fuzz.Found]:
    """Build and run all fuzzers."""
    if "LANEWISE_FUZZ_SECONDS" not in os.environ:
        pytest.skip("set LANEWISE_FUZZ_SECONDS; make test-all does, make test replays the corpus")
    try:
        hca_fuzz.build()
    except RunError as error:
        pytest.skip(str(error))
    cores = hca_fuzz.core_count()
    planned = hca_fuzz.turns(cores, hca_fuzz.SECONDS, hca_fuzz.even_shares(cores))
    return hca_fuzz.fuzz_all(tmp_path_factory.mktemp("fuzz"), planned)


@pytest.mark.parametrize("name", hca_fuzz.FUZZERS)
def test_no_input_does_harm(name: str, found: dict[str, hca_fuzz.Found]) -> None:
    assert found[name].crashes == 0, found[name].said
    assert found[name].inputs > 1000
