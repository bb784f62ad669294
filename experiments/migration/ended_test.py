# SPDX-License-Identifier: BSD-3-Clause
"""A protected connection that does not survive a cut is kept as a missed target."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from experiments.migration import failover, two_devices, two_ports
from experiments.migration.two_ports import BEGINS, TrafficEndedError
from experiments.run import Finished
from experiments.workspace import Workspace
from lanewise.errors import RunError


@contextmanager
def no_hosts() -> Iterator[SimpleNamespace]:
    """Create nothing."""
    yield SimpleNamespace(folder=Path("bed"))


@pytest.mark.parametrize("module", [failover, two_devices], ids=["two ports", "two devices"])
def test_a_connection_that_ended_is_kept_as_the_worst_outcome(
    module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exchange(*_words: object, **_options: object) -> None:
        raise TrafficEndedError("lanewise-exchange: retry counter exceeded")

    monkeypatch.setattr(module, "two_hosts", no_hosts)
    monkeypatch.setattr(module, "exchange", exchange)

    found = module.run(Workspace(tmp_path))

    finished = Finished(module.EXPERIMENT, found)
    assert found.figures == {"connections_ended": 1.0}
    assert finished.faults == []
    assert not any(judged.met for judged in finished.judged)
    assert found.notes == [
        "a protected connection ended: lanewise-exchange: retry counter exceeded"
    ]


def test_a_connection_that_ends_without_cuts_leaves_what_the_cuts_gave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = dict.fromkeys(("lost", "duplicated", "corrupted", "atomics_wrong"), 0)
    side = [{**faults, "sent": 1_000_000, "received": 1_000_000, "resumed_ns": [2e6], "twice": []}]

    def exchange(_bed: object, words: list[str], **_options: object) -> two_ports.Said:
        if "--mixed" not in words:
            raise TrafficEndedError("lanewise-exchange: retry counter exceeded")
        return two_ports.Said(side, side)

    monkeypatch.setattr(two_devices, "two_hosts", no_hosts)
    monkeypatch.setattr(two_devices, "exchange", exchange)

    found = two_devices.run(Workspace(tmp_path))

    finished = Finished(two_devices.EXPERIMENT, found)
    missed = {judged.figure.name for judged in finished.judged if not judged.met}
    assert missed == {"connections_ended"}
    assert (found.figures["p50_ms"], found.figures["lost"]) == (2.0, 0)
    assert "latency_cost_percent" not in found.figures
    assert finished.faults == []
    assert found.notes == ["a connection ended without cuts: lanewise-exchange: retry counter "
                           "exceeded"]  # fmt: skip


def test_the_program_says_when_its_traffic_begins_in_the_words_that_are_looked_for() -> None:
    text = Path(two_ports.__file__).with_name("exchange").joinpath("traffic.cpp").read_text()

    assert f'"{BEGINS}\\n"' in text


FAILURES = {
    "no device": (1, "lanewise-exchange: no device opens", RunError, "no device opens"),
    "hung before": (124, "", RunError, "had not ended"),
    "retries": (1, f"{BEGINS}\nlanewise-exchange: work ended with: 12", TrafficEndedError, "work"),
    "hung": (124, BEGINS, TrafficEndedError, "had not ended"),
    "killed": (139, BEGINS, TrafficEndedError, "failed"),
}


@pytest.mark.parametrize(("status", "said", "kind", "why"), FAILURES.values(), ids=FAILURES)
def test_only_what_fails_once_traffic_has_begun_is_a_connection_that_ended(
    status: int, said: str, kind: type[RunError], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ended:
        returncode = status

        def communicate(self) -> tuple[str, str]:
            return "", said

    monkeypatch.setattr(two_ports, "find_program", lambda *_words: "lanewise-exchange")
    monkeypatch.setattr(two_ports, "_start", lambda *_words: Ended())
    monkeypatch.setattr(two_ports, "kill", lambda _started: None)
    bed: Any = None

    with pytest.raises(RunError, match=why) as error:
        two_ports.exchange(bed, [])

    assert error.type is kind
