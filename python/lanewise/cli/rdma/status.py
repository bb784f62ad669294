# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise rdma status`: the software RDMA devices of the programs that run here."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer

from lanewise.cli.numbers import counted
from lanewise.hca.status import MANAGER, Found, Status, ask_all
from lanewise.results.printable import printable

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def register(app: typer.Typer) -> None:
    """Add the command `status` to `app`."""
    app.command("status")(status)


def status(as_json: AsJson = False) -> None:
    """$ lanewise rdma status --json

    Show the software devices of running programs.
    """
    found = ask_all()
    if as_json:
        sys.stdout.write(json.dumps(asdict(found)) + "\n")
        return
    sys.stdout.write(text(found))
    for one in found.unanswered:
        process = f"{printable(one['program'])} ({one['process']})"
        sys.stderr.write(
            f"lanewise rdma status: {process} does not answer; its devices are not shown, "
            "and it may be stopped\n"
        )


def text(found: Found) -> str:
    """Return the devices as lines for people."""
    if not found.devices and not found.unanswered:
        return "no program uses a software device here\n"
    lines = [line for device in found.devices for line in _device(device)]
    return "".join(f"{printable(line)}\n" for line in lines)


def _device(device: Status) -> list[str]:
    pairs = counted(device["queue_pair_count"], "queue pair")
    regions = counted(device["regions"], "memory region")
    number = device["device"].removeprefix("lanewise")
    name = "" if number == "0" else f" {device['device']}"
    lines = [f"{device['program']} ({device['process']}){name}: {pairs}, {regions}"]
    if MANAGER in device:
        lines.append(f"  connection manager  {_nonzero(device[MANAGER])}")
    return [*lines, *map(_port, device["ports"]), *map(_pair, device["queue_pairs"])]


def _port(port: dict[str, Any]) -> str:
    line = f"  port {port['port']} {port['interface']} {port['state']} {' '.join(port['gids'])}"
    return f"{line}  {_nonzero(port['counters'])}"


def _pair(pair: dict[str, Any]) -> str:
    peer = f" to 0x{pair['peer']:06x} at {pair['address']}" if "peer" in pair else ""
    line = f"  {pair['transport']} 0x{pair['number']:06x} {pair['state']} port {pair['port']}{peer}"
    return f"{line} {pair.get('migration', '')}  {_nonzero(pair['counters'])}"


def _nonzero(counters: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counters.items() if count)
