# SPDX-License-Identifier: BSD-3-Clause
"""`python -m lanewise`, the same as the command `lanewise`."""

import sys


def main() -> None:
    """Run the command; an interrupt while it is loaded ends as one does later."""
    try:
        from lanewise.cli import main as command  # noqa: PLC0415
    except KeyboardInterrupt:
        sys.stderr.write("lanewise: stopped\n")
        sys.exit(130)
    command()


if __name__ == "__main__":
    main()
