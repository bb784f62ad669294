# SPDX-License-Identifier: BSD-3-Clause
"""Run a command, and write how long it took and how it ended into a file.

    python timed_launch.py FILE COMMAND...

A testbed is created before a command starts in it and taken down afterwards, so what a launcher
takes by itself is measured within.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    begin_s = time.monotonic()
    status = subprocess.run(sys.argv[2:], check=False).returncode
    took = {"launch_s": time.monotonic() - begin_s, "status": status}
    Path(sys.argv[1]).write_text(json.dumps(took), encoding="utf-8")
    sys.exit(status if status >= 0 else 1)
