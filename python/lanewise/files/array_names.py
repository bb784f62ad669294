# SPDX-License-Identifier: BSD-3-Clause
"""Names of arrays in files: "u.h5:temperature" is a dataset in a file, and "u.zarr" an array.

A colon elsewhere is part of the name of the file.
"""

from __future__ import annotations

import re

# Of the files in which an array may have a name of its own.
ARRAY_SUFFIXES = (".zarr", ".h5", ".hdf5", ".nc")
_NAMED = re.compile(rf"(.*?(?:{'|'.join(map(re.escape, ARRAY_SUFFIXES))})):(.*)", re.DOTALL)


def split_name(name: str) -> tuple[str, str]:
    """Return the file and the array in it, which is empty where the name is that of a file."""
    match = _NAMED.fullmatch(name)
    return (match[1], match[2]) if match else (name, "")
