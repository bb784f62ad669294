# SPDX-License-Identifier: BSD-3-Clause
"""Models of a machine from Python: `fit` samples to a platform, and ask it for predictions."""
