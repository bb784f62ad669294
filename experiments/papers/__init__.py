# SPDX-License-Identifier: BSD-3-Clause
"""Papers: every table and figure of the five papers, as data, and the page that draws them all."""
