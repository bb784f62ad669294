# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise rdma run`: run a verbs program on the software RDMA device.

The program becomes this process, so its exit status, its signals and its terminal are its own; only
the environment differs: three libraries are preloaded, and LANEWISE_HCA_* say what the device is.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from lanewise.errors import RequestError
from lanewise.files.whole import require_apart
from lanewise.hca.config import read_file
from lanewise.hca.device import CONGESTION, LINK_LAYERS, Device, empty_log, environment_for
from lanewise.hca.faults import checked_seed, script
from lanewise.hca.faults import read_file as read_faults
from lanewise.hca.replay import read_file as read_replay
from lanewise.hca.replay import script as replay_script
from lanewise.launch.foreground import become
from lanewise.launch.packages import not_found
from lanewise.launch.preload import obstacle
from lanewise.launch.use_mark import use_mark

Program = Annotated[
    list[str] | None,
    typer.Argument(metavar="-- PROGRAM ...", help="The verbs program and its arguments."),
]


def register(app: typer.Typer) -> None:
    """Add the command `run` to `app`."""
    passing_on = {"ignore_unknown_options": False, "allow_interspersed_args": False}
    app.command("run", context_settings=passing_on)(run_on_device)


def run_on_device(
    program: Program = None,
    ports: str | None = typer.Option(
        None,
        metavar="NAME[,NAME]",
        help="Network interface of port 1, and of port 2 (default: lo).",
    ),
    devices: str | None = typer.Option(
        None,
        metavar="NAME[,NAME...]",
        help="Network interfaces of devices with one port each: lanewise0, lanewise1 and so on.",
    ),
    link_layer: str | None = typer.Option(
        None,
        metavar="|".join(LINK_LAYERS),
        help="Link layer that the ports report (default: ethernet).",
    ),
    personality: str | None = typer.Option(None, hidden=True),  # the name of --link-layer in 0.1
    lmc: int | None = typer.Option(
        None,
        metavar="BITS",
        help="Each InfiniBand port has 2^BITS LIDs; 0 to 7 (default: 0).",
    ),
    congestion: str | None = typer.Option(
        None,
        metavar="|".join(CONGESTION),
        help="Whether the device answers packets that the network marks, and slows down "
        "(default: dcqcn).",
    ),
    pcap: str | None = typer.Option(
        None,
        metavar="FILE",
        help="Write every packet to a capture file; %p in the name becomes the process id.",
    ),
    config: Path | None = typer.Option(
        None,
        metavar="FILE",
        help="Description of the device in TOML; options on the command line override it.",
    ),
    faults: Path | None = typer.Option(
        None,
        metavar="FILE",
        help="Faults of calls, completions, packets and connections, in TOML.",
    ),
    seed: int | None = typer.Option(
        None, metavar="N", help="Seed for faults of a given probability (0 or more; default: 1)."
    ),
    replay: Path | None = typer.Option(
        None,
        metavar="LOG",
        help="Repeat the faults in the log of an earlier run, each at the same occurrence.",
    ),
    fault_log: str = typer.Option(
        "",
        metavar="FILE",
        help="File to which each fault adds a line of JSON; emptied at the start.",
    ),
) -> None:
    """$ lanewise rdma run --ports eth0,eth1 -- ib_send_lat -d lanewise0

    Run a verbs program on the software RDMA device.

    The device is called lanewise0. It needs no kernel module and no root, and speaks RoCE v2.
    `lanewise rdma status` shows the devices of running programs with their counters.
    """
    if not program:
        raise RequestError("no program; say: lanewise rdma run -- ibv_devinfo")
    device = read_file(config) if config else Device()
    if ports is not None and devices is not None:
        raise RequestError("--devices takes the place of --ports; name one of them")
    if ports is not None:
        device = replace(device, interfaces=_names(ports), devices=())
    if devices is not None:
        if not _names(devices):
            raise RequestError("--devices names no interface; say --devices eth0,eth1")
        device = replace(device, devices=_names(devices))
    if (layer := link_layer or personality) is not None:
        device = replace(device, link_layer=layer)
    if lmc is not None:
        device = replace(device, lid_mask_bits=lmc)
    if congestion is not None:
        device = replace(device, congestion=congestion)
    if pcap is not None:
        device = replace(device, pcap=pcap)
    outputs = {"--fault-log": fault_log, "--pcap": device.pcap}
    named = {option: Path(name) for option, name in outputs.items() if name}
    require_apart(named, config, faults, replay)
    text = _fault_script(faults, seed, replay, fault_log)
    device = replace(device, faults=text, fault_log=fault_log)
    environment = {
        **environment_for(device, os.environ),
        "LANEWISE_HCA_USE_MARK": use_mark(),
    }
    found = shutil.which(program[0], path=environment.get("PATH"))
    if found is None:
        raise RequestError(not_found(program[0]))
    empty_log(fault_log)
    if reason := obstacle(found):
        typer.echo(f"lanewise rdma run: {program[0]} gets no RDMA device: {reason}", err=True)
    become(found, program, environment)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name)


def _fault_script(
    faults: Path | None, seed: int | None, replay: Path | None, fault_log: str
) -> str:
    """Return what the device is told about faults; empty where nothing is to go wrong."""
    if seed is not None:
        checked_seed(seed, "--seed")
    if faults is not None and replay is not None:
        raise RequestError("--replay takes the place of --faults; name one of them")
    if faults is not None:
        return script(read_faults(faults), 1 if seed is None else seed, str(faults))
    if seed is not None:
        raise RequestError("--seed applies to the faults of a script; give it with --faults FILE")
    if replay is None:
        if fault_log:
            raise RequestError("--fault-log goes with --faults FILE or --replay LOG")
        return ""
    return replay_script(read_replay(replay), str(replay))
