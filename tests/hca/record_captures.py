# SPDX-License-Identifier: BSD-3-Clause
"""Record what our device and the kernel's say to each other, for the replay in the unit tests.

    python tests/hca/record_captures.py src/verbs/proto/captures

writes a capture for each program and each direction of calling, of the RoCE packets only, as they
were on the wire. Few and short messages: the files are kept in the repository.
"""

from __future__ import annotations

import struct
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import guest as guests
from guest import ADDRESS, GUEST_ADDRESS, TAP, Machine
from initramfs import unpacked_kernel
from kernel_test import CACHE, PORT, PROGRAMS, Client

from experiments.hca.hosts import LISTENER, Hosts
from lanewise.testbed import bed, shipped

CLIENTS = {
    "pingpong": Client(("ibv_rc_pingpong", "-c", "-n", "3", "-s", "2500", "-g"), ""),
    "send": Client(("ib_send_lat", "-F", "-n", "5", "-s", "100", "-x"), ""),
    "write": Client(("ib_write_bw", "-F", "-n", "5", "-s", "1500", "-x"), ""),
    "read": Client(("ib_read_bw", "-F", "-o", "16", "-n", "5", "-s", "1500", "-x"), ""),
}
_HEADER, _RECORD = struct.Struct("<IHHiIII"), struct.Struct("<IIII")
_ROCE_PORT = 4791
_SETTLES_S = 1.0


def records(content: bytes) -> Iterator[bytes]:
    """Yield the records of RoCE packets, each with its header."""
    at = _HEADER.size
    while at + _RECORD.size <= len(content):
        end = at + _RECORD.size + _RECORD.unpack_from(content, at)[2]
        frame = content[at + _RECORD.size : end]
        is_udp = len(frame) > 42 and frame[12:14] == b"\x08\x00" and frame[23] == 17
        if is_udp and struct.unpack_from(">H", frame, 36)[0] == _ROCE_PORT:
            yield content[at:end]
        at = end


def main(into: Path) -> None:
    """Run each client both ways, and cut the capture between them."""
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, bed.created(shipped.find("two-port")) as raised:
        folder = Path(name)
        pcap = folder / "all.pcap"
        machine = Machine(unpacked_kernel(CACHE), PROGRAMS, folder, str(pcap))
        guest = guests.boot(raised, LISTENER, machine)
        ours = Hosts(raised, ["--ports", TAP])
        written = 0
        for what, client in CLIENTS.items():
            for caller in ("ours", "kernel"):
                if caller == "ours":
                    guest.listen(client.kernels(), PORT)
                    said = ours.run(LISTENER, [*client.ours(), GUEST_ADDRESS]).stdout
                    said += str(guest.listened())
                else:
                    listening = ours.listen(client.ours(), PORT)
                    said = str(guest.run([*client.kernels(), ADDRESS]))
                    said += listening.communicate()[0]
                time.sleep(_SETTLES_S)
                found = list(records(pcap.read_bytes()))
                head = pcap.read_bytes()[: _HEADER.size]
                file = into / f"{what}_{caller}.pcap"
                file.write_bytes(head + b"".join(found[written:]))
                print(file, len(found) - written, "packets", file=sys.stderr)
                if len(found) == written:
                    print(said, file=sys.stderr)
                written = len(found)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
