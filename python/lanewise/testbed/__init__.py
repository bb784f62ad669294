# SPDX-License-Identifier: BSD-3-Clause
"""Testbed: hosts and sites on one machine, joined by links that are as slow as real ones.

A host is a network namespace with a name of its own; veth pairs are its interfaces, TBF their
rate, and a native delay line on TUN devices the links between sites.  The centre is pure: a TOML
text becomes a description (`read`), a description a plan (`layout`), a plan and a number of ranks
the settings of an MPI (`launchers`), a script a list of faults (`fault`).  The rim builds the
planned network (`network`) inside a process (`supervisor`) that owns every namespace: they have no
name outside of it, so they vanish with it, however it ends.
"""
