# SPDX-License-Identifier: BSD-3-Clause
"""Build a tree with `cmake --build` and say which units took longest.

    cmake/build_and_time.py build/release

Ninja's log has the start and end of every unit it ever made; those whose output is newer than the
start of this build belong to it.  Nothing is printed of a build that had little to do.
"""

import subprocess
import sys
import time
from pathlib import Path

SHOWN = 10
WORTH_SHOWING_S = 10.0


def units_since(folder: Path, start_s: float) -> list[tuple[float, str]]:
    """Return (seconds, output) of what was made after `start_s`, the slowest first."""
    took_s: dict[str, float] = {}
    for line in (folder / ".ninja_log").read_text(encoding="utf-8").splitlines():
        fields = line.split("\t")
        if len(fields) == 5:
            took_s[fields[3]] = (int(fields[1]) - int(fields[0])) / 1000.0
    found = []
    for output, seconds in took_s.items():
        path = folder / output
        if path.is_file() and not path.is_symlink() and path.stat().st_mtime >= start_s:
            found.append((seconds, output))
    return sorted(found, reverse=True)


def main(folder: Path) -> int:
    """Build `folder`, print its slowest units, and return the exit status of the build."""
    # File systems keep times in ticks of some milliseconds.
    start_s = time.time() - 0.01
    status = subprocess.run(["cmake", "--build", folder, "--", "--quiet"], check=False).returncode
    if status == 0 and time.time() - start_s > WORTH_SHOWING_S:
        print(f"{folder} took {time.time() - start_s:.0f} s; its slowest units:")
        for seconds, output in units_since(folder, start_s)[:SHOWN]:
            print(f"  {seconds:6.1f} s  {output}")
    return status


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
