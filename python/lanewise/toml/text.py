# SPDX-License-Identifier: BSD-3-Clause
"""The text of a file that a person has written."""

from __future__ import annotations

import pathlib

from lanewise.errors import RequestError, unusable_in

BYTES_MAX = 64 << 20  # a device such as /dev/zero has no end


def read_text(path: pathlib.Path, remedy: str, called: str = "") -> str:
    """Return the text of a file; RequestError with the remedy where it cannot be read.

    `called` is the name that the user gave, if that is not the path.
    """
    if unusable := unusable_in(str(path)):
        reason = f"its name contains {unusable}"
        raise RequestError(f"{called or path} cannot be read ({reason}); {remedy}")
    try:
        with path.open("rb") as file:
            content = file.read(BYTES_MAX + 1)
        if len(content) <= BYTES_MAX:
            return content.decode("utf-8-sig").replace("\r\n", "\n")
        reason = f"it has more than {BYTES_MAX >> 20} MiB"
    except UnicodeDecodeError:
        reason = "it is not text"
    except OSError as error:
        reason = error.strerror or str(error)
    raise RequestError(f"{called or path} cannot be read ({reason}); {remedy}")
