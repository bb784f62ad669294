# SPDX-License-Identifier: BSD-3-Clause
"""Files appear whole or not at all, and nothing but a regular file is ever replaced."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from lanewise.errors import RequestError, RunError
from lanewise.files.whole import (
    alone_with,
    current_umask,
    require_apart,
    require_new,
    require_place,
    require_there,
    whole_file,
    write_whole,
)


def test_a_file_that_fails_half_way_leaves_the_old_one_and_nothing_beside_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "out.json"
    path.write_text("old")

    refused = pytest.raises(RunError, match=r"out\.json could not be written: No space left")
    with refused, whole_file(path) as part:
        part.write_text("half")
        raise OSError(28, os.strerror(28))

    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["out.json"]


def test_only_a_full_disk_asks_for_space(tmp_path: Path) -> None:
    refused = pytest.raises(RunError, match=r"out could not be written: Input/output error; name")
    with refused, whole_file(tmp_path / "out"):
        raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_a_temporary_folder_that_is_full_is_blamed_for_itself() -> None:
    said = f"^{tempfile.gettempdir()} could not be written: No space .*; free space .*TMPDIR"
    with pytest.raises(RunError, match=said), whole_file(Path("/dev/null")):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    said = "^/dev/full could not be written: No space .*; free space there or name another$"
    with pytest.raises(RunError, match=said):
        write_whole(Path("/dev/full"), "text")


def test_a_temporary_folder_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/no/such")

    said = "^no temporary file can be made in /no/such: No such file or directory; set TMPDIR to "
    with pytest.raises(RequestError, match=said):
        write_whole(Path("/dev/null"), "text")


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(path.read_text()))
    reader.start()

    write_whole(path, "text")
    reader.join()

    assert got == ["text"]
    assert path.is_fifo()


def test_a_name_that_is_not_text_is_written_with_a_replacement(tmp_path: Path) -> None:
    path = tmp_path / "out"

    write_whole(path, os.fsdecode(b"caf\xe9.jsonl"))

    assert path.read_bytes() == b"caf?.jsonl"


def test_what_goes_through_a_descriptor_is_added_to_its_file(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("w") as stream:
        stream.write("before\n")
        stream.flush()
        (tmp_path / "link").symlink_to(f"/dev/fd/{stream.fileno()}")
        for name in (f"/proc/self/fd/{stream.fileno()}", tmp_path / "link"):
            write_whole(Path(name), "written\n")
        stream.write("after\n")

    assert log.read_text() == "before\nwritten\nwritten\nafter\n"
    assert {one.name for one in tmp_path.iterdir()} == {"log", "link"}


def test_what_was_printed_before_stands_before_what_is_written_to_standard_output(
    tmp_path: Path,
) -> None:
    program = (
        "from pathlib import Path; from lanewise.files.whole import write_whole\n"
        "print('first'); write_whole(Path('/dev/stdout'), 'second\\n'); print('third')\n"
    )
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    with (tmp_path / "log").open("w") as log:
        subprocess.run([sys.executable, "-c", program], stdout=log, env=environment, check=True)

    assert (tmp_path / "log").read_text() == "first\nsecond\nthird\n"


def test_what_goes_through_a_descriptor_of_another_process_is_added_to_its_file(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    log.write_text("before\n")
    with log.open("a") as stream, subprocess.Popen(["cat"], stdin=-1, stdout=stream) as other:
        write_whole(Path(f"/proc/{other.pid}/fd/1"), "written\n")
        other.communicate(b"after\n")

    assert log.read_text() == "before\nwritten\nafter\n"


def test_what_goes_through_a_descriptor_reaches_a_file_without_a_name(tmp_path: Path) -> None:
    with tempfile.TemporaryFile("w+", dir=tmp_path) as stream:
        write_whole(Path(f"/dev/fd/{stream.fileno()}"), "text")
        stream.seek(0)

        assert stream.read() == "text"
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "latest").symlink_to("first.json")

    write_whole(tmp_path / "latest", "text")

    assert (tmp_path / "latest").is_symlink()
    assert (tmp_path / "first.json").read_text() == "text"


@pytest.mark.parametrize("name", [".", "no/such/file.json", "a\0b", "a\ud800b"])
def test_what_cannot_be_a_file_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(RequestError):
        require_place(tmp_path / name)
    with pytest.raises(RequestError):
        write_whole(tmp_path / name, "text")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a\0b", "its name contains a NUL character; name another"),
        ("a\ud800b", r"its name contains '\ud800', which cannot be encoded; name another"),
        ("notes/a.json", "notes is no folder; name another"),
        ("notes/below/a.json", "notes is no folder; name another"),
        ("new/below/a.json", "make the folder {}/new/below first"),
    ],
)
def test_what_is_wrong_with_a_place_is_said(name: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "notes").touch()

    with pytest.raises(RequestError) as refused:
        require_place(tmp_path / name)

    assert str(refused.value).endswith(said.format(tmp_path))


def test_a_new_file_takes_the_place_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "old").touch()
    require_new(tmp_path / "new")

    with pytest.raises(RequestError, match=r"old exists; name another file$"):
        require_new(tmp_path / "old")
    with pytest.raises(RequestError, match="is a folder; name a file in it"):
        require_new(tmp_path)
    with pytest.raises(RequestError, match="x cannot be written: File name too long; name another"):
        require_new(tmp_path / ("x" * 300))
    with pytest.raises(RequestError, match=r"make the folder .*missing first"):
        require_new(tmp_path / "missing" / "new")


def test_links_that_lead_back_to_themselves_are_refused_and_stay(tmp_path: Path) -> None:
    (tmp_path / "first").symlink_to("second")
    (tmp_path / "second").symlink_to("first")
    refusal = "first cannot be written: Too many levels of symbolic links; name another"

    with pytest.raises(RequestError, match=refusal):
        require_place(tmp_path / "first")
    with pytest.raises(RequestError, match=refusal):
        write_whole(tmp_path / "first", "text")

    assert {one.name for one in tmp_path.iterdir() if one.is_symlink()} == {"first", "second"}


def test_a_folder_that_may_not_be_written_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Root may write everywhere, so the answer of the system is made up.
    monkeypatch.setattr(os, "access", lambda *_arguments: False)

    with pytest.raises(RequestError, match=r"out\.json cannot be written: you may not write in "):
        require_place(tmp_path / "out.json")


def test_a_file_that_may_not_be_written_is_refused_and_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kept.json"
    path.write_text("kept")
    # Root may write everywhere, so the answer of the system is made up.
    monkeypatch.setattr(os, "access", lambda place, _mode: place != path)

    with pytest.raises(RequestError, match=r"kept\.json cannot be written: Permission denied; "):
        write_whole(path, "text")

    assert path.read_text() == "kept"


def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    write_whole(path, "first")
    assert path.stat().st_mode & 0o777 == 0o666 & ~current_umask()

    path.chmod(0o640)
    write_whole(path, "second")

    assert path.read_text() == "second"
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_that_is_replaced_keeps_its_owner_and_its_group(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    os.chown(path, 1234, 2345)
    path.chmod(0o640)

    write_whole(path, "new")

    now = path.stat()
    assert (now.st_uid, now.st_gid, now.st_mode & 0o777) == (1234, 2345, 0o640)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_another_group_may_do_no_more_than_others_could(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    os.chown(path, 1234, 2345)
    path.chmod(0o664)

    def refused(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "chown", refused)
    write_whole(path, "new")

    now = path.stat()
    assert now.st_gid != 2345
    assert now.st_mode & 0o777 == 0o644


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path: Path) -> None:
    for path in (tmp_path / ("x" * 255), tmp_path / ("\u00fc" * 127)):
        write_whole(path, "text")

        assert path.read_text() == "text"


def test_a_folder_that_may_not_be_searched_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(_path: Path) -> bool:
        raise PermissionError(13, os.strerror(13))

    monkeypatch.setattr(Path, "is_dir", denied)

    with pytest.raises(RequestError, match=r"out\.json cannot be written: Permission denied"):
        require_place(tmp_path / "out.json")


def test_a_file_to_read_that_is_not_there_is_refused_with_what_writes_it(tmp_path: Path) -> None:
    gone = tmp_path / "gone.json"

    with pytest.raises(RequestError, match=r"gone\.json does not exist; lanewise model fit -o /.*"):
        require_there(gone, "lanewise model fit")
    gone.touch()
    require_there(gone, "lanewise model fit")


def test_an_output_that_is_read_is_refused_by_whatever_name(tmp_path: Path) -> None:
    read = tmp_path / "in"
    read.write_text("kept")
    (tmp_path / "link").symlink_to("in")
    (tmp_path / "hard").hardlink_to(read)

    for name in ("in", "link", "hard", "../" + tmp_path.name + "/in"):
        with pytest.raises(RequestError, match=rf"^-o .*{name} is another file of this command; "):
            require_apart({"-o": tmp_path / name}, None, read)


def test_two_outputs_of_one_name_are_refused_before_there_is_a_file(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"^--b .*/x is another file of this command; "):
        require_apart({"--a": tmp_path / "x", "--b": tmp_path / "." / "x"})


def test_files_that_differ_and_devices_may_be_written(tmp_path: Path) -> None:
    null = Path("/dev/null")

    require_apart({"--a": tmp_path / "x", "--b": tmp_path / "y", "--c": None}, tmp_path / "z", None)
    require_apart({"--a": null, "--b": null}, null)


def test_a_file_of_the_longest_name_can_be_had_alone(tmp_path: Path) -> None:
    for letter in ("n", "\N{GRINNING FACE}"):
        path = tmp_path / (letter * (255 // len(letter.encode())))
        with alone_with(path):
            assert len(list(tmp_path.iterdir())) == 1
        assert not list(tmp_path.iterdir())


def test_a_lock_that_is_a_link_is_refused_and_makes_nothing(tmp_path: Path) -> None:
    (tmp_path / ".found.json.lock").symlink_to(tmp_path / "elsewhere")
    with (
        pytest.raises(RequestError, match=r"found\.json\.lock cannot be opened: .*; remove it"),
        alone_with(tmp_path / "found.json"),
    ):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_a_lock_of_another_user_is_waited_for_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".found.json.lock").touch()
    opened = os.open

    def refuse(name: Path, flags: int, mode: int = 0o777) -> int:  # as for who may only read it
        if flags & os.O_ACCMODE != os.O_RDONLY:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return opened(name, flags, mode)

    monkeypatch.setattr(os, "open", refuse)
    with alone_with(tmp_path / "found.json"):
        pass
    assert not list(tmp_path.iterdir())
