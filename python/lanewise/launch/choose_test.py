# SPDX-License-Identifier: BSD-3-Clause
"""Which launcher is chosen, among programs and a build that the test puts there."""

import json
from pathlib import Path

import pytest

from lanewise.errors import RequestError
from lanewise.launch.choose import (
    choose,
    recorded,
    require_launcher,
    why_broken,
    why_versions_differ,
)
from lanewise.launch.examine import find_launcher
from lanewise.launch.native import find_builds
from lanewise.launch.registry import LAUNCHERS
from lanewise.launch.tuned import build_of


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """Give the environment of a machine with Open MPI and one build for it."""
    put(tmp_path / "bin/mpirun", "echo 'mpirun (Open MPI) 4.1.4'")
    put(tmp_path / "build/bin/lanewise-measure", "true")
    manifest = {
        "mpi": "openmpi", "mpi_version": "Open MPI 4.1.4", "build_type": "Release",
        "version": "0.1.0", "bin": "bin", "lib": "lib",
    }  # fmt: skip
    (tmp_path / "build/lanewise-build.json").write_text(json.dumps(manifest))
    return {"PATH": str(tmp_path / "bin"), "LANEWISE_NATIVE": str(tmp_path / "build")}


def put(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def put_srun(machine: dict[str, str], plugins: str) -> None:
    script = f"[ $1 = --mpi=list ] && echo {plugins} || echo slurm 22.05.8"
    put(Path(machine["PATH"], "srun"), script)


def test_outside_of_a_job_the_launcher_of_the_mpi_is_chosen(machine: dict[str, str]) -> None:
    put_srun(machine, "none pmi2 pmix")

    assert choose("", machine).launcher.name == "openmpi"


def test_of_two_installations_of_an_mpi_the_first_on_path_starts_the_ranks(
    machine: dict[str, str], tmp_path: Path
) -> None:
    distribution = tmp_path / "distribution"
    put(distribution / "mpirun.openmpi", "echo 'mpirun.openmpi (Open MPI) 4.1.4'")
    put(tmp_path / "other/mpirun", "echo HYDRA build details")

    for first, chosen in (("bin", "bin/mpirun"), ("other", "distribution/mpirun.openmpi")):
        path = f"{tmp_path / first}:{distribution}"
        found = choose("openmpi", {**machine, "PATH": path}).executable
        assert found == str(tmp_path / chosen)


def test_of_two_launchers_that_fail_the_first_on_path_is_named(tmp_path: Path) -> None:
    put(tmp_path / "module/mpirun", "exit 3")
    put(tmp_path / "distribution/mpirun.openmpi", "exit 4")

    broken = why_broken(
        LAUNCHERS["openmpi"], {"PATH": f"{tmp_path}/module:{tmp_path}/distribution"}
    )

    assert broken == f"{tmp_path}/module/mpirun does not run: status 3"


def test_programs_built_for_another_version_of_the_mpi_that_starts_them_are_named(
    machine: dict[str, str], tmp_path: Path
) -> None:
    put(tmp_path / "module/mpirun", "echo 'mpirun (Open MPI) 5.0.5'")
    module = {**machine, "PATH": f"{tmp_path / 'module'}:{machine['PATH']}"}
    caution = (
        f"{tmp_path}/module/mpirun is of Open MPI 5.0.5, and the native programs in "
        f"{tmp_path}/build are built for Open MPI 4.1.4; put that one first on PATH, or remove the "
        "programs and build them for 5.0.5"
    )

    assert why_versions_differ(choose("", machine)) == ""
    assert why_versions_differ(choose("", module)) == caution


def test_the_version_of_a_batch_system_is_not_compared_with_that_of_an_mpi(
    machine: dict[str, str],
) -> None:
    put_srun(machine, "pmix")

    assert why_versions_differ(choose("srun", machine)) == ""


def test_in_a_slurm_job_srun_is_chosen_where_it_can_start_the_mpi(machine: dict[str, str]) -> None:
    put_srun(machine, "none pmi2 pmix_v4")

    choice = choose("", {**machine, "SLURM_JOB_ID": "12"})

    assert (choice.launcher.name, choice.pmi_plugin) == ("srun", "pmix_v4")


def test_in_a_slurm_job_mpirun_is_chosen_where_srun_cannot(machine: dict[str, str]) -> None:
    put_srun(machine, "none cray_shasta")

    assert choose("", {**machine, "SLURM_JOB_ID": "12"}).launcher.name == "openmpi"


def test_srun_that_cannot_start_the_mpi_is_refused_with_what_can(machine: dict[str, str]) -> None:
    put_srun(machine, "none cray_shasta")

    with pytest.raises(RequestError) as refused:
        choose("srun", machine)

    assert "it needs pmix and srun --mpi=list offers cray_shasta" in str(refused.value)
    assert "--launcher openmpi" in str(refused.value)


def test_the_line_of_a_missing_srun_can_still_be_shown(machine: dict[str, str]) -> None:
    assert choose("srun", machine).executable == "srun"


def test_where_one_build_is_named_the_remedy_is_to_name_another(machine: dict[str, str]) -> None:
    folder = machine["LANEWISE_NATIVE"]
    remedy = f"unset LANEWISE_NATIVE, which is {folder}, or set it to a build for mpich"

    found = find_launcher(LAUNCHERS["mpich"], find_builds(machine), machine)

    assert found.remedies[-1] == remedy
    with pytest.raises(RequestError, match=f"^no native build for mpich; {remedy}$"):
        choose("mpich", machine)
    with pytest.raises(RequestError, match=f"for MPICH and lanewise for openmpi; {remedy}$"):
        build_of("mpich", machine)


def test_where_the_build_that_is_named_has_no_programs_the_remedy_is_to_name_another(
    machine: dict[str, str],
) -> None:
    Path(machine["LANEWISE_NATIVE"], "bin/lanewise-measure").unlink()

    with pytest.raises(RequestError, match=r"; unset LANEWISE_NATIVE, which is .* another"):
        choose("", machine)


def test_an_srun_that_fails_is_told_from_one_that_is_missing(
    machine: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(Path(machine["PATH"], "srun"), "echo srun: fatal: no configuration >&2; exit 1")
    monkeypatch.setenv("PATH", machine["PATH"])

    with pytest.raises(RequestError, match="srun does not run: srun: fatal: no configuration; "):
        require_launcher(choose("srun", machine))

    found = find_launcher(LAUNCHERS["srun"], find_builds(machine), machine)
    assert found.fault.endswith("srun does not run: srun: fatal: no configuration")
    assert (found.usable, found.remedies) == (False, ())


def test_an_srun_without_a_plugin_for_the_mpi_is_not_ready(machine: dict[str, str]) -> None:
    put_srun(machine, "none cray_shasta")

    found = find_launcher(LAUNCHERS["srun"], find_builds(machine), machine)

    assert not found.usable
    assert "it needs pmix and srun --mpi=list offers cray_shasta" in found.fault


def test_an_srun_with_a_plugin_for_the_mpi_is_ready(machine: dict[str, str]) -> None:
    put_srun(machine, "none pmix")

    assert find_launcher(LAUNCHERS["srun"], find_builds(machine), machine).usable


def test_in_a_testbed_the_batch_system_around_it_starts_nothing(machine: dict[str, str]) -> None:
    put_srun(machine, "pmix")

    choice = choose("", {**machine, "SLURM_JOB_ID": "12", "LANEWISE_TESTBED_RUN": "/run"})

    assert choice.launcher.name == "openmpi"


FLUX_CORE = "echo commands: 0.63.0; echo libflux-core: 0.63.0"
FLUX_CD = "echo flux: v2.2.3; echo helm-controller: v0.37.4"
NO_INSTANCE = "flux-getattr: ERROR: flux_open: No such file or directory"


def put_flux(machine: dict[str, str], version: str, size: str) -> None:
    """Put a flux on a machine with a build for MPICH, whose own launcher is missing."""
    script = f'[ "$1 $2" = "getattr size" ] && {{ {size}; exit; }}; {version}'
    put(Path(machine["PATH"], "flux"), script)
    manifest = Path(machine["LANEWISE_NATIVE"], "lanewise-build.json")
    manifest.write_text(manifest.read_text().replace("openmpi", "mpich"))


def test_a_flux_that_reaches_an_instance_is_chosen(machine: dict[str, str]) -> None:
    put_flux(machine, FLUX_CORE, "echo 4")

    choice = choose("", machine)

    assert choice.launcher.name == "flux"
    assert find_launcher(choice.launcher, find_builds(machine), machine).usable
    require_launcher(choice)


def test_a_flux_without_an_instance_starts_nothing(machine: dict[str, str]) -> None:
    put_flux(machine, FLUX_CORE, f"echo {NO_INSTANCE} >&2; exit 1")

    with pytest.raises(RequestError, match="no MPI launcher was found"):
        choose("", machine)
    with pytest.raises(RequestError) as refused:
        require_launcher(choose("flux", machine))
    assert f"flux getattr size fails: {NO_INSTANCE}; work in an instance" in str(refused.value)
    found = find_launcher(LAUNCHERS["flux"], find_builds(machine), machine)
    assert found.fault.endswith(f"flux getattr size fails: {NO_INSTANCE}")
    assert not found.usable
    assert found.remedies[0].startswith("work in an instance of Flux")


def test_another_program_called_flux_is_no_launcher(
    machine: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put_flux(machine, FLUX_CD, "echo 4")
    monkeypatch.setenv("PATH", machine["PATH"])

    with pytest.raises(RequestError, match="no MPI launcher was found"):
        choose("", machine)
    with pytest.raises(RequestError, match="flux is not installed; install flux-core"):
        require_launcher(choose("flux", machine))
    assert not find_launcher(LAUNCHERS["flux"], find_builds(machine), machine).usable


def test_arguments_of_the_launcher_are_recorded_in_a_word_that_a_shell_script_keeps_whole(
    machine: dict[str, str],
) -> None:
    found = choose("", machine)

    further = ["--bind-to", "none", "--host=a:2,b", "it's 5%"]
    (word,) = recorded(found, "", further)[1:]

    assert word == (
        "--launcher-args=--bind-to%20none%20--host=a:2,b%20%27it%27%22%27%22%27s%205%25%27"
    )
