# SPDX-License-Identifier: BSD-3-Clause
"""Folders of testbeds: what is theirs, and what others may have put there."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lanewise.errors import RequestError
from lanewise.testbed import bed, state
from lanewise.testbed.state import Info

INFO = Info("two", "two.toml", shared=True)


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder of the user's that is named for testbeds."""
    folder = tmp_path / "beds"
    folder.mkdir()
    monkeypatch.setenv("LANEWISE_TESTBEDS", str(folder))
    return folder


def test_folders_of_the_user_are_not_taken_for_leftovers(base: Path) -> None:
    for name in ("src", "thesis", "two.abcdefgh", "one.abcdefgh", "two"):
        (base / name).mkdir()
        (base / name / "kept").write_text("mine", encoding="utf-8")
    (base / "two.abcdefgh" / "lock").touch()
    for name in ("one.abcdefgh", "two"):
        (base / name / "lock").touch()
        state.write_info(base / name, INFO)

    assert bed.clear_leftovers() == []

    assert len(list(base.glob("*/kept"))) == 5


def test_what_a_killed_supervisor_left_is_removed(base: Path) -> None:
    with state.new_folder(INFO) as (folder, _):
        assert state.lives(folder)
        assert bed.clear_leftovers() == []

    assert bed.clear_leftovers() == ["two"]

    assert list(base.iterdir()) == []


def test_a_testbed_is_found_once_all_of_it_is_there(base: Path) -> None:
    with state.new_folder(INFO) as (folder, _):
        state.write_info(folder, replace(INFO, supervisor=1))
        assert bed.beds() == []
        assert [each.folder for each in bed.begun()] == [folder]

        (folder / state.CONTROL).touch()

        assert [each.folder for each in bed.beds()] == [folder]


def test_a_folder_that_has_not_come_to_its_name_is_removed_once_it_is_old(base: Path) -> None:
    new, old, mine = (
        base / f"{name}.abcdefgh" for name in (".unfinished.two", ".unfinished.one", ".two")
    )
    for folder in (new, old, mine):
        folder.mkdir()
    for folder in (old, mine):
        os.utime(folder, (0, 0))

    assert bed.clear_leftovers() == ["one"]

    assert sorted(base.iterdir()) == sorted([new, mine])


def test_a_link_in_a_place_where_others_may_write_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = tmp_path / "victim"
    (victim / "two.abcdefgh").mkdir(parents=True)
    (victim / "two.abcdefgh" / "lock").touch()
    state.write_info(victim / "two.abcdefgh", INFO)
    monkeypatch.delenv("LANEWISE_TESTBEDS", raising=False)
    monkeypatch.setattr(state, "_PREFIX", os.path.relpath(tmp_path / "trap-", "/tmp"))
    state.base().symlink_to(victim)

    with pytest.raises(RequestError, match="is not a folder; remove it"):
        bed.clear_leftovers()
    with pytest.raises(RequestError, match="is not a folder; remove it"), state.new_folder(INFO):
        pass

    assert (victim / "two.abcdefgh").is_dir()


def test_a_folder_that_others_may_write_to_is_refused(base: Path) -> None:
    base.chmod(0o777)

    with pytest.raises(RequestError, match=f"chmod go-w {base}"):
        state.make_base()
    with pytest.raises(RequestError, match="others may write"):
        bed.beds()


def test_a_file_in_its_place_and_a_missing_parent_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    for name, said in (("file", "file exists"), ("none/beds", "no such file")):
        monkeypatch.setenv("LANEWISE_TESTBEDS", str(tmp_path / name))

        with pytest.raises(RequestError, match=f"{tmp_path / name} cannot be used: {said}"):
            state.make_base()
    assert state.folders() == []
    monkeypatch.setenv("LANEWISE_TESTBEDS", str(tmp_path / "file"))
    with pytest.raises(RequestError, match="is not a folder; remove it"):
        state.folders()


def test_a_path_that_is_too_long_for_a_socket_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANEWISE_TESTBEDS", str(tmp_path / ("b" * 100)))

    with pytest.raises(RequestError, match="too long a path for a socket"), state.new_folder(INFO):
        pass

    assert list(state.base().iterdir()) == []


def test_a_name_that_is_too_long_for_a_socket_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "n" * 100
    info = Info(name, f"{name}.toml", shared=True)
    said = f"'{name}' is too long a name for a testbed, which has at most [0-9]+ characters"

    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as base:
        monkeypatch.setenv("LANEWISE_TESTBEDS", base)
        with pytest.raises(RequestError, match=said), state.new_folder(info):
            pass

        assert list(Path(base).iterdir()) == []


@pytest.mark.parametrize("name", ["my beds", "a:b"])
def test_a_path_at_which_launchers_would_cut_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("LANEWISE_TESTBEDS", str(tmp_path / name))

    with pytest.raises(RequestError, match="has a blank or a colon"):
        state.make_base()

    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def in_shared_memory() -> Iterator[Path]:
    """Give a folder in /dev/shm."""
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/dev/shm") as folder:
        yield Path(folder)


def test_a_folder_in_shared_memory_is_refused_for_testbeds(
    in_shared_memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(in_shared_memory)

    for folder in (in_shared_memory / "beds", tmp_path / "link" / "beds"):
        monkeypatch.setenv("LANEWISE_TESTBEDS", str(folder))
        with pytest.raises(RequestError, match=f"^{folder} is in /dev/shm, .*LANEWISE_TESTBEDS$"):
            state.make_base()

    assert list(in_shared_memory.iterdir()) == []


def test_a_command_does_not_begin_in_a_folder_of_shared_memory(
    in_shared_memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised = bed.Bed(tmp_path, INFO)
    monkeypatch.chdir(in_shared_memory)

    with pytest.raises(RequestError, match=f"^{in_shared_memory} is in /dev/shm, .*; change to"):
        raised.line("a1", ["true"])

    monkeypatch.chdir(tmp_path)
    assert raised.line("a1", ["true"])[-2:] == [str(tmp_path), "true"]


def test_a_relative_path_holds_in_every_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LANEWISE_TESTBEDS", "beds")

    assert state.base() == tmp_path / "beds"


def test_one_process_at_a_time_takes_a_name(base: Path) -> None:
    another = os.open(base, os.O_RDONLY)
    try:
        with state.alone(), pytest.raises(BlockingIOError):
            fcntl.flock(another, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(another, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(another)
