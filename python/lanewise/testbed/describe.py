# SPDX-License-Identifier: BSD-3-Clause
"""A testbed as described: sites of hosts, their LANs, and the links between sites."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Nic:
    """What an interface of a host carries; a rate of 0 is as fast as this machine."""

    rate_bits_per_s: float = 0.0
    queue_bytes: float = 0.0


@dataclass(frozen=True)
class Lan:
    """A switch of a site; each host has an interface on it.  `latency_ns` is from host to host.

    One for management carries what launchers say to their daemons, and no messages.
    """

    subnet: ipaddress.IPv4Network
    nic: Nic = Nic()
    latency_ns: float = 0.0
    management: bool = False


@dataclass(frozen=True)
class Host:
    """A host: one interface on each LAN of its site, and one to the WAN where the site has such."""

    name: str
    lan_nics: tuple[Nic, ...]
    wan_nic: Nic | None = None


@dataclass(frozen=True)
class Site:
    """Hosts that share switches."""

    name: str
    hosts: tuple[Host, ...]
    lans: tuple[Lan, ...]


@dataclass(frozen=True)
class Link:
    """A connection between two sites, the same in both directions.

    `settings` are those of the delay line by their names there (see impairments.py).
    """

    sites: tuple[str, str]
    settings: Mapping[str, float]
    seed: int = 1

    @property
    def name(self) -> str:
        """Return the name under which faults speak of the link."""
        return "-".join(self.sites)


@dataclass(frozen=True)
class Tcp:
    """TCP of all hosts; empty and 0 leave what the kernel has."""

    congestion: str = ""
    buffer_bytes: float = 0.0


@dataclass(frozen=True)
class Testbed:
    """A whole testbed."""

    __test__ = False  # its name begins like a test's

    name: str
    sites: tuple[Site, ...]
    links: tuple[Link, ...] = ()
    tcp: Tcp = field(default_factory=Tcp)

    def hosts(self) -> list[tuple[Site, Host]]:
        """Return every host with its site, in the order of the file."""
        return [(site, host) for site in self.sites for host in site.hosts]
