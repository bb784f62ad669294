# SPDX-License-Identifier: BSD-3-Clause
"""Descriptions are read whole, and what is wrong is named with its line and key."""

from pathlib import Path

import pytest

from lanewise.errors import RequestError
from lanewise.testbed import shipped
from lanewise.testbed.describe import Nic, Testbed
from lanewise.testbed.read import read

TWO = """[[site]]
name = "a"
hosts = 2
lan = { rate = "10 Gbit/s" }
wan = { rate = "250 Mbit/s" }

[[site]]
name = "b"
hosts = ["left", "right"]

[[link]]
between = ["a", "b"]
rate = "1 Gbit/s"
delay = "5 ms"

[[host]]
name = "a2"
wan = { rate = "60 Mbit/s" }
"""


def described(text: str) -> Testbed:
    return read(text, "two", "two.toml")


def test_a_description_becomes_sites_hosts_and_links() -> None:
    testbed = described(TWO)

    names = [(site.name, host.name) for site, host in testbed.hosts()]
    assert names == [("a", "a1"), ("a", "a2"), ("b", "left"), ("b", "right")]
    assert testbed.links[0].name == "a-b"
    assert testbed.links[0].settings["delay_ns"] == 5e6
    assert testbed.sites[1].hosts[0].wan_nic is None


def test_a_host_may_differ_from_its_site() -> None:
    first, second = described(TWO).sites[0].hosts

    assert first.wan_nic == Nic(250e6)
    assert second.wan_nic == Nic(60e6)
    assert second.lan_nics == first.lan_nics


def test_a_host_is_as_its_site_in_what_is_not_said_of_it() -> None:
    text = (
        '[[site]]\nname = "a"\nhosts = 2\n'
        'lan = [{ rate = "10 Gbit/s", queue = "2 MB" }, { rate = "1 Gbit/s" }]\n'
        'wan = { rate = "250 Mbit/s" }\n[[host]]\nname = "a2"\n'
    )

    each = described(text + 'lan = [{ rate = "5 Gbit/s" }, {}]\nwan = { queue = "1 MB" }\n')
    all_ = described(text + 'lan = { queue = "1 MB" }\nwan = {}\n')

    assert each.sites[0].hosts[1].lan_nics == (Nic(5e9, 2e6), Nic(1e9))
    assert each.sites[0].hosts[1].wan_nic == Nic(250e6, 1e6)
    assert all_.sites[0].hosts[1].lan_nics == (Nic(10e9, 1e6), Nic(1e9, 1e6))
    assert all_.sites[0].hosts[1].wan_nic == Nic(250e6)


def test_a_site_may_have_several_lans() -> None:
    testbed = described('[[site]]\nname = "a"\nhosts = 2\nlan = [{}, { latency = "20 us" }]\n')

    assert [str(lan.subnet) for lan in testbed.sites[0].lans] == ["10.1.0.0/24", "10.1.1.0/24"]
    assert testbed.sites[0].lans[1].latency_ns == 20e3
    assert len(testbed.sites[0].hosts[0].lan_nics) == 2


def test_a_lan_may_be_for_management() -> None:
    testbed = described('[[site]]\nname = "a"\nhosts = 2\nlan = [{}, { management = true }]\n')

    assert [lan.management for lan in testbed.sites[0].lans] == [False, True]


@pytest.mark.parametrize("name", shipped.names())
def test_what_is_shipped_can_be_read(name: str) -> None:
    source = shipped.find(name)

    assert read(source.text, source.name, source.where).name == name


def test_the_shipped_names_are_those_of_the_documents() -> None:
    assert shipped.names() == [
        "one-switch", "slow-node", "three-site", "two-port", "two-site", "two-site-32",
    ]  # fmt: skip


def test_a_name_that_is_not_there_gets_a_suggestion() -> None:
    with pytest.raises(RequestError, match="did you mean two-site"):
        shipped.find("two-sites")


