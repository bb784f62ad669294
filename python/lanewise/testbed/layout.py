# SPDX-License-Identifier: BSD-3-Clause
"""Lay a testbed out: a description becomes the plan of what is to be made.

Each host is a namespace, and each site has a router in another: it holds a bridge for each LAN, one
for the hosts' interfaces to the WAN where they have such, and an end of each link.  A host has one
address on each LAN and none on its interface to the WAN; the route to other sites chooses that
interface.  The router's address, the last of a subnet, is where that route leads.
"""

from __future__ import annotations

import heapq

from lanewise.testbed.buckets import QUEUE_BYTES_MAX
from lanewise.testbed.describe import Host, Lan, Link, Nic, Site, Testbed
from lanewise.testbed.plan import (
    Address,
    DelayLine,
    End,
    Namespace,
    Placed,
    Plan,
    Route,
    Shape,
    SlowWire,
    Wire,
)

_BURST_NS = 2e6
_BURST_BYTES = (4096.0, float(2**20))
_NIC_QUEUE_NS = 50e6
# The kernel cuts a GSO packet where it is longer than the bucket, and passes any other whole: up to
# 64 KiB with a header for each segment.
_GSO_PACKET_BYTES = 72_000.0
_LINK_QUEUE_MIN_BYTES = float(2**18)


def make_plan(testbed: Testbed) -> Plan:
    """Return the plan of a testbed."""
    hosts = [(site, i, host) for site in testbed.sites for i, host in enumerate(site.hosts)]
    lines = [_lan_line(site, k) for site in testbed.sites for k in range(len(site.lans))]
    lines += [_link_line(link) for link in testbed.links]
    lans = testbed.sites[0].lans
    management = [k for k, lan in enumerate(lans) if lan.management]
    first = next(k for k, lan in enumerate(lans) if not lan.management)
    shapes = [shape for site, i, host in hosts for shape in _host_shapes(site, i, host)]
    return Plan(
        hosts=tuple(
            Placed(host.name, site.name, _address(site, first, i)) for site, i, host in hosts
        ),
        namespaces=_namespaces(testbed),
        bridges=tuple(
            End(router(site), bridge)
            for site in testbed.sites
            for bridge in [*_lan_devices(site), *(["wan"] if _has_wan(site) else [])]
        ),
        wires=tuple(wire for site, i, host in hosts for wire in _host_wires(site, i, host)),
        delay_lines=tuple(line for line in lines if line.wires),
        addresses=(*_host_addresses(testbed), *_router_addresses(testbed)),
        shapes=tuple(shapes),
        routes=(*_lan_routes(testbed), *_host_routes(testbed), *_router_routes(testbed)),
        launcher_device=f"lan{management[0] if management else 0}",
        managed=bool(management),
    )


def router(site: Site | str) -> str:
    """Return the name of a site's router; no host can have a name with a dot."""
    return f"router.{site if isinstance(site, str) else site.name}"


def next_sites(testbed: Testbed, start: str) -> dict[str, str]:
    """Return, for each other site that can be reached, the neighbour of `start` on the way.

    The way is the one of least delay (Dijkstra), and of these the one of fewest links.
    """
    neighbours: dict[str, list[tuple[str, Link]]] = {site.name: [] for site in testbed.sites}
    for link in testbed.links:
        for here, there in (link.sites, link.sites[::-1]):
            neighbours[here].append((there, link))
    found: dict[str, str] = {}
    agenda: list[tuple[float, int, str, str]] = [(0.0, 0, start, "")]
    while agenda:
        delay_ns, count, site, first = heapq.heappop(agenda)
        if site in found:
            continue
        found[site] = first
        for there, link in neighbours[site]:
            step = (delay_ns + link.settings["delay_ns"], count + 1, there, first or there)
            heapq.heappush(agenda, step)
    del found[start]
    return found


def _namespaces(testbed: Testbed) -> tuple[Namespace, ...]:
    common = [
        ("net.ipv6.conf.all.disable_ipv6", "1"),
        ("net.ipv6.conf.default.disable_ipv6", "1"),
        ("net.ipv4.conf.all.rp_filter", "0"),
        ("net.ipv4.conf.default.rp_filter", "0"),
    ]
    own = []
    if testbed.tcp.buffer_bytes:
        most = int(testbed.tcp.buffer_bytes)
        own = [
            ("net.ipv4.tcp_rmem", f"4096 {min(131072, most)} {most}"),
            ("net.ipv4.tcp_wmem", f"4096 {min(16384, most)} {most}"),
        ]
    hosts = [Namespace(host.name, (*common, *own)) for _, host in testbed.hosts()]
    forward = ("net.ipv4.ip_forward", "1")
    return (*hosts, *(Namespace(router(site), (*common, forward)) for site in testbed.sites))


# A site: its devices, their addresses and their rates.


def _has_wan(site: Site) -> bool:
    return site.hosts[0].wan_nic is not None


def _lan_devices(site: Site) -> list[str]:
    return [f"lan{k}" for k in range(len(site.lans))]


def _address(site: Site, lan: int, host: int) -> str:
    return str(site.lans[lan].subnet.network_address + host + 1)


def _gateway(lan: Lan) -> str:
    return str(lan.subnet.broadcast_address - 1)


def _port(device: str, index: int) -> str:
    return f"{device}-{index + 1}"


def _host_wires(site: Site, index: int, host: Host) -> list[Wire]:
    devices = [
        device for device, lan in zip(_lan_devices(site), site.lans, strict=True)
        if not lan.latency_ns
    ]  # fmt: skip
    devices += ["wan"] if _has_wan(site) else []
    return [
        Wire(
            End(host.name, "wan0" if device == "wan" else device),
            End(router(site), _port(device, index)),
            device,
        )
        for device in devices
    ]


