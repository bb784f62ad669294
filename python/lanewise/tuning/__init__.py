# SPDX-License-Identifier: BSD-3-Clause
"""Tuning: from evidence to rules, and from rules to files that an MPI understands.

The evidence is measured by the native program lanewise-tune; `decide` draws rules from it and
nothing else does.  tuning.json holds both.
"""
