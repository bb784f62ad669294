# SPDX-License-Identifier: BSD-3-Clause
"""Cables pulled at every bad moment: all messages arrive exactly once, and traffic comes home."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ports import await_packets, cuts_seen, packets

from experiments.hca.hosts import CALLER, Hosts
from experiments.migration.two_ports import (
    LISTENER,
    RETRIES_MS,
    cut,
    exchange,
    faults_of,
    retry_exhaustion_ms,
)
from lanewise.errors import RunError
from lanewise.testbed import bed
from lanewise.testbed.bed import Bed, Source

SCHEMA = Path(__file__).parents[2] / "schema" / "protect.schema.json"
ONE, TWO = "lan0", "lan1"
FAILBACK = ("--failback-delay", "100ms")
# Random moments at which a cable is pulled; make test-all asks for 500.
MOMENTS = int(os.environ.get("LANEWISE_TEST_CUTS", "6"))
MOMENTS_EACH = 10
DELAYED = """
[[site]]
name = "a"
hosts = 2

[[site.lan]]
rate = "10 Gbit/s"
latency = "40 us"

[[site.lan]]
rate = "10 Gbit/s"
latency = "40 us"
"""
USUAL = {"loss": 0.0, "rate_bits_per_s": 10e9}


@pytest.fixture(scope="module")
def delayed() -> Iterator[Hosts]:
    """Raise two hosts whose cables can lose packets and be slow."""
    with bed.created(Source(DELAYED, "two-port-delayed", "two-port")) as raised:
        yield Hosts(raised)


@contextmanager
def degraded(
    raised: Bed, host: str, interface: str, direction: int | None = None, **settings: float
) -> Iterator[None]:
    """Change a cable of delayed hosts for the duration of the block.

    Direction 0 is what the host sends, 1 what it receives, None both.  The settings are those of
    the delay line: loss (a fraction), rate_bits_per_s.
    """
    change: dict[str, Any] = {"link": f"{host}.{interface}"}
    if direction is not None:
        change["direction"] = direction
    raised.ask(f"a.{interface}.line", {**change, "settings": settings})
    try:
        yield
    finally:
        restored = {key: USUAL[key] for key in settings}
        raised.ask(f"a.{interface}.line", {**change, "settings": restored})


# The kernel may tell seconds later that a port is up again, while it removes another namespace.
RETURN = ("--return-timeout-s", "30")
# Traffic may wait for all retries on one port and then on the other before it goes on.
RESUME = ("--resume-timeout-s", f"{2 * RETRIES_MS / 1e3:.3f}")


def run(hosts: Hosts, seconds: float, *options: str, **sides: list[str]) -> None:
    """Exchange messages on two queue pairs, and assert that all arrived exactly once."""
    words = ["--seconds", str(seconds), *RESUME, "--queue-pairs", "2", *options]
    with cuts_made(hosts, sides):
        said = exchange(hosts.bed, words, protect=FAILBACK, **sides)
    assert min(said.caller[0]["sent"], said.listener[0]["sent"]) > 0
    resumed_ns = said.caller[0]["resumed_ns"] + said.listener[0]["resumed_ns"]
    assert all(ns >= 0 for ns in resumed_ns), "no message followed a cut"
    assert not any(faults_of(said).values()), said


@contextmanager
def cuts_made(hosts: Hosts, sides: Mapping[str, list[str]]) -> Iterator[None]:
    """Assert that during the block the kernel saw every cut that `sides` ask for."""
    asked = {
        (CALLER if side == "at_caller" else LISTENER, interface): sum(
            word.startswith(f"{interface}:") for word in words
        )
        for side, words in sides.items()
        for interface in (ONE, TWO)
    }
    before = {place: cuts_seen(hosts.bed, *place) for place in asked}
    yield
    for place, count in asked.items():
        assert cuts_seen(hosts.bed, *place) - before[place] >= count, place


def reported(
    hosts: Hosts, report: Path, cuts: list[str], *options: str, words: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Return what protected both sides of an exchange, one queue pair each, says.

    The options are those of `lanewise rdma protect`, the words those of the exchange.
    """
    protect = [*FAILBACK, *options, "--report", str(report)]
    with cuts_made(hosts, {"at_caller": cuts}):
        said = exchange(hosts.bed, ["--seconds", "2.5", *words], protect=protect, at_caller=cuts)
    assert not any(faults_of(said).values()), said
    return [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]


