# SPDX-License-Identifier: BSD-3-Clause
"""How Lanewise says no: a sentence with what is wrong, where, and the remedy.

Every part raises one of these two for what a person can put right; the command line prints the
sentence as one line on standard error and ends with the status.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

SHOWN_MAX = 40


class LanewiseError(Exception):
    """The base of what Lanewise raises on purpose; `exit_status` is the command's status.

    `details` are lines of somebody else's that may say more; they are shown before the sentence.
    """

    exit_status = 1

    def __init__(self, sentence: str, details: Sequence[str] = ()) -> None:
        super().__init__(sentence)
        self.details = tuple(details)


class RequestError(LanewiseError):
    """What was asked for cannot be done as asked: nothing was started, nothing was written."""

    exit_status = 2


class RunError(LanewiseError):
    """Something failed while it ran; what was finished before is kept."""

    exit_status = 1


def unusable_in(text: str) -> str:
    """Return what keeps a text from being a path or an argument of a program, empty if nothing."""
    if "\0" in text:
        return "a NUL character"
    try:
        os.fsencode(text)
    except UnicodeEncodeError as error:
        return f"{text[error.start]!r}, which cannot be encoded"
    return ""


def cut(text: str) -> str:
    """Return what a sentence shows of a text that may be long."""
    return text if len(text) <= SHOWN_MAX else f"{text[: SHOWN_MAX - 3]}..."
