# SPDX-License-Identifier: BSD-3-Clause
"""Faults: what is to go wrong on a software device, as a TOML file.

    [[fault]]
    call = "ibv_reg_mr"         # a verb fails
    error = "ENOMEM"
    after = 2                   # the first two go well
    times = 1

    [[fault]]
    completion = "send"         # a completion has an error
    status = "IBV_WC_RETRY_EXC_ERR"
    every = 100

    [[fault]]
    packet = "write"            # a packet that arrives is lost, late and so on
    action = "delay"
    delay = "5 ms"
    probability = "1 %"

    [[fault]]
    call = "ibv_post_send"      # by time: from two seconds on, one in a second
    after = "2 s"
    every = "1 s"

    [[fault]]
    connection = "request"      # a message of the connection manager is ignored, or rejected
    action = "reject"

What is unknown or cannot be is refused with file, line and key.
"""

from __future__ import annotations

import errno
import ipaddress
import operator
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanewise.errors import RequestError
from lanewise.toml.quantities import SHARE, SIZE, TIME
from lanewise.toml.tables import Tables, hint, shown
from lanewise.toml.text import read_text

# Verbs, and errors that they may return; the first is the one that is meant where none is. Manuals
# name them for a few verbs only, and say of the others that they return a value of errno.
CALLS: dict[str, tuple[str, ...]] = {
    "ibv_open_device": ("EIO", "ENOMEM"),
    "ibv_query_device": ("EIO", "ENOMEM"),
    "ibv_query_port": ("EIO", "ENODEV"),
    "ibv_query_gid": ("EIO", "ENODEV"),
    "ibv_query_gid_ex": ("EIO", "ENODATA"),
    "ibv_query_gid_table": ("EIO", "EINVAL"),
    "ibv_query_pkey": ("EIO", "ENODEV"),
    "ibv_alloc_pd": ("ENOMEM",),
    "ibv_alloc_td": ("ENOMEM",),
    "ibv_alloc_parent_domain": ("ENOMEM", "EINVAL"),
    "ibv_alloc_dm": ("ENOMEM", "EINVAL"),
    "ibv_reg_mr": ("ENOMEM", "EINVAL"),
    "ibv_rereg_mr": ("ENOMEM", "EINVAL"),
    "ibv_advise_mr": ("EFAULT", "EOPNOTSUPP"),
    "ibv_reg_dm_mr": ("ENOMEM", "EINVAL"),
    "ibv_alloc_mw": ("ENOMEM", "EINVAL"),
    "ibv_bind_mw": ("ENOMEM", "EINVAL"),
    "ibv_open_xrcd": ("ENOMEM", "EINVAL"),
    "ibv_create_comp_channel": ("EMFILE", "ENOMEM"),
    "ibv_create_cq": ("ENOMEM", "EINVAL"),
    "ibv_resize_cq": ("ENOMEM", "EINVAL"),
    "ibv_req_notify_cq": ("EIO", "EINVAL"),
    "ibv_create_srq": ("ENOMEM", "EINVAL"),
    "ibv_modify_srq": ("EINVAL", "ENOMEM"),
    "ibv_query_srq": ("EIO", "ENOMEM"),
    "ibv_create_qp": ("ENOMEM", "EINVAL", "EPERM"),
    "ibv_modify_qp": ("EINVAL", "ENOMEM", "ETIMEDOUT"),
    "ibv_query_qp": ("EIO", "ENOMEM"),
    "ibv_attach_mcast": ("ENOMEM", "EINVAL"),
    "ibv_detach_mcast": ("EINVAL", "ENOMEM"),
    "ibv_create_ah": ("ENOMEM", "EINVAL"),
    "ibv_post_send": ("ENOMEM", "EINVAL", "EFAULT"),
    "ibv_post_recv": ("ENOMEM", "EINVAL", "EFAULT"),
    "ibv_post_srq_recv": ("ENOMEM", "EINVAL", "EFAULT"),
}
# Those on a queue pair, which a rule may name.
QUEUE_PAIR_CALLS = (
    "ibv_bind_mw", "ibv_modify_qp", "ibv_query_qp", "ibv_attach_mcast", "ibv_detach_mcast",
    "ibv_post_send", "ibv_post_recv",
)  # fmt: skip
COMPLETIONS = (
    "any", "send", "write", "read", "compare_swap", "fetch_add", "bind_window",
    "local_invalidate", "receive",
)  # fmt: skip
# enum ibv_wc_status, without success.
STATUSES = (
    "IBV_WC_LOC_LEN_ERR", "IBV_WC_LOC_QP_OP_ERR", "IBV_WC_LOC_EEC_OP_ERR", "IBV_WC_LOC_PROT_ERR",
    "IBV_WC_WR_FLUSH_ERR", "IBV_WC_MW_BIND_ERR", "IBV_WC_BAD_RESP_ERR", "IBV_WC_LOC_ACCESS_ERR",
    "IBV_WC_REM_INV_REQ_ERR", "IBV_WC_REM_ACCESS_ERR", "IBV_WC_REM_OP_ERR",
    "IBV_WC_RETRY_EXC_ERR", "IBV_WC_RNR_RETRY_EXC_ERR", "IBV_WC_LOC_RDD_VIOL_ERR",
    "IBV_WC_REM_INV_RD_REQ_ERR", "IBV_WC_REM_ABORT_ERR", "IBV_WC_INV_EECN_ERR",
    "IBV_WC_INV_EEC_STATE_ERR", "IBV_WC_FATAL_ERR", "IBV_WC_RESP_TIMEOUT_ERR",
    "IBV_WC_GENERAL_ERR",
)  # fmt: skip
PACKETS = (
    "any", "send", "write", "read_request", "read_response", "acknowledge", "atomic",
    "congestion_notification",
)  # fmt: skip
PACKET_ACTIONS = (
    "lose", "double", "corrupt", "delay", "mark", "not_ready", "port_down", "gid_change",
    "device_fatal",
)  # fmt: skip
# What the faults of a testbed do, which are in files of the same form.
CABLES_AND_HOSTS = {"cut", "mend", "degrade", "kill"}
# The key that says how long an action takes; in a log it ends with _us.
ACTION_TIMES = {"delay": "delay", "port_down": "for"}
MESSAGES = ("any", "request", "reply", "ready", "disconnect", "datagram_request")
MESSAGE_ACTIONS = ("ignore", "reject")
_WHEN = ("after", "every", "probability", "times")
DEVICE = re.compile(r"lanewise[0-7]")
SEED_MAX = 2**64 - 1
SCRIPT_BYTES_MAX = 120_000  # Linux passes a variable of less than 128 KiB to a program


