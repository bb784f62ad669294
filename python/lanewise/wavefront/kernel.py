# SPDX-License-Identifier: BSD-3-Clause
"""Kernels of one's own: a Numba cfunc that updates the columns of a row, or a plane.

@numba.cfunc(lanewise.wavefront.row_signature("float64"))
def mean(updated, data, coefficients, row, first, end, context):
    out, above, here, below = updated[0], data[0], data[1], data[2]
    for j in range(first, end):
        out[j] = 0.25 * (above[j] + here[j - 1] + here[j + 1] + below[j])

@numba.cfunc(lanewise.wavefront.plane_signature("float64"))
def mean_3d(updated, data, coefficients, plane, context):
    out, above, here, below, at = updated[0], data[0], data[1], data[2], numba.carray(plane, 1)[0]
    for m in range(1, at.lines - 1):
        line = at.columns * (m if at.back > 0 else at.lines - 1 - m)
        for n in range(1, at.columns - 1):
            k = line + (n if at.right > 0 else at.columns - 1 - n)
            beside = (here[k - at.columns] + here[k - 1]) + (here[k + 1] + here[k + at.columns])
            out[k] = ((above[k] + below[k]) + beside) / 6
"""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from lanewise.errors import RequestError
from lanewise.wavefront import library as native
from lanewise.wavefront.options import text_bytes, whole_number

# Flags of LLVM that let an operation give other bits than IEEE 754 says.
_LOOSE = re.compile(r"= (?:[a-z]+ )+?(?:fast|reassoc|contract|arcp|afn|nsz|nnan|ninf) ")

_RADIUS_MAX = 8
_DIRECTED_ARGUMENTS = 10
_PLANE_ARGUMENTS = 5

# Of elements that Numba has no numbers for: kernels get their bits.
_NUMBA_TYPES = {"float16": "uint16"}
_ELEMENTS = {numba: element for element, numba in _NUMBA_TYPES.items()}


@dataclass(frozen=True)
class OwnKernel:
    """A function by address, and what it reads: a `RowKernel` or a `PlaneKernel`."""

    function: Any
    radius: int = 1
    reads: Literal["updated", "previous"] = "updated"
    watch_writes: bool = False
    context: Any = None

    def __post_init__(self) -> None:
        whole_number("radius", self.radius, _RADIUS_MAX, least=1)
        if self.reads not in ("updated", "previous"):
            raise RequestError(f'a kernel reads "updated" or "previous", not "{self.reads}"')

    @property
    def name(self) -> str:
        """Return the function's name, which a run that is gone on with must have again."""
        return str(getattr(self.function, "__name__", "kernel"))

    @property
    def member(self) -> str:
        """Return the member of `lw_wavefront_kernel` that the function is."""
        raise NotImplementedError

    @property
    def signature(self) -> str:
        """Return the name of the function that gives the Numba signature of the function."""
        raise NotImplementedError

    @property
    def context_address(self) -> int | None:
        """Return the address of the context; RequestError for what is no array in one piece."""
        if self.context is None:
            return None
        flags = getattr(self.context, "flags", None)
        if flags is None or not flags.c_contiguous:
            raise RequestError("the context of a kernel is a C-contiguous NumPy array")
        return int(self.context.ctypes.data)

    @property
    def address(self) -> int:
        """Return the function's address; RequestError for what has none, or is fastmath."""
        if isinstance(self.function, int) and not isinstance(self.function, bool):
            return self.function
        address = getattr(self.function, "address", None)
        if not isinstance(address, int):
            raise RequestError(
                f"{self.function!r} is not a kernel; give a built-in name or a numba.cfunc"
            )
        refuse_loose_arithmetic(self.function)
        return address


@dataclass(frozen=True)
class RowKernel(OwnKernel):
    """A row function by address; `radius` rows and columns around a cell may be read.

    `reads` says what the neighbours above and to the left are: "updated" (Gauss-Seidel) or
    "previous" (Jacobi).  `watch_writes` catches a function that writes outside its columns.
    `context` is a NumPy array whose address the function gets as its last argument.  `directed`
    says that the function has the arguments of `row_signature(directed=True)`; None: look at it.
    Where `until`, `rtol` or `atol` ask for the residual, the function reads `data` and only writes
    to `updated`.
    """

    directed: bool | None = None

    @property
    def is_directed(self) -> bool:
        """Return whether the function is told iteration and direction."""
        if self.directed is not None:
            return self.directed
        return _arguments_of(self.function) == _DIRECTED_ARGUMENTS

    @property
    def member(self) -> str:
        """Return the member of `lw_wavefront_kernel` that the function is."""
        return "update_directed" if self.is_directed else "update"

    @property
    def signature(self) -> str:
        """Return the name of the function that gives the Numba signature of the function."""
        return "row_signature"


