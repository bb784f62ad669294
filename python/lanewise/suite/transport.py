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
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lanewise.errors import RequestError
from lanewise.files.schemas import require
from lanewise.hca.device import LINK_LAYERS
from lanewise.launch.registry import LAUNCHERS
from lanewise.toml.lines import parse_with_lines
from lanewise.toml.text import read_text

SCHEMA_NAME = "lanewise-transport"
SCHEMA_NAME_BEFORE = "lanewise-fabric"
LINK_LAYER_BEFORE = "personality"
FILES = Path(__file__).with_name("files")


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
    link_layer: str = LINK_LAYERS[0]


@dataclass(frozen=True)
class Transport:
    """One transport; `launcher` starts it, `device` is what the MPI must say that it is built with.

    `environment` reaches the ranks alone.  `across_hosts` tells that it reaches other hosts.
    `digest` is the same for files that say the same, but for the title.
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
    digest: str = ""


def shipped_names() -> list[str]:
    """Return the names of the transports that Lanewise comes with."""
    return sorted(path.stem for path in FILES.glob("*.toml"))


def find(given: str) -> Transport:
    """Return the transport called `given`: a path, or the name of a shipped one."""
    path = Path(given)
    if not path.is_file() and given in shipped_names():
        path = FILES / f"{given}.toml"
    close = difflib.get_close_matches(given, shipped_names(), n=1)
    hint = f"did you mean {close[0]}?" if close else f"shipped are {', '.join(shipped_names())}"
    text = read_text(path, hint, called=f"transport {given}")
    return parse(text, path.name.removesuffix(".toml"), str(given))


def find_all(given: Sequence[str]) -> list[Transport]:
    """Return the transports called so; RequestError for two of one name, by which files go."""
    found: dict[str, str] = {}
    transports = [find(one) for one in given]
    for word, transport in zip(given, transports, strict=True):
        if found.get(transport.name) == word:
            raise RequestError(f"transport {word} is named twice; name it once")
        if transport.name in found:
            raise RequestError(
                f"transports {found[transport.name]} and {word} have the same name; rename a file"
            )
        found[transport.name] = word
    return transports


def parse(text: str, name: str, where: str) -> Transport:
    """Make the transport `name` from the text of its file, which messages call `where`."""
    try:
        values, lines = parse_with_lines(text)
    except ValueError as error:
        raise RequestError(f"{where}: {error}") from None

    def place(path: Iterable[str | int]) -> str:
        whole = tuple(path)
        while whole and whole not in lines:
            whole = whole[:-1]
        return f"{where}:{lines.get(whole, 1)}"

    as_now(values)
    require(values, "transport", place)
    mpi = values["mpi"]
    launcher = values.get("launcher", mpi)
    if launcher not in LAUNCHERS:
        known = ", ".join(LAUNCHERS)
        raise RequestError(f"{place(['launcher'])}: launcher '{launcher}' is none of {known}")
    if mpi not in LAUNCHERS[launcher].mpis:
        raise RequestError(f"{place(['launcher'])}: launcher {launcher} does not start {mpi}")
    placement = values.get("placement", {})
    if placement.get("bind") and not LAUNCHERS[launcher].bind:
        raise RequestError(
            f"{place(['placement', 'bind'])}: launcher {launcher} has no option for bind; "
            "leave it out, or add an option of the launcher to arguments"
        )
    return Transport(
        name=name,
        title=values.get("title", name),
        mpi=mpi,
        launcher=launcher,
        arguments=tuple(values.get("arguments", ())),
        environment={key: str(value) for key, value in values.get("environment", {}).items()},
        placement=Placement(
            bind=placement.get("bind", ""),
            hosts=tuple(placement.get("hosts", ())),
            hostfile=placement.get("hostfile", ""),
        ),
        device=values.get("device", ""),
        across_hosts=values.get("across_hosts", False),
        hca=hca_of(values["hca"]) if "hca" in values else Hca(),
        digest=digest_of(values),
    )


def digest_of(values: Mapping[str, Any]) -> str:
    """Return a short hash of what a file says, but for the title."""
    said = {key: value for key, value in values.items() if key != "title"}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]


def hca_of(table: Mapping[str, Any]) -> Hca:
    """Return the software device of a file that follows the schema."""
    return Hca(tuple(table["ports"]), table.get("link_layer", LINK_LAYERS[0]))


def as_now(values: dict[str, Any]) -> None:
    """Give what older files call otherwise its name of today."""
    if values.get("schema") == SCHEMA_NAME_BEFORE:
        values["schema"] = SCHEMA_NAME
    hca = values.get("hca")
    if isinstance(hca, dict) and LINK_LAYER_BEFORE in hca:
        hca["link_layer"] = hca.pop(LINK_LAYER_BEFORE)
