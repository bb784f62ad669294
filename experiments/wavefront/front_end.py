# SPDX-License-Identifier: BSD-3-Clause
"""A sweep begun from a program in Python, for wavefront-memory.

    python experiments/wavefront/front_end.py WAY FOLDER ITERATIONS MEMORY_BYTES

WAY is built-in or numba, where FOLDER is a store with a coefficient, or mapped, where FOLDER holds
u.npy and f.npy.  Prints the bytes that the program had before the sweep, all imports and the
compilation done.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

from lanewise import wavefront

# Nothing is within it before the iterations are done, but changes are measured.
TOLERANCE = 0.0


def resident_bytes() -> int:
    """Return the memory that this program has now."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(re.search(r"VmRSS:\s*(\d+)", status)[1])  # type: ignore[index]


def mean_kernel() -> Any:
    """Return Gauss-Seidel's iteration of Poisson's equation, compiled by Numba."""
    import numba  # noqa: PLC0415

    def mean(
        updated: Any, data: Any, coefficients: Any, _row: Any, first: Any, end: Any, _context: Any
    ) -> None:
        out, above, here, below, f = updated[0], data[0], data[1], data[2], coefficients[0]
        for j in range(first, end):
            out[j] = 0.25 * (above[j] + here[j - 1] + here[j + 1] + below[j] - f[j])

    return numba.cfunc(wavefront.row_signature("float64"))(mean)


def main(way: str, folder: Path, iterations: int, memory_bytes: int) -> None:
    """Sweep; what is printed comes first, so that it does not count."""
    swept: Any = str(folder)
    kernel: Any = mean_kernel() if way == "numba" else "sor"
    if way == "mapped":
        swept = [
            np.load(folder / "u.npy", mmap_mode="r+"),
            np.load(folder / "f.npy", mmap_mode="r"),
        ]
    sys.stdout.write(json.dumps({"before_bytes": resident_bytes()}) + "\n")
    sys.stdout.flush()
    wavefront.run(swept, kernel, iterations, memory=memory_bytes, tolerance=TOLERANCE)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
