# SPDX-License-Identifier: BSD-3-Clause
"""Report: one self-contained page from result files.

Pure functions turn samples into words (`verdict`, `cautions`), figures as data
(`figures`, `labels`) and tables (`tables`); `write` renders them with the
template, the style and the script that lie beside this file, and plotly.js.
"""
