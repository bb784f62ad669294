# SPDX-License-Identifier: BSD-3-Clause
"""What really stands on the wire: the invariant CRC against the headers that the kernel wrote."""

from __future__ import annotations

import shutil
import struct
import sys
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.hca.hosts import ADDRESS, CALLER, LISTENER, Hosts
from experiments.stopping import stop

PROGRAMS = Path(__file__).parent / "programs"
PINGPONG = ["ibv_rc_pingpong", "-g", "0", "-s", "64", "-n", "200"]
LINK_BYTES = 14
ROCE_PORT = (4791).to_bytes(2, "big")


def frames(path: Path) -> Iterator[bytes]:
    """Yield the IPv4 packets in recorded frames."""
    text = path.read_bytes()
    at = 0
    while at < len(text):
        (length,) = struct.unpack_from("<I", text, at)
        frame = text[at + 4 : at + 4 + length]
        if frame[12:LINK_BYTES] == b"\x08\x00":
            yield frame[LINK_BYTES:]
        at += 4 + length


def captured(path: Path) -> Iterator[bytes]:
    """Yield the packets of a capture that begin with their IP header."""
    text = path.read_bytes()
    at = 24
    while at < len(text):
        (length,) = struct.unpack_from("<I", text, at + 8)
        yield text[at + 16 : at + 16 + length]
        at += 16 + length


def roce_packets(packets: Iterator[bytes]) -> list[bytes]:
    """Return those to the UDP port of RoCEv2."""
    return [one for one in packets if one[9] == 17 and one[22:24] == ROCE_PORT]


def is_sealed(packet: bytes) -> bool:
    """Tell whether the last four bytes are the ICRC of an IPv4 packet (annex A17 of IBA 1)."""
    masked = bytearray(packet[:-4])
    for at in (1, 8, 10, 11, 26, 27, 32):  # service, hops, both checksums, congestion
        masked[at] = 0xFF
    return zlib.crc32(b"\xff" * 8 + masked) == int.from_bytes(packet[-4:], "little")


@pytest.fixture
def cutting(hosts: Hosts) -> Iterator[Hosts]:
    """Let the kernel cut batches into packets, as for a card that cannot."""

    def limit(packets: int) -> None:
        for host in (LISTENER, CALLER):
            words = ["ip", "link", "set", "lan0", "gso_max_segs", str(packets)]
            assert hosts.run(host, words).returncode == 0

    limit(1)
    yield hosts
    limit(65535)


def test_every_packet_is_sealed_for_the_headers_it_has(cutting: Hosts, tmp_path: Path) -> None:
    if shutil.which("ibv_rc_pingpong") is None:
        pytest.skip("no ibv_rc_pingpong here; install ibverbs-utils")
    file = tmp_path / "frames"
    recorder = replace(cutting, device=False).start(
        LISTENER, [sys.executable, str(PROGRAMS / "record.py"), "lan0", str(file)]
    )
    assert recorder.stdout is not None
    assert recorder.stdout.readline() == "ready\n"

    said = cutting.pair(PINGPONG, [*PINGPONG, ADDRESS])

    stop(recorder)
    recorder.communicate()
    assert said.good, said
    packets = roce_packets(frames(file))
    assert len(packets) >= 400
    assert [one for one in packets if not is_sealed(one)] == []
    # Each side sends from the socket that receives, and soon from one of the route's own.
    assert len({(one[12:16], one[20:22]) for one in packets}) == 4


def test_a_capture_holds_the_headers_of_either_side(hosts: Hosts, tmp_path: Path) -> None:
    if shutil.which("ibv_rc_pingpong") is None:
        pytest.skip("no ibv_rc_pingpong here; install ibverbs-utils")
    file = tmp_path / "packets.pcap"
    capturing = replace(hosts, options=[*hosts.options, "--pcap", str(file)])
    listening = hosts.listen(PINGPONG, 18515)

    assert capturing.run(CALLER, [*PINGPONG, ADDRESS]).returncode == 0

    listening.communicate()
    packets = roce_packets(captured(file))
    assert len(packets) >= 400
    assert [one for one in packets if not is_sealed(one)] == []
