# SPDX-License-Identifier: BSD-3-Clause
"""A long comparison says what it is trying, in a log now and then."""

from __future__ import annotations

import time
from typing import Any

import pytest

from lanewise.cli.compared import Compared
from lanewise.cli.progress import LOG_EVERY_S, progress


def trial_event(contender: str, number: int) -> dict[str, Any]:
    """Return what ranks say before they run a contender."""
    return {
        "event": "trial", "collective": "allreduce", "message_bytes": 25 << 20,
        "contender": contender, "number": number, "contenders": 12,
    }  # fmt: skip


def test_a_log_has_a_line_for_what_is_tried_if_it_had_none_for_some_time(
    capsys: pytest.CaptureFixture[str],
) -> None:
    seen = Compared(points=1, place=", launch 1 of 7")

    with progress(seen, seen.take, "shown") as on_event:
        on_event(trial_event("default", 1))
        seen.logged_s = time.monotonic() - LOG_EVERY_S
        on_event(trial_event("ring", 2))
        on_event(trial_event("linear", 3))

    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("0/1 allreduce 25 MiB, launch 1 of 7: ring, 2 of 12 (")


def test_the_end_of_a_budget_says_what_the_ranks_would_have_needed() -> None:
    seen = Compared(points=1)

    seen.take({"event": "budget", "points_done": 0, "elapsed_s": 3.0, "least_s": 22.5})

    assert (seen.done_with, seen.ended, seen.least_s) == (True, False, 22.5)
