# SPDX-License-Identifier: BSD-3-Clause
"""The interval of a ratio over pairs, and how far it lies from 1."""

import math
from pathlib import Path

import pytest

from experiments.peers_agree.experiment import (
    EXPERIMENT,
    Agreement,
    figures_of,
    printed_by_netpipe,
    take_turns,
)
from lanewise.errors import RunError


def agreement(factor: float, spread: float = 0.01) -> Agreement:
    """Return twelve pairs whose ratios lie around `factor`."""
    ratios = [factor * (1 + spread * (turn - 5.5) / 5.5) for turn in range(12)]
    return Agreement((1e-6,) * 12, tuple(ratio * 1e-6 for ratio in ratios))


def test_ratios_around_one_are_not_apart() -> None:
    assert agreement(1.0).apart == 0.0


def test_a_small_bias_is_apart_by_less_than_the_tolerance() -> None:
    assert 0.02 < agreement(1.04).apart < 0.05


@pytest.mark.parametrize("factor", [0.5, 0.9, 1.1, 2.0])
def test_another_definition_is_apart_by_more(factor: float) -> None:
    assert agreement(factor).apart > 0.05


@pytest.mark.parametrize("spread", [0.02, 0.2])
def test_an_interval_around_one_agrees_only_where_both_ends_are_near_it(spread: float) -> None:
    found = figures_of({8: agreement(1.0, spread), 4096: agreement(1.0)})

    assert found["apart_percent"] == 0.0
    target = EXPERIMENT.targets["apart_at_most_percent"]
    assert target.met_by(found["apart_at_most_percent"]) == (spread < 0.1)


def test_too_few_pairs_for_an_interval_do_not_agree() -> None:
    found = figures_of({8: agreement(1.0), 4096: Agreement((1e-6,) * 3, (1e-6,) * 3)})

    assert math.isnan(found["apart_at_most_percent"])
    assert not EXPERIMENT.targets["apart_at_most_percent"].met_by(found["apart_at_most_percent"])


def test_one_disturbed_pair_does_not_move_the_interval() -> None:
    quiet = agreement(1.0)
    disturbed = Agreement(quiet.theirs_s, (*quiet.ours_s[:-1], 1e-3))

    assert disturbed.interval[1] < 1.02


def test_the_ratio_of_each_size_is_kept_with_the_ends_of_its_interval() -> None:
    found = figures_of({8: agreement(1.0), 4096: agreement(1.1)})

    low, high = agreement(1.1).interval
    assert found["apart_percent"] == pytest.approx(100 * (low - 1))
    assert found["apart_at_most_percent"] == pytest.approx(100 * (high - 1))
    assert found["ratio_8_bytes"] == pytest.approx(1.0)
    assert (found["ratio_4096_bytes_low"], found["ratio_4096_bytes_high"]) == (low, high)
    assert all(EXPERIMENT.figure(key) is not None for key in found)


def test_the_two_go_first_in_turn() -> None:
    seen: list[str] = []

    def ours() -> float:
        seen.append("ours")
        return 1.0

    def theirs() -> float:
        seen.append("theirs")
        return 2.0

    found = take_turns(ours, theirs, 2)

    assert seen == ["theirs", "ours", "ours", "theirs"]
    assert found.ratios == [0.5, 0.5]


def test_a_time_of_netpipe_has_the_digits_of_its_rate(tmp_path: Path) -> None:
    path = tmp_path / "netpipe.txt"
    path.write_text("       8 162.798092   0.00000037\n")

    assert printed_by_netpipe(path).mean_s == pytest.approx(8 * 8 / 2**20 / 162.798092, rel=1e-9)


def test_what_netpipe_did_not_write_whole_fails_the_run(tmp_path: Path) -> None:
    path = tmp_path / "netpipe.txt"
    path.write_text("       8 162.7")

    with pytest.raises(RunError, match=r"netpipe\.txt"):
        printed_by_netpipe(path)
