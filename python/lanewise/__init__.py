# SPDX-License-Identifier: BSD-3-Clause
"""Lanewise: how fast data moves between the ranks of a parallel job.

samples = lanewise.read("samples.jsonl")   # a data frame with units in its column names
"""

from importlib.metadata import version

__version__ = version("lanewise")

from lanewise.results.read import read  # noqa: E402  (the reader compares with the version)

__all__ = ["__version__", "read"]
