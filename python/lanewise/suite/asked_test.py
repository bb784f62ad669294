# SPDX-License-Identifier: BSD-3-Clause
"""What a program in Python asks of a launch."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanewise import __version__
from lanewise.errors import RequestError
from lanewise.launch.choose import Choice
from lanewise.launch.job import Cluster
from lanewise.launch.native import MEASURE, NativeBuild
from lanewise.launch.registry import LAUNCHERS
from lanewise.suite.asked import Asked, asked_for, job_running


def test_launcher_arguments_are_a_list_whose_words_stay_whole() -> None:
    found = asked_for("", "", ["a", "b"], "", ["--bind-to", "none"])

    assert (found.hosts, found.launcher_arguments) == ("a,b", ("--bind-to", "none"))


def test_launcher_arguments_in_one_text_are_refused_with_the_list_that_they_are() -> None:
    with pytest.raises(RequestError, match=r"say launcher_arguments=\['--bind-to', 'none'\]"):
        asked_for("", "", "", "", "--bind-to none")


@pytest.mark.parametrize(
    "speeds",
    ["1Gflop/s,2Gflop/s", ["1Gflop/s", 2e9], (1e9, "2000Mflop/s"), np.array([1e9, 2e9])],
    ids=type,
)
def test_a_simulated_cluster_is_given_in_numbers_or_text(speeds: str) -> None:
    asked = partial(asked_for, "smpi", "", "", "", ())

    found = asked(smpi_rate="10Gbit/s", smpi_latency=2e-6, smpi_speeds=speeds).cluster

    assert found == Cluster(1.25e9, 2e-6, (1e9, 2e9))
    assert asked(smpi_rate=1.25e8, smpi_latency=1e-5).cluster == asked().cluster == Cluster()
    assert asked(smpi_speeds=2e9).cluster == Cluster(speeds_flops=(2e9,))
    assert asked(smpi_speeds=np.float64(2e9)).cluster == Cluster(speeds_flops=(2e9,))
    assert asked(smpi_speeds=np.array(2e9)).cluster == Cluster(speeds_flops=(2e9,))
    with pytest.raises(RequestError, match=r"^smpi_rate fast is not a rate above 0; write 1Gbit/s"):
        asked(smpi_rate="fast")
    with pytest.raises(RequestError, match=r"^smpi_speeds 0 is not a speed above 0"):
        asked(smpi_speeds=[0])


@pytest.mark.parametrize("nothing", [None, "", [], ()], ids=str)
def test_what_is_left_out_is_left_to_the_machine(nothing: Any) -> None:
    found = asked_for(
        "", "", nothing, "", (), smpi_rate=nothing, smpi_latency=nothing, smpi_speeds=nothing
    )

    assert found == Asked()


def test_an_array_without_a_speed_is_refused() -> None:
    with pytest.raises(RequestError, match=r"^smpi_speeds  ?is not a speed above 0"):
        asked_for("smpi", "", "", "", (), smpi_speeds=np.array([]))


@pytest.mark.parametrize(
    ("build_type", "version", "noticed"),
    [
        ("Release", __version__, []),
        ("Debug", __version__, ["are not optimised"]),
        ("", "0.0.9", ["are not optimised", "are of Lanewise 0.0.9"]),
    ],
)
def test_a_launch_of_programs_that_do_not_fit_has_a_notice(
    build_type: str, version: str, noticed: list[str], tmp_path: Path
) -> None:
    (tmp_path / MEASURE).touch()
    build = NativeBuild(tmp_path, "openmpi", "4.1", build_type, "", version, tmp_path, tmp_path)

    job = job_running(Asked(), Choice(LAUNCHERS["openmpi"], "mpirun", build), tmp_path,
                      (MEASURE, "bcast"), 1)  # fmt: skip

    lines = job.notice.splitlines()
    assert len(lines) == len(noticed)
    assert all(word in line for word, line in zip(noticed, lines, strict=True))


def test_a_launch_by_another_version_of_the_mpi_has_a_notice(tmp_path: Path) -> None:
    (tmp_path / MEASURE).touch()
    mpirun = tmp_path / "mpirun"
    mpirun.write_text("#!/bin/sh\necho 'mpirun (Open MPI) 5.0.5'\n")
    mpirun.chmod(0o755)
    build = NativeBuild(
        tmp_path, "openmpi", "Open MPI 4.1.4", "Release", "", __version__, tmp_path, tmp_path
    )

    job = job_running(Asked(), Choice(LAUNCHERS["openmpi"], str(mpirun), build), tmp_path,
                      (MEASURE, "bcast"), 1)  # fmt: skip

    assert job.notice.startswith(f"{mpirun} is of Open MPI 5.0.5, and the native programs in ")