@dataclass(frozen=True)
class PlaneKernel(OwnKernel):
    """A function of `plane_signature` for three dimensions, in all directions.

    `radius` planes, lines and columns around a cell may be read; the rest is as for `RowKernel`.
    """

    @property
    def member(self) -> str:
        """Return the member of `lw_wavefront_kernel` that the function is."""
        return "update_plane"

    @property
    def signature(self) -> str:
        """Return the name of the function that gives the Numba signature of the function."""
        return "plane_signature"


def _arguments_of(function: Any) -> int:
    """Return how many arguments a cfunc has, 0 where that is not known."""
    return len(getattr(getattr(function, "ctypes", None), "argtypes", None) or ())


def own_kernel(kernel: Any) -> OwnKernel:
    """Return a kernel of one's own; a mere function is of radius 1 and reads updated values.

    RequestError for a mere number, which says too little to be called as a function.
    """
    if isinstance(kernel, OwnKernel):
        return kernel
    if isinstance(kernel, int):
        raise RequestError(
            f"{kernel!r} is not a kernel; give a built-in name or a numba.cfunc, and the address "
            "of a function as RowKernel(address) or PlaneKernel(address)"
        )
    of_planes = _arguments_of(kernel) == _PLANE_ARGUMENTS
    return PlaneKernel(kernel) if of_planes else RowKernel(kernel)


def native_kernel(kernel: Any, element: str) -> native.Kernel:
    """Return a kernel of one's own over data of `element`, as the library takes it."""
    own = own_kernel(kernel)
    _refuse_other_elements(own, element)
    return native.Kernel(
        struct_size=ctypes.sizeof(native.Kernel), radius=own.radius,
        reads=int(own.reads == "previous"), watch_writes=int(own.watch_writes),
        context=own.context_address, name=text_bytes("the name of a kernel", own.name),
        **{own.member: own.address},
    )  # fmt: skip


def _refuse_other_elements(own: OwnKernel, element: str) -> None:
    """Raise RequestError where a cfunc takes its rows for those of another type than `element`."""
    for found in _elements_of(own.function):
        if found != element:
            raise RequestError(
                f"the kernel {own.name} is for {found}, but the data are {element}; "
                f'compile it with {own.signature}("{element}")'
            )


def _elements_of(function: Any) -> list[str]:
    """Return the types of `updated`, `data` and `coefficients`, none where they are not known."""
    # Through ctypes, complex numbers would be mere addresses.
    rows = getattr(getattr(function, "_sig", None), "args", ())[:3]
    values = [getattr(getattr(one, "dtype", None), "dtype", None) for one in rows]
    return [_ELEMENTS.get(str(value), str(value)) for value in values if value is not None]


def refuse_loose_arithmetic(function: Any) -> None:
    """Raise RequestError where a cfunc was compiled with fastmath: its bits would not be fixed."""
    inspect = getattr(function, "inspect_llvm", None)
    text = inspect() if callable(inspect) else ""
    if _LOOSE.search(text):
        name = getattr(function, "__name__", "the kernel")
        raise RequestError(
            f"{name} was compiled with fastmath, so its bits depend on the compiler; "
            "compile it with fastmath=False"
        )


def row_signature(element: npt.DTypeLike = "float64", *, directed: bool = False) -> Any:
    """Return the Numba signature of a row function for `element`, such as "float64" or "int32".

    A function for "float16" gets the bits of halves, which `lanewise.wavefront.half` makes into
    float32 and back.
    A `directed` one gets three more integers before its context: the iteration of the run, from 0,
    and `down` and `right`, which are -1 where rows and columns come from the last to the first.
    """
    from numba import types  # noqa: PLC0415

    rows, index = _rows_of(element), types.int64
    more = (index, index, index) if directed else ()
    return types.void(rows, rows, rows, index, index, index, *more, types.voidptr)


def plane_signature(element: npt.DTypeLike = "float64") -> Any:
    """Return the Numba signature of a plane function for `element`, such as "float64".

    Its arguments are `updated`, `data` and `coefficients`, with planes for rows, line behind line,
    then the plane and the context.  `numba.carray(plane, 1)[0]` has the members of
    `lw_wavefront_plane`: `plane` is its number, `lines` and `columns` are its sides, `iteration` is
    that of the run, and `down`, `back` and `right` are -1 where planes, lines and columns are to be
    updated from the last to the first.
    """
    from numba import types  # noqa: PLC0415

    numbers = ("plane", "lines", "columns", "iteration", "down", "back", "right")
    plane = types.Record.make_c_struct(
        [("struct_size", types.uint32), *((name, types.int64) for name in numbers)]
    )
    rows = _rows_of(element)
    return types.void(rows, rows, rows, types.CPointer(plane), types.voidptr)


def _rows_of(element: npt.DTypeLike) -> Any:
    from numba import types  # noqa: PLC0415

    name = native.element_of(element)
    # NumPy takes None for float64; and rows have the byte order of this machine.
    if element is None or not np.dtype(element).isnative:
        raise RequestError(
            f"a row has no element {element}; use one of {', '.join(native.ELEMENTS)}"
        )
    value = getattr(types, _NUMBA_TYPES.get(name, name))
    return types.CPointer(types.CPointer(value))
