# SPDX-License-Identifier: BSD-3-Clause
"""A congestion control that the kernel lacks is refused with its line, one that it loads is not."""

import os
from pathlib import Path

import pytest

from lanewise.errors import RequestError
from lanewise.testbed.congestion import require_listed, require_loadable

WITH_TCP = '[[site]]\nname = "a"\nhosts = 2\n[tcp]\ncongestion = "{}"\n'


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the folder of modules of a kernel that has loaded reno and cubic."""
    (tmp_path / "listed").write_text("reno cubic\n")
    monkeypatch.setattr("lanewise.testbed.congestion.LISTED", tmp_path / "listed")
    monkeypatch.setattr("lanewise.testbed.congestion.MODULES", tmp_path)
    folder = tmp_path / os.uname().release
    folder.mkdir()
    (folder / "modules.dep").write_text("kernel/net/ipv4/tcp_bbr.ko.xz:\n")
    return folder


@pytest.mark.parametrize("name", ["", "cubic", "bbr"])
def test_a_congestion_control_may_be_loaded_or_a_module(kernel: Path, name: str) -> None:
    require_loadable(WITH_TCP.format(name), "t.toml")


def test_where_no_modules_are_listed_root_asks_the_kernel(
    kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (kernel / "modules.dep").unlink()
    monkeypatch.setattr("os.geteuid", lambda: 0)

    require_loadable(WITH_TCP.format("cubic"), "t.toml")
    with pytest.raises(RequestError, match=r"^t.toml:5: congestion = 'nosuch'"):
        require_loadable(WITH_TCP.format("nosuch"), "t.toml")


def test_a_congestion_control_that_the_kernel_has_not_is_refused(kernel: Path) -> None:
    said = r"^t.toml:5: congestion = 'nosuch': the kernel has reno, cubic$"

    with pytest.raises(RequestError, match=said):
        require_loadable(WITH_TCP.format("nosuch"), "t.toml")


def test_where_no_modules_are_listed_other_users_hear_of_it_when_the_testbed_is_made(
    kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    (kernel / "modules.dep").unlink()
    text = WITH_TCP.format("nosuch")

    require_loadable(text, "t.toml")
    with pytest.raises(RequestError, match=r"^t.toml:5: congestion = 'nosuch'"):
        require_listed(text, "t.toml")
    require_listed(WITH_TCP.format("reno"), "t.toml")
    require_listed('[[site]]\nname = "a"\nhosts = 2\n', "t.toml")
