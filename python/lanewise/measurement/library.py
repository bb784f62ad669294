# SPDX-License-Identifier: BSD-3-Clause
"""The functions of <lanewise/measure.h> through ctypes, on a communicator of mpi4py."""

from __future__ import annotations

from ctypes import (
    POINTER,
    Structure,
    c_char_p,
    c_double,
    c_int,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from functools import cache
from typing import Any

from lanewise.launch import native_library
from lanewise.launch.mpi4py_library import communicator_type
from lanewise.launch.native_library import Report

STOPPED = ("interval", "maximum", "time_limit", "fixed")  # lw_stop
CLOCKS = {"auto": 0, "monotonic": 1, "wtime": 2}
RULES = {"median": 0, "student": 1}


class Buffers(Structure):
    """lw_buffers."""

    _fields_ = (
        ("rotating_sets", c_uint32),
        ("offset_bytes", c_uint32),
        ("pages", c_int),
        ("caches", c_int),
    )


class Options(Structure):
    """lw_measure_options."""

    _fields_ = (
        ("struct_size", c_uint32),
        ("timing", c_int),
        ("start", c_int),
        ("clock", c_int),
        ("rule", c_int),
        ("repetitions_min", c_uint32),
        ("repetitions_max", c_uint32),
        ("warmup_repetitions", c_uint32),
        ("pipeline_length", c_uint32),
        ("confidence", c_double),
        ("error", c_double),
        ("time_limit_s", c_double),
        ("seed", c_uint64),
        ("resync_s", c_double),
        ("skew_offset_s", c_double),
        ("skew_drift", c_double),
        ("buffers", Buffers),
        ("report", Report),
        ("report_context", c_void_p),
    )


class Point(Structure):
    """lw_point."""

    _fields_ = (
        ("struct_size", c_uint32),
        ("message_bytes", c_uint64),
        ("reply_bytes", c_uint64),
        ("root", c_int),
        ("peer", c_int),
        ("second_peer", c_int),
        ("repetitions", c_size_t),
        ("late_count", c_size_t),
        ("outlier_count", c_size_t),
        ("batch_count", c_size_t),
        ("stop", c_int),
        ("median_s", c_double),
        ("low_s", c_double),
        ("high_s", c_double),
        ("mean_s", c_double),
        ("elapsed_s", c_double),
    )


@cache
def load(family: str) -> Any:
    """Load the library for the MPI of mpi4py, which is of this family."""
    loaded = native_library.load(family)
    loaded.lw_measure.argtypes = (
        communicator_type(), c_void_p, c_int, POINTER(c_uint64), c_size_t, POINTER(Options),
        POINTER(c_void_p),
    )  # fmt: skip
    loaded.lw_operation_named.argtypes = (c_char_p, POINTER(c_void_p))
    loaded.lw_operation_weights.argtypes = (c_void_p, POINTER(c_double), c_size_t)
    loaded.lw_operation_window.argtypes = (c_void_p, c_int)
    loaded.lw_timing_named.argtypes = loaded.lw_start_named.argtypes = (c_char_p, POINTER(c_int))
    loaded.lw_samples_point.argtypes = (c_void_p, c_size_t, POINTER(Point))
    loaded.lw_samples_values.argtypes = (c_void_p, c_size_t, POINTER(c_size_t))
    loaded.lw_samples_values.restype = POINTER(c_double)
    for free in (loaded.lw_samples_free, loaded.lw_operation_free):
        free.argtypes, free.restype = (c_void_p,), None
    return loaded
