# SPDX-License-Identifier: BSD-3-Clause
"""Bits: what the reductions of several runs gave, and which of them differed first."""
