# SPDX-License-Identifier: BSD-3-Clause
"""Files of Lanewise: the JSON schemas in schema/ decide what is read, and errors name the key."""
