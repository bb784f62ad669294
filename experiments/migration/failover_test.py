# SPDX-License-Identifier: BSD-3-Clause
"""Each cut that hit the port in use counts, with the cause for which the port was left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from experiments.experiment import Outcome
from experiments.migration.failover import (
    CUTS,
    EXPERIMENT,
    Failovers,
    cause_of,
    curves_of,
    end_of,
    failovers_of,
    figures_of,
)
from experiments.migration.two_ports import Said
from experiments.run import Finished

MS = 1_000_000
NEXT = 250 * MS


def pulled(interface: str = "lan0", port_in_use: int = 1, from_ns: int = 0) -> dict[str, Any]:
    return {"interface": interface, "port_in_use": port_in_use,
            "from_ns": from_ns, "done_ns": from_ns + MS}  # fmt: skip


def moved(at_ms: float, port: int, cause: str) -> dict[str, Any]:
    return {"event": "migrated", "at_ns": int(at_ms * MS), "port": port, "cause": cause}


@pytest.mark.parametrize(
    ("resumed_ms", "migrations", "cause"),
    [
        (3, [moved(1, 2, "carrier"), moved(2, 2, "peer")], "carrier event"),
        (3, [moved(1, 2, "peer"), moved(2, 2, "carrier")], "carrier event"),
        (263, [moved(1, 2, "carrier"), moved(240, 1, "silence")], "silent path"),
        (240, [moved(239, 2, "retries")], "retry exhaustion"),
        (3, [moved(1, 2, "peer")], "followed the other end"),
        (61, [], "cable back"),
        # The thread that tells of it may be late.
        (3, [moved(40, 2, "carrier")], "carrier event"),
    ],
)
def test_the_cause_is_that_of_the_last_migration_before_traffic_went_on(
    resumed_ms: float, migrations: list[dict[str, Any]], cause: str
) -> None:
    assert cause_of(pulled(), int(resumed_ms * MS), migrations, NEXT) == cause


def test_a_migration_after_the_next_cut_is_not_of_this_one() -> None:
    assert cause_of(pulled(), 61 * MS, [moved(251, 2, "carrier")], NEXT) == "cable back"


@pytest.mark.parametrize(
    ("cut", "resumed_ms", "migrations"),
    [
        (pulled("lan1", 1), 3, [moved(1, 2, "carrier")]),
        (pulled("lan0", 2), 0.1, []),
        (pulled("lan0", 1), 0.1, []),  # nothing was held up
        (pulled("lan0", 1), 3, [moved(1, 1, "carrier")]),  # who was there had left
    ],
)
def test_a_cut_of_a_port_that_was_not_in_use_does_not_count(
    cut: dict[str, Any], resumed_ms: float, migrations: list[dict[str, Any]]
) -> None:
    assert cause_of(cut, int(resumed_ms * MS), migrations, NEXT) is None


def run_of(cuts: int, slow_ms: float = 0.0) -> Failovers:
    """Return a run in which the n-th cut took n/100 ms, and the third one so much longer."""
    side = {"lost": 0, "duplicated": 0, "corrupted": 0, "atomics_wrong": 0,
            "sent": 10, "received": 10}  # fmt: skip
    starts = [number * NEXT for number in range(cuts)]
    ports = [number % 2 for number in range(cuts)]
    caller = {
        **side,
        "cuts": [
            pulled(f"lan{port}", port + 1, start) for port, start in zip(ports, starts, strict=True)
        ],
        "resumed_ns": [
            int((number / 100 + (slow_ms if number == 2 else 0)) * MS) for number in range(cuts)
        ],
    }
    migrations = [
        moved(start / MS + 0.5, 2 - port, "carrier")
        for port, start in zip(ports, starts, strict=True)
    ]
    return failovers_of(Said([side], [caller]), migrations)


def test_both_ends_lose_both_of_their_ports() -> None:
    seen = {(end_of(number), number % 2) for number in range(8)}

    assert seen == {("caller", 0), ("caller", 1), ("peer", 0), ("peer", 1)}


def test_ends_and_loads_are_judged_by_themselves() -> None:
    found = {"quiet": run_of(CUTS, slow_ms=30.0), "loaded": run_of(CUTS)}

    figures = figures_of(found)

    # The third cut is the peer's, so that the largest but one of a hundred is a usual one.
    assert figures["peer_cut_ms_max"] == pytest.approx(30.02)
    assert figures["peer_cut_ms_p99"] == pytest.approx(1.99)
    assert figures["carrier_to_traffic_ms_max"] == pytest.approx(1.97)
    assert figures["carrier_to_traffic_ms_p99"] == pytest.approx(1.96)
    assert figures["max_loaded_ms"] == pytest.approx(1.99)
    assert (figures["cuts"], figures["cuts_missed"]) == (2 * CUTS, 0)
    assert figures["carrier_event_quiet"] == CUTS
    assert figures["lost"] == figures["duplicated"] == 0


def test_each_cut_is_kept_with_its_time_end_and_cause() -> None:
    found = {"quiet": run_of(CUTS), "loaded": run_of(CUTS)}

    curves = curves_of(found)

    assert sorted(curves) == [
        "loaded/caller's end, carrier event", "loaded/peer's end, carrier event",
        "quiet/caller's end, carrier event", "quiet/peer's end, carrier event",
    ]  # fmt: skip
    assert sum(map(len, curves.values())) == 2 * CUTS
    assert curves["quiet/peer's end, carrier event"][0] == pytest.approx((0.5, 0.02e-3))


def test_a_run_is_as_declared() -> None:
    found = {"quiet": run_of(CUTS), "loaded": run_of(CUTS)}
    figures = figures_of(found) | {"retry_exhaustion_ms": 1.0, "retry_exhaustion_expected_ms": 1.0}

    outcome = Outcome(figures, [], {}, [Path("strips.png")], curves=curves_of(found))

    assert Finished(EXPERIMENT, outcome).faults == []