WRONG = [
    ("hosts = 2", "host = 2", 3, ["host", "hosts"]),
    ("hosts = 2", "hosts = 0", 3, ["hosts", "0"]),
    ("hosts = 2", "hosts = 2.5", 3, ["hosts"]),
    ("hosts = 2", "hosts = []", 3, ["hosts is empty"]),
    ("hosts = 2", 'hosts = ["localhost"]', 3, ["'localhost'", "itself"]),
    ("hosts = 2", "hosts = 254", 4, ["10.1.0.0/24", "253"]),
    ('name = "a"', 'name = "A"', 2, ["name", "'A'"]),
    ('name = "b"', 'name = "a"', 8, ["site", "'a'"]),
    ('"right"', '"a1"', 9, ["hosts", "'a1'"]),
    ('rate = "10 Gbit/s"', "rate = 10", 4, ["rate", "10", "unit"]),
    ('rate = "10 Gbit/s"', 'rate = "10"', 4, ["rate", "unit"]),
    ('rate = "10 Gbit/s"', 'speed = "10 Gbit/s"', 4, ["speed"]),
    ('rate = "10 Gbit/s"', 'subnet = "10.2.0.0/16"', 7, ["10.2.0.0/24", "overlaps", "site a"]),
    ('rate = "10 Gbit/s"', 'subnet = "10.1.0.1/24"', 4, ["subnet", "host bits"]),
    ('rate = "10 Gbit/s"', 'subnet = "fd00::/64"', 4, ["not an IPv4 network", "10.1.0.0/24"]),
    ('rate = "10 Gbit/s"', 'subnet = "127.4.0.0/16"', 4, ["127.0.0.0/8", "itself"]),
    ('rate = "10 Gbit/s"', 'subnet = "239.1.0.0/16"', 4, ["224.0.0.0/3", "groups"]),
    ('rate = "10 Gbit/s"', 'subnet = "0.0.0.0/24"', 4, ["0.0.0.0/8", "no host"]),
    ('rate = "10 Gbit/s"', 'subnet = "0.0.0.0/0"', 4, ["overlaps"]),
    ('rate = "10 Gbit/s"', "management = 1", 4, ["management", "true"]),
    ('rate = "10 Gbit/s"', "management = true", 1, ["management", "site a", "1 such of 1"]),
    ('rate = "250 Mbit/s"', 'rate = "1 bit/s"', 5, ["rate", "too small"]),
    ('between = ["a", "b"]', 'between = ["a", "c"]', 12, ["between", "'c'"]),
    ('between = ["a", "b"]', 'between = ["a"]', 12, ["between"]),
    ('rate = "1 Gbit/s"', "", 11, ["rate", "missing"]),
    ('delay = "5 ms"', "delay = 5", 14, ["delay", "5", "unit"]),
    ('delay = "5 ms"', 'loss = "200 %"', 14, ["loss"]),
    ('delay = "5 ms"', 'jitter = "5 ms"', 14, ["jitter", "delay"]),
    ('delay = "5 ms"', 'mark = "20 KiB"\nqueue = "10 KiB"', 14, ["mark is larger than queue"]),
    ('delay = "5 ms"', 'mark = "263 kB"', 14, ["mark is larger than queue, 262.144 kB"]),
    ('rate = "10 Gbit/s"', 'queue = "5 GB"', 4, ["queue = '5 GB'", "too long"]),
    ('rate = "10 Gbit/s"', 'queue = "1 MB"', 4, ["queue has no effect without a rate"]),
    ('name = "b"', 'name = "b"\nlan = { queue = "1 MB" }', 9, ["queue has no effect"]),
    ('a2"\nwan = { rate = "60 Mbit/s" }', 'left"\nlan = { queue = "1 MB" }', 18, ["no effect"]),
    ('delay = "5 ms"', "seed = -1", 14, ["seed", "-1"]),
    ('name = "a2"', 'name = "a3"', 17, ["a3"]),
    ("[[host]]", "[host]", 16, ["[[host]]"]),
    ("[[link]]", "[[lnk]]", 11, ["lnk", "link"]),
    ("hosts = 2", "hosts = ", 3, []),
]


@pytest.mark.parametrize(
    ("before", "after", "line", "named"),
    WRONG,
    ids=[after or before for before, after, *_ in WRONG],
)
def test_what_is_wrong_is_named_with_its_line(
    before: str, after: str, line: int, named: list[str]
) -> None:
    text = TWO.replace(before, after, 1)

    with pytest.raises(RequestError) as refused:
        described(text)

    sentence = str(refused.value)
    assert sentence.startswith("two.toml:")
    assert f":{line}:" in sentence or f"line {line}" in sentence
    assert all(word in sentence for word in named), sentence


def test_a_site_that_no_link_leads_to_is_refused() -> None:
    with pytest.raises(RequestError, match=r"two.toml:8: no \[\[link\]\] leads from site a"):
        described(TWO.partition("[[link]]")[0])


def test_two_links_between_the_same_sites_are_refused() -> None:
    again = '[[link]]\nbetween = ["b", "a"]\nrate = "1 Gbit/s"\n'

    with pytest.raises(RequestError, match=r"two.toml:20: there are two links 'a-b'"):
        described(TWO + again)


def joined(links: str) -> Testbed:
    """Return sites with hyphens in their names, joined by `links`."""
    sites = "".join(f'[[site]]\nname = "{name}"\nhosts = 1\n' for name in ("a", "b-c", "a-b", "c"))
    ways = [f'[[link]]\nbetween = {ends}\nrate = "1 Gbit/s"\n' for ends in links.split(";")]
    return described(sites + "".join(ways))


def test_two_links_of_one_name_are_refused_and_others_of_the_same_letters_are_not() -> None:
    said = r"two.toml:17: the link between a-b and c would be called 'a-b-c' as that between a and"
    with pytest.raises(RequestError, match=said):
        joined('["a", "b-c"];["a-b", "c"];["a", "c"]')

    testbed = joined('["a", "b-c"];["c", "a-b"];["a", "c"]')

    assert [link.name for link in testbed.links] == ["a-b-c", "c-a-b", "a-c"]


@pytest.mark.parametrize("name", [".two", "-two", "tw o", "two;", "zw\u00f6lf", ""])
def test_a_file_whose_name_is_none_for_a_testbed_is_refused(tmp_path: Path, name: str) -> None:
    file = tmp_path / f"{name}.toml"
    file.write_text(TWO, encoding="utf-8")

    with pytest.raises(RequestError, match="is not a name for a testbed; rename the file"):
        shipped.find(str(file))
