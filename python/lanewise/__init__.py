# SPDX-License-Identifier: BSD-3-Clause
"""Lanewise: how fast data moves between the ranks of a parallel job.

measurement = lanewise.measure("scatter", ranks=4)   # arrays, tables, figures, comparisons
tuning = lanewise.tune("scatter", ranks=4) # algorithms that are faster than the MPI's default
samples = lanewise.read("samples.jsonl")   # a data frame with units in its column names
platform = lanewise.fit(samples)           # models of the machine; print it to see how far off
platform.predict("scatter", "binomial", ranks=4096, message_bytes=65536)
total = lanewise.sum(values)               # an exact sum, the same bits in any order
weight = lanewise.prod(values)             # and a product
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lanewise import errors as errors
    from lanewise import rdma as rdma
    from lanewise import wavefront as wavefront
    from lanewise.measurement.comparison import MeasurementComparison
    from lanewise.measurement.measure import measure
    from lanewise.measurement.measurement import Measurement
    from lanewise.measurement.tune import tune
    from lanewise.measurement.tuned import TuningResult
    from lanewise.model.platform import Platform, fit, read_platform
    from lanewise.results.frame import read
    from lanewise.sums import Accumulator, Product, prod, sum  # noqa: A004

    __version__: str

__all__ = [
    "Accumulator",
    "Measurement",
    "MeasurementComparison",
    "Platform",
    "Product",
    "TuningResult",
    "__version__",
    "fit",
    "measure",
    "prod",
    "read",
    "read_platform",
    "sum",
    "tune",
]


# Where each name is: what is slow to import is imported when it is first used.
PARTS = {
    "Accumulator": "lanewise.sums",
    "Measurement": "lanewise.measurement.measurement",
    "MeasurementComparison": "lanewise.measurement.comparison",
    "Platform": "lanewise.model.platform",
    "Product": "lanewise.sums",
    "TuningResult": "lanewise.measurement.tuned",
    "fit": "lanewise.model.platform",
    "measure": "lanewise.measurement.measure",
    "prod": "lanewise.sums",
    "read": "lanewise.results.frame",
    "read_platform": "lanewise.model.platform",
    "sum": "lanewise.sums",
    "tune": "lanewise.measurement.tune",
}
# Modules that are used by their own names.
MODULES = ("errors", "rdma", "wavefront")


if not TYPE_CHECKING:  # a type checker would take every name for one of the package

    def __getattr__(name: str) -> Any:
        """Import a name when it is first used."""
        if name == "__version__":
            return import_module("importlib.metadata").version("lanewise")
        if name in PARTS:
            return getattr(import_module(PARTS[name]), name)
        if name in MODULES:
            return import_module(f"lanewise.{name}")
        raise AttributeError(f"module 'lanewise' has no attribute '{name}'")


def __dir__() -> list[str]:
    """Return what a notebook offers to complete."""
    return sorted([*__all__, *MODULES])
