# SPDX-License-Identifier: BSD-3-Clause
"""Probe a testbed: how long packets are on the way, and how many bytes a second arrive.

Both ends run on one machine, so they share a clock.  A packet carries the time at which it was
sent; when it arrived is said by the kernel (SO_TIMESTAMPNS), so that a receiver that is woken
late does not count as delay.

    python -m lanewise.testbed.probe stamp COUNT            with   probe HOST COUNT
    python -m lanewise.testbed.probe drain STREAMS SECONDS  with   pour HOST STREAMS
    python -m lanewise.testbed.probe flood HOST BITS_PER_S  which needs no other end
"""

from __future__ import annotations

import json
import select
import socket
import struct
import sys
import threading
import time

PORT = 9700
WARM_UP_S = 2.0
_GAP_S = 0.002
_TIMEOUT_S = 10.0
_SO_TIMESTAMPNS = 35
_BUFFER_BYTES = 1 << 18
# The kernel cuts what is sent into packets (UDP_SEGMENT), so that Python need not send each.
_UDP_SEGMENT = 103
PACKET_BYTES = 1472
_PACKETS = 40


def stamp(count: int) -> None:
    """Receive probes and print their times on the way in ns, in the order of arrival."""
    delays_ns: list[int] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        link.bind(("", PORT))
        say({"ready": True})
        while len(delays_ns) < count and select.select([link], [], [], _TIMEOUT_S)[0]:
            data, ancillary, _, _ = link.recvmsg(64, 256)
            seconds, nanoseconds = struct.unpack("qq", ancillary[0][2])
            delays_ns.append(seconds * 10**9 + nanoseconds - struct.unpack("q", data)[0])
    say({"delays_ns": delays_ns})


def probe(host: str, count: int) -> None:
    """Send probes with a gap between them."""
    pause = threading.Event()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.connect((host, PORT))
        for _ in range(count):
            link.send(struct.pack("q", time.clock_gettime_ns(time.CLOCK_REALTIME)))
            pause.wait(_GAP_S)


def drain(streams: int, seconds: float) -> None:
    """Receive what is poured in, and print how much came after the warm-up, in how long."""
    received = [0] * streams

    def swallow(stream: int, link: socket.socket) -> None:
        buffer = bytearray(_BUFFER_BYTES)
        while count := link.recv_into(buffer):
            received[stream] += count

    with socket.create_server(("", PORT), backlog=streams) as server:
        say({"ready": True})
        for stream in range(streams):
            link, _ = server.accept()
            threading.Thread(target=swallow, args=(stream, link), daemon=True).start()
        time.sleep(WARM_UP_S)
        before, begin_s = sum(received), time.monotonic()
        time.sleep(seconds)
        after, end_s = sum(received), time.monotonic()
    say({"received_bytes": after - before, "elapsed_s": end_s - begin_s})


def pour(host: str, streams: int) -> None:
    """Send as much as goes, until the far end has had enough."""

    def send() -> None:
        data = memoryview(bytes(_BUFFER_BYTES))
        with socket.create_connection((host, PORT)) as link:
            try:
                while True:
                    link.send(data)
            except (ConnectionResetError, BrokenPipeError):
                return

    threads = [threading.Thread(target=send) for _ in range(streams)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def flood(host: str, bits_per_s: float) -> None:
    """Send packets at a rate, whether they arrive or not, until it is ended."""
    data = bytes(_PACKETS * PACKET_BYTES)
    pause = threading.Event()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.setsockopt(socket.IPPROTO_UDP, _UDP_SEGMENT, PACKET_BYTES)
        begin_s, sent_bits = time.monotonic(), 0
        while True:
            if sent_bits > bits_per_s * (time.monotonic() - begin_s):
                pause.wait(_GAP_S / 4)
                continue
            link.sendto(data, (host, PORT))
            sent_bits += 8 * len(data)


def say(values: dict[str, object]) -> None:
    """Print one line of JSON."""
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


def main(words: list[str]) -> None:
    """Be one of the ends."""
    if words[0] == "stamp":
        stamp(int(words[1]))
    elif words[0] == "probe":
        probe(words[1], int(words[2]))
    elif words[0] == "drain":
        drain(int(words[1]), float(words[2]))
    elif words[0] == "pour":
        pour(words[1], int(words[2]))
    elif words[0] == "flood":
        flood(words[1], float(words[2]))


if __name__ == "__main__":
    main(sys.argv[1:])
