# SPDX-License-Identifier: BSD-3-Clause
"""Plans are whole: nothing is made twice, and every host has a way to every other."""

import ipaddress
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanewise.testbed import shipped
from lanewise.testbed.describe import Host, Lan, Link, Nic, Site, Testbed
from lanewise.testbed.layout import link_queue_bytes, make_plan, next_sites
from lanewise.testbed.plan import End, Plan, Shape
from lanewise.testbed.read import read


@st.composite
def drawn_testbeds(draw: st.DrawFn) -> Testbed:
    count = draw(st.integers(1, 4))
    sites = []
    for number in range(count):
        wan = draw(st.sampled_from([None, Nic(), Nic(1e8)]))
        lan_count = draw(st.integers(1, 3))
        latency_ns = draw(st.sampled_from([0.0, 2e4]))
        lans = tuple(
            Lan(ipaddress.IPv4Network(f"10.{number + 1}.{k}.0/24"), Nic(1e9), latency_ns)
            for k in range(lan_count)
        )
        nics = tuple(lan.nic for lan in lans)
        hosts = draw(st.integers(1, 5))
        name = "abcd"[number]
        sites.append(
            Site(name, tuple(Host(f"{name}{i}", nics, wan) for i in range(1, hosts + 1)), lans)
        )
    links = []
    for number in range(1, count):
        other = draw(st.integers(0, number - 1))
        settings = {"rate_bits_per_s": 1e9, "delay_ns": 5e6}
        links.append(Link((sites[other].name, sites[number].name), settings))
    return Testbed("drawn", tuple(sites), tuple(links))


def shipped_plan(name: str) -> Plan:
    source = shipped.find(name)
    return make_plan(read(source.text, source.name, source.where))


def devices(plan: Plan) -> list[End]:
    wires = [end for wire in plan.wires for end in (wire.host, wire.port)]
    slow = [end for line in plan.delay_lines for wire in line.wires for end in wire.ends]
    return [*plan.bridges, *wires, *slow]


@given(drawn_testbeds())
def test_every_device_is_made_once_in_a_namespace_that_is_made(testbed: Testbed) -> None:
    plan = make_plan(testbed)

    namespaces = [namespace.name for namespace in plan.namespaces]
    assert len(set(namespaces)) == len(namespaces)
    assert max(Counter(devices(plan)).values()) == 1
    assert all(end.namespace in namespaces for end in devices(plan))
    assert all(len(end.device) < 16 for end in devices(plan))


@given(drawn_testbeds())
def test_what_has_an_address_a_rate_or_a_route_is_made(testbed: Testbed) -> None:
    plan = make_plan(testbed)
    made = set(devices(plan))

    used = {each.end for each in plan.addresses}
    used |= {each.end for each in plan.shapes}
    used |= {each.end for each in plan.routes}
    assert used <= made
    assert {wire.bridge for wire in plan.wires} <= {bridge.device for bridge in plan.bridges}


@given(drawn_testbeds())
def test_no_address_is_given_twice(testbed: Testbed) -> None:
    counts = Counter(each.address for each in make_plan(testbed).addresses)

    assert max(counts.values()) == 1


Ways = dict[str, list[tuple[ipaddress.IPv4Network, str]]]


def ways_of(plan: Plan) -> Ways:
    """Return, for each namespace, the subnets that it knows and the device towards each."""
    ways: Ways = {namespace.name: [] for namespace in plan.namespaces}
    for each in plan.addresses:
        network = ipaddress.IPv4Interface(each.address).network
        ways[each.end.namespace].append((network, each.end.device))
    for route in plan.routes:
        ways[route.end.namespace].append((ipaddress.IPv4Network(route.subnet), route.end.device))
    return ways


def next_device(ways: Ways, namespace: str, subnet: ipaddress.IPv4Network) -> str:
    found = [device for known, device in ways[namespace] if known == subnet]
    assert len(found) == 1, (namespace, subnet, found)
    return found[0]


def lans_of(site: Site) -> list[str]:
    """Return the devices of a host of the site towards its LANs."""
    return [f"lan{number}" for number in range(len(site.lans))]


