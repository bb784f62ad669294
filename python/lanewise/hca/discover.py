# SPDX-License-Identifier: BSD-3-Clause
"""The ports of this host, as an entry of a path file."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from ipaddress import IPv6Address
from typing import Any

from lanewise.errors import RequestError, RunError
from lanewise.launch.native import find_program

PROGRAM = "lanewise-device-ports"
TIMEOUT_S = 60.0


def host_here(
    name: str, rails: Mapping[str, str], environment: Mapping[str, str]
) -> dict[str, Any]:
    """Return the entry of this host; `rails` names the rail of DEVICE:PORT."""
    done = subprocess.run(
        [str(find_program(PROGRAM, environment))],
        capture_output=True, text=True, check=False, timeout=TIMEOUT_S, env=dict(environment),
    )  # fmt: skip
    if done.returncode != 0:
        raise RunError(f"the devices cannot be read: {done.stderr.strip()}")
    found = json.loads(done.stdout.splitlines()[-1])
    if not found:
        raise RequestError(
            "there is no RDMA device here; for the software device, run: "
            "lanewise rdma run --ports eth0,eth1 -- lanewise rdma discover"
        )
    ports = [entry for one in found if (entry := _port(one, rails))]
    known = [f"{one['device']}:{one['port']}" for one in found]
    unknown = set(rails) - set(known)
    if unknown:
        raise RequestError(
            f"--rail {min(unknown)}: there is no such port here; use one of {', '.join(known)}"
        )
    return {"name": name, "ports": ports}


def _port(found: Mapping[str, Any], rails: Mapping[str, str]) -> dict[str, Any] | None:
    label = f"{found['device']}:{found['port']}"
    gids = [gid for gid in found["gids"] if not _is_shared(gid)]
    entry: dict[str, Any] = {"device": found["device"], "port": found["port"]}
    entry["rail"] = rails.get(label, str(found["port"]))
    if gids:
        entry["gids"] = gids
    if found["lid"]:
        entry["lid"] = found["lid"]
    return entry if "gids" in entry or "lid" in entry else None


def _is_shared(gid: str) -> bool:
    """Tell whether an address is of every host, as ::1 and 127.0.0.1 are."""
    address = IPv6Address(gid)
    mapped = address.ipv4_mapped
    return address.is_loopback or (mapped is not None and mapped.is_loopback)


def with_host(known: dict[str, Any] | None, host: dict[str, Any]) -> dict[str, Any]:
    """Return the path file with `host` in it, in the place of one of the same name."""
    others = [one for one in (known or {}).get("hosts", []) if one["name"] != host["name"]]
    hosts = sorted([*others, host], key=lambda one: str(one["name"]))
    return {"schema": "lanewise-paths", "version": 1, "hosts": hosts}


def text_of(known: Mapping[str, Any]) -> str:
    """Return the text of a path file."""
    return json.dumps(known, indent=2) + "\n"
