# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise.measure` with real ranks: launched by it, and those of a running job."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lanewise
from lanewise.errors import RequestError, RunError
from lanewise.results.read import load


def test_ranks_are_launched_and_every_repetition_comes_back(launcher: str, tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"

    found = lanewise.measure(
        "scatter", "barrier", ranks=3, sizes=[8, 1024], repetitions=10, launches=2,
        launcher=launcher, output=path,
    )  # fmt: skip

    assert (found.ranks, found.launches) == (3, 2)
    assert found.operations == ("scatter", "barrier")
    assert found["scatter"].message_bytes.tolist() == [8, 1024]
    assert [one.shape for one in found.samples_s] == [(20,)] * 3
    assert found.launch_medians_s.shape == (3, 2)
    assert np.all(found.low_s <= found.median_s)
    assert [point.median_s for point in load(path).points] == found.median_s.tolist()


def test_options_mean_what_they_mean_on_the_command_line(smpi: str) -> None:
    found = lanewise.measure(
        "bcast", ranks=2, sizes="8:32:x2", launcher=smpi, method="root", repetitions=(5, 7),
        time_limit=1.5, error="1%",
    )  # fmt: skip

    stopping = found.context.stopping
    assert found.message_bytes.tolist() == [8, 16, 32]
    assert found.context.method == "root"
    assert (stopping["repetitions_min"], stopping["repetitions_max"]) == (5, 7)
    assert (stopping["time_limit_s"], stopping["error"]) == (1.5, 0.01)


def test_what_cannot_be_measured_is_refused_before_a_rank_starts(real_mpi: str) -> None:
    with pytest.raises(RequestError, match="did you mean scatter"):
        lanewise.measure("scater", ranks=2, launcher=real_mpi)
    with pytest.raises(TypeError, match="did you mean method"):
        lanewise.measure("scatter", ranks=2, launcher=real_mpi, metod="root")
    with pytest.raises(RequestError, match="root 2 is outside"):
        lanewise.measure("scatter", ranks=2, launcher=real_mpi, root=2)
    with pytest.raises(RequestError, match="ranks=0"):
        lanewise.measure("scatter", ranks=0, launcher=real_mpi)


def test_a_rank_that_dies_is_an_error_that_says_what_is_kept(
    user_library: Path, tmp_path: Path
) -> None:
    path = tmp_path / "samples.jsonl"

    with pytest.raises(RunError, match=r"launch 1 of 1; what was measured is kept in .*jsonl"):
        lanewise.measure(
            ranks=2,
            operation=f"{user_library}:dying",
            sizes=[8, 1024],
            repetitions=100,
            launches=1,
            launcher="openmpi",
            output=path,
        )