@dataclass(frozen=True)
class Fault:
    """One rule, in the words that the device reads (src/verbs/faults/plan.hpp)."""

    place: str
    name: str
    what: str
    value: int = 0
    after: int = 0
    every: int = 1
    after_us: int = 0
    every_us: int = 0
    probability: float = 1.0
    times: int | None = None
    device: str = ""  # empty: all devices
    queue_pair: int = 0  # which of those that the process creates, from 1; 0: all of them
    peer: str = ""  # from whom a packet comes; empty: from anybody
    bytes_min: int = 0  # of the data of a packet

    def line(self) -> str:
        """Return the rule as a line of LANEWISE_HCA_FAULTS."""
        words = [f"place={self.place}", f"what={self.what}", f"value={self.value}"]
        words += [f"after={self.after}", f"every={self.every}"]
        words += [f"after_us={self.after_us}"] * bool(self.after_us)
        words += [f"every_us={self.every_us}"] * bool(self.every_us)
        words += [f"probability={self.probability!r}"]
        words += [f"name={self.name}"] * (self.name != "any")
        words += [f"times={self.times}"] * (self.times is not None)
        words += [f"device={self.device}"] * bool(self.device)
        words += [f"queue_pair={self.queue_pair}"] * bool(self.queue_pair)
        words += [f"peer={self.peer}"] * bool(self.peer)
        words += [f"bytes_min={self.bytes_min}"] * bool(self.bytes_min)
        return " ".join(words)


def read_file(path: Path) -> tuple[Fault, ...]:
    """Read the faults of a file; RequestError where that cannot be."""
    return read(read_text(path, "docs/rdma-lab.md shows one"), str(path))


def read(text: str, where: str) -> tuple[Fault, ...]:
    """Read faults from the text of a file that is called `where`."""
    return _Reader(text, where).faults()


def checked_seed(seed: Any, called: str) -> int:
    """Return a seed; RequestError that says what it is `called` where the device cannot take it."""
    try:
        whole = int(operator.index(seed))
    except TypeError:
        whole = -1
    if not 0 <= whole <= SEED_MAX:
        raise RequestError(f"{called} {seed}: use a whole number from 0 to 2^64 - 1")
    return whole


def peer_address(value: object) -> str:
    """Return an address as the device writes it; ValueError where it writes none like that."""
    if not isinstance(value, str):
        raise ValueError(value)
    address = ipaddress.ip_address(value)
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.scope_id is not None:
        raise ValueError(value)
    return str(address.ipv4_mapped or address)


def script(faults: tuple[Fault, ...], seed: int, where: str) -> str:
    """Return what the device is told; RequestError where that is more than a program can be."""
    text = "\n".join([f"seed={seed}", *(fault.line() for fault in faults)])
    if len(text) > SCRIPT_BYTES_MAX:
        raise RequestError(f"{where}: {len(faults)} faults are too many for one program; use fewer")
    return text