@settings(max_examples=50)
@given(drawn_testbeds())
def test_every_host_has_a_way_to_every_subnet(testbed: Testbed) -> None:
    ways = ways_of(make_plan(testbed))
    for site, host in testbed.hosts():
        for other in testbed.sites:
            for number, lan in enumerate(other.lans):
                device = next_device(ways, host.name, lan.subnet)
                if other is site:
                    assert device == f"lan{number}"
                    continue
                assert device in (["wan0"] if host.wan_nic else lans_of(site))
                at = site.name
                while at != other.name:
                    device = next_device(ways, f"router.{at}", lan.subnet)
                    at = device.removeprefix("to-")
                last = next_device(ways, f"router.{at}", lan.subnet)
                assert last == ("wan" if other.hosts[0].wan_nic else f"lan{number}")


def test_two_site_gives_a_host_one_address_and_the_wan_by_route() -> None:
    plan = shipped_plan("two-site")

    own = [each for each in plan.addresses if each.end.namespace == "a1"]
    ways = [route for route in plan.routes if route.end.namespace == "a1"]
    rates = {
        shape.end.device: shape.rate_bits_per_s
        for shape in plan.shapes if shape.end.namespace == "a1"
    }  # fmt: skip
    assert [(each.end.device, each.address) for each in own] == [("lan0", "10.1.0.1/24")]
    assert [(way.end.device, way.subnet, way.source) for way in ways] == [
        ("wan0", "10.2.0.0/24", "10.1.0.1")
    ]
    assert rates == {"lan0": 10e9, "wan0": 250e6}
    assert dict(plan.delay_lines[0].wires[0].settings)["rate_bits_per_s"] == 1e9


def test_two_port_gives_a_host_two_addresses_on_two_switches() -> None:
    plan = shipped_plan("two-port")

    own = {each.end.device: each.address for each in plan.addresses if each.end.namespace == "a1"}
    assert own == {"lan0": "10.1.0.1/24", "lan1": "10.1.1.1/24", "lan2": "10.1.2.1/24"}
    assert plan.launcher_device == "lan2"
    assert plan.delay_lines == ()


def shapes_of(nic: str) -> list[Shape]:
    """Return the shapes of the interfaces of one host that has `nic`."""
    text = f'[[site]]\nname = "a"\nhosts = 1\nlan = {{ {nic} }}\n'
    return list(make_plan(read(text, "one", "one.toml")).shapes)


@pytest.mark.parametrize(
    ("nic", "burst", "queue"),
    [
        ('rate = "1 Gbit/s", queue = "300 kB"', 250_000, 300_000),
        ('rate = "1 Gbit/s", queue = "30 kB"', 250_000, 72_000),
        ('rate = "1 Mbit/s", queue = "3 kB"', 4096, 4096),
        ('rate = "1 Mbit/s", queue = "30 kB"', 4096, 30_000),
        ('rate = "1 Gbit/s"', 250_000, 6_500_000),
        ('rate = "1000 Gbit/s"', 2**20, 2**32 - 1),
    ],
)
def test_a_queue_has_the_length_that_is_given_but_room_for_what_is_not_cut(
    nic: str, burst: int, queue: int
) -> None:
    shapes = shapes_of(nic)

    assert [(each.burst_bytes, each.queue_bytes) for each in shapes] == [(burst, queue)] * 2


def test_two_site_32_has_64_hosts() -> None:
    assert len(shipped_plan("two-site-32").hosts) == 64


def test_sites_without_a_link_of_their_own_are_reached_through_others() -> None:
    source = shipped.find("three-site")
    testbed = read(source.text, source.name, source.where)

    assert next_sites(testbed, "b") == {"a": "a", "c": "a"}


def test_the_way_is_that_of_least_delay() -> None:
    def link(first: str, second: str, delay_ms: float) -> Link:
        return Link((first, second), {"rate_bits_per_s": 1e9, "delay_ns": delay_ms * 1e6})

    sites = tuple(Site(name, (), ()) for name in "abc")
    testbed = Testbed("t", sites, (link("a", "c", 50), link("a", "b", 5), link("b", "c", 5)))

    assert next_sites(testbed, "a") == {"b": "b", "c": "b"}


@pytest.mark.parametrize(("delay_ns", "bytes_"), [(5e6, 1.25e6), (0.0, 2.0**18)])
def test_the_queue_of_a_link_holds_a_round_trip(delay_ns: float, bytes_: float) -> None:
    link = Link(("a", "b"), {"rate_bits_per_s": 1e9, "delay_ns": delay_ns})

    assert link_queue_bytes(link) == bytes_
