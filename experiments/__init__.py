# SPDX-License-Identifier: BSD-3-Clause
"""Experiments: each table and figure of the papers, run again on this machine.

One folder per experiment, or per family of experiments that share a program: `experiment.py`
defines EXPERIMENT or EXPERIMENTS, and beside it lie the native program, its CMakeLists.txt and the
tests.  The registry finds the folders by itself.  `run` runs one experiment in a folder of its own,
`results` keeps what it measured, and `show` prints paper and here side by side, or one JSON object.

Nothing of this is installed: `lanewise reproduce` finds it in a clone of the repository.
"""
