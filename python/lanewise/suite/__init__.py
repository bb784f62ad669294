# SPDX-License-Identifier: BSD-3-Clause
"""Suite: the kernels of paper 004 over every fabric of this machine, interleaved in time."""
