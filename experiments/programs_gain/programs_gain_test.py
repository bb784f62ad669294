# SPDX-License-Identifier: BSD-3-Clause
"""What programs gain from the times of their runs, and the programs themselves on two ranks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.programs_gain.experiment import NEIGHBOURS, TRAINING, figures_of
from lanewise.tuning.interleaved import Interleaved

ROUNDS = 6


def runs(*tuned_s: float) -> Interleaved:
    """Return runs of which each plain one took 1 s."""
    times_s = [*tuned_s] if len(tuned_s) > 1 else [*tuned_s] * ROUNDS
    return Interleaved("app", "tuning.json", [1.0] * len(times_s), times_s)


def test_the_program_that_gains_less_between_the_sites_counts() -> None:
    figures, launches = figures_of({"one": runs(0.5), "other": runs(0.75)}, {"app": runs(1.0)})

    assert figures["two_site_worst_ratio"] == 0.75
    assert figures["two_site_ratio_one"] == 0.5
    assert launches["two_site_worst_ratio"] == [0.75] * ROUNDS


def test_the_highest_upper_end_counts_on_one_host() -> None:
    steady, wide = runs(0.98), runs(0.8, 0.9, 1.0, 1.0, 1.1, 1.3)

    figures, _ = figures_of({"one": runs(0.5)}, {"steady": steady, "wide": wide})

    assert figures["one_host_worst_upper"] == figures["one_host_ratio_wide_high"] > 1.0


def test_too_few_rounds_give_no_upper_end() -> None:
    figures, _ = figures_of({"one": runs(0.5, 0.5)}, {"app": runs(1.0, 1.0)})

    assert "one_host_worst_upper" not in figures
    assert "two_site_worst_ratio_low" not in figures


@pytest.mark.parametrize(
    ("program", "shows"),
    [(TRAINING, "after 3 steps"), (NEIGHBOURS, "768 points looked for, all found")],
    ids=["training", "neighbours"],
)
def test_a_program_checks_what_it_has_found(program: Path, shows: str) -> None:
    pytest.importorskip("mpi4py", reason="install mpi4py")
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    line = ["mpirun.openmpi", "--oversubscribe", "-n", "2", sys.executable, str(program), "3"]
    done = subprocess.run(
        line, capture_output=True, text=True, check=False, env={**os.environ, **as_root}
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert shows in done.stdout
