# SPDX-License-Identifier: BSD-3-Clause
"""Launchers: one file for each, which makes a command line of a job."""