def test_a_cut_moves_both_sides_and_they_come_home(hosts: Hosts, tmp_path: Path) -> None:
    reports = reported(hosts, tmp_path / "report", cut(ONE, 0.4, 0.3), words=RETURN)
    assert [(one["migrations"], one["returns"]) for one in reports] == [(2, 1), (2, 1)], reports
    causes = {
        tuple(one["cause"] for one in report["events"] if one["event"] == "migrated")
        for report in reports
    }
    assert causes == {("carrier", "command"), ("peer", "peer")}, reports
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    for report in reports:
        jsonschema.validate(report, schema)


def test_of_two_ports_a_cut_hits_the_one_in_use_at_either_end(hosts: Hosts) -> None:
    there = f"{hosts.bed.folder / 'net' / LISTENER}@"
    cuts = [word for turn, host in enumerate(("", there, there, ""))
            for word in cut(f"{host}{ONE}/{TWO}", 0.3 + 0.4 * turn, 0.1)]  # fmt: skip
    places = [(host, interface) for host in (CALLER, LISTENER) for interface in (ONE, TWO)]
    before = [cuts_seen(hosts.bed, *place) for place in places]

    said = exchange(hosts.bed, ["--seconds", "2", *RESUME],
                    protect=("--policy", "stay"), at_caller=cuts)  # fmt: skip

    pulled = said.caller[0]["cuts"]
    used = [one["port_in_use"] for one in pulled]
    assert [one["interface"] for one in pulled] == [(ONE, TWO)[port - 1] for port in used]
    after = [cuts_seen(hosts.bed, *place) for place in places]
    seen = [now - then for now, then in zip(after, before, strict=True)]
    assert (sum(seen[:2]), sum(seen[2:])) == (2, 2), (seen, said)
    assert all(ns >= 0 for ns in said.caller[0]["resumed_ns"]), said
    assert not any(faults_of(said).values()), said


def test_traffic_stays_on_the_other_port_where_told_to(hosts: Hosts, tmp_path: Path) -> None:
    reports = reported(hosts, tmp_path / "report", cut(ONE, 0.4, 0.3), "--policy", "stay")
    assert [one["migrations"] for one in reports] == [1, 1], reports


def test_a_cut_at_the_side_that_listens_loses_nothing(hosts: Hosts) -> None:
    run(hosts, 1.5, at_listener=cut(ONE, 0.4, 0.3))


def test_a_port_that_flaps_loses_nothing(hosts: Hosts) -> None:
    cuts = [word for turn in range(6) for word in cut(ONE, 0.2 + 0.15 * turn, 0.07)]
    run(hosts, 1.5, at_caller=cuts)


def test_both_ports_may_be_dead_within_the_retry_window(hosts: Hosts) -> None:
    run(hosts, 3.5, at_caller=[*cut(ONE, 0.4, 2), *cut(TWO, 0.4, 2)])


def test_without_a_retry_window_two_dead_ports_end_the_program(hosts: Hosts) -> None:
    cuts = [*cut(ONE, 0.3, 2), *cut(TWO, 0.3, 2)]
    with pytest.raises(RunError, match="transport retry counter exceeded"):
        exchange(hosts.bed, ["--seconds", "3"], protect=("--retry-window", "0"), at_caller=cuts)


def test_the_second_cable_may_go_while_the_first_migration_is_under_way(hosts: Hosts) -> None:
    run(hosts, 2, at_caller=[*cut(ONE, 0.4, 0.5), *cut(TWO, 0.405, 0.2)])


def test_a_cut_may_come_before_the_alternate_is_armed(hosts: Hosts) -> None:
    run(hosts, 1.2, at_caller=cut(ONE, 0, 0.4))


@pytest.mark.parametrize(
    "at_s", [0.0, *(pytest.param(s, marks=pytest.mark.thorough) for s in (0.003, 0.01))]
)
def test_a_cut_may_come_while_the_connection_is_made(hosts: Hosts, at_s: float) -> None:
    run(hosts, 1, "--early", at_caller=cut(ONE, at_s, 0.3))


