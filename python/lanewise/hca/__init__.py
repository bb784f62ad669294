# SPDX-License-Identifier: BSD-3-Clause
"""Hca: what a verbs program is started with, so that its RDMA device is ours or is protected.

A `device` is the environment that puts the software device under a program; `config` reads one from
a file.  `faults` reads a script of what is to go wrong, and `replay` makes one of the log of what
did.  `status` asks the devices of running programs what they are doing.  On any device, `protect`
is the environment in which queue pairs move to another port or device, and `discover` reads the
ports that this needs to know.
"""
