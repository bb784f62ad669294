# SPDX-License-Identifier: BSD-3-Clause
"""Scratch: the store in which arrays are swept, in memory or in a folder of its own.

Arrays of NumPy that are in memory are swept there where it has room for what that takes.  Others
are larger than memory, or would not leave enough: their store lies in a folder, which is not that
of a file system in memory if another can be had.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from lanewise.errors import RequestError
from lanewise.launch.machine import available_memory_bytes
from lanewise.wavefront.library import path_bytes
from lanewise.wavefront.store import Store

# Of what the system has to spare.
_SHARE_OF_MEMORY = 0.5
_IN_MEMORY = ("tmpfs", "ramfs")
_OTHER_FOLDER = Path("/var/tmp")


class Scratch:
    """A store of the shape of some arrays, which is gone at the end of a `with` statement."""

    def __init__(
        self,
        arrays: Sequence[Any],
        counts: tuple[int, int, int],
        strip_rows: int,
        folder: str | Path | None,
        memory_bytes: int,
    ) -> None:
        whole, by_row, by_column = counts
        data = arrays[0]
        self._left = ExitStack()
        self._folder: Path | None = None
        shape: dict[str, Any] = {
            "coefficients": whole, "row_coefficients": by_row, "column_coefficients": by_column,
            "dtype": data.dtype, "strip_rows": strip_rows,
        }  # fmt: skip
        if folder is None and fits_in_memory(arrays, memory_bytes):
            self.store = Store.in_memory(tuple(data.shape), **shape)
        else:
            self._folder = self._new_folder(folder)
            self.store = self._new_store(self._folder / "store", tuple(data.shape), shape)
        self._left.callback(self.store.close)

    def _new_store(self, folder: Path, sides: tuple[int, ...], shape: dict[str, Any]) -> Store:
        try:
            return Store.create(folder, sides, **shape)
        except BaseException:
            self._left.close()
            raise

    def _new_folder(self, parent: str | Path | None) -> Path:
        chosen = scratch_folder() if parent is None else Path(os.fsdecode(path_bytes(parent)))
        try:
            folder = Path(tempfile.mkdtemp(prefix="lanewise-wavefront-", dir=chosen))
        except OSError as error:
            raise RequestError(
                f"no store can be made in {chosen}: {error.strerror}; name another folder"
            ) from None
        self._left.callback(shutil.rmtree, folder)
        return folder

    def keep(self) -> Path:
        """Return the folder of a store that stays, with all that this one holds."""
        if self._folder is None:
            folder = Path(tempfile.mkdtemp(prefix="lanewise-wavefront-", dir=scratch_folder()))
            self.store.convert(folder / "store").close()
            return folder / "store"
        self.store.close()
        self._left.pop_all()
        return self._folder / "store"

    def __enter__(self) -> Scratch:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._left.close()


def fits_in_memory(arrays: Sequence[Any], memory_bytes: int) -> bool:
    """Return whether the arrays are in memory, and a store of them and a run have room beside."""
    if not all(type(array) is np.ndarray for array in arrays):
        return False
    sizes = [int(array.nbytes) for array in arrays]
    # Two generations of the data, the coefficients, and no more than all of it under way.
    needed = sizes[0] + sum(sizes) + min(memory_bytes, 2 * sum(sizes))
    return needed <= _SHARE_OF_MEMORY * available_memory_bytes()


def scratch_folder() -> Path:
    """Return the folder for temporary files, or one on a disk where that is in memory."""
    usual = Path(tempfile.gettempdir())
    other = _OTHER_FOLDER
    if "TMPDIR" in os.environ or file_system_of(usual) not in _IN_MEMORY:
        return usual
    on_disk = file_system_of(other) not in _IN_MEMORY
    return other if on_disk and os.access(other, os.W_OK | os.X_OK) else usual


def file_system_of(folder: Path) -> str:
    """Return the kind of the file system that a folder is in, such as "ext4"; "" if not known."""
    try:
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
        device = folder.resolve(strict=True).stat().st_dev
    except OSError:
        return ""
    number = f"{os.major(device)}:{os.minor(device)}"
    kinds = [line.partition(" - ")[2].split()[0] for line in lines if line.split()[2] == number]
    return kinds[-1] if kinds else ""
