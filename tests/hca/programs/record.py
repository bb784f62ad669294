# SPDX-License-Identifier: BSD-3-Clause
"""Record the frames of an interface, each behind its length in four bytes, until it is told to end.

What has come by then is read.  Python's own, so that it needs no packages: record.py INTERFACE FILE
"""

import signal
import socket
import struct
import sys
from contextlib import suppress
from pathlib import Path

SO_RCVBUFFORCE = 33
ROOM_BYTES = 16 << 20  # for what comes while others have the cores
told_to_end = []

interface, path = sys.argv[1:]
every_protocol = socket.htons(3)
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, every_protocol) as packets:
    with suppress(PermissionError):  # in a namespace of a user, who has what the kernel gives all
        packets.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, ROOM_BYTES)
    packets.settimeout(0.1)
    packets.bind((interface, 0))
    signal.signal(signal.SIGTERM, lambda *_: told_to_end.append(True))
    print("ready", flush=True)
    with Path(path).open("wb", buffering=0) as file:
        while True:
            try:
                frame = packets.recv(1 << 16)
            except TimeoutError:
                if told_to_end:
                    break
                continue
            file.write(struct.pack("<I", len(frame)) + frame)
