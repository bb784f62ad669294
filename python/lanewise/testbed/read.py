# SPDX-License-Identifier: BSD-3-Clause
"""Read the description of a testbed from TOML.

What is unknown or cannot be is refused before anything is made, with file, line and key.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import replace
from typing import Any

from lanewise.testbed.buckets import QUEUE_BYTES_MAX
from lanewise.testbed.describe import Host, Lan, Link, Nic, Site, Tcp, Testbed
from lanewise.testbed.impairments import BY_KEY, IMPAIRMENTS
from lanewise.testbed.layout import link_queue_bytes
from lanewise.toml.lines import Path
from lanewise.toml.quantities import RATE, SIZE, TIME, size_text
from lanewise.toml.tables import Tables, hint, shown

_NAME = re.compile(r"[a-z][a-z0-9-]{0,10}[a-z0-9]|[a-z]")
_NO_SUBNETS = tuple(
    (ipaddress.IPv4Network(network), use)
    for network, use in (
        ("0.0.0.0/8", "which names no host"),
        ("127.0.0.0/8", "which every host has for itself"),
        ("224.0.0.0/3", "which is for groups of hosts, or reserved"),
    )
)
_HOSTS_MAX = 1000
_UNLIMITED = Nic()


def read(text: str, name: str, where: str) -> Testbed:
    """Read a description; RequestError says `where`, the line and the key that is wrong."""
    return _Reader(text, where).testbed(name)


class _Reader(Tables):
    """Reads the values of a description."""

    def testbed(self, name: str) -> Testbed:
        self.known(self.values, (), ("site", "link", "host", "tcp"))
        sites = [self.site(table, path) for table, path in self.listed("site")]
        if not sites:
            raise self.refuse((), "there is no [[site]]; a testbed has at least one")
        self.distinct([site.name for site in sites], "site", lambda i: ("site", i, "name"))
        for table, path in self.listed("host"):
            sites = self.with_host(sites, table, path)
        names = [site.name for site in sites]
        links = [self.link(table, path, names) for table, path in self.listed("link")]
        self.check_links(links)
        self.check_hosts(sites)
        self.check_subnets(sites)
        self.check_management(sites)
        self.check_reach(sites, links)
        return Testbed(name, tuple(sites), tuple(links), self.tcp(self.values.get("tcp", {})))

    def site(self, table: dict[str, Any], path: Path) -> Site:
        self.known(table, path, ("name", "hosts", "lan", "wan"))
        name = self.name(table, path)
        names = self.host_names(table, path, name)
        entries = table.get("lan", {})
        listed = isinstance(entries, list)
        entries = entries if listed else [entries]
        if not entries:
            raise self.refuse((*path, "lan"), "lan is empty; leave it out, or give one table")
        number = int(path[1]) + 1
        lans = tuple(
            self.lan(entry, (*path, "lan", i) if listed else (*path, "lan"), number, i)
            for i, entry in enumerate(entries)
        )
        wan = self.nic(table["wan"], (*path, "wan")) if "wan" in table else None
        host = Host("", tuple(lan.nic for lan in lans), wan)
        return Site(name, tuple(replace(host, name=each) for each in names), lans)

    def host_names(self, table: dict[str, Any], path: Path, site: str) -> list[str]:
        value = self.needed(table, path, "hosts", "a number, or a list of names")
        path = (*path, "hosts")
        if isinstance(value, int) and not isinstance(value, bool):
            if not 1 <= value <= _HOSTS_MAX:
                raise self.refuse(path, f"hosts = {value}: a site has 1 to {_HOSTS_MAX} hosts")
            return [f"{site}{number}" for number in range(1, value + 1)]
        if not isinstance(value, list):
            raise self.refuse(path, "hosts is not a number, and not a list of names")
        if not value:
            raise self.refuse(path, "hosts is empty; a site has at least one host")
        return [self.checked_name(each, (*path, i), "hosts") for i, each in enumerate(value)]

    def lan(self, table: Any, path: Path, site: int, index: int) -> Lan:
        self.known(table, path, ("rate", "latency", "queue", "subnet", "management"))
        text = table.get("subnet", f"10.{site}.{index}.0/24")
        subnet = self.subnet(text, (*path, "subnet"))
        management = table.get("management", False)
        if not isinstance(management, bool):
            raise self.refuse((*path, "management"), "management is neither true nor false")
        return Lan(
            subnet,
            self.nic_values(table, path),
            self.quantity(table, path, "latency", TIME),
            management,
        )

    def subnet(self, text: Any, path: Path) -> ipaddress.IPv4Network:
        try:
            subnet = ipaddress.IPv4Network(text)
        except (ValueError, TypeError) as error:
            reason = (
                str(error) if isinstance(text, str) and ":" not in text else "not an IPv4 network"
            )
            sentence = f"subnet = {shown(text)}: {reason}; give one such as 10.1.0.0/24"
            raise self.refuse(path, sentence) from None
        for network, use in _NO_SUBNETS:
            if subnet.overlaps(network):
                raise self.refuse(path, f"subnet = '{subnet}' overlaps {network}, {use}")
        return subnet

    def nic(self, table: Any, path: Path, of_site: Nic = _UNLIMITED) -> Nic:
        self.known(table, path, ("rate", "queue"))
        return self.nic_values(table, path, of_site)

    def nic_values(self, table: dict[str, Any], path: Path, of_site: Nic = _UNLIMITED) -> Nic:
        """Return what a table says of an interface, and for the rest what its site says."""
        at = (*path, "queue")
        queue_bytes = self.quantity(table, path, "queue", SIZE, least=3000) or of_site.queue_bytes
        rate = self.quantity(table, path, "rate", RATE, least=1e3) or of_site.rate_bits_per_s
        if queue_bytes > QUEUE_BYTES_MAX:
            raise self.refuse(
                at, f"queue = {shown(table['queue'])} is 4 GiB or more, which is too long"
            )
        if queue_bytes and not rate:
            raise self.refuse(at, "queue has no effect without a rate; give both, or neither")
        return Nic(rate, queue_bytes)

    def with_host(self, sites: list[Site], table: dict[str, Any], path: Path) -> list[Site]:
        """Return the sites with what a [[host]] says of one host put into its place."""
        self.known(table, path, ("name", "lan", "wan"))
        name = self.name(table, path)
        known = [host.name for site in sites for host in site.hosts]
        if name not in known:
            sentence = f"name = '{name}': no site has such a host; {hint(name, known)}"
            raise self.refuse((*path, "name"), sentence)

        def changed(host: Host) -> Host:
            if host.name != name:
                return host
            lan_nics, wan = host.lan_nics, host.wan_nic
            if "lan" in table:
                lan_nics = self.other_nics(table["lan"], (*path, "lan"), lan_nics)
            if "wan" in table:
                if wan is None:
                    raise self.refuse((*path, "wan"), f"wan: the site of {name} has no wan")
                wan = self.nic(table["wan"], (*path, "wan"), wan)
            return Host(name, lan_nics, wan)

        return [replace(site, hosts=tuple(map(changed, site.hosts))) for site in sites]

    def other_nics(self, value: Any, path: Path, of_site: tuple[Nic, ...]) -> tuple[Nic, ...]:
        if not isinstance(value, list):
            return tuple(self.nic(value, path, nic) for nic in of_site)
        if len(value) != len(of_site):
            sentence = f"lan has {len(value)} tables; its site has {len(of_site)} LANs"
            raise self.refuse(path, sentence)
        return tuple(
            self.nic(each, (*path, i), nic)
            for i, (each, nic) in enumerate(zip(value, of_site, strict=True))
        )

    def link(self, table: dict[str, Any], path: Path, sites: list[str]) -> Link:
        self.known(table, path, ("between", "seed", *BY_KEY))
        ends = self.needed(table, path, "between", "the names of two sites")
        at = (*path, "between")
        if not isinstance(ends, list) or len(ends) != 2 or ends[0] == ends[1]:
            raise self.refuse(at, f"between = {shown(ends)}: give the names of two sites")
        for end in ends:
            if end not in sites:
                sentence = f"between names '{end}', which is not a site; {hint(str(end), sites)}"
                raise self.refuse(at, sentence)
        self.needed(table, path, "rate", 'as in rate = "1 Gbit/s"')
        link = Link(
            sites=(ends[0], ends[1]),
            settings={
                one.setting: self.quantity(table, path, one.key, one.kind, least=one.least)
                for one in IMPAIRMENTS
            },
            seed=self.whole(table, path, "seed", int(path[1]) + 1),
        )
        if link.settings["jitter_ns"] > link.settings["delay_ns"]:
            raise self.refuse((*path, "jitter"), "jitter is larger than delay")
        queue_bytes = link.settings["queue_bytes"] or link_queue_bytes(link)
        if queue_bytes < link.settings["mark_bytes"]:
            sentence = f"mark is larger than queue, {size_text(queue_bytes)}, so nothing is marked"
            raise self.refuse((*path, "mark"), sentence)
        return link

    def tcp(self, table: Any) -> Tcp:
        path = ("tcp",)
        self.known(table, path, ("congestion", "buffer"))
        congestion = table.get("congestion", "")
        if not isinstance(congestion, str) or not re.fullmatch(r"[a-z0-9_]*", congestion):
            raise self.refuse(
                (*path, "congestion"), f"congestion = {shown(congestion)} is not a name"
            )
        return Tcp(congestion, self.quantity(table, path, "buffer", SIZE, least=4096))

    def name(self, table: dict[str, Any], path: Path) -> str:
        value = self.needed(table, path, "name", 'as in name = "a"')
        return self.checked_name(value, (*path, "name"), "name")

    def checked_name(self, value: Any, path: Path, key: str) -> str:
        if value == "localhost":
            raise self.refuse(path, f"{key}: 'localhost' is every host's name for itself")
        if isinstance(value, str) and _NAME.fullmatch(value):
            return value
        rule = "a letter, then letters, digits and hyphens, at most 12, all lower case"
        raise self.refuse(path, f"{key}: {shown(value)} is not a valid name; a name is {rule}")

    def check_links(self, links: list[Link]) -> None:
        """Refuse two links between the same sites, and two of one name: of a, b-c and a-b, c."""
        owners: dict[str, Link] = {}
        pairs: set[frozenset[str]] = set()
        for i, link in enumerate(links):
            at = ("link", i, "between")
            if frozenset(link.sites) in pairs:
                raise self.refuse(at, f"there are two links '{'-'.join(sorted(link.sites))}'")
            if link.name in owners:
                other = " and ".join(owners[link.name].sites)
                raise self.refuse(
                    at,
                    f"the link between {' and '.join(link.sites)} would be called '{link.name}' as "
                    f"that between {other}; write its sites in the other order, or rename one",
                )
            pairs.add(frozenset(link.sites))
            owners[link.name] = link

    def check_hosts(self, sites: list[Site]) -> None:
        owners: dict[str, str] = {}
        for i, site in enumerate(sites):
            for host in site.hosts:
                if host.name in owners:
                    other = owners[host.name]
                    raise self.refuse(
                        ("site", i, "hosts"),
                        f"hosts: sites {other} and {site.name} both have a host '{host.name}'",
                    )
                owners[host.name] = site.name

    def check_management(self, sites: list[Site]) -> None:
        """Launchers are told one interface, and messages need another."""
        ways = [[lan.management for lan in site.lans] for site in sites]
        for i, way in enumerate(ways):
            if sum(way) > 1 or all(way) or (any(map(any, ways)) and way != ways[0]):
                raise self.refuse(
                    ("site", i),
                    f"management: site {sites[i].name} has {sum(way)} such of {len(way)} LANs; "
                    "give every site one at the same place, and a LAN for messages",
                )

    def check_subnets(self, sites: list[Site]) -> None:
        seen: list[tuple[str, ipaddress.IPv4Network]] = []
        for i, site in enumerate(sites):
            for k, lan in enumerate(site.lans):
                path: Path = ("site", i, "lan", k, "subnet")
                if path not in self.lines:
                    path = ("site", i, "lan", "subnet")
                room = lan.subnet.num_addresses - 3
                if len(site.hosts) > room:
                    raise self.refuse(
                        path,
                        f"subnet {lan.subnet} of site {site.name} has room for {max(room, 0)} "
                        f"hosts, not {len(site.hosts)}; give a larger one",
                    )
                for other, subnet in seen:
                    if subnet.overlaps(lan.subnet):
                        raise self.refuse(
                            path,
                            f"subnet {lan.subnet} of site {site.name} overlaps {subnet} "
                            f"of site {other}",
                        )
                seen.append((site.name, lan.subnet))

    def check_reach(self, sites: list[Site], links: list[Link]) -> None:
        reached = {sites[0].name}
        for _ in sites:
            for link in links:
                if reached & set(link.sites):
                    reached |= set(link.sites)
        for i, site in enumerate(sites):
            if site.name not in reached:
                raise self.refuse(
                    ("site", i, "name"),
                    f"no [[link]] leads from site {sites[0].name} to site {site.name}",
                )
