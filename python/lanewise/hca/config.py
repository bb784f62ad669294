# SPDX-License-Identifier: BSD-3-Clause
"""Config: a software device as a TOML file.

    ports = ["eth0", "eth1"]
    link_layer = "infiniband"
    lmc = 1
    mtu = 2048
    congestion = "none"

    [lids]
    "10.0.0.1" = 16
    "10.0.0.2" = 18

What is unknown or cannot be is refused with file, line and key.
"""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Any

from lanewise.hca.device import (
    CONGESTION,
    DEVICES_MAX,
    LID_MASK_BITS_MAX,
    LINK_LAYERS,
    MTUS,
    PORTS_MAX,
    Device,
)
from lanewise.toml.tables import Tables, shown
from lanewise.toml.text import read_text

_KEYS = ("ports", "devices", "link_layer", "lmc", "mtu", "congestion", "pcap", "lids")
_OLD_LINK_LAYER = "personality"  # the name of the key in 0.1
_FIRST_MULTICAST_LID = 0xC000


def read_file(path: Path) -> Device:
    """Read a device from a file; RequestError where that cannot be."""
    return read(read_text(path, "docs/hca.md shows one"), str(path))


def read(text: str, where: str) -> Device:
    """Read a device from the text of a file that is called `where`."""
    return _Reader(text, where).device()


class _Reader(Tables):
    """Reads the values of a device."""

    def device(self) -> Device:
        self.known(self.values, (), (*_KEYS, *({_OLD_LINK_LAYER} & self.values.keys())))
        link_layer = _OLD_LINK_LAYER if _OLD_LINK_LAYER in self.values else "link_layer"
        lmc = self.whole(self.values, (), "lmc", 0)
        if lmc > LID_MASK_BITS_MAX:
            raise self.refuse(("lmc",), f"lmc = {lmc}: use 0 to {LID_MASK_BITS_MAX}")
        return Device(
            interfaces=self.ports(),
            devices=self.devices(),
            link_layer=str(self.chosen(link_layer, LINK_LAYERS)),
            lid_mask_bits=lmc,
            pcap=self.text("pcap", ""),
            mtu_bytes=int(self.chosen("mtu", MTUS)),
            congestion=str(self.chosen("congestion", CONGESTION)),
            lids=self.lids(lmc),
        )

    def ports(self) -> tuple[str, ...]:
        value = self.values.get("ports", list(Device().interfaces))
        remedy = f'name 1 or {PORTS_MAX} different interfaces, such as ["eth0"]'
        return self.interfaces("ports", value, PORTS_MAX, remedy)

    def devices(self) -> tuple[str, ...]:
        if "devices" not in self.values:
            return ()
        if "ports" in self.values:
            raise self.refuse(("devices",), "devices: this takes the place of ports; leave one out")
        remedy = f'name 1 to {DEVICES_MAX} different interfaces, such as ["eth0", "eth1"]'
        return self.interfaces("devices", self.values["devices"], DEVICES_MAX, remedy)

    def interfaces(self, key: str, value: Any, limit: int, remedy: str) -> tuple[str, ...]:
        names = isinstance(value, list) and all(isinstance(name, str) and name for name in value)
        if not names or not 1 <= len(value) <= limit or len(set(value)) != len(value):
            raise self.refuse((key,), f"{key} = {shown(value)}: {remedy}")
        return tuple(value)

    def chosen(self, key: str, known: tuple[Any, ...]) -> Any:
        """Return one of the values that are known, the first where there is none."""
        value = self.values.get(key, known[0])
        if isinstance(value, bool) or value not in known:
            remedy = " or ".join(map(str, known))
            raise self.refuse((key,), f"{key} = {shown(value)}: use {remedy}")
        return value

    def text(self, key: str, default: str) -> str:
        value = self.values.get(key, default)
        if not isinstance(value, str):
            raise self.refuse((key,), f"{key} = {shown(value)} is not a string")
        if "\0" in value:
            raise self.refuse((key,), f"{key} = {shown(value)}: a file name has no NUL")
        return value

    def lids(self, lmc: int) -> tuple[tuple[str, int], ...]:
        table = self.values.get("lids", {})
        if not isinstance(table, dict):
            raise self.refuse(("lids",), "lids is not a table of addresses")
        for address in table:
            self.check_lid(table, address, 1 << lmc)
        firsts = list(table.values())
        self.distinct([str(lid) for lid in firsts], "LID", lambda i: ("lids", list(table)[i]))
        return tuple(table.items())

    def check_lid(self, table: dict[str, Any], address: str, multiple: int) -> None:
        path = ("lids", address)
        try:
            ipaddress.IPv4Address(address)
        except ValueError as error:
            raise self.refuse(path, f"lids: {error}") from None
        lid = self.whole(table, ("lids",), address, 0)
        if not 1 <= lid < _FIRST_MULTICAST_LID or lid % multiple != 0:
            remedy = f"use a multiple of {multiple} below {_FIRST_MULTICAST_LID}"
            raise self.refuse(path, f"{address} = {lid}: {remedy}")
