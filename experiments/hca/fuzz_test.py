# SPDX-License-Identifier: BSD-3-Clause
"""Which fuzzer runs when, and what its processes found together."""

from __future__ import annotations

import runpy
from collections import Counter
from collections.abc import Mapping
from itertools import chain
from pathlib import Path

import pytest

from experiments.hca import fuzz as fuzzers
from experiments.hca.fuzz import (
    FUZZERS,
    SHARES,
    Found,
    MissingError,
    Turn,
    build,
    core_seconds,
    fuzz,
    turns,
)
from lanewise.errors import RunError

EVEN = dict.fromkeys(SHARES, 0.2)


@pytest.mark.parametrize("core_count", [1, 2, 3, 8])
@pytest.mark.parametrize("seconds", [10, 600])
@pytest.mark.parametrize("shares", [SHARES, EVEN], ids=["usual", "even"])
def test_every_core_is_busy_to_the_end(
    core_count: int, seconds: int, shares: Mapping[str, float]
) -> None:
    planned = turns(core_count, seconds, shares)

    assert len(planned) == core_count
    for core in planned:
        assert sum(turn.seconds for turn in core) == seconds
        assert all(turn.seconds > 0 for turn in core)


def test_a_judged_run_is_as_long_as_declared_whatever_a_test_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LANEWISE_FUZZ_SECONDS", "10m")

    again = runpy.run_path(str(fuzzers.__file__))

    assert again["SECONDS"] == 600
    figure = again["EXPERIMENT"].figure("inputs")
    assert figure.estimator.counts == "1 launch of 1 run of all fuzzers, for 600 s on each core"


@pytest.mark.parametrize("core_count", [1, 2, 8])
def test_only_the_engine_has_several_processes(core_count: int) -> None:
    counts = Counter(turn.fuzzer for turn in chain.from_iterable(turns(core_count, 600)))

    assert counts == {**dict.fromkeys(SHARES, 1), "engine": core_count}


def test_the_engine_has_most_of_the_time_of_two_cores() -> None:
    seconds = core_seconds(turns(2, 600))

    assert list(seconds) == list(FUZZERS)
    assert sum(seconds.values()) == 1200
    assert seconds["engine"] > 800


def test_processes_are_counted_together_and_the_one_that_ended_early_is_quoted() -> None:
    well, broken = Found(100, 0, "Done"), Found(20, 1, "ERROR")

    assert well + broken == broken + well == Found(120, 1, "ERROR")
    assert Found() + well == well


# Ends over an input the first time, as libFuzzer does, and tries 7 inputs the second time.
SLOW = """#!/bin/sh
echo "$@" >> {folder}/calls
case "$1" in *-timeout-*) exit {again};; esac
echo "stat::number_of_executed_units: 7" >&2
[ $(wc -l < {folder}/calls) -gt 1 ] && exit 0
echo "artifact_prefix='p-'; Test unit written to {folder}/packet-timeout-1" >&2
exit 70
"""


@pytest.mark.parametrize(("again", "expected"), [(0, (14, 0)), (70, (7, 1))])
def test_an_input_does_harm_that_is_slow_whenever_it_is_run(
    again: int, expected: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "packet_fuzz"
    program.write_text(SLOW.format(folder=tmp_path, again=again), encoding="ascii")
    program.chmod(0o755)
    monkeypatch.setattr(fuzzers, "BUILD", tmp_path)

    found = fuzz(Turn("packet", 60), tmp_path)

    assert (found.inputs, found.crashes) == expected


def test_only_a_machine_without_clang_is_a_reason_to_skip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(MissingError, match="install clang"):
        build()

    failing = "#!/bin/sh\necho 'a.cpp:1:1: error: no' >&2; exit 1\n"
    for name, script in (("clang++", failing), ("cmake", failing)):
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    with pytest.raises(MissingError, match="libclang-rt-dev"):
        build()

    (tmp_path / "clang++").write_text("#!/bin/sh\n")
    with pytest.raises(RunError, match="error: no") as failed:
        build()
    assert not isinstance(failed.value, MissingError)
