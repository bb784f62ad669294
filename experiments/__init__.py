# SPDX-License-Identifier: BSD-3-Clause
"""Reproduce: each table and figure of the papers, run again on this machine.

An experiment is one file: what the paper reports, how it is run here, the
numbers that come out under fixed keys, and the targets they are held to.  The
registry lists them, one line each; `run` runs one in its own folder; `show`
prints paper and here side by side, or as one JSON object.
"""
