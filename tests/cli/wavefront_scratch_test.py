# SPDX-License-Identifier: BSD-3-Clause
"""Arrays are swept in memory where that has room, and else through a store in a folder."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from lanewise import wavefront
from lanewise.errors import RequestError, RunError
from lanewise.wavefront import scratch

pytestmark = pytest.mark.usefixtures("sweeps_built")

ROWS, COLUMNS = 300, 70


def arrays() -> tuple[np.ndarray, np.ndarray]:
    u, f = np.random.default_rng(5).random((2, ROWS, COLUMNS))
    return u, f


@pytest.fixture
def no_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Leave no folder for temporary files."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))


@pytest.mark.parametrize(
    "order",
    [
        {},
        {"directions": "symmetric"},
        {"borders": "periodic"},
        {"tolerance": 1e-2},
        {"until": "residual<1e-2*first", "pause_every": 4},
    ],
)
@pytest.mark.usefixtures("no_folder")
def test_a_sweep_in_memory_has_the_bits_of_one_on_a_disk(
    tmp_path: Path, order: dict[str, object]
) -> None:
    (u, f), (v, g) = arrays(), arrays()

    here = wavefront.run([u, f], "sor", 400, parameters=[1.9], memory="32MiB", threads=2, **order)
    there = wavefront.run(
        [v, g], "sor", 400, parameters=[1.9], memory="32MiB", threads=2, folder=tmp_path, **order
    )

    np.testing.assert_array_equal(u, v)
    assert here.iterations == there.iterations
    assert here.converged == there.converged == bool(order.keys() & {"tolerance", "until"})
    np.testing.assert_array_equal(f, g)
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("no_folder")
def test_one_array_stands_for_a_list_of_one() -> None:
    u, _f = np.random.default_rng(1).random((2, 9, 9))
    expected = u.copy()
    for _ in range(3):
        for i in range(1, 8):
            for j in range(1, 8):
                best = max(expected[i - 1, j] - 2, expected[i, j - 1] - 2)
                expected[i, j] = max(best, expected[i - 1, j - 1] + expected[i, j], 0)

    numba = pytest.importorskip("numba")

    @numba.cfunc(wavefront.row_signature())
    def align(updated, data, coefficients, row, first, end, context):  # noqa: PLR0917
        out, above, here = updated[0], data[0], data[1]
        for j in range(first, end):
            best = max(above[j] - 2, out[j - 1] - 2)
            out[j] = max(best, above[j - 1] + here[j], 0)

    wavefront.run(u, align, 3)

    np.testing.assert_array_equal(u, expected)


def test_a_store_in_memory_is_swept_and_copied_to_a_folder(tmp_path: Path) -> None:
    u, f = arrays()
    expected = u.copy()
    wavefront.run([expected, f], "sor", 5)

    with wavefront.Store.in_memory(u.shape, coefficients=1, names=("u", "f")) as store:
        store.write("u", u)
        store.write("f", f)
        wavefront.run(store, "sor", 5)
        store.verify()
        with store.convert(tmp_path / "kept") as kept:
            assert kept.iterations == store.iterations == 5
        np.testing.assert_array_equal(store["u"][10:20], expected[10:20])

    with wavefront.Store.open(tmp_path / "kept") as kept:
        assert kept.names == ("u", "f")
        np.testing.assert_array_equal(kept["u"], expected)


def test_rows_in_tiles_are_swept_in_memory(tmp_path: Path) -> None:
    u, f = np.random.default_rng(2).random((2, 24, 9000))
    found = []
    shape = {"coefficients": 1, "strip_rows": 8, "tile_columns": 512}
    for store in (
        wavefront.Store.in_memory(u.shape, **shape),
        wavefront.Store.create(tmp_path / "s", u.shape, **shape),
    ):
        with store:
            store.write(0, u)
            store.write(1, f)
            wavefront.run(store, "sor", 7, memory="20MiB", threads=2)
            found.append(store.read(0))

    np.testing.assert_array_equal(*found)


def test_arrays_that_leave_too_little_memory_are_swept_in_a_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    u, f = arrays()
    needed = 3 * u.nbytes + 4 * u.nbytes
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    seen: list[int] = []

    def look(_share: float, _elapsed_s: float) -> None:
        seen.append(len(list(tmp_path.iterdir())))

    for available, folders in ((2 * needed, 0), (2 * needed - 2, 1)):
        monkeypatch.setattr(scratch, "available_memory_bytes", lambda left=available: left)
        wavefront.run([u, f], "sor", 1, on_progress=look)
        assert seen[-1] == folders
    assert not list(tmp_path.iterdir())


def test_a_mapped_array_is_swept_in_the_folder_that_is_named(tmp_path: Path) -> None:
    u, f = arrays()
    np.save(tmp_path / "u.npy", u)
    mapped = np.load(tmp_path / "u.npy", mmap_mode="r+")
    folder = tmp_path / "scratch"
    folder.mkdir()
    seen: list[int] = []

    wavefront.run(
        [mapped, f], "sor", 2, folder=folder,
        on_progress=lambda _share, _s: seen.append(len(list(folder.iterdir()))),
    )  # fmt: skip

    wavefront.run([u, f], "sor", 2)
    np.testing.assert_array_equal(mapped, u)
    assert seen[-1] == 1
    assert not list(folder.iterdir())


@pytest.mark.parametrize("view", [np.asarray, lambda mapped: mapped[1:]])
def test_a_mapped_file_with_holes_has_room_for_the_result_before_the_run(
    tmp_path: Path, view: Callable[[np.ndarray], np.ndarray]
) -> None:
    path = tmp_path / "u.npy"
    mapped = np.lib.format.open_memmap(path, mode="w+", dtype=float, shape=(ROWS, 1000))
    given = view(mapped)
    expected = np.array(given)
    wavefront.run([expected, np.ones(given.shape)], "sor", 3)
    reserved_bytes: list[int] = []

    wavefront.run(
        [given, np.ones(given.shape)], "sor", 3, folder=tmp_path,
        on_progress=lambda _share, _s: reserved_bytes.append(512 * path.stat().st_blocks),
    )  # fmt: skip

    assert reserved_bytes[0] >= given.nbytes
    np.testing.assert_array_equal(given, expected)


def test_holes_beside_the_rows_of_a_run_stay(tmp_path: Path) -> None:
    path = tmp_path / "u.npy"
    mapped = np.lib.format.open_memmap(path, mode="w+", dtype=float, shape=(ROWS, 1000))

    wavefront.run([mapped[:20], np.ones((20, 1000))], "sor", 3, folder=tmp_path)

    assert 20 * 8000 <= 512 * path.stat().st_blocks < 40 * 8000


def test_a_mapped_file_larger_than_the_room_of_its_disk_takes_none_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "u.npy"
    mapped = np.lib.format.open_memmap(path, mode="w+", dtype=float, shape=(ROWS, 1000))
    room = os.statvfs(tmp_path)
    monkeypatch.setattr("os.fstatvfs", lambda _file: os.statvfs_result((*room[:4], 1, *room[5:])))

    with pytest.raises(RunError, match=r"u\.npy has no room for the result: No space left"):
        wavefront.run([mapped, np.ones(mapped.shape)], "sor", 3, folder=tmp_path)

    assert 512 * path.stat().st_blocks < 10 * 8000


def test_a_mapped_file_on_a_full_disk_is_refused_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(_file: int, _first: int, _bytes: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.posix_fallocate", no_room)
    mapped = np.lib.format.open_memmap(tmp_path / "u.npy", mode="w+", dtype=float, shape=(9, 9))

    with pytest.raises(
        RunError, match=r"u\.npy has no room for the result: No space left .*; free"
    ):
        wavefront.run([mapped, mapped], "sor", 3)


@pytest.mark.parametrize(
    ("data", "says"), [(np.zeros((6, 5), bool), "bool"), (np.zeros((0, 5)), "0 x 5")]
)
def test_arrays_that_no_store_can_hold_leave_no_folder(
    tmp_path: Path, data: np.ndarray, says: str
) -> None:
    with pytest.raises(RequestError, match=says):
        wavefront.run([data, data], "sor", 5, folder=tmp_path)

    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"no store can be made in .*missing: No such file"):
        wavefront.run(list(arrays()), "sor", 1, folder=tmp_path / "missing")
    with pytest.raises(RequestError, match="a path cannot contain a NUL character, as in"):
        wavefront.run(list(arrays()), "sor", 1, folder="a\0b")


def test_a_result_that_is_kept_may_be_changed_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    u, f = arrays()

    with scratch.Scratch([u, f], (1, 0, 0), 8, None, 1 << 20) as swept:
        swept.store.write(0, u)
        kept = swept.keep()
        with wavefront.Store.open(kept) as store:
            np.testing.assert_array_equal(store[0:9], u[:9])


def test_a_folder_in_memory_gives_way_to_one_on_a_disk(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    in_memory = Path("/dev/shm")
    if scratch.file_system_of(in_memory) != "tmpfs":
        pytest.skip("/dev/shm is no tmpfs")
    # pytest's own folder may be in memory, too.
    monkeypatch.setattr(
        scratch, "file_system_of", lambda folder: "tmpfs" if folder == in_memory else "ext4"
    )
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr(scratch, "_OTHER_FOLDER", tmp_path)

    for usual, chosen in ((in_memory, tmp_path), (tmp_path, tmp_path)):
        monkeypatch.setattr("tempfile.tempdir", str(usual))
        assert scratch.scratch_folder() == chosen

    monkeypatch.setenv("TMPDIR", str(in_memory))
    monkeypatch.setattr("tempfile.tempdir", str(in_memory))
    assert scratch.scratch_folder() == in_memory


def test_a_sweep_in_memory_leaves_no_files_open() -> None:
    u, f = arrays()
    opened: list[int] = []

    wavefront.run([u, f], "sor", 2, on_progress=lambda _share, _s: opened.append(anonymous()))

    assert opened[-1] > 0
    assert anonymous() == 0


def anonymous() -> int:
    """Return how many files in memory this program has open."""
    links = (
        Path(entry).readlink() for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()
    )
    return sum("memfd:lanewise" in str(link) for link in links)
