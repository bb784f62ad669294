# SPDX-License-Identifier: BSD-3-Clause
"""The fuzzers of the device, for as long as LANEWISE_FUZZ_SECONDS says; else not at all."""

from __future__ import annotations

import os

import pytest

from experiments.hca import fuzz as hca_fuzz


def even_shares(core_count: int) -> dict[str, float]:
    """Return the shares with which all fuzzers have the same time on one or two cores."""
    # On more cores a fuzzer of one process cannot have its part. Two fit on a core.
    return dict.fromkeys(hca_fuzz.SHARES, min(0.45, core_count / len(hca_fuzz.FUZZERS)))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, hca_fuzz.Found]:
    """Build and run all fuzzers."""
    if "LANEWISE_FUZZ_SECONDS" not in os.environ:
        pytest.skip("set LANEWISE_FUZZ_SECONDS; make test-all does, make test replays the corpus")
    try:
        hca_fuzz.build()
    except hca_fuzz.MissingError as error:
        pytest.skip(str(error))
    cores = hca_fuzz.core_count()
    seconds = int(os.environ["LANEWISE_FUZZ_SECONDS"])
    planned = hca_fuzz.turns(cores, seconds, even_shares(cores))
    return hca_fuzz.fuzz_all(tmp_path_factory.mktemp("fuzz"), planned)


@pytest.mark.parametrize("core_count", [1, 2])
def test_even_shares_give_all_fuzzers_the_same_time(core_count: int) -> None:
    seconds = hca_fuzz.core_seconds(hca_fuzz.turns(core_count, 1000, even_shares(core_count)))

    assert set(seconds.values()) == {core_count * 200}


@pytest.mark.parametrize("name", hca_fuzz.FUZZERS)
def test_no_input_does_harm(name: str, found: dict[str, hca_fuzz.Found]) -> None:
    assert found[name].crashes == 0, found[name].said
    assert found[name].inputs > 1000
