# SPDX-License-Identifier: BSD-3-Clause
"""The pytest plugin, as a project that uses it has it: its own folder, its own pytest."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
WITHOUT_PRIVILEGES = ("unshare", "--user", "--map-root-user")
IN_A_SYSTEM_WITHOUT_NAMESPACES = (
    *WITHOUT_PRIVILEGES, "sh", "-c",
    'echo 0 > /proc/sys/user/max_pid_namespaces && exec "$@"', "sh",
)  # fmt: skip

PROGRAMS = '''
import pytest
from lanewise.errors import RequestError

PINGPONG = ["ibv_rc_pingpong", "-g", "0", "-n", "100"]
FAILS = """
[[fault]]
call = "ibv_reg_mr"
times = 1
"""
left = []


def test_programs_meet(lanewise_rdma):
    a1, a2 = lanewise_rdma.names
    with lanewise_rdma.start(a1, PINGPONG) as server:
        server.wait_until_listening(18515)
        client = lanewise_rdma.run(a2, [*PINGPONG, lanewise_rdma.address(a1)])
        assert (client.status, server.wait(60).status) == (0, 0)


def test_faults_happen_and_happen_again(lanewise_rdma):
    first = lanewise_rdma.run("a1", PINGPONG, faults=FAILS)
    again = lanewise_rdma.run("a1", PINGPONG, replay=first.faults)
    assert "Couldn't register MR" in again.stderr
    assert again.faults == first.faults != ()


def test_a_program_and_a_cut_cable_are_left_behind(lanewise_rdma):
    left.append(lanewise_rdma.start("a1", PINGPONG))
    left[0].wait_until_listening(18515)
    lanewise_rdma.cut("a1.lan1")
    assert left[0].running
    with pytest.raises(RequestError, match="has no port 3"):
        lanewise_rdma.address("a1", 3)


def test_a_host_has_devices_of_one_port_each(lanewise_rdma):
    devices = lanewise_rdma.devices("a1")
    words = [*PINGPONG, "-d", "lanewise1"]
    with lanewise_rdma.start("a1", words, devices=devices) as server:
        server.wait_until_listening(18515)
        names = [one["device"] for one in lanewise_rdma.status("a1")]
        address = lanewise_rdma.address("a1", 2)
        client = lanewise_rdma.run("a2", [*words, address], devices=devices)
        assert (client.status, server.wait(60).status) == (0, 0)
    assert (devices, names) == (("lan0", "lan1"), ["lanewise1"])


def test_nothing_is_left(lanewise_rdma):
    assert not left[0].running
    found = lanewise_rdma.run("a1", ["ibv_devinfo"])
    assert found.stdout.count("PORT_ACTIVE") == 2
'''

SKIPPED = """
def test_needs_hosts(lanewise_rdma):
    raise AssertionError


def test_needs_none():
    pass
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make a folder where Lanewise is installed with what pyproject.toml says of pytest."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        points = tomllib.load(file)["project"]["entry-points"]["pytest11"]
    installed = tmp_path / "installed" / "lanewise_plugin-1.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: lanewise-plugin\nVersion: 1\n"
    )
    lines = [f"{name} = {module}" for name, module in points.items()]
    (installed / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines, ""]))
    return tmp_path


def pytest_of(project: Path, text: str, before: tuple[str, ...] = (), settings: str = "") -> str:
    """Run the pytest of a project with these tests; return what it prints."""
    (project / "test_project.py").write_text(text)
    (project / "pytest.ini").write_text(f"[pytest]\n{settings}")
    # An editable installation has a hook that pytest would rewrite, and that is imported already.
    quiet = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    paths = [str(project / "installed"), str(ROOT / "python")]
    done = subprocess.run(
        [*before, sys.executable, "-m", "pytest", "-rs", "-q", "-p", "no:cacheprovider", *quiet],
        cwd=project, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )  # fmt: skip
    return done.stdout + done.stderr


@pytest.mark.skipif(
    shutil.which("ibv_rc_pingpong") is None, reason="no ibv_rc_pingpong; install ibverbs-utils"
)
@pytest.mark.parametrize("before", [(), WITHOUT_PRIVILEGES], ids=["here", "in a container"])
def test_the_fixture_gives_two_hosts_with_ports_and_faults(
    project: Path, before: tuple[str, ...]
) -> None:
    if subprocess.run([*before, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("a user namespace is refused here")

    said = pytest_of(project, PROGRAMS, before)

    assert "5 passed" in said, said


def test_tests_are_skipped_with_the_reason_where_there_are_no_namespaces(project: Path) -> None:
    words = [*IN_A_SYSTEM_WITHOUT_NAMESPACES, "true"]
    if subprocess.run(words, capture_output=True, check=False).returncode != 0:
        pytest.skip("a user namespace is refused here, so none can be without others")

    said = pytest_of(project, SKIPPED, IN_A_SYSTEM_WITHOUT_NAMESPACES)

    assert "1 passed, 1 skipped" in said, said
    assert "lanewise_rdma: no hosts here: a namespace for processes is refused" in said


def test_a_testbed_that_is_not_there_is_an_error_and_no_skip(project: Path) -> None:

    said = pytest_of(project, SKIPPED, ("env", "PYTEST_ADDOPTS=-o lanewise_rdma_testbed=two-prt"))

    assert "1 passed, 1 error" in said, said
    assert "two-prt" in said


OWN_TESTBED = """
[[site]]
name = "own"
hosts = 2

[[site.lan]]
rate = "1 Gbit/s"
"""
ON_ITS_OWN_TESTBED = """
def test_has_the_hosts_of_its_own_testbed(lanewise_rdma):
    assert lanewise_rdma.names == ("own1", "own2")
"""


def test_a_testbed_of_the_project_is_found_from_any_folder(project: Path) -> None:
    (project / "own.toml").write_text(OWN_TESTBED)
    (project / "tests").mkdir()
    words = ("env", "-C", "tests", "PYTEST_ADDOPTS=..")

    said = pytest_of(project, ON_ITS_OWN_TESTBED, words, "lanewise_rdma_testbed = own.toml\n")

    assert "1 passed" in said, said


def test_lanewise_does_without_pytest() -> None:
    code = "import sys; sys.modules['pytest'] = None; import lanewise.rdma, lanewise.__main__"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
