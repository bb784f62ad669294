# SPDX-License-Identifier: BSD-3-Clause
"""`python -m lanewise`, the same as the command `lanewise`."""

from lanewise.cli import main

main()
