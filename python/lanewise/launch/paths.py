# SPDX-License-Identifier: BSD-3-Clause
"""Path files: which ports the hosts have, and which of them reach each other."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from ipaddress import IPv6Address
from pathlib import Path
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
            "there is no RDMA device here; for the software device say: "
            "lanewise rdma run --ports eth0,eth1 -- lanewise rdma discover"
        )
    ports = [entry for one in found if (entry := _port(one, rails))]
    unknown = set(rails) - {f"{one['device']}:{one['port']}" for one in found}
    if unknown:
        raise RequestError(f"--rail {min(unknown)}: there is no such port here")
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


def read(path: Path) -> dict[str, Any]:
    """Return a path file; RequestError where it is none."""
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RequestError(
            f"{path} does not exist; lanewise rdma discover -o {path} writes it"
        ) from None
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise RequestError(f"{path} is not JSON; write it with: lanewise rdma discover") from None
    if not isinstance(known, dict) or known.get("schema") != "lanewise-paths":
        raise RequestError(f"{path} is no path file; write one with: lanewise rdma discover")
    return known


def with_host(known: dict[str, Any] | None, host: dict[str, Any]) -> dict[str, Any]:
    """Return the path file with `host` in it, in the place of one of the same name."""
    others = [one for one in (known or {}).get("hosts", []) if one["name"] != host["name"]]
    hosts = sorted([*others, host], key=lambda one: str(one["name"]))
    return {"schema": "lanewise-paths", "version": 1, "hosts": hosts}


def text_of(known: Mapping[str, Any]) -> str:
    """Return the text of a path file."""
    return json.dumps(known, indent=2) + "\n"
