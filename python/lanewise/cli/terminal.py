# SPDX-License-Identifier: BSD-3-Clause
"""How wide what people read may be: as the terminal, without a limit in files and pipes."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable

from lanewise.results.printable import printable
from lanewise.results.table import UNLIMITED


def columns_shown() -> int:
    """Return the columns of the terminal on standard output, UNLIMITED where that is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else UNLIMITED


def for_terminal(lines: Iterable[str], columns: int) -> list[str]:
    """Return lines of which all that a file may hold is printable, for so many columns of text.

    Notes, which begin with `! `, are folded; the rows of tables are taken to fit.
    """
    return [
        printable(part)
        for line in lines
        for part in (folded("! ", line[2:], columns) if line.startswith("! ") else [line])
    ]


def folded(lead: str, text: str, columns: int) -> list[str]:
    """Return `lead` and `text` in lines of so many columns, all of `text` right of `lead`.

    A word that is longer, such as a path, is left whole, so that it can be copied.
    """
    if not text or len(lead) + len(text) <= columns:
        return [lead + text]
    return textwrap.wrap(
        text, columns, initial_indent=lead, subsequent_indent=" " * len(lead),
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
