# SPDX-License-Identifier: BSD-3-Clause
"""Profiles: who was late in the collective calls of a program, and where they were called from."""
