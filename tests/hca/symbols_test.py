# SPDX-License-Identifier: BSD-3-Clause
"""The symbols of the library: all that Debian's clients of libibverbs import, at their versions.

Many of them are linked with BIND_NOW, so one that is missing keeps a program from starting, though
it may never be called.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lanewise.hca.device import LIBRARY, find_library

LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
CLIENTS = (
    (Path("/usr/bin"), ("ibv_*", "ib_*_bw", "ib_*_lat", "raw_ethernet_*", "qperf")),
    (LIBRARIES, ("libmlx4.so.1", "libmlx5.so.1", "libefa.so.1", "libmana.so.1")),
    (LIBRARIES, ("librdmacm.so.1", "libfabric.so.1", "libucp.so.0", "libmca_common_verbs*.so")),
    (LIBRARIES, ("ucx/libuct_*.so", "openmpi/lib/openmpi*/*.so", "libnccl.so.2")),
    (Path("/usr/lib/python3/dist-packages/pyverbs"), ("**/*.so",)),
)
_IMPORTED = re.compile(r"\b[Uvw] (\w+@IBVERBS_\w+[\d.]*)")
_EXPORTED = re.compile(r"\b[A-TV-Z] (\w+)@@?(IBVERBS_\w+[\d.]*)")


def dynamic_symbols(path: Path) -> str:
    words = ["nm", "-D", str(path)]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def clients() -> Iterator[Path]:
    for folder, patterns in CLIENTS:
        for pattern in patterns:
            yield from folder.glob(pattern)


def test_every_symbol_that_a_client_imports_is_there() -> None:
    if shutil.which("nm") is None:
        pytest.skip("no nm here; install binutils")
    library = find_library(LIBRARY, os.environ)
    exported = {f"{name}@{node}" for name, node in _EXPORTED.findall(dynamic_symbols(library))}
    found = {path: set(_IMPORTED.findall(dynamic_symbols(path))) for path in clients()}
    importing = {path: names for path, names in found.items() if names}
    assert importing, "no client of libibverbs is installed"
    missing = {path: sorted(names - exported) for path, names in importing.items()}
    assert not {path: names for path, names in missing.items() if names}
