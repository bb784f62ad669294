# SPDX-License-Identifier: BSD-3-Clause
"""Print the time and the bytes that network interfaces have carried, both ways, again and again.

`python count_bytes.py lan0 lan1` runs inside the host whose interfaces it counts.
"""

import json
import sys
import time
from pathlib import Path

PERIOD_S = 0.01


def carried(names: list[str]) -> list[int]:
    """Return the bytes received and sent by each interface; 0 while it is gone."""
    counts = dict.fromkeys(names, 0)
    for line in Path("/proc/net/dev").read_text(encoding="ascii").splitlines()[2:]:
        name, _, numbers = line.partition(":")
        if name.strip() in counts:
            received, sent = numbers.split()[0], numbers.split()[8]
            counts[name.strip()] = int(received) + int(sent)
    return list(counts.values())


if __name__ == "__main__":
    while True:
        print(json.dumps([time.time(), *carried(sys.argv[1:])]), flush=True)
        time.sleep(PERIOD_S)