def _host_shapes(site: Site, index: int, host: Host) -> list[Shape]:
    """Return what limits a host's interfaces, to it and from it."""
    nics = {
        device: nic
        for device, nic, lan in zip(_lan_devices(site), host.lan_nics, site.lans, strict=True)
        if not lan.latency_ns
    }
    if host.wan_nic:
        nics["wan"] = host.wan_nic
    return [
        _shape(end, nic)
        for device, nic in nics.items()
        if nic.rate_bits_per_s
        for end in (
            End(host.name, "wan0" if device == "wan" else device),
            End(router(site), _port(device, index)),
        )
    ]


def _shape(end: End, nic: Nic) -> Shape:
    """Return a bucket of 2 ms, but a packet at least, and a queue with room for what is not cut.

    The kernel counts what waits, and no tokens.  Where no queue is given, it has room for a bucket
    and 50 ms.
    """
    per_ns = nic.rate_bits_per_s / 8e9
    burst = min(max(per_ns * _BURST_NS, _BURST_BYTES[0]), _BURST_BYTES[1])
    queue = nic.queue_bytes or burst + per_ns * _NIC_QUEUE_NS
    queue = min(max(queue, min(burst, _GSO_PACKET_BYTES)), QUEUE_BYTES_MAX)
    return Shape(end, nic.rate_bits_per_s, int(burst), int(queue))


def _lan_line(site: Site, k: int) -> DelayLine:
    """Return the slow wires of a LAN with a latency: each host's takes half of it."""
    lan, device = site.lans[k], f"lan{k}"
    if not lan.latency_ns:
        return DelayLine("", ())
    wires = tuple(
        SlowWire(
            name=f"{host.name}.{device}",
            kind="tap",
            ends=(End(host.name, device), End(router(site), _port(device, i))),
            seed=i,
            settings=(
                ("rate_bits_per_s", host.lan_nics[k].rate_bits_per_s),
                ("delay_ns", lan.latency_ns / 2),
                (
                    "queue_bytes",
                    host.lan_nics[k].queue_bytes
                    or max(
                        host.lan_nics[k].rate_bits_per_s / 8e9 * _NIC_QUEUE_NS,
                        _LINK_QUEUE_MIN_BYTES,
                    ),
                ),
            ),
            bridge=device,
        )
        for i, host in enumerate(site.hosts)
    )
    return DelayLine(f"{site.name}.{device}", wires)


def _host_addresses(testbed: Testbed) -> list[Address]:
    return [
        Address(End(host.name, f"lan{k}"), f"{_address(site, k, i)}/{lan.subnet.prefixlen}")
        for site in testbed.sites
        for i, host in enumerate(site.hosts)
        for k, lan in enumerate(site.lans)
    ]


# Links: their ends, and the routes over them.


def _link_line(link: Link) -> DelayLine:
    first, second = link.sites
    ends = (End(router(first), f"to-{second}"), End(router(second), f"to-{first}"))
    queue_bytes = link.settings.get("queue_bytes") or link_queue_bytes(link)
    settings = {**link.settings, "queue_bytes": queue_bytes}
    wire = SlowWire(link.name, "tun", ends, link.seed, tuple(settings.items()))
    return DelayLine(link.name, (wire,))


def link_queue_bytes(link: Link) -> float:
    """Return the queue that a link has where none is given: what a round trip holds."""
    bytes_per_ns = link.settings["rate_bits_per_s"] / 8e9
    return max(bytes_per_ns * 2 * link.settings["delay_ns"], _LINK_QUEUE_MIN_BYTES)


def _router_addresses(testbed: Testbed) -> list[Address]:
    if not testbed.links:
        return []
    return [
        Address(
            End(router(site), "wan" if _has_wan(site) else f"lan{k}"),
            f"{_gateway(lan)}/{lan.subnet.prefixlen}",
        )
        for site in testbed.sites
        for k, lan in enumerate(site.lans)
    ]


def _lan_routes(testbed: Testbed) -> list[Route]:
    """Return what the kernel adds with an address, where it has to name a congestion control.

    That is a property of the route because a namespace may not choose any as its default.
    """
    if not testbed.tcp.congestion:
        return []
    return [
        Route(
            End(host.name, f"lan{k}"),
            str(lan.subnet),
            source=_address(site, k, i),
            congestion=testbed.tcp.congestion,
        )
        for site in testbed.sites
        for i, host in enumerate(site.hosts)
        for k, lan in enumerate(site.lans)
    ]


def _host_routes(testbed: Testbed) -> list[Route]:
    """Return the ways to other sites: to LAN k from one's own LAN k where there is one."""
    return [
        Route(
            End(host.name, "wan0" if _has_wan(site) else f"lan{own}"),
            str(lan.subnet),
            gateway=_gateway(site.lans[own]),
            source=_address(site, own, i),
            congestion=testbed.tcp.congestion,
        )
        for site in testbed.sites
        for i, host in enumerate(site.hosts)
        for other in testbed.sites
        if other is not site
        for k, lan in enumerate(other.lans)
        for own in [k if k < len(site.lans) else 0]
    ]


def _router_routes(testbed: Testbed) -> list[Route]:
    sites = {site.name: site for site in testbed.sites}
    return [
        Route(End(router(name), f"to-{neighbour}"), str(lan.subnet))
        for name in sites
        for other, neighbour in sorted(next_sites(testbed, name).items())
        for lan in sites[other].lans
    ]
