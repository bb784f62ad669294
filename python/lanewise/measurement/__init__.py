# SPDX-License-Identifier: BSD-3-Clause
"""Measurements and tunings, for programs in Python and for notebooks.

measurement = lanewise.measure("scatter", ranks=4)
measurement.median_s                  # seconds, one for each size in measurement.message_bytes
measurement.compare(before).plot()
"""
