# SPDX-License-Identifier: BSD-3-Clause
"""What is missing is named with the package that has it."""

import pytest

from lanewise.launch.packages import not_found, package_of


@pytest.mark.parametrize(
    ("program", "package"),
    [
        ("ib_write_bw", "perftest"),
        ("ibv_devinfo", "ibverbs-utils"),
        ("fio", "fio"),
        ("/usr/sbin/ip", "iproute2"),
        ("srun", "slurm-client"),
        ("my_program", ""),
    ],
)
def test_a_program_has_its_package(program: str, package: str) -> None:
    assert package_of(program) == package


def test_the_remedy_is_a_command_where_the_package_is_known() -> None:
    assert not_found("fio") == "no program 'fio'; install it with: apt-get install fio"
    assert not_found("./mine") == "no program './mine'; name its path"