@pytest.mark.parametrize(
    "after_s", [0.12, *(pytest.param(s, marks=pytest.mark.thorough) for s in (0.1, 0.13))]
)
def test_the_other_cable_may_go_while_traffic_comes_home(hosts: Hosts, after_s: float) -> None:
    run(hosts, 1.5, at_caller=[*cut(ONE, 0.3, 0.2), *cut(TWO, 0.5 + after_s, 0.2)])


def test_unprotected_a_cut_ends_the_program_after_exactly_all_retries(hosts: Hosts) -> None:
    assert RETRIES_MS <= retry_exhaustion_ms(hosts.bed) < RETRIES_MS * 9 / 8


@pytest.mark.parametrize(
    "percent", [10, *(pytest.param(each, marks=pytest.mark.thorough) for each in (1, 30))]
)
def test_loss_on_both_ports_loses_no_message(delayed: Hosts, percent: int) -> None:
    with ExitStack() as stack:
        for port in (ONE, TWO):
            stack.enter_context(degraded(delayed.bed, CALLER, port, loss=percent / 100))
        run(delayed, 1.5, "--message-bytes", "1000", "--timeout", "10")


@pytest.mark.parametrize("direction", [0, pytest.param(1, marks=pytest.mark.thorough)])
def test_a_port_that_is_deaf_or_dumb_is_left_though_it_has_a_carrier(
    delayed: Hosts, direction: int, tmp_path: Path
) -> None:
    report = tmp_path / "report"
    before = packets(delayed.bed, ONE)

    def spoil() -> None:
        await_packets(delayed.bed, ONE, before + 100)
        # The programs end over TCP, which has no other way.
        with degraded(delayed.bed, CALLER, ONE, direction, loss=1.0):
            time.sleep(1)

    protect = ("--policy", "stay", "--report", str(report))
    with ThreadPoolExecutor(max_workers=1) as beside:
        spoiled = beside.submit(spoil)
        said = exchange(delayed.bed, ["--seconds", "2", "--timeout", "10"], protect=protect)
    spoiled.result()
    assert not any(faults_of(said).values()), said
    lines = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    assert all(line["migrations"] >= 1 for line in lines), lines


@pytest.mark.parametrize("direction", [0, pytest.param(1, marks=pytest.mark.thorough)])
def test_loss_in_one_direction_loses_no_message(delayed: Hosts, direction: int) -> None:
    with degraded(delayed.bed, CALLER, ONE, direction, loss=0.2):
        run(delayed, 1.5, "--message-bytes", "1000", "--timeout", "10")


def test_a_cut_leads_to_a_port_that_is_slow(delayed: Hosts, tmp_path: Path) -> None:
    report = tmp_path / "report"
    protect = [*FAILBACK, "--report", str(report)]
    with degraded(delayed.bed, CALLER, TWO, rate_bits_per_s=20e6):
        said = exchange(delayed.bed, ["--seconds", "1.5", "--queue-pairs", "2", *RETURN],
                        protect=protect, at_caller=cut(ONE, 0.4, 0.5))  # fmt: skip
    assert not any(faults_of(said).values()), said
    # These interfaces have no carrier that could be counted.
    reports = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    assert [one["migrations"] >= 2 for one in reports] == [True, True], reports


def test_nothing_is_left_behind(hosts: Hosts) -> None:
    run(hosts, 0.5, at_caller=cut(ONE, 0.2, 0.1))
    words = [sys.executable, "-m", "lanewise", "rdma", "status", "--json"]
    shown = subprocess.run(hosts.bed.line(CALLER, words), capture_output=True, text=True,
                           check=True).stdout  # fmt: skip
    assert json.loads(shown)["devices"] == []


@pytest.mark.parametrize("seed", range(-(-MOMENTS // MOMENTS_EACH)))
def test_cuts_at_random_moments_lose_nothing(hosts: Hosts, seed: int) -> None:
    drawn = random.Random(seed)
    sides: dict[str, list[str]] = {"at_listener": [], "at_caller": []}
    at_s = 0.1
    for _ in range(min(MOMENTS, MOMENTS_EACH)):
        at_s += drawn.uniform(0.0, 0.3)
        for_s = drawn.uniform(0.001, 0.2)
        sides[drawn.choice(list(sides))] += cut(drawn.choice([ONE, TWO]), at_s, for_s)
        at_s += for_s
    run(hosts, at_s + 0.5, **sides)
