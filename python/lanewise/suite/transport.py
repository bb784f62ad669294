# SPDX-License-Identifier: BSD-3-Clause
"""A transport of the suite: an MPI over a network, with a placement, described by a TOML file.

    title = "Open MPI, TCP"
    mpi = "openmpi"
    arguments = ["--mca", "btl", "self,tcp"]

    [environment]
    UCX_TLS = "tcp"

    [placement]
    bind = "core"

    [hca]
    ports = ["lo"]

schema/transport.schema.json says it for machines.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lanewise.errors import RequestError
from lanewise.launch.hca import LINK_LAYERS, PORTS_MAX
from lanewise.launch.native import PRESETS
from lanewise.launch.registry import LAUNCHERS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SCHEMA_NAME = "lanewise-transport"
SCHEMA_NAME_BEFORE = "lanewise-fabric"
SCHEMA_VERSION = 1
FILES = Path(__file__).with_name("files")
BINDINGS = ("", "core", "none")


@dataclass(frozen=True)
class Placement:
    """Where ranks go: `bind` each to a core or to none (empty: to a core where each has one)."""

    bind: str = ""
    hosts: tuple[str, ...] = ()
    hostfile: str = ""


@dataclass(frozen=True)
class Hca:
    """The software RDMA device of every rank: its interfaces on this machine, and what it is.

    On the hosts of a testbed it has their interface instead.  Without ports there is no device.
    """

    ports: tuple[str, ...] = ()
    personality: str = LINK_LAYERS[0]


@dataclass(frozen=True)
class Transport:
    """One transport; `launcher` starts it, `device` is what the MPI must say that it is built with.

    `environment` reaches the ranks alone.  `across_hosts` tells that it reaches other hosts.
    """

    name: str
    title: str
    mpi: str
    launcher: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    placement: Placement = Placement()
    device: str = ""
    across_hosts: bool = False
    hca: Hca = Hca()


def shipped_names() -> list[str]:
    """Return the names of the transports that Lanewise comes with."""
    return sorted(path.stem for path in FILES.glob("*.toml"))


def find(given: str) -> Transport:
    """Return the transport called `given`: a path, or the name of a shipped one."""
    path = Path(given)
    if not path.is_file() and given in shipped_names():
        path = FILES / f"{given}.toml"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        close = difflib.get_close_matches(given, shipped_names(), n=1)
        hint = f"did you mean {close[0]}?" if close else f"shipped are {', '.join(shipped_names())}"
        reason = getattr(error, "strerror", None) or "it is no text"
        raise RequestError(f"transport {given} cannot be read ({reason}); {hint}") from None
    return parse(text, path.name.removesuffix(".toml"), str(given))


def parse(text: str, name: str, where: str) -> Transport:
    """Make the transport `name` from the text of its file, which messages call `where`."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RequestError(f"{where} is not TOML: {error}") from None
    take = Taker(values, where)
    if take.text("schema") not in (SCHEMA_NAME, SCHEMA_NAME_BEFORE):
        raise RequestError(f"{where}: schema is not '{SCHEMA_NAME}'; write schema = ...")
    version = values.pop("version", None)
    if version != SCHEMA_VERSION:
        raise RequestError(f"{where}: version {version} is not {SCHEMA_VERSION}, the one known")
    mpi = take.one_of("mpi", tuple(PRESETS))
    placing = Taker(take.table("placement"), f"{where}: placement")
    hca = hca_of(Taker(take.table("hca"), f"{where}: hca")) if "hca" in values else Hca()
    transport = Transport(
        name=name,
        title=take.text("title", name),
        mpi=mpi,
        launcher=take.one_of("launcher", tuple(LAUNCHERS), mpi),
        arguments=take.texts("arguments"),
        environment={key: str(value) for key, value in take.table("environment").items()},
        placement=Placement(
            bind=placing.one_of("bind", BINDINGS, ""),
            hosts=placing.texts("hosts"),
            hostfile=placing.text("hostfile", ""),
        ),
        device=take.text("device", ""),
        across_hosts=values.pop("across_hosts", False) is True,
        hca=hca,
    )
    take.nothing_left()
    placing.nothing_left()
    if mpi not in LAUNCHERS[transport.launcher].mpis:
        raise RequestError(f"{where}: launcher {transport.launcher} does not start {mpi}")
    return transport


def hca_of(take: Taker) -> Hca:
    """Take the table of the software device."""
    hca = Hca(take.texts("ports"), take.one_of("personality", LINK_LAYERS, LINK_LAYERS[0]))
    take.nothing_left()
    if not 1 <= len(hca.ports) <= PORTS_MAX:
        raise RequestError(f"{take.where}: ports name 1 or {PORTS_MAX} interfaces")
    return hca


@dataclass(frozen=True)
class Taker:
    """Takes keys out of a table, so that what is left is what nobody knows."""

    values: dict[str, Any]
    where: str

    def text(self, key: str, default: str | None = None) -> str:
        """Take a string; without a default it must be there."""
        value = self.values.pop(key, default)
        if not isinstance(value, str):
            said = "is missing" if value is None else f"is {value!r}, not a string"
            raise RequestError(f"{self.where}: key '{key}' {said}")
        return value

    def one_of(self, key: str, known: tuple[str, ...], default: str | None = None) -> str:
        """Take a string that must be one of `known`."""
        value = self.text(key, default)
        if value not in known:
            names = ", ".join(filter(None, known))
            raise RequestError(f"{self.where}: {key} '{value}' is none of {names}")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Take a list of strings, empty where there is none."""
        value = self.values.pop(key, [])
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            raise RequestError(f"{self.where}: key '{key}' is not a list of strings")
        return tuple(value)

    def table(self, key: str) -> dict[str, Any]:
        """Take a table, empty where there is none."""
        value = self.values.pop(key, {})
        if not isinstance(value, dict):
            raise RequestError(f"{self.where}: key '{key}' is not a table")
        return value

    def nothing_left(self) -> None:
        """Raise RequestError that names a key that is not known."""
        if self.values:
            raise RequestError(f"{self.where}: unknown key '{next(iter(self.values))}'")
