# SPDX-License-Identifier: BSD-3-Clause
"""Names of files on the command line, as they were typed."""

from __future__ import annotations

from lanewise.errors import RequestError

COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zip")


def require_file_name(option: str, name: str | None) -> None:
    """Raise RequestError for a hyphen, which stands for standard output in other commands."""
    if name == "-":
        raise RequestError(
            f"{option} - is not a file name; for a file that is called -, write {option} ./-"
        )


def require_uncompressed(name: str) -> None:
    """Raise RequestError for a name that promises compression."""
    ending = compression_of(name)
    if ending:
        raise RequestError(
            f"{name} would not be compressed; name a file without {ending}, and compress that"
        )


def compression_of(name: str) -> str:
    """Return the end of a name that promises compression, in upper or lower case, else nothing."""
    return next((name[-len(end) :] for end in COMPRESSED if name.lower().endswith(end)), "")
