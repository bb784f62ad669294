# SPDX-License-Identifier: BSD-3-Clause
"""srun starts an MPI only by a process manager that both know."""

import pytest

from lanewise.launch.pmi_plugin import common, offered_in

SLURM_22 = """MPI plugin types are...
\tpmix
\tnone
\tcray_shasta
\tpmi2
specific pmix plugin versions available: pmix_v4
"""
SLURM_19 = """srun: MPI types are...
srun: none
srun: pmi2
srun: openmpi
"""


def test_plugins_are_found_in_what_srun_prints() -> None:
    assert offered_in(SLURM_22) == {"pmix", "none", "cray_shasta", "pmi2", "pmix_v4"}
    assert offered_in(SLURM_19) == {"none", "pmi2", "openmpi"}


@pytest.mark.parametrize(
    ("mpi", "offered", "pmi2_built", "expected"),
    [
        ("openmpi", {"pmix", "pmix_v4", "pmi2"}, False, "pmix"),
        ("openmpi", {"pmix_v3", "pmi2"}, False, "pmix_v3"),
        ("openmpi", {"pmi2", "none"}, True, "pmi2"),
        ("openmpi", {"pmi2", "none"}, False, ""),
        ("mpich", {"pmix", "pmi2"}, False, "pmi2"),
        ("mpich", {"pmix"}, False, ""),
        ("openmpi", set(), True, ""),
    ],
)
def test_the_plugin_is_one_that_the_mpi_speaks(
    mpi: str, offered: set[str], *, pmi2_built: bool, expected: str
) -> None:
    assert common(mpi, offered, pmi2_built=pmi2_built) == expected
