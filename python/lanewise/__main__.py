# SPDX-License-Identifier: BSD-3-Clause
"""`python -m lanewise`, the same as the command `lanewise`."""

from lanewise.interrupts import end_while_loading


def main() -> None:
    """Run the command; an interrupt while it is loaded ends as one does later."""
    end_while_loading()
    from lanewise.cli import main as command  # noqa: PLC0415

    command()


if __name__ == "__main__":
    main()
