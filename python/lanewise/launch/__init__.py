# SPDX-License-Identifier: BSD-3-Clause
"""Launch: start native ranks with a launcher (mpirun, srun, flux, ...), one file per launcher.

A launcher turns a `Job` into a command line, an environment and files to write beforehand.  The
three are pure functions, so a launch line is text that a test compares.  Python runs once, on the
launching host: the ranks are native programs.
"""
