# SPDX-License-Identifier: BSD-3-Clause
"""Launch: start native ranks on a fabric, one file a fabric.

A fabric turns a `Job` into a command line, an environment and files to write beforehand; the three
are pure functions, so a launch line is text that a test compares.  Python runs once, on the
launching host: the ranks are native programs.
"""
