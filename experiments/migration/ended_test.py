# SPDX-License-Identifier: BSD-3-Clause
"""A protected connection that does not survive a cut is kept as a missed target."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from experiments.migration import failover, two_devices
from experiments.migration.two_ports import TrafficEndedError
from experiments.run import Finished
from experiments.workspace import Workspace


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
