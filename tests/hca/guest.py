# SPDX-License-Identifier: BSD-3-Clause
"""A machine whose kernel has an RDMA device, rdma_rxe, as a peer on the wire.

It runs in QEMU by emulation, so that nothing is asked of the processor or of the user, in a host of
a testbed, which takes it down with all the rest. Its network card is a tap of that host. Programs
are run through a serial line, one at a time.
"""

from __future__ import annotations

import os
import select
import shlex
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from initramfs import Kernel, MissingError, initramfs

from lanewise.testbed.bed import Bed

TAP = "tap0"
ADDRESS = "10.9.0.1"  # of the host on the tap
GUEST_ADDRESS = "10.9.0.2"
DEVICE = "rxe0"
QEMU = "qemu-system-x86_64"
_BOOT_S = 120.0
_RUN_S = 60.0
_END = "the-guest-has-ended-with"


@dataclass(frozen=True)
class Machine:
    """What to boot: a kernel, and programs for it, with a folder for what comes of that.

    With `pcap`, all that goes through the network card is captured there.
    """

    kernel: Kernel
    programs: Sequence[str]
    folder: Path
    pcap: str = ""


@dataclass
class Guest:
    """A guest that is up."""

    process: subprocess.Popen[bytes]
    said: bytes = b""

    def run(self, words: Sequence[str]) -> tuple[int, str]:
        """Run a program to its end; return its status and what it printed."""
        self._write(f"{shlex.join(words)} </dev/null 2>&1; echo {_END} $?")
        return self._ended()

    def listen(self, words: Sequence[str], port: int) -> None:
        """Start a program, and wait until it listens on a TCP port or is over."""
        self._start(words, f"grep -q ':{port:04X} 0*:0000 0A' /proc/net/tcp /proc/net/tcp6")

    def listen_for_connections(self, words: Sequence[str]) -> None:
        """Start a program, and wait until the connection manager listens for it or it is over."""
        self._start(words, "rdma resource show cm_id | grep -q LISTEN")

    def _start(self, words: Sequence[str], listening: str) -> None:
        self._write(
            f"{shlex.join(words)} </dev/null >/tmp/said 2>&1 & "
            f"until {listening} || ! kill -0 $! 2>/dev/null; do sleep 0.1; done; echo {_END} 0"
        )
        self._ended()

    def listened(self) -> tuple[int, str]:
        """Wait for the program that listens to end; return its status and what it printed."""
        self._write(f"wait $!; status=$?; cat /tmp/said; echo {_END} $status")
        return self._ended()

    def _write(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def _ended(self) -> tuple[int, str]:
        before, after = self.await_text(_END, _RUN_S)
        return int(after), before

    def await_text(self, text: str, limit_s: float) -> tuple[str, str]:
        """Wait for a line with `text`; return what came before it, and the rest of that line."""
        assert self.process.stdout is not None
        until_s = time.monotonic() + limit_s
        while True:
            before, found, after = self.said.partition(text.encode())
            if found and b"\n" in after:
                line, _, self.said = after.partition(b"\n")
                return before.decode(errors="replace"), line.decode().strip()
            left_s = until_s - time.monotonic()
            if left_s <= 0 or not select.select([self.process.stdout], [], [], left_s)[0]:
                raise TimeoutError(f"the guest says only {self.said.decode(errors='replace')!r}")
            more = os.read(self.process.stdout.fileno(), 65536)
            if not more:
                raise ConnectionError(f"the guest is gone: {self.said.decode(errors='replace')!r}")
            self.said += more


def boot(bed: Bed, host: str, machine: Machine) -> Guest:
    """Boot a machine on a host of a testbed; MissingError where it cannot be made."""
    folder = machine.folder
    files = folder / "initramfs.cpio"
    files.write_bytes(initramfs(machine.kernel, machine.programs))
    for words in (
        ["ip", "tuntap", "add", TAP, "mode", "tap"],
        ["ip", "addr", "add", f"{ADDRESS}/24", "dev", TAP],
        ["ip", "link", "set", TAP, "up"],
    ):
        subprocess.run(bed.line(host, words), check=True)
    if shutil.which(QEMU) is None:
        raise MissingError(f"no {QEMU} here; install it with packaging/bootstrap.sh extra")
    words = [
        QEMU, "-accel", "tcg", "-cpu", "max", "-m", "512", "-smp", "1", "-display", "none",
        "-monitor", "none", "-no-reboot", "-kernel", str(machine.kernel.image),
        "-initrd", str(files),
        "-append", f"console=ttyS0 quiet panic=-1 address={GUEST_ADDRESS}/24",
        "-serial", f"file:{folder}/console", "-serial", "stdio",
        # Whole packets with their checksums, as on a wire; that is also what a capture should hold.
        "-netdev", f"tap,id=net,ifname={TAP},script=no,downscript=no,vnet_hdr=off",
        "-device", "virtio-net-pci,netdev=net,romfile=",
    ]  # fmt: skip
    if machine.pcap:
        words += ["-object", f"filter-dump,id=dump,netdev=net,file={machine.pcap}"]
    process = subprocess.Popen(
        bed.line(host, words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )
    guest = Guest(process)
    guest.await_text("ready", _BOOT_S)
    return guest
