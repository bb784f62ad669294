# SPDX-License-Identifier: BSD-3-Clause
"""What is asked of a run becomes what the library takes, or is refused."""

from __future__ import annotations

from lanewise.wavefront.options import Ending, run_options


def test_only_a_condition_makes_a_run_pause() -> None:
    def pause_every(until: str | None) -> int:
        return run_options(100, memory="1GiB", ending=Ending(until=until)).pause_every

    assert [pause_every(until) for until in (None, "", "residual<1")] == [0, 0, 32]
