# SPDX-License-Identifier: BSD-3-Clause
"""Load liblanewise, and what each of its functions says: a status, and sentences to a callback.

The signatures of the functions are with those who call them.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import CFUNCTYPE, c_char_p, c_int, c_void_p
from enum import IntEnum
from pathlib import Path
from typing import Any

from lanewise.errors import LanewiseError, RequestError, RunError
from lanewise.launch.native import find_library

NAME = "liblanewise.so"

Report = CFUNCTYPE(None, c_void_p, c_int, c_char_p)  # lw_report_fn


class Status(IntEnum):
    """lw_status."""

    OK = 0
    ARGUMENT = 1
    LIMIT = 2
    MEMORY = 3
    MPI = 4
    OPERATION = 5
    NOT_FOUND = 6
    UNSUPPORTED = 7
    IO = 8


# A request that cannot be served; the others are failures.
REFUSALS = (Status.ARGUMENT, Status.LIMIT, Status.NOT_FOUND, Status.UNSUPPORTED)


def path_of(family: str = "") -> Path:
    """Return the library of the native build that wins, or RequestError.

    With `family` it is of a build for that MPI family.
    """
    return find_library(NAME, os.environ, family)


def load(family: str = "") -> Any:
    """Load the library that `path_of` finds."""
    loaded = ctypes.CDLL(str(path_of(family)))
    loaded.lw_status_text.restype = loaded.lw_version.restype = c_char_p
    return loaded


def error_of(status: int, sentence: str) -> LanewiseError:
    """Return the error that a status with a sentence amounts to."""
    return (RequestError if status in REFUSALS else RunError)(sentence)


class Sentences:
    """What the library says during calls: the reasons of failures, and things to know."""

    def __init__(self) -> None:
        self.reasons: list[str] = []
        self.notes: list[str] = []
        self.callback = Report(self._take)

    def _take(self, _context: object, status: int, sentence: bytes) -> None:
        said = self.notes if status == Status.OK else self.reasons
        said.append(sentence.decode(errors="replace"))
