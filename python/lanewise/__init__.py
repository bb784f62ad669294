# SPDX-License-Identifier: BSD-3-Clause
"""Lanewise: how fast data moves between the ranks of a parallel job.

samples = lanewise.read("samples.jsonl")   # a data frame with units in its column names
"""
