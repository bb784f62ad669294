# SPDX-License-Identifier: BSD-3-Clause
"""Stores are converted, arrays go in and come out, and how far that is can be seen."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanewise import wavefront
from lanewise.errors import RequestError, RunError

pytestmark = pytest.mark.usefixtures("sweeps_built")

Native = Callable[..., "subprocess.CompletedProcess[str]"]
Moved = Callable[[float, float], None]
ROWS, COLUMNS = 200, 60
VALUES = np.random.default_rng(8).random((2, ROWS, COLUMNS))


def made(folder: Path, **shape: object) -> wavefront.Store:
    store = wavefront.Store.create(
        folder, ROWS, COLUMNS, coefficients=1, strip_rows=8, names=("u", "f"), **shape
    )
    store.write("u", VALUES[0])
    store.write("f", VALUES[1])
    return store


def test_names_are_those_that_are_given(tmp_path: Path) -> None:
    with made(tmp_path / "s") as store:
        assert store.names == ("u", "f")
        np.testing.assert_array_equal(store["f"], VALUES[1])
    with wavefront.Store.create(tmp_path / "t", 3, 3, data=2, row_coefficients=1) as store:
        assert store.names == ("data0", "data1", "row0")


def test_a_matrix_that_is_called_like_files_of_halos_stays(tmp_path: Path) -> None:
    names = ("halos", "frontiers")
    with wavefront.Store.create(
        tmp_path / "s", ROWS, COLUMNS, coefficients=1, strip_rows=8, names=names
    ) as store:
        store.write("halos", VALUES[0])
        store.write("frontiers", VALUES[1])
        store.write("frontiers", VALUES[0])

        np.testing.assert_array_equal(store["halos"], VALUES[0])
        np.testing.assert_array_equal(store["frontiers"], VALUES[0])


@pytest.mark.parametrize("names", [None, (), np.array(["data0", "coefficient0"])])
def test_matrices_without_names_have_those_of_their_kinds(names: Any) -> None:
    with wavefront.Store.in_memory(4, 4, coefficients=1, names=names) as store:
        assert store.names == ("data0", "coefficient0")


@pytest.mark.parametrize(
    ("names", "why"),
    [(("u",), "1 names for 2 matrices"), (("u", "u"), "u"), (("u", "a b"), "a b")],
)
def test_names_that_cannot_be_are_refused(tmp_path: Path, names: tuple[str, ...], why: str) -> None:
    with pytest.raises(RequestError, match=why):
        wavefront.Store.create(tmp_path / "s", 4, 4, coefficients=1, names=names)


@pytest.mark.parametrize(
    ("wanted", "layout", "strip_rows"),
    [
        ({"layout": "skewed"}, "skewed", 8),
        ({"strip_rows": 24}, "row-major", 24),
        ({"tile_columns": 16}, "row-major", 8),
        ({}, "row-major", 8),
    ],
)
def test_a_store_is_converted(
    tmp_path: Path, wanted: dict[str, object], layout: str, strip_rows: int
) -> None:
    shares: list[float] = []
    with made(tmp_path / "s") as store:
        wavefront.run(store, "sor", 3)
        expected = store.read("u")

        copy = store.convert(
            tmp_path / "t", **wanted, on_progress=lambda share, _s: shares.append(share)
        )

    with copy:
        assert (copy.layout, copy.strip_rows) == (layout, strip_rows)
        assert copy.native_shape.tile_columns == wanted.get("tile_columns", 0)
        assert copy.iterations == 3
        assert copy.names == ("u", "f")
        np.testing.assert_array_equal(copy["u"], expected)
        np.testing.assert_array_equal(copy["f"], VALUES[1])
    assert shares[-1] == 1.0
    assert shares == sorted(shares)


def test_a_conversion_that_cannot_be_leaves_nothing(tmp_path: Path) -> None:
    with made(tmp_path / "s") as store:
        with pytest.raises(RequestError, match="unknown layout"):
            store.convert(tmp_path / "t", layout="skwed")
        with pytest.raises(RequestError, match="too small to move strips"):
            store.convert(tmp_path / "t", memory="1MiB")
        with pytest.raises(RequestError, match="is not empty"):
            store.convert(tmp_path / "s")
        np.testing.assert_array_equal(store["u"], VALUES[0])
    assert not (tmp_path / "t").exists()


def test_a_list_is_refused_with_what_to_give_instead(tmp_path: Path) -> None:
    with made(tmp_path / "s") as store:
        with pytest.raises(RequestError, match=r"a list is no array; give numpy\.asarray of it"):
            store.write("u", VALUES[0].tolist())
        np.testing.assert_array_equal(store["u"], VALUES[0])


def stop(_share: float, _elapsed_s: float) -> None:
    raise ValueError("no more")


def test_what_progress_raises_ends_a_conversion_and_leaves_nothing(tmp_path: Path) -> None:
    with made(tmp_path / "s") as store, pytest.raises(ValueError, match="no more"):
        store.convert(tmp_path / "t", on_progress=stop)

    assert not (tmp_path / "t").exists()


def test_what_progress_raises_ends_a_write_and_the_matrix_stays(tmp_path: Path) -> None:
    with made(tmp_path / "s") as store:
        with pytest.raises(ValueError, match="no more"):
            store.write("u", VALUES[1], on_progress=stop)

        np.testing.assert_array_equal(store["u"], VALUES[0])


def test_what_progress_raises_ends_reading_and_reaches_the_caller(tmp_path: Path) -> None:
    with made(tmp_path / "s") as store:
        with pytest.raises(ValueError, match="no more"):
            store.each_strip("u", lambda _first, _rows: None, on_progress=stop)

        np.testing.assert_array_equal(store["u"], VALUES[0])


@pytest.mark.parametrize("suffix", [".npy", ".zarr", ".h5"])
def test_progress_of_arrays_goes_to_one(tmp_path: Path, suffix: str) -> None:
    if suffix != ".npy":
        pytest.importorskip("zarr" if suffix == ".zarr" else "h5py")
    shares: list[float] = []

    def show(share: float, elapsed_s: float) -> None:
        assert elapsed_s >= 0
        shares.append(share)

    with made(tmp_path / "s") as store:
        wavefront.export_array(store, "u", tmp_path / f"u{suffix}", on_progress=show)
        assert shares[-1] == 1.0
        wavefront.import_array(store, "f", tmp_path / f"u{suffix}", on_progress=show)
        np.testing.assert_array_equal(store["f"], VALUES[0])

    assert shares.count(1.0) == 2


@pytest.mark.parametrize("name", ["u.npy", "u.zarr", "u.h5", "u.h5:group/u", "u.nc"])
@pytest.mark.parametrize("error", [ValueError("no more"), KeyboardInterrupt("no more")], ids=repr)
def test_an_export_that_is_stopped_leaves_no_file(
    tmp_path: Path, name: str, error: BaseException
) -> None:
    if not name.endswith(".npy"):
        pytest.importorskip("zarr" if name.endswith(".zarr") else "h5py")

    def show(share: float, elapsed_s: float) -> None:
        raise error

    with made(tmp_path / "s") as store:
        with pytest.raises(type(error), match="no more"):
            wavefront.export_array(store, "u", tmp_path / name, on_progress=show)

        assert [path.name for path in tmp_path.iterdir()] == ["s"]
        wavefront.export_array(store, "u", tmp_path / name)
        wavefront.import_array(store, "f", tmp_path / name)
        np.testing.assert_array_equal(store["f"], VALUES[0])


@pytest.mark.parametrize("name", ["u.npy", "u.zarr", "u.h5", "u.nc"])
def test_an_empty_matrix_is_not_exported(tmp_path: Path, name: str) -> None:
    if name != "u.npy":
        pytest.importorskip("zarr" if name == "u.zarr" else "h5py")
    with (
        wavefront.Store.create(tmp_path / "s", 8, 8) as store,
        pytest.raises(RequestError, match="empty"),
    ):
        wavefront.export_array(store, 0, tmp_path / name)

    assert [path.name for path in tmp_path.iterdir()] == ["s"]


@pytest.mark.parametrize(
    ("name", "made_by"), [("u.h5", "h5py.File.create_dataset"), ("u.npy", "numpy.memmap")]
)
def test_an_array_that_cannot_be_made_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, made_by: str
) -> None:
    if name == "u.h5":
        pytest.importorskip("h5py")

    def full(*_arguments: object, **_options: object) -> None:
        raise OSError("no space left on device")

    with made(tmp_path / "s") as store:
        monkeypatch.setattr(made_by, full)
        with pytest.raises(RunError, match="no space left"):
            wavefront.export_array(store, "u", tmp_path / name)

    assert [path.name for path in tmp_path.iterdir()] == ["s"]


@pytest.mark.parametrize(
    ("name", "made_by"), [("u.h5", "os.posix_fallocate"), ("u.npy", "numpy.memmap")]
)
def test_an_error_that_is_not_of_the_name_is_not_called_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, made_by: str
) -> None:
    if name == "u.h5":
        pytest.importorskip("h5py")

    def fail(*_arguments: object, **_options: object) -> None:
        raise ValueError("no name")

    with made(tmp_path / "s") as store:
        monkeypatch.setattr(made_by, fail)
        with pytest.raises(ValueError, match="no name"):
            wavefront.export_array(store, "u", tmp_path / name)


def beside_small_disk(folder: Path, words: str) -> subprocess.CompletedProcess[str]:
    """Run Python beside a disk of 64 KiB; its status and what is on the disk are printed last."""
    (folder / "disk").mkdir()
    run = f"{sys.executable} {words}; echo $?; ls disk"
    script = f"mount -t tmpfs -o size=64k none disk && {run}"
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", script], cwd=folder, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
@pytest.mark.parametrize("suffix", [".zarr", ".h5", ".nc"])
def test_an_export_that_the_disk_has_no_room_for_leaves_nothing(
    tmp_path: Path, suffix: str
) -> None:
    pytest.importorskip("zarr" if suffix == ".zarr" else "h5py")
    made(tmp_path / "s").close()

    done = beside_small_disk(tmp_path, f"-m lanewise wavefront export s u disk/u{suffix}")

    assert "No space left on device" in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == "1\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
def test_an_array_in_a_file_that_the_disk_has_no_room_for_is_an_error(tmp_path: Path) -> None:
    made(tmp_path / "s").close()
    (tmp_path / "export.py").write_text(
        "from lanewise import wavefront\n"
        "wavefront.export_array(wavefront.Store.open('s'), 'u', 'disk/u.npy')\n"
    )

    done = beside_small_disk(tmp_path, "export.py")

    assert "RunError: disk/u.npy cannot be written" in done.stderr
    assert "No space left on device" in done.stderr
    assert done.stdout == "1\n"


@pytest.mark.parametrize("suffix", [".h5", ".nc"])
def test_a_file_of_hdf5_is_no_longer_than_what_it_holds(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("h5py")

    with made(tmp_path / "s") as store:
        wavefront.export_array(store, "u", tmp_path / f"u{suffix}")

    assert (tmp_path / f"u{suffix}").stat().st_size < VALUES[0].nbytes + (24 << 10)


def test_names_of_any_bytes_but_nul_are_names_of_folders(tmp_path: Path) -> None:
    name = os.fsdecode(b"b\xffd")
    made(tmp_path / name).close()
    assert [os.fsencode(path.name) for path in tmp_path.iterdir()] == [b"b\xffd"]
    wavefront.Store.open(tmp_path / name, mode="r").close()
    for bad, what in (("a\0b", "a NUL character"), ("a\ud800b", r"'\\ud800', which cannot be enc")):
        with pytest.raises(RequestError, match=f"a path cannot contain {what}"):
            wavefront.Store.create(str(tmp_path / bad), 4, 4)


class Short(np.ndarray):  # type: ignore[type-arg]
    """An array whose parts have one row, whatever is asked for."""

    def __getitem__(self, key: Any) -> Any:
        return np.asarray(self)[:1]


def test_rows_that_come_in_another_shape_are_refused(tmp_path: Path) -> None:
    with (
        made(tmp_path / "s") as store,
        pytest.raises(RunError, match=r"came as \(1, 60\), and not as \(8, 60\)"),
    ):
        store.write("u", np.zeros((ROWS, COLUMNS)).view(Short))


def test_an_export_below_a_file_says_why_it_fails(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("")

    with made(tmp_path / "s") as store, pytest.raises(RequestError, match="notes is no folder"):
        wavefront.export_array(store, "u", tmp_path / "notes" / "u.h5")


@pytest.mark.parametrize("name", ["u.npz", "u.csv", "u", "u.npy:u", "a:b.txt", "u.h5.txt"])
def test_an_array_is_exported_to_no_other_kind_of_file(tmp_path: Path, name: str) -> None:
    with (
        made(tmp_path / "s") as store,
        pytest.raises(RequestError, match=r"is no name of an array; let it end with \.npy, "),
    ):
        wavefront.export_array(store, "u", tmp_path / name)

    assert [path.name for path in tmp_path.iterdir()] == ["s"]


@pytest.mark.parametrize("name", ["u.npy", "u.h5:group/u", "u.zarr"])
def test_a_colon_before_the_suffix_is_part_of_the_name(tmp_path: Path, name: str) -> None:
    if name != "u.npy":
        pytest.importorskip("zarr" if name == "u.zarr" else "h5py")
    folder = tmp_path / "run 12:30"
    folder.mkdir()

    with made(tmp_path / "s") as store:
        wavefront.export_array(store, "u", folder / name)
        wavefront.import_array(store, "f", str(folder / name))
        np.testing.assert_array_equal(store["f"], VALUES[0])

    assert [path.name for path in folder.iterdir()] == [name.partition(":")[0]]


@pytest.mark.parametrize(
    ("name", "says"),
    [("u.npy", "is a folder; name a file in it"), ("u.h5", "is a folder; name a file in it"),
     ("u.zarr", "exists; name another")],
)  # fmt: skip
def test_a_folder_that_exists_is_not_written_over(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / name).mkdir()
    with made(tmp_path / "s") as store, pytest.raises(RequestError, match=says):
        wavefront.export_array(store, "u", tmp_path / name)


def test_a_file_that_exists_is_not_written_over(tmp_path: Path) -> None:
    np.save(tmp_path / "u.npy", VALUES[0])
    with made(tmp_path / "s") as store, pytest.raises(RequestError, match="exists; name another"):
        wavefront.export_array(store, "f", tmp_path / "u.npy")


def in_a_terminal(*words: object, cwd: Path) -> tuple[int, str, str]:
    """Run `lanewise wavefront` with standard error in a terminal; status, output and errors."""
    leader, follower = pty.openpty()
    line = [sys.executable, "-m", "lanewise", "wavefront", *map(str, words)]
    running = subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=follower, cwd=cwd, text=True,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )  # fmt: skip
    os.close(follower)
    said = b""
    try:
        while part := os.read(leader, 4096):
            said += part
    except OSError:  # how a terminal says that nobody writes to it any more
        pass
    output, _ = running.communicate(timeout=60)
    os.close(leader)
    return running.returncode, output, said.decode()


def test_a_terminal_shows_how_far_moving_is(tmp_path: Path) -> None:
    made(tmp_path / "s").close()

    status, output, errors = in_a_terminal("export", "s", "u", "u.npy", cwd=tmp_path)
    assert (status, output) == (0, "")
    assert "export" in errors
    np.testing.assert_array_equal(np.load(tmp_path / "u.npy"), VALUES[0])

    status, output, errors = in_a_terminal("import", "s", "f", "u.npy", cwd=tmp_path)
    assert (status, output) == (0, "")
    assert "import" in errors

    status, output, errors = in_a_terminal("convert", "s", "t", "--layout", "skewed", cwd=tmp_path)
    assert status == 0
    assert output.startswith("row-major to skewed: 0 MiB in 0.")
    assert "convert" in errors
    with wavefront.Store.open(tmp_path / "t") as store:
        np.testing.assert_array_equal(store["f"], VALUES[0])


def test_a_failure_in_a_terminal_is_one_line(tmp_path: Path) -> None:
    made(tmp_path / "s").close()

    status, output, errors = in_a_terminal("import", "s", "w", "u.npy", cwd=tmp_path)

    assert (status, output) == (2, "")
    assert 's has no matrix "w"; there are u, f' in errors


def test_events_say_how_far_moving_is(native: Native, tmp_path: Path) -> None:
    native("create", tmp_path / "s", "--rows", 2048, "--cols", 8192, "--kernel", "jacobi")

    done = native(
        "convert", tmp_path / "s", tmp_path / "t", "--layout", "block", "--memory", "64MiB",
        "--json",
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    *events, last = [json.loads(line) for line in done.stdout.splitlines()]
    assert last["event"] == "convert"
    assert last["bytes"] == 2 * 2048 * 8192 * 8
    if last["elapsed_s"] > 1.0:
        assert events
    for event in events:
        assert event["event"] == "progress"
        assert 0 < event["bytes_done"] <= event["bytes_wanted"] == last["bytes"]


def test_an_interrupt_ends_a_conversion_and_leaves_nothing(tmp_path: Path) -> None:
    program = f"""
import os, signal
from lanewise import wavefront

def interrupt(share, elapsed_s):
    os.kill(os.getpid(), signal.SIGINT)

with wavefront.Store.open({str(tmp_path / "s")!r}) as store:
    try:
        store.convert({str(tmp_path / "t")!r}, on_progress=interrupt)
    except KeyboardInterrupt:
        print("interrupted")
    store.verify()
"""
    made(tmp_path / "s").close()

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout == "interrupted\n"
    assert not (tmp_path / "t").exists()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
