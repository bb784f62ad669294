# SPDX-License-Identifier: BSD-3-Clause
"""What other benchmarks print, read as samples: OSU, IMB, NetPIPE, nccl-tests and ReproMPI.

A number is what the tool printed.  There is an interval only where it printed every repetition.
"""
