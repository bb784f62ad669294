# SPDX-License-Identifier: BSD-3-Clause
"""Programs that talk to the kernel's RDMA device, rdma_rxe, from ours, and to ours from there.

The kernel runs in a machine of its own (guest.py), which takes half a minute to come up by
emulation, so only make test-all does this; what was said on the wire is replayed in every
make test (src/verbs/proto/captures).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import guest as guests
import pytest
from guest import ADDRESS, GUEST_ADDRESS, TAP, Guest, Machine
from initramfs import MissingError, unpacked_kernel

from experiments.hca.connections import TCP, await_listener, service_sign
from experiments.hca.hosts import LISTENER, Hosts
from experiments.stopping import stop
from lanewise.testbed import bed, shipped

CACHE = Path(__file__).parents[2] / "build" / "kernel"
PORT = 18515
RPING_PORT = 7174


@dataclass(frozen=True)
class Client:
    """A program that is run at either end; its last option is the index of the GID to use."""

    words: tuple[str, ...]
    shows: str

    def ours(self) -> list[str]:
        """Return its words on our device, whose first GID is the IPv4 address."""
        return [*self.words, "0"]

    def kernels(self) -> list[str]:
        """Return its words on the kernel's, where a link-local address comes first."""
        return [*self.words, "1"]


# The kernel's device has room for 128 reads at a time, ours and most others for 16.
CLIENTS = (
    Client(("ibv_rc_pingpong", "-c", "-n", "300", "-s", "5000", "-g"), "300 iters"),
    Client(("ib_send_lat", "-F", "-n", "200", "-x"), "#bytes"),
    Client(("ib_write_bw", "-F", "-n", "100", "-x"), "#bytes"),
    Client(("ib_read_bw", "-F", "-o", "16", "-n", "100", "-x"), "#bytes"),
)
RPING = ("rping", "-C", "20", "-S", "2000", "-v", "-V")
LAST_PING = "ping data: rdma-ping-19"
PROGRAMS = ("rdma", "ibv_devinfo", "rping", *(client.words[0] for client in CLIENTS))


@dataclass(frozen=True)
class Neighbours:
    """Our device, and the machine with the kernel's at the other end of the cable."""

    ours: Hosts
    guest: Guest


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neighbours]:
    if "LANEWISE_TEST_KERNEL" not in os.environ:
        pytest.skip("set LANEWISE_TEST_KERNEL; make test-all does, make test replays captures")
    folder = tmp_path_factory.mktemp("guest")
    with bed.created(shipped.find("two-port")) as raised:
        try:
            machine = Machine(unpacked_kernel(CACHE), PROGRAMS, folder)
            guest = guests.boot(raised, LISTENER, machine)
        except MissingError as error:
            pytest.skip(str(error))
        yield Neighbours(Hosts(raised, ["--ports", TAP]), guest)


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.words[0])
def test_ours_calls_the_kernel(neighbours: Neighbours, client: Client) -> None:
    neighbours.guest.listen(client.kernels(), PORT)
    calling = neighbours.ours.run(LISTENER, [*client.ours(), GUEST_ADDRESS])
    status, said = neighbours.guest.listened()
    assert (calling.returncode, status) == (0, 0), f"{calling.stdout}\n--- kernel\n{said}"
    assert client.shows in calling.stdout


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.words[0])
def test_the_kernel_calls_ours(neighbours: Neighbours, client: Client) -> None:
    listening = neighbours.ours.listen(client.ours(), PORT)
    status, said = neighbours.guest.run([*client.kernels(), ADDRESS])
    if status != 0:
        stop(listening)
    text, _ = listening.communicate()
    assert (listening.returncode, status) == (0, 0), f"{said}\n--- ours\n{text}"
    assert client.shows in said


def test_our_connection_manager_calls_the_kernels(neighbours: Neighbours) -> None:
    neighbours.guest.listen_for_connections([*RPING, "-s", "-a", GUEST_ADDRESS])
    calling = neighbours.ours.run(LISTENER, [*RPING, "-c", "-a", GUEST_ADDRESS])
    _, said = neighbours.guest.listened()
    assert calling.returncode == 0, f"{calling.stdout}\n--- kernel\n{said}"
    assert LAST_PING in calling.stdout


def test_the_kernels_connection_manager_calls_ours(neighbours: Neighbours) -> None:
    listening = neighbours.ours.start(LISTENER, [*RPING, "-s", "-a", ADDRESS])
    await_listener(neighbours.ours, listening, service_sign(TCP, RPING_PORT))
    status, said = neighbours.guest.run([*RPING, "-c", "-a", ADDRESS])
    stop(listening)
    text, _ = listening.communicate()
    assert status == 0, f"{said}\n--- ours\n{text}"
    assert LAST_PING in said
