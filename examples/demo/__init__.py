# SPDX-License-Identifier: BSD-3-Clause
"""The demonstration: four things that Lanewise does, measured on this machine, on one page.

Each module but story, page and __main__ is a chapter: it runs `lanewise` as a user types it, and
turns what that prints and writes into one sentence and one picture.
"""
