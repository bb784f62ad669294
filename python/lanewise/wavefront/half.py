# SPDX-License-Identifier: BSD-3-Clause
"""Halves in kernels: Numba has no numbers of 16 bits, so a kernel gets their bits.

@numba.cfunc(lanewise.wavefront.row_signature("float16"))
def mean(updated, data, coefficients, row, first, end, context):
    out, above, here, below = updated[0], data[0], data[1], data[2]
    for j in range(first, end):
        sides = float_of(here[j - 1]) + float_of(here[j + 1])
        out[j] = half_of(np.float32(0.25) * (float_of(above[j]) + sides + float_of(below[j])))

A half becomes the float32 of its value, and a float32 the nearest half, the even one of two, as in
NumPy.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

_HIDDEN = np.uint32(0x0400)  # the smallest normal half
_INFINITE = np.uint32(0x7C00)
_BIAS = np.uint32((127 - 15) << 23)
_BIAS_OF_INFINITE = np.uint32((255 - 31) << 23)


@numba.njit
def float_of(bits: Any) -> Any:
    """Return the float32 that the half with these bits (uint16) is."""
    sign = np.uint32(np.uint32(bits) & np.uint32(0x8000)) << np.uint32(16)
    magnitude = np.uint32(bits) & np.uint32(0x7FFF)
    if magnitude < _HIDDEN:
        found = np.float32(np.float32(magnitude) * np.float32(2.0**-24)).view(np.uint32)
    elif magnitude < _INFINITE:
        found = np.uint32((magnitude << np.uint32(13)) + _BIAS)
    else:
        found = np.uint32((magnitude << np.uint32(13)) + _BIAS_OF_INFINITE)
    return np.uint32(found | sign).view(np.float32)


@numba.njit
def half_of(value: Any) -> Any:
    """Return the bits (uint16) of the half that is nearest to `value`, taken as a float32."""
    bits = np.float32(value).view(np.uint32)
    sign = (bits >> np.uint32(16)) & np.uint32(0x8000)
    magnitude = np.uint32(bits & np.uint32(0x7FFFFFFF))
    if magnitude > np.uint32(0x7F800000):
        found = np.uint32(0x7E00) | ((magnitude >> np.uint32(13)) & np.uint32(0x01FF))
    elif magnitude >= np.uint32(0x477FF000):
        found = _INFINITE
    elif magnitude < np.uint32(0x38800000):
        # Next to a half of one, the steps of a float32 are those of the smallest halves.
        shifted = np.float32(magnitude.view(np.float32) + np.float32(0.5))
        found = shifted.view(np.uint32) - np.uint32(0x3F000000)
    else:
        even = (magnitude >> np.uint32(13)) & np.uint32(1)
        found = (magnitude + np.uint32(0x0FFF) + even - _BIAS) >> np.uint32(13)
    return np.uint16(found | sign)
