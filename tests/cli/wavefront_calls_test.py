# SPDX-License-Identifier: BSD-3-Clause
"""Calls of a store of `lanewise.wavefront` within one another, and from several threads."""

from __future__ import annotations

import contextlib
import copy
import ctypes
import gc
import pickle
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from lanewise import wavefront
from lanewise.errors import RequestError, RunError

pytestmark = pytest.mark.usefixtures("sweeps_built")

Array = npt.NDArray[Any]


class Source:
    """An array that calls something while its rows are read."""

    def __init__(self, values: Array, act: Callable[[], object]) -> None:
        self.shape, self.dtype = values.shape, values.dtype
        self._values, self._act = values, act

    def __getitem__(self, rows: slice) -> Array:
        self._act()
        return self._values[rows]


@pytest.mark.parametrize("name", ["write", "run", "close"])
def test_what_a_write_calls_may_only_read_its_store(tmp_path: Path, name: str) -> None:
    values = np.arange(24.0).reshape(4, 6)
    with wavefront.Store.create(tmp_path / "s", 4, 6, data=2) as store:
        store.write(0, values)
        store.write(1, values)
        acts: dict[str, Callable[[], object]] = {
            "write": lambda: store.write(1, values + 1),
            "run": lambda: wavefront.run(store, "jacobi", 1),
            "close": store.close,
        }

        with pytest.raises(RunError, match="under way, and what it calls may only read"):
            store.write(0, Source(values + 2, acts[name]))
        store.write(0, Source(values + 3, lambda: store.read(1)))

        np.testing.assert_array_equal(store.read(0), values + 3)
        np.testing.assert_array_equal(store.read(1), values)


def test_while_one_thread_reads_another_may_write_and_run(tmp_path: Path) -> None:
    values = np.arange(24.0).reshape(4, 6)
    begun, done = threading.Event(), threading.Event()

    def wait(_first: int, _rows: Array) -> None:
        begun.set()
        assert done.wait(20)

    with wavefront.Store.create(tmp_path / "s", 4, 6, coefficients=1) as store:
        store.write(0, values)
        store.write(1, values)
        reading = threading.Thread(target=store.each_strip, args=(1, wait))
        reading.start()
        assert begun.wait(20)

        store.write(0, values + 1)
        ran = wavefront.run(store, "jacobi", 1)

        done.set()
        reading.join()
        assert ran.iterations == 1


ROW_FUNCTION = ctypes.CFUNCTYPE(
    None, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 3, ctypes.c_void_p
)


def test_while_one_thread_runs_others_read_only_what_is_opened_for_reading(tmp_path: Path) -> None:
    said: list[str] = []
    with wavefront.Store.create(tmp_path / "s", 4, 6) as store:
        store.write(0, np.ones((4, 6)))

        def refused(act: Callable[[], object]) -> None:
            with pytest.raises(RequestError) as raised:
                act()
            said.append(str(raised.value))

        # A thread of the library calls this.
        @ROW_FUNCTION
        def look(*_arguments: object) -> None:
            refused(lambda: store.read(0))
            refused(lambda: store[1])
            refused(store.verify)
            refused(lambda: store.convert(tmp_path / "t"))
            with wavefront.Store.open(tmp_path / "s", mode="r") as opened:
                said.append(f"the sum is {opened.read(0).sum():g}")

        address = ctypes.cast(look, ctypes.c_void_p).value
        wavefront.run(store, wavefront.RowKernel(address), 1, threads=1)

        assert set(said[:4]) == {
            "a run of the store is under way on another thread, which replaces what would be "
            'read; open it again with mode "r" to read it meanwhile'
        }
        assert said[4] == "the sum is 24"
        assert store.read(0).sum() == 24


def test_what_a_run_calls_may_read_its_store_on_several_threads(tmp_path: Path) -> None:
    sums: list[float] = []
    with wavefront.Store.create(tmp_path / "s", 4, 6, coefficients=1) as store:
        for matrix in (0, 1):
            store.write(matrix, np.ones((4, 6)))

        def paused(_iterations: int, _measured: float) -> None:
            with ThreadPoolExecutor(2) as threads:
                sums.extend(values.sum() for values in threads.map(store.read, [1, 1]))

        wavefront.run(store, "jacobi", 4, pause_every=2, on_pause=paused)

    assert sums == [24.0] * 4


@pytest.mark.parametrize(
    ("options", "seen_at"),
    [({}, [32, 64, 96, 100]), ({"pause_every": 50}, [50, 100])],
)
def test_a_pause_is_called_every_32_iterations_unless_said_otherwise(
    options: dict[str, Any], seen_at: list[int]
) -> None:
    seen: list[int] = []

    outcome = wavefront.run(
        [np.ones((8, 8)), np.zeros((8, 8))], "sor", 100,
        on_pause=lambda iterations, _measured: seen.append(iterations), **options,
    )  # fmt: skip

    assert (outcome.iterations, seen) == (100, seen_at)


