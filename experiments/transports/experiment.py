# SPDX-License-Identifier: BSD-3-Clause
"""Transports side by side: messages, and the processor time that they leave to the program."""

from experiments.transports import cpu_availability, transports

EXPERIMENTS = (transports.EXPERIMENT, cpu_availability.EXPERIMENT)
