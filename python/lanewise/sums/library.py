# SPDX-License-Identifier: BSD-3-Clause
"""The functions of <lanewise/sum.h> through ctypes."""

from __future__ import annotations

from ctypes import POINTER, c_double, c_float, c_int, c_int64, c_size_t, c_void_p
from functools import cache
from typing import Any

from lanewise.errors import RunError
from lanewise.launch import native_library
from lanewise.launch.native_library import Status

WORDS = 75
PRODUCT_WORDS = 19

ARGUMENTS = {
    "lw_sum_f64": (c_void_p, c_size_t, c_void_p),
    "lw_sum_f32": (c_void_p, c_size_t, c_void_p),
    "lw_sum_c128": (c_void_p, c_size_t, c_void_p),
    "lw_sum_c64": (c_void_p, c_size_t, c_void_p),
    "lw_accumulator_create": (POINTER(c_void_p),),
    "lw_accumulator_add_f64": (c_void_p, c_void_p, c_size_t),
    "lw_accumulator_add_f32": (c_void_p, c_void_p, c_size_t),
    "lw_accumulator_merge": (c_void_p, c_void_p),
    "lw_accumulator_words": (c_void_p, POINTER(c_int64)),
    "lw_accumulator_set_words": (c_void_p, POINTER(c_int64)),
    "lw_accumulator_f64": (c_void_p, POINTER(c_double)),
    "lw_accumulator_f32": (c_void_p, POINTER(c_float)),
    "lw_prod_c128": (c_void_p, c_size_t, c_void_p),
    "lw_prod_c64": (c_void_p, c_size_t, c_void_p),
    "lw_prod_f64": (c_void_p, c_size_t, c_void_p),
    "lw_prod_f32": (c_void_p, c_size_t, c_void_p),
    "lw_product_create": (POINTER(c_void_p),),
    "lw_product_multiply_f64": (c_void_p, c_void_p, c_size_t),
    "lw_product_multiply_f32": (c_void_p, c_void_p, c_size_t),
    "lw_product_merge": (c_void_p, c_void_p),
    "lw_product_words": (c_void_p, POINTER(c_int64)),
    "lw_product_set_words": (c_void_p, POINTER(c_int64)),
    "lw_product_f64": (c_void_p, POINTER(c_double)),
    "lw_product_f32": (c_void_p, POINTER(c_float)),
}


@cache
def library() -> Any:
    """Load the library of the native build that wins; RequestError where there is none."""
    loaded = native_library.load()
    for name, arguments in ARGUMENTS.items():
        function = getattr(loaded, name)
        function.argtypes, function.restype = arguments, c_int
    for free in (loaded.lw_accumulator_free, loaded.lw_product_free):
        free.argtypes, free.restype = (c_void_p,), None
    return loaded


def call(name: str, *arguments: Any) -> None:
    """Call a function; RunError with the library's words where it fails."""
    status = getattr(library(), name)(*arguments)
    if status != Status.OK:
        # A failure whatever the status: UNSUPPORTED is a product whose rounding is undecided.
        raise RunError(f"{name}: {library().lw_status_text(status).decode()}")
