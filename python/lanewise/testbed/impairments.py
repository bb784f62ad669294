# SPDX-License-Identifier: BSD-3-Clause
"""What a link does to packets, as one table: reading, showing, faults and options come from it.

A new impairment is a row here, a row of the delay line's settings (settings.hpp), and its effect
there (line.cpp).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lanewise.toml.quantities import RATE, SHARE, SIZE, TIME, Kind, text_of


@dataclass(frozen=True)
class Impairment:
    """One property of a link: `key` in descriptions and options, `setting` in the delay line.

    `least` is the least that a description may give, `shown` how `lanewise testbed check` shows a
    value that is not zero; an empty one is not shown.
    """

    key: str
    setting: str
    kind: Kind
    help: str
    shown: str
    least: float = 0.0


IMPAIRMENTS = (
    Impairment("rate", "rate_bits_per_s", RATE, "new rate", "{}", least=1e3),
    Impairment("delay", "delay_ns", TIME, "new delay, one way", "{} one way"),
    Impairment("jitter", "jitter_ns", TIME, "new jitter", "jitter {}"),
    Impairment("loss", "loss", SHARE, "new share of lost segments", "loss {}"),
    Impairment("reorder", "reorder", SHARE, "new share of reordered segments", "reorder {}"),
    Impairment(
        "flow_rate", "flow_rate_bits_per_s", RATE, "new rate of one flow", "{} per flow", least=1e3
    ),
    Impairment("queue", "queue_bytes", SIZE, "new length of the queue", "", least=3000),
    Impairment(
        "mark",
        "mark_bytes",
        SIZE,
        "new queue length from which packets are marked",
        "marks from {}",
        least=1,
    ),
)
BY_KEY: Mapping[str, Impairment] = {one.key: one for one in IMPAIRMENTS}
BY_SETTING: Mapping[str, Impairment] = {one.setting: one for one in IMPAIRMENTS}


def texts(settings: Mapping[str, float]) -> list[str]:
    """Return the settings of a link as a person reads them."""
    given = [(one, settings.get(one.setting, 0.0)) for one in IMPAIRMENTS if one.shown]
    return [one.shown.format(text_of(one.kind, value)) for one, value in given if value]


def for_delay_line(settings: Mapping[str, float]) -> dict[str, float]:
    """Return settings as the delay line reads them: times in whole nanoseconds."""
    return {key: round(value) if key.endswith("_ns") else value for key, value in settings.items()}
