# SPDX-License-Identifier: BSD-3-Clause
"""Names of files on the command line, as they were typed."""

from __future__ import annotations

from lanewise.errors import RequestError


def require_file_name(option: str, name: str | None) -> None:
    """Raise RequestError for a hyphen, which stands for standard output in other commands."""
    if name == "-":
        raise RequestError(
            f"{option} - is not a file name; for a file that is called -, write {option} ./-"
        )
