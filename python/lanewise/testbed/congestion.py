# SPDX-License-Identifier: BSD-3-Clause
"""Whether the kernel has the congestion control of a description, or loads it once it is asked."""

from __future__ import annotations

import os
import pathlib
import socket

from lanewise.toml.tables import Tables, shown

LISTED = pathlib.Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
MODULES = pathlib.Path("/lib/modules")


def require_loadable(text: str, where: str) -> None:
    """Raise RequestError where the kernel has not, and cannot load, what a description names.

    A container may hold no list of the modules of its kernel.  There root asks the kernel itself,
    which answers other users about what is loaded already: they hear of it by `require_listed`.
    """
    if not _may_be_loaded(_congestion(Tables(text, where))):
        require_listed(text, where)


def require_listed(text: str, where: str) -> None:
    """Raise RequestError where the kernel does not list the congestion control of a description.

    It loads modules once they are asked for, so this is known after a testbed could not be made.
    """
    tables = Tables(text, where)
    congestion, listed = _congestion(tables), _listed()
    if congestion and listed and congestion not in listed:
        raise tables.refuse(
            ("tcp", "congestion"),
            f"congestion = {shown(congestion)}: the kernel has {', '.join(listed)}",
        )


def _congestion(tables: Tables) -> str:
    return str(tables.values.get("tcp", {}).get("congestion", ""))


def _listed() -> list[str]:
    """Return the congestion controls that are loaded, none where the kernel does not say."""
    try:
        return LISTED.read_text(encoding="ascii").split()
    except OSError:
        return []


def _may_be_loaded(congestion: str) -> bool:
    try:
        modules = (MODULES / os.uname().release / "modules.dep").read_text(encoding="utf-8")
    except OSError:
        return os.geteuid() != 0 or _is_given(congestion)
    return f"/tcp_{congestion}.ko" in modules


def _is_given(congestion: str) -> bool:
    """Ask the kernel for a connection with a congestion control, which loads its module."""
    with socket.socket() as connection:
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
        except FileNotFoundError:
            return False
        except OSError:
            return True
    return True
