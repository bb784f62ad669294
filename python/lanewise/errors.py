# SPDX-License-Identifier: BSD-3-Clause
"""How Lanewise says no: a sentence with what is wrong, where, and the remedy.

Every part raises one of these two for what a person can put right; the command line prints the
sentence as one line on standard error and ends with the status.
"""

from __future__ import annotations


class LanewiseError(Exception):
    """The base of what Lanewise raises on purpose; `exit_status` is the command's status."""

    exit_status = 1


class RequestError(LanewiseError):
    """What was asked for cannot be done as asked: nothing was started, nothing was written."""

    exit_status = 2


class RunError(LanewiseError):
    """Something failed while it ran; what was finished before is kept."""

    exit_status = 1
