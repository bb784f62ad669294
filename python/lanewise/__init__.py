# SPDX-License-Identifier: BSD-3-Clause
"""Lanewise: how fast data moves between the ranks of a parallel job.

samples = lanewise.read("samples.jsonl")   # a data frame with units in its column names
platform = lanewise.fit(samples)           # models of the machine; print it to see how far off
platform.predict("scatter", "binomial", ranks=4096, message_bytes=65536)
total = lanewise.sum(values)               # an exact sum, the same bits in any order
weight = lanewise.prod(values)             # and a product
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lanewise.model.platform import Platform, fit, read_platform
    from lanewise.results.frame import read
    from lanewise.sums import Accumulator, Product, prod, sum  # noqa: A004

    __version__: str

__all__ = [
    "Accumulator",
    "Platform",
    "Product",
    "__version__",
    "fit",
    "prod",
    "read",
    "read_platform",
    "sum",
]


def __getattr__(name: str) -> Any:
    """Import what is slow to import when it is first used."""
    if name == "__version__":
        return import_module("importlib.metadata").version("lanewise")
    if name == "read":
        from lanewise.results.frame import read  # noqa: PLC0415

        return read
    if name in ("Platform", "fit", "read_platform"):
        return getattr(import_module("lanewise.model.platform"), name)
    if name in ("Accumulator", "Product", "prod", "sum"):
        return getattr(import_module("lanewise.sums"), name)
    if name == "wavefront":
        return import_module("lanewise.wavefront")
    raise AttributeError(f"module 'lanewise' has no attribute '{name}'")