def test_a_callback_of_a_run_that_is_resumed_is_told_the_iterations_of_the_run(
    tmp_path: Path,
) -> None:
    seen: list[int] = []

    def interrupt(share: float, _elapsed_s: float) -> None:
        if share > 0.1:
            raise KeyboardInterrupt

    with wavefront.Store.create(tmp_path / "s", 64, 64, coefficients=1) as store:
        for matrix in (0, 1):
            store.write(matrix, np.ones((64, 64)))
        with pytest.raises(KeyboardInterrupt):
            wavefront.run(store, "sor", 70, waves=1, on_progress=interrupt)
        outcome = wavefront.resume(store, on_pause=lambda done, _measured: seen.append(done))

    assert outcome.iterations < 70
    assert seen == [32, 64, 70][-len(seen) :]


class Pauses(list[int]):
    """What a run called, which is false as long as that is nothing."""

    def __call__(self, iterations: int, _measured: float) -> None:
        """Keep an iteration."""
        self.append(iterations)


def test_a_pause_may_be_an_object_that_is_false() -> None:
    seen = Pauses()

    wavefront.run([np.ones((8, 8)), np.zeros((8, 8))], "sor", 40, on_pause=seen)

    assert seen == [32, 40]


@pytest.mark.parametrize(
    ("name", "act"),
    [
        ("kernel", lambda store: wavefront.run(store, "jacobi\0x", 1)),
        ("kernel", lambda store: store.plan("jacobi\0x", 1)),
        ("matrix", lambda store: store["data0\0x"]),
        ("layout", lambda store: store.convert("t", layout="block\0x")),
        ("layout", lambda _store: wavefront.Store.in_memory(4, 6, layout="row-major\0x")),
        ("a name", lambda _store: wavefront.Store.in_memory(4, 6, names=["a\0b"])),
    ],
)
def test_a_name_with_a_nul_is_refused_instead_of_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str,
    act: Callable[[wavefront.Store], object],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)

    with (
        wavefront.Store.in_memory(4, 6, coefficients=1) as store,
        pytest.raises(RequestError, match=f"^{name} is a text of printable characters"),
    ):
        act(store)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("element", ["f32", "nonsense", "bool", "uint8", "(2,3", "2**", "f8,f8"])
def test_elements_that_no_store_has_are_refused_by_name(element: str) -> None:
    signatures = [wavefront.row_signature, wavefront.plane_signature]
    acts: list[Callable[[], object]] = [
        lambda: wavefront.Store.in_memory(4, 6, dtype=element),
        lambda: wavefront.plan((4, 6), "jacobi", 1, dtype=element),
        *(partial(signature, element) for signature in signatures),
    ]

    for act in acts:
        with pytest.raises(RequestError, match=f"{re.escape(element)} cannot be stored; use one"):
            act()


@pytest.mark.parametrize("element", [None, ">f8", np.dtype(">f4")], ids=str)
def test_a_signature_names_the_element_that_its_rows_have(element: npt.DTypeLike) -> None:
    for signature in (wavefront.row_signature, wavefront.plane_signature):
        with pytest.raises(RequestError, match=r"has no element .*; use one of float32, float64"):
            signature(element)


@pytest.mark.parametrize(
    ("element", "name"),
    [("double", "float64"), (np.dtype("float32"), "float32"), (np.int32, "int32"),
     ("intp", np.dtype("intp").name), (float, "float64")],
)  # fmt: skip
def test_an_element_may_be_named_as_numpy_names_types(element: npt.DTypeLike, name: str) -> None:
    for signature in (wavefront.row_signature, wavefront.plane_signature):
        assert signature(element) == signature(name)
    with wavefront.Store.in_memory(4, 6, dtype=element) as store:
        assert store.dtype == name


def open_files(folder: Path) -> list[Path]:
    """Return the files in a folder that this program has open."""
    links = (Path(entry) for entry in Path("/proc/self/fd").iterdir())
    found = [link.readlink() for link in links if link.is_symlink()]
    return [path for path in found if path.is_relative_to(folder)]


def test_a_store_that_nothing_refers_to_is_closed(tmp_path: Path) -> None:
    values = np.arange(24.0).reshape(4, 6)
    folder = tmp_path / "s"
    wavefront.Store.create(folder, 4, 6, coefficients=1).write(0, values)
    wavefront.Store.open(folder).write(1, values)

    np.testing.assert_array_equal(np.asarray(wavefront.Store.open(folder, mode="r")), values)
    np.testing.assert_array_equal(wavefront.Store.open(folder)[0:2], values[:2])
    wavefront.Store.open(folder).convert(tmp_path / "t")

    assert open_files(tmp_path) == []
    assert wavefront.run(folder, "jacobi", 4, waves=1).iterations == 4
    kept = wavefront.Store.open(folder).matrix(0)
    assert kept.shape == (4, 6)
    assert open_files(tmp_path) == [folder / "lock"]


