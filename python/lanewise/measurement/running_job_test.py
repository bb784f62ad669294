# SPDX-License-Identifier: BSD-3-Clause
"""A process that an MPI launcher started is told from one in a batch job."""

from __future__ import annotations

import pytest

from lanewise.measurement.running_job import is_rank


@pytest.mark.parametrize("name", ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"])
def test_a_process_with_a_number_is_a_rank(name: str) -> None:
    assert is_rank({name: "0"})


def test_a_notebook_in_a_batch_job_is_no_rank() -> None:
    assert not is_rank({"SLURM_JOB_ID": "1", "SLURM_PROCID": "0", "FLUX_URI": "local:///x"})
