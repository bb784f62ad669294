# SPDX-License-Identifier: BSD-3-Clause
"""What turns a program's RDMA device into ours: the environment it is started with."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lanewise.errors import RequestError
from lanewise.launch.native import how_to_get, manifests, preference, read_build
from lanewise.launch.preload import preloading

LIBRARY = "liblanewise_verbs.so"
CONNECTION_MANAGER = "liblanewise_rdmacm.so"
DEVICE_NODE = "liblanewise_device_node.so"
LINK_LAYERS = ("ethernet", "infiniband")
CONGESTION = ("dcqcn", "none")
MTUS = (4096, 2048, 1024, 512, 256)
PORTS_MAX = 2
DEVICES_MAX = 8
LID_MASK_BITS_MAX = 7
# How captures begin: pcap of either byte order, with nanoseconds, and pcapng.
_CAPTURES = (
    b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d",
    b"\x0a\x0d\x0d\x0a",
)  # fmt: skip


@dataclass(frozen=True)
class Device:
    """A software device: the interface of each port, and its link layer.

    With `devices` there are several, lanewise0, lanewise1 and so on, with one port each.
    """

    interfaces: tuple[str, ...] = ("lo",)
    link_layer: str = "ethernet"
    lid_mask_bits: int = 0
    pcap: str = ""
    mtu_bytes: int = MTUS[0]  # the longest path MTU
    lids: tuple[tuple[str, int], ...] = ()  # of addresses; none: derived from the addresses
    faults: str = ""  # a script (`faults`); empty: nothing goes wrong
    fault_log: str = ""
    census: str = ""  # a file for what occurred and what was left (src/verbs/faults/census.hpp)
    devices: tuple[str, ...] = ()  # the interface of each, in place of `interfaces`
    congestion: str = CONGESTION[0]  # how marks of a congested network are met


def environment_for(device: Device, environment: Mapping[str, str]) -> dict[str, str]:
    """Return `environment` with the device in it; RequestError where that cannot be."""
    check(device, [name for _, name in socket.if_nameindex()])
    return {**environment, **variables_for(device, environment)}


def variables_for(device: Device, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that are the device, whichever host it is to be on."""
    names = (LIBRARY, CONNECTION_MANAGER, DEVICE_NODE)
    libraries = [find_library(name, environment) for name in names]
    return {
        "LD_PRELOAD": preloading(libraries, environment),
        "LANEWISE_HCA_PORTS": ";".join(device.devices) or ",".join(device.interfaces),
        "LANEWISE_HCA_LINK_LAYER": device.link_layer,
        "LANEWISE_HCA_LMC": str(device.lid_mask_bits),
        "LANEWISE_HCA_MTU": str(device.mtu_bytes),
        "LANEWISE_HCA_CONGESTION": device.congestion,
        "LANEWISE_HCA_LIDS": ",".join(f"{address}={lid}" for address, lid in device.lids),
        **({"LANEWISE_HCA_PCAP": str(Path(device.pcap).absolute())} if device.pcap else {}),
        **_fault_variables(device),
        **({"LANEWISE_HCA_CENSUS": str(Path(device.census).absolute())} if device.census else {}),
    }


def _fault_variables(device: Device) -> dict[str, str]:
    if not device.faults:
        return {}
    log = str(Path(device.fault_log).absolute()) if device.fault_log else ""
    return {"LANEWISE_HCA_FAULTS": device.faults, "LANEWISE_HCA_FAULT_LOG": log}


def check(device: Device, interfaces: list[str]) -> None:
    """Raise RequestError where the device cannot be on a machine with these interfaces."""
    if device.devices:
        remedy = f"1 to {DEVICES_MAX}"
        _check_interfaces("--devices", device.devices, DEVICES_MAX, remedy, interfaces)
    else:
        remedy = f"1 or {PORTS_MAX}"
        _check_interfaces("--ports", device.interfaces, PORTS_MAX, remedy, interfaces)
    if device.link_layer not in LINK_LAYERS:
        raise RequestError(f"--link-layer {device.link_layer}: use {' or '.join(LINK_LAYERS)}")
    if device.congestion not in CONGESTION:
        raise RequestError(f"--congestion {device.congestion}: use {' or '.join(CONGESTION)}")
    if not 0 <= device.lid_mask_bits <= LID_MASK_BITS_MAX:
        raise RequestError(f"--lmc {device.lid_mask_bits}: use 0 to {LID_MASK_BITS_MAX}")
    if device.lid_mask_bits and device.link_layer != "infiniband":
        raise RequestError("--lmc applies only to InfiniBand ports; add --link-layer infiniband")
    _check_output("--pcap", device.pcap, "capture", _CAPTURES)
    if not _is_held(Path(device.fault_log)):
        _check_output("--fault-log", device.fault_log, "log of faults", (b'{"fault"',))


def _check_output(option: str, text: str, kind: str, beginnings: tuple[bytes, ...]) -> None:
    """Refuse a file, where one is named, that could not be written, or is of another kind."""
    path = Path(text).absolute()
    if not text:
        return
    exists = os.access(path, os.F_OK)
    if exists and path.is_dir():
        raise RequestError(f"{option} {text}: it is a folder; name another file")
    place = path if exists else path.parent
    if not os.access(place, os.W_OK):
        raise RequestError(f"{option} {text}: {place} cannot be written; name another file")
    if exists and path.is_file() and os.access(path, os.R_OK):
        with path.open("rb") as file:
            begins = file.read(8)
        if begins and not begins.startswith(beginnings):
            raise RequestError(f"{option} {text}: it is no {kind} and would be lost; name another")


def empty_log(fault_log: str) -> None:
    """Empty a log of faults for a command that begins.

    A command whose processes are writing to it goes on in the same log, as ranks of a job do.
    """
    path = Path(fault_log)
    if not path.is_file() or _is_held(path):
        return
    try:
        log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        try:
            _empty(log)
        finally:
            os.close(log)
    except OSError as error:
        sentence = f"--fault-log {fault_log}: it cannot be emptied: {error.strerror}"
        raise RequestError(f"{sentence}; name another file") from error


def _empty(log: int) -> None:
    """Empty an open log that nobody has locked."""
    try:
        fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    except OSError:
        pass  # where files cannot be locked, each command begins anew
    os.ftruncate(log, 0)


def _is_held(path: Path) -> bool:
    """Tell whether a path leads to a file that this process has been given open: /dev/stderr.

    It may hold what others have written, which is neither judged nor lost.
    """
    with contextlib.suppress(OSError):
        found = path.stat()
        for descriptor in Path("/proc/self/fd").iterdir():
            with contextlib.suppress(OSError):
                if os.path.samestat(os.fstat(int(descriptor.name)), found):
                    return True
    return False


def _check_interfaces(
    option: str, names: tuple[str, ...], limit: int, count: str, interfaces: list[str]
) -> None:
    if not 1 <= len(names) <= limit or len(set(names)) != len(names):
        raise RequestError(f"{option} {','.join(names)}: name {count} different interfaces")
    for name in names:
        if name not in interfaces:
            raise RequestError(f"{option} {name}: no such interface; use {', '.join(interfaces)}")


def find_library(name: str, environment: Mapping[str, str]) -> Path:
    """Return a native library that needs no MPI, from the build that wins; or RequestError."""
    builds = sorted(map(read_build, manifests(environment)), key=preference)
    for build in builds:
        path = build.libraries / name
        if path.is_file():
            return path
    raise RequestError(f"{name} is not built; {how_to_get(environment)}")
