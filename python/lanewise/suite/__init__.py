# SPDX-License-Identifier: BSD-3-Clause
"""Suite: the benchmarks of Brightwell, Doerfler and Underwood (2006) over every transport here.

They compared InfiniPath, 4X InfiniBand and Cray XD1, one machine each.  Here the transports of one
machine are compared in interleaved rounds.
"""
