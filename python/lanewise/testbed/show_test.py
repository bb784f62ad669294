# SPDX-License-Identifier: BSD-3-Clause
"""The text about a testbed that is up says all that its links do to packets."""

from __future__ import annotations

from typing import Any

from lanewise.testbed.show import state_text


def test_a_link_is_shown_with_each_of_its_impairments_and_directions() -> None:
    way = {"delivered_bytes": 2.5e6, "dropped_by_queue": 1, "dropped_by_cut": 2, "lost": 4}
    state: dict[str, Any] = {
        "name": "two-site",
        "shared": True,
        "hosts": [{"name": "a1", "address": "10.0.0.1"}],
        "links": [
            {
                "name": "a-b",
                "settings": {
                    "rate_bits_per_s": 1e9, "delay_ns": 5e6, "jitter_ns": 2e6, "loss": 0.01,
                    "reorder": 0.02, "flow_rate_bits_per_s": 2.5e8, "queue_bytes": 1e6,
                    "mark_bytes": 1e5, "up": True,
                },
                "directions": [way, {**way, "delivered_bytes": 0.0}],
                "ends": ["a", "b"],
            }
        ],
    }  # fmt: skip

    assert (
        "  a-b  up  1 Gbit/s, 5 ms one way, jitter 2 ms, loss 1 %, reorder 2 %, "
        "250 Mbit/s per flow, marks from 100 kB"
    ) in state_text(state).splitlines()
    assert state_text(state).splitlines()[-2:] == [
        "    a to b: 2.5 MB delivered, 3 dropped, 4 lost",
        "    b to a: 0.0 MB delivered, 3 dropped, 4 lost",
    ]
