# SPDX-License-Identifier: BSD-3-Clause
"""The plan of a testbed: every namespace, device, address, route, rate and link, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Namespace:
    """A network namespace and the settings of its kernel; a host's has the host's name."""

    name: str
    settings: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class End:
    """A device in a namespace."""

    namespace: str
    device: str


@dataclass(frozen=True)
class Wire:
    """A cable from a host to a bridge."""

    host: End
    port: End
    bridge: str


@dataclass(frozen=True)
class Shape:
    """A rate at which a device sends (TBF)."""

    end: End
    rate_bits_per_s: float
    burst_bytes: int
    queue_bytes: int


@dataclass(frozen=True)
class Address:
    """An address of a device, such as 10.1.0.1/24."""

    end: End
    address: str


@dataclass(frozen=True)
class Route:
    """Where packets to a subnet go; without a gateway the device leads straight to it.

    `congestion` is the congestion control of the connections that use it.
    """

    end: End
    subnet: str
    gateway: str = ""
    source: str = ""
    congestion: str = ""


@dataclass(frozen=True)
class SlowWire:
    """A wire or a link whose packets pass through a delay line; `bridge` is that of the second."""

    name: str
    kind: str  # tun or tap
    ends: tuple[End, End]
    seed: int
    settings: tuple[tuple[str, float], ...]
    bridge: str = ""


@dataclass(frozen=True)
class DelayLine:
    """The slow wires that one process carries."""

    name: str
    wires: tuple[SlowWire, ...]


@dataclass(frozen=True)
class Placed:
    """A host, its site and its first address for messages."""

    name: str
    site: str
    address: str


@dataclass(frozen=True)
class Plan:
    """All that is to be made, in the order in which it is made."""

    hosts: tuple[Placed, ...]
    namespaces: tuple[Namespace, ...]
    bridges: tuple[End, ...]
    wires: tuple[Wire, ...]
    delay_lines: tuple[DelayLine, ...]
    addresses: tuple[Address, ...]
    shapes: tuple[Shape, ...]
    routes: tuple[Route, ...]
    # The interface over which launchers speak to their daemons, and whether nothing else does.
    launcher_device: str = "lan0"
    managed: bool = False
