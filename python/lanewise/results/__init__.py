# SPDX-License-Identifier: BSD-3-Clause
"""Result files: read, shown, compared and exported.

samples = read.load("samples.jsonl")    # context, points and warnings, as written
frame = frame.read("samples.jsonl")     # the same points as a data frame
"""