def test_a_store_whose_run_failed_is_closed_once_nothing_refers_to_it(tmp_path: Path) -> None:
    def stop(_share: float, _elapsed_s: float) -> None:
        raise ValueError("no more")

    wavefront.Store.create(tmp_path / "s", 4, 6).write(0, np.ones((4, 6)))
    gc.disable()
    try:
        with contextlib.suppress(ValueError):
            wavefront.Store.open(tmp_path / "s").write(0, np.zeros((4, 6)), on_progress=stop)

        assert open_files(tmp_path) == []
    finally:
        gc.enable()


def test_a_store_that_is_read_is_not_closed(tmp_path: Path) -> None:
    with wavefront.Store.create(tmp_path / "s", 4, 6) as store:
        store.write(0, np.ones((4, 6)))

        with pytest.raises(RunError, match="a call of the store is under way; close it once"):
            store.each_strip(0, lambda _first, _rows: store.close())

        assert store.read(0).sum() == 24


def test_while_one_thread_writes_another_changes_and_closes_nothing(tmp_path: Path) -> None:
    values = np.arange(24.0).reshape(4, 6)
    begun, asked = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        assert asked.wait(60)

    with wavefront.Store.create(tmp_path / "s", 4, 6) as store:
        store.write(0, values)
        writing = threading.Thread(target=store.write, args=(0, Source(values + 1, wait)))
        writing.start()
        assert begun.wait(60)
        try:
            for act in (lambda: store.write(0, values + 2), lambda: wavefront.run(store, "sor", 1),
                        store.close):  # fmt: skip
                with pytest.raises(RequestError, match="a write to it is under way"):
                    act()
        finally:
            asked.set()
            writing.join()
        store.verify()

        np.testing.assert_array_equal(store.read(0), values + 1)


def test_a_store_is_neither_copied_nor_pickled(tmp_path: Path) -> None:
    with wavefront.Store.create(tmp_path / "s", 4, 6) as store:
        for how in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="neither copied nor pickled; open it again"):
                how(store)


@pytest.mark.parametrize(
    ("shape", "named"),
    [
        ({"rows": 2**64 + 3, "columns": 3}, "a side"),
        ({"rows": -1, "columns": 3}, "a side"),
        ({"rows": (4, 2**40, 8)}, "a row or plane"),
        ({"rows": 3, "columns": 3, "data": 2**32 + 1}, "data"),
        ({"rows": 3, "columns": 3, "coefficients": -1}, "coefficients"),
        ({"rows": 3, "columns": 3, "strip_rows": -1}, "strip_rows"),
        ({"rows": 3.5, "columns": 3}, "a side"),
    ],
)
def test_numbers_that_a_shape_cannot_hold_are_refused(shape: dict[str, Any], named: str) -> None:
    with pytest.raises(RequestError, match=f"{named} is a whole number from 0 to"):
        wavefront.Store.in_memory(**shape)


@pytest.mark.parametrize(
    "wanted",
    [{"strip_rows": 2**64 + 8}, {"strip_rows": -8}, {"tile_columns": 2**64}, {"strip_rows": 8.0}],
    ids=str,
)
def test_numbers_that_a_shape_cannot_hold_are_refused_for_a_copy(
    tmp_path: Path, wanted: dict[str, Any]
) -> None:
    with wavefront.Store.in_memory(4, 6) as store:
        store.write(0, np.ones((4, 6)))

        with pytest.raises(RequestError, match=f"{next(iter(wanted))} is a whole number from 0 to"):
            store.convert(tmp_path / "t", **wanted)

    assert list(tmp_path.iterdir()) == []


def test_a_shape_may_be_of_numbers_of_numpy() -> None:
    sides = np.array([4096, 2048])

    assert wavefront.plan((sides[0], sides[1]), "jacobi", 8, coefficients=1) == wavefront.plan(
        (4096, 2048), "jacobi", 8, coefficients=1
    )


@pytest.mark.parametrize("number", [1, 0, True, 2**40], ids=str)
def test_a_mere_number_is_no_kernel(number: int) -> None:
    values = np.ones((4, 6))

    for act in (
        lambda: wavefront.run(values, number, 1),
        lambda: wavefront.plan(values, number, 1),
        lambda: wavefront.run(values, wavefront.RowKernel(bool(number)), 1),
    ):
        with pytest.raises(RequestError, match=f"({number}|{bool(number)}) is not a kernel; give"):
            act()
