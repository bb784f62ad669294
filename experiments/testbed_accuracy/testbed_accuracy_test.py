# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a testbed come from medians and from its worst rate."""

import pytest

from experiments.testbed_accuracy import experiment as testbed_accuracy


def test_the_accuracy_of_a_testbed_is_told_by_medians_and_the_worst_rate() -> None:
    share = testbed_accuracy.PAYLOAD_SHARE

    figures = testbed_accuracy.figures_of(
        [5.1] * 9, [5.2] * 5 + [9.0] * 4, {1e8: 1e8 * share, 1e9: 0.98e9 * share}, 6e9
    )

    assert figures["delay_error_idle_ms"] == pytest.approx(0.1)
    assert figures["delay_error_ms"] == pytest.approx(0.2)
    assert figures["rate_error_percent"] == pytest.approx(2.0)
    assert figures["throughput_gbps"] == pytest.approx(6.0)
