# SPDX-License-Identifier: BSD-3-Clause
"""A coverage is printed as a percentage."""

from experiments.interval_coverage import experiment as interval_coverage


def test_a_coverage_is_written_with_one_decimal() -> None:
    assert interval_coverage.percent_of(0.946) == "94.6 %"
