# SPDX-License-Identifier: BSD-3-Clause
"""`python -m lanewise`, the same as the command `lanewise`."""

import io
import os
import sys

from lanewise.interrupts import end_while_loading


def main() -> None:
    """Run the command; an interrupt while it is loaded ends as one does later."""
    open_closed_streams()
    escape_what_cannot_be_encoded()
    end_while_loading()
    from lanewise.cli import main as command  # noqa: PLC0415

    command()


def open_closed_streams() -> None:
    """Let nobody read a standard stream that the command was started without.

    Python has None for it, and the next file that is opened would get its number.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: `number`
            os.set_inheritable(null, True)  # noqa: FBT003 (has no name)
            setattr(sys, name, os.fdopen(null, "w" if number else "r", encoding="utf-8"))


def escape_what_cannot_be_encoded() -> None:
    """Let the output have escapes, as errors have, for what the encoding of the locale lacks.

    UTF-8 that brings back the bytes of names as they were lacks nothing.
    """
    if not isinstance(sys.stdout, io.TextIOWrapper):
        return
    if (sys.stdout.encoding.lower(), sys.stdout.errors) != ("utf-8", "surrogateescape"):
        sys.stdout.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    main()
