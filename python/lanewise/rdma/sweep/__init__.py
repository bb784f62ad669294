# SPDX-License-Identifier: BSD-3-Clause
"""Sweep: a verbs program meets every fault that it can meet, one a run, and each run is judged.

`faults` says which faults are possible where certain things occur, `runs` runs the program with
each of them, `judge` says what became of it, and `text` shows it.
"""
