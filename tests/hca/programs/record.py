# SPDX-License-Identifier: BSD-3-Clause
"""Record the frames of an interface, each behind its length in four bytes, until it is told to end.

Python's own, so that it needs no packages: record.py INTERFACE FILE
"""

import signal
import socket
import struct
import sys
from pathlib import Path

interface, path = sys.argv[1:]
every_protocol = socket.htons(3)
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, every_protocol) as packets:
    packets.bind((interface, 0))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    print("ready", flush=True)
    with Path(path).open("wb", buffering=0) as file:
        while True:
            frame = packets.recv(1 << 16)
            file.write(struct.pack("<I", len(frame)) + frame)
