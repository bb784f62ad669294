# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise doctor` says which launchers work, from a launch of two ranks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import why_not

TIMEOUT_S = 120

# As MPICH 4.2.0 of Ubuntu 24.04: the ranks are told their number and cannot reach each other.
SINGLETONS = """#!/bin/sh
[ "$1" = --version ] && { echo "HYDRA build details: Version: 4.2.0"; exit 0; }
[ "$1" = -n ] || exit 1
ranks=$2
shift 2
for rank in $(seq "$ranks"); do
    PMI_RANK=$((rank - 1)) PMI_SIZE=$ranks "$@" || status=$?
done
exit "${status:-0}"
"""


def doctor(path: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lanewise", "doctor", *options],
        capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
        env={**os.environ, "PATH": path},
    )  # fmt: skip


@pytest.mark.parametrize("launcher", ["openmpi", "mpich"])
def test_a_launcher_whose_ranks_find_each_other_is_usable(launcher: str) -> None:
    if why_not(launcher):
        pytest.skip(why_not(launcher))

    done = doctor(os.environ["PATH"], "--json")

    found = {one["name"]: one for one in json.loads(done.stdout)["launchers"]}
    assert found[launcher]["usable"]
    assert found[launcher]["fault"] == ""


def test_a_launcher_that_starts_every_rank_alone_is_not_usable(tmp_path: Path) -> None:
    if "build" in why_not("mpich"):
        pytest.skip(why_not("mpich"))
    launcher = tmp_path / "mpiexec.mpich"
    launcher.write_text(SINGLETONS, encoding="ascii")
    launcher.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"

    done = doctor(path, "--json")

    found = {one["name"]: one for one in json.loads(done.stdout)["launchers"]}
    assert found["mpich"]["executable"] == str(launcher)
    assert not found["mpich"]["usable"]
    assert "MPI has 1 rank where PMI_SIZE promises 2" in found["mpich"]["fault"]
    assert "another version of MPICH" in found["mpich"]["remedies"][0]
    assert "speak different PMI" in found["mpich"]["fault"]
    assert "start it with" not in found["mpich"]["fault"], "the launcher is that of this MPI"
    assert "--launcher openmpi" in found["mpich"]["remedies"][0]
    shown = doctor(path).stdout
    assert "MPI has 1 rank where PMI_SIZE promises 2" in shown
    assert "remedy: use Open MPI" in shown
    assert "mpich" not in shown.splitlines()[-1], "what is ready"


def test_a_launcher_whose_ranks_do_not_start_is_not_usable_and_has_a_remedy() -> None:
    if why_not("openmpi"):
        pytest.skip(why_not("openmpi"))
    alone = ["unshare", "-n"] if os.getuid() == 0 else ["unshare", "-rn"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no network namespace can be made here")

    done = subprocess.run(
        [*alone, sys.executable, "-m", "lanewise", "doctor", "--json"],
        capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
    )  # fmt: skip

    found = {one["name"]: one for one in json.loads(done.stdout)["launchers"]}
    assert not found["openmpi"]["usable"]
    assert found["openmpi"]["fault"].startswith("its ranks do not start: ")
    assert found["openmpi"]["remedies"] == ["bring up the loopback interface: ip link set lo up"]
