# SPDX-License-Identifier: BSD-3-Clause
"""A software device as a TOML file."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanewise.errors import RequestError
from lanewise.hca.config import read, read_file
from lanewise.hca.device import Device

WHOLE = """
ports = ["eth0", "eth1"]
link_layer = "infiniband"
lmc = 1
mtu = 2048
congestion = "none"
pcap = "packets.pcap"

[lids]
"10.0.0.1" = 16
"10.0.0.2" = 18
"""


def test_every_key_of_a_configuration_is_read() -> None:
    lids = (("10.0.0.1", 16), ("10.0.0.2", 18))
    expected = Device(
        ("eth0", "eth1"), "infiniband", 1, "packets.pcap", 2048, lids, congestion="none"
    )
    assert read(WHOLE, "a.toml") == expected


def test_the_old_name_of_the_link_layer_is_read() -> None:
    assert read('personality = "infiniband"', "a.toml") == Device(link_layer="infiniband")


def test_an_empty_file_is_the_device_without_options() -> None:
    assert read("", "a.toml") == Device()


def test_devices_take_the_place_of_ports() -> None:
    assert read('devices = ["eth0", "eth1"]', "a.toml") == Device(devices=("eth0", "eth1"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("devices = []", "a.toml:1: devices = []: name 1 to 8 different interfaces"),
        ('ports = ["a"]\ndevices = ["b"]', "a.toml:2: devices: this takes the place of ports"),
        ("\nport = []", "a.toml:2: unknown key 'port'; did you mean ports?"),
        ("ports = []", "a.toml:1: ports = []: name 1 or 2 different interfaces"),
        ('ports = ["a", "a"]', "name 1 or 2 different"),
        ('ports = "eth0"', "name 1 or 2 different"),
        ('\n\nlink_layer = "iwarp"', "a.toml:3: link_layer = 'iwarp': use ethernet or infini"),
        ("lmc = 8", "a.toml:1: lmc = 8: use 0 to 7"),
        ("lmc = -1", "a.toml:1: lmc = -1 is not a whole number"),
        ("mtu = 1500", "a.toml:1: mtu = 1500: use 4096 or 2048 or 1024 or 512 or 256"),
        ("mtu = true", "mtu = True: use"),
        ('congestion = "timely"', "a.toml:1: congestion = 'timely': use dcqcn or none"),
        ("pcap = 1", "a.toml:1: pcap = 1 is not a string"),
        ('pcap = "a\\u0000b"', "a.toml:1: pcap = 'a\\x00b': a file name has no NUL"),
        ("lids = 1", "a.toml:1: lids is not a table"),
        ('[lids]\n"10.0.0" = 1', "a.toml:2: lids: Expected 4 octets"),
        ('lmc = 2\n[lids]\n"10.0.0.1" = 18', "a.toml:3: 10.0.0.1 = 18: use a multiple of 4"),
        ('[lids]\n"10.0.0.1" = 0', "a.toml:2: 10.0.0.1 = 0: use a multiple of 1 below 49152"),
        ('[lids]\n"10.0.0.1" = 5\n"10.0.0.2" = 5', "a.toml:3: there are two LIDs '5'"),
        ("ports = [", "a.toml: "),
    ],
)
def test_what_cannot_be_is_named_with_line_and_key(text: str, sentence: str) -> None:
    with pytest.raises(RequestError) as refused:
        read(text, "a.toml")
    assert sentence in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"none\.toml cannot be read"):
        read_file(tmp_path / "none.toml")
