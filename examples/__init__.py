# SPDX-License-Identifier: BSD-3-Clause
"""Examples: programs that use Lanewise, or that are used with it, and the demonstration."""
