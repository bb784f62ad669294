# SPDX-License-Identifier: BSD-3-Clause
"""TOML files of ours: tables whose faults are named with line and key, quantities with units."""
