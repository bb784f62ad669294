# SPDX-License-Identifier: BSD-3-Clause
"""`python -m lanewise`, the same as the command `lanewise`."""

import os
import sys

from lanewise.interrupts import end_while_loading


def main() -> None:
    """Run the command; an interrupt while it is loaded ends as one does later."""
    open_closed_streams()
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


if __name__ == "__main__":
    main()