class _Reader(Tables):
    """Reads the rules one by one."""

    def faults(self) -> tuple[Fault, ...]:
        self.known(self.values, (), ("fault",))
        found = tuple(self.fault(table, path) for table, path in self.listed("fault"))
        if not found:
            raise self.refuse((), "there is no [[fault]]; see docs/rdma-lab.md")
        return found

    def fault(self, table: dict[str, Any], path: tuple[str | int, ...]) -> Fault:
        places = [key for key in ("call", "completion", "packet", "connection") if key in table]
        if len(places) != 1:
            remedy = "a fault needs exactly one of the keys call, completion, packet and connection"
            if CABLES_AND_HOSTS & table.keys():
                remedy += "; faults of cables and hosts are for lanewise testbed run --faults"
            raise self.refuse(path, remedy)
        (place,) = places
        if place == "call":
            name = self.one_of(table, path, "call", tuple(CALLS))
            what = self.one_of(table, path, "error", CALLS[name], CALLS[name][0])
            value = int(getattr(errno, what))
            keys: tuple[str, ...] = ("error",)
        elif place == "completion":
            name = self.one_of(table, path, "completion", COMPLETIONS)
            what = self.one_of(table, path, "status", STATUSES)
            value, keys = STATUSES.index(what) + 1, ("status",)
        elif place == "packet":
            name = self.one_of(table, path, "packet", PACKETS)
            what = self.one_of(table, path, "action", PACKET_ACTIONS)
            value = self.time_us(table, path, what)
            keys = ("action", *ACTION_TIMES.values(), "peer", "size_min")
        else:
            name = self.one_of(table, path, "connection", MESSAGES)
            what = self.one_of(table, path, "action", MESSAGE_ACTIONS)
            if what == "reject" and name != "request":
                raise self.refuse((*path, "action"), "only a request can be rejected; use ignore")
            value, keys = 0, ("action",)
        on_device = () if place == "connection" else ("device", "queue_pair")
        self.known(table, path, (place, *keys, *on_device, *_WHEN))
        which: dict[str, Any] = {"device": self.device(table, path)}
        if "queue_pair" in table:
            if place == "call" and name not in QUEUE_PAIR_CALLS:
                remedy = f"{name} is not called on a queue pair; leave out queue_pair"
                raise self.refuse((*path, "queue_pair"), remedy)
            which |= self.count(table, path, "queue_pair", 1)
        if place == "packet":
            which["peer"] = self.peer(table, path)
            which["bytes_min"] = round(self.quantity(table, path, "size_min", SIZE))
        return Fault(place, name, what, value, **which, **self.when(table, path))

    def peer(self, table: dict[str, Any], path: tuple[str | int, ...]) -> str:
        value = table.get("peer", "")
        try:
            return peer_address(value) if value != "" else ""
        except ValueError:
            remedy = "use an address without a zone, such as 10.0.0.2 or fe80::1"
            raise self.refuse((*path, "peer"), f"peer = {shown(value)}: {remedy}") from None

    def device(self, table: dict[str, Any], path: tuple[str | int, ...]) -> str:
        value = table.get("device", "")
        if value and not (isinstance(value, str) and DEVICE.fullmatch(value)):
            raise self.refuse(
                (*path, "device"), f"device = {shown(value)}: use lanewise0 to lanewise7"
            )
        return str(value)

    def time_us(self, table: dict[str, Any], path: tuple[str | int, ...], what: str) -> int:
        for action, key in ACTION_TIMES.items():
            if (what == action) != (key in table):
                raise self.refuse(path, f'{key} = "5 ms" goes with action = "{action}"')
        if what not in ACTION_TIMES:
            return 0
        return round(self.quantity(table, path, ACTION_TIMES[what], TIME) / 1000)

    def when(self, table: dict[str, Any], path: tuple[str | int, ...]) -> dict[str, Any]:
        found = self.count_or_time(table, path, "after", 0)
        found |= self.count_or_time(table, path, "every", 1)
        if "probability" in table:
            found["probability"] = self.quantity(table, path, "probability", SHARE)
        if "times" in table:
            found["times"] = self.whole(table, path, "times", 0)
        return found

    def count_or_time(
        self, table: dict[str, Any], path: tuple[str | int, ...], key: str, least: int
    ) -> dict[str, Any]:
        """Return a number of occurrences, or a time, by the name of its field."""
        if isinstance(table.get(key), str):
            time_us = round(self.quantity(table, path, key, TIME) / 1000)
            if time_us < 1:
                raise self.refuse((*path, key), f"{key} = {shown(table[key])}: use 1 us or more")
            return {f"{key}_us": time_us}
        return self.count(table, path, key, least)

    def count(
        self, table: dict[str, Any], path: tuple[str | int, ...], key: str, least: int
    ) -> dict[str, Any]:
        """Return a number of something, `least` or more, by the name of its field."""
        count = self.whole(table, path, key, least)
        if count < least:
            raise self.refuse((*path, key), f"{key} = {count}: use {least} or more")
        return {key: count}

    def one_of(
        self, table: dict[str, Any], path: tuple[str | int, ...], key: str,
        known: tuple[str, ...], default: str | None = None,
    ) -> str:  # fmt: skip
        value = table.get(key, default)
        if value is None:
            raise self.refuse(path, f"{key} is missing: use one of {', '.join(known)}")
        if value not in known:
            remedy = hint(str(value), list(known))
            raise self.refuse((*path, key), f"{key} = {shown(value)}: {remedy}")
        return str(value)
