# SPDX-License-Identifier: BSD-3-Clause
"""The same program on both transports: UCX and Open MPI on the software device and over TCP.

`hca-latency` and its neighbours compare raw verbs with UCX, which does more work per message.
Here ucx_perftest and Open MPI, which sends through UCX, run unchanged on the device, over TCP, and
inside one host also over the shared memory of UCX.  All that is compared runs in each round, every
second round in the reverse order.  A figure is of medians over the rounds.
"""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Quick, Row, Target
from experiments.hca.hosts import LISTENER, Hosts
from experiments.hca.speed import INTERFACE, MIB_TO_GBIT, UCX_OVER_TCP, joined_hosts, ucx
from experiments.native import compiled
from experiments.workspace import Workspace
from lanewise.errors import RunError
from lanewise.plots import Bar, draw_bars
from lanewise.testbed import running

ROUNDS = 9
MESSAGES = 20_000
CALLS = 5_000
MTUS_BYTES = (1500, 9000)
SAME_HOST = "same_host"
PROGRAM = Path(__file__).with_name("calls.c")
# By size, how many messages a stream has: enough for a second or more.
_STREAMS = {"64KiB": (65536, 20_000), "1MiB": (2**20, 2_000)}
_WRITTEN = {"us": "{:.3g} µs".format, "gbps": "{:.3g} Gbit/s".format}
_PML = ("--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any")


@dataclass(frozen=True)
class Transport:
    """What UCX is told to use, and whether programs run on the software device."""

    name: str
    variables: Mapping[str, str]
    device: bool = False

    def on(self, hosts: Hosts) -> Hosts:
        """Return the hosts with this transport."""
        return replace(hosts, device=self.device, variables=self.variables)


DEVICE = Transport(
    "device", {"UCX_TLS": "rc_verbs,ud_verbs,self", "UCX_NET_DEVICES": "lanewise0:1"}, device=True
)
TCP = Transport("tcp", UCX_OVER_TCP)
SHARED_MEMORY = Transport("shm", {"UCX_TLS": "shm,self"})

Values = dict[str, list[float]]
Run = Callable[[Hosts, Transport], Mapping[str, float]]


@dataclass(frozen=True)
class Place:
    """Where the two ends are, the transports between them, and what is run on each."""

    name: str
    mtu_bytes: int
    transports: Sequence[Transport]
    runs: Sequence[Run]
    caller: str = ""

    def measured(self, workspace: Workspace, rounds: int) -> Values:
        """Return what the rounds gave, by WHAT/TRANSPORT/PLACE."""
        values: Values = {}
        with joined_hosts(self.mtu_bytes) as joined:
            hosts = replace(joined, caller=self.caller or joined.caller)
            for number in range(rounds):
                workspace.say(f"{self.name}: round {number + 1} of {rounds}")
                pairs = [(run, one) for run in self.runs for one in self.transports]
                for run, one in pairs if number % 2 == 0 else reversed(pairs):
                    for what, value in run(hosts, one).items():
                        values.setdefault(f"{what}/{one.name}/{self.name}", []).append(value)
        return values


def latency(hosts: Hosts, transport: Transport, messages: int = MESSAGES) -> dict[str, float]:
    """Return the median one-way time of 8 bytes by ucx_perftest, after half as many messages."""
    options = ["-n", str(messages), "-w", str(messages // 2), "-s", "8"]
    return {"latency_us": ucx(transport.on(hosts), "tag_lat", options, 2)}


def bandwidth(hosts: Hosts, transport: Transport, size: str) -> dict[str, float]:
    """Return the bandwidth of a stream of messages by ucx_perftest."""
    message_bytes, count = _STREAMS[size]
    options = ["-n", str(count), "-s", str(message_bytes)]
    rate = ucx(transport.on(hosts), "tag_bw", options, 6)
    return {f"bandwidth_{size}_gbps": MIB_TO_GBIT * rate}


def mpi(hosts: Hosts, transport: Transport, program: Path, calls: int = CALLS) -> dict[str, float]:
    """Return the times of a ping-pong of 8 bytes and an allreduce of 64 KiB of Open MPI."""
    settings = [f"{name}={value}" for name, value in transport.variables.items()]
    exports = [word for name in transport.variables for word in ("-x", name)]
    device = [sys.executable, "-m", "lanewise", "rdma", "run", *hosts.options, "--"]
    answer = program.with_suffix(".txt")
    line = ["sh", "-c", 'exec "$@" > "$0"', str(answer), "env", *settings, "mpirun.openmpi",
            *exports, *_PML, "-n", "2", *(device if transport.device else []), str(program),
            str(calls)]  # fmt: skip
    status = running.run_in(hosts.bed, running.Wanted(line))
    text = answer.read_text(encoding="utf-8")
    found = re.search(r"latency_us ([\d.]+) allreduce_us ([\d.]+)", text)
    if status != 0 or found is None:
        raise RunError(f"Open MPI over {transport.name} ended with status {status}: {text}")
    return {"mpi_latency_us": float(found[1]), "allreduce_64KiB_us": float(found[2])}


def built(folder: Path) -> Path:
    """Return the program of the MPI calls, built with Open MPI."""
    program = (folder / PROGRAM.stem).resolve()
    return compiled("mpicc.openmpi", PROGRAM, program, "-std=gnu11", "-O2")


def run(workspace: Workspace) -> Outcome:
    """Compare the transports between two hosts at both MTUs, and inside one host."""
    return _run(workspace, ROUNDS)


def _run(workspace: Workspace, rounds: int) -> Outcome:
    streams = [partial(bandwidth, size=size) for size in _STREAMS]
    between: list[Run] = [latency, *streams, partial(mpi, program=built(workspace.folder))]
    places = [Place(f"mtu_{mtu}", mtu, (DEVICE, TCP), between) for mtu in MTUS_BYTES]
    inside = (DEVICE, TCP, SHARED_MEMORY)
    places.append(Place(SAME_HOST, MTUS_BYTES[-1], inside, [latency, *streams], LISTENER))
    values: Values = {}
    for place in places:
        values |= place.measured(workspace, rounds)
    return outcome(workspace, values, rounds)


def outcome(workspace: Workspace, values: Values, rounds: int) -> Outcome:
    """Return the medians, the ratios of medians, and the ratios of each round."""
    medians = {name: statistics.median(found) for name, found in values.items()}
    ratios = ratios_of(medians)
    each = [
        ratios_of({name: found[number] for name, found in values.items()})
        for number in range(rounds)
    ]
    figures = ratios | {name.replace("/", "_"): value for name, value in medians.items()}
    launches = {name.replace("/", "_"): found for name, found in values.items()}
    return Outcome(
        figures=figures,
        rows=[Row(name, "-", f"{value:.3g}") for name, value in figures.items()],
        conditions={"rounds": rounds, "mtus_bytes": list(MTUS_BYTES), "interface": INTERFACE},
        files=draw(workspace, values),
        launches={**launches, **{name: [one[name] for one in each] for name in ratios}},
    )


def ratios_of(measured: Mapping[str, float]) -> dict[str, float]:
    """Return device over TCP, at each MTU and at the worse of both, and over shared memory."""
    ratios: dict[str, float] = {}
    for what, ratio, worse in (
        ("latency_us", "latency_ratio_veth", max),
        ("bandwidth_64KiB_gbps", "bandwidth_ratio_64KiB", min),
        ("bandwidth_1MiB_gbps", "bandwidth_ratio_1MiB", min),
        ("allreduce_64KiB_us", "allreduce_64KiB_ratio", max),
        ("mpi_latency_us", "mpi_latency_ratio", max),
    ):
        at = {
            f"{ratio}_mtu_{mtu}": measured[f"{what}/device/mtu_{mtu}"]
            / measured[f"{what}/tcp/mtu_{mtu}"]
            for mtu in MTUS_BYTES
        }
        ratios |= {ratio: worse(at.values()), **at}
    for what, ratio in (
        ("latency_us", "latency_over_ucx_shm"),
        ("bandwidth_64KiB_gbps", "bandwidth_64KiB_over_ucx_shm"),
        ("bandwidth_1MiB_gbps", "bandwidth_1MiB_over_ucx_shm"),
    ):
        shared = measured[f"{what}/shm/{SAME_HOST}"]
        ratios[ratio] = measured[f"{what}/device/{SAME_HOST}"] / shared
    return ratios


def draw(workspace: Workspace, values: Values) -> list[Path]:
    """Draw one file of each thing that was measured, with a panel of each place."""
    drawn: dict[str, dict[str, list[Bar]]] = {}
    for name, found in values.items():
        what, transport, place = name.split("/")
        bar = Bar(transport, statistics.median(found), transport, min(found), max(found))
        title = f"{what.rpartition('_')[0]}, {place}".replace("_", " ")
        drawn.setdefault(what, {}).setdefault(title, []).append(bar)
    files: list[Path] = []
    for what, panels in drawn.items():
        quantity, _, unit = what.rpartition("_")
        figure = draw_bars(list(panels.items()), _WRITTEN[unit])
        files += workspace.save(figure, f"hca-ucx-{quantity.replace('_', '-')}")
    return files


_OF_MEDIANS = "device over TCP, of the medians of the rounds"
_WORSE = Estimator(f"{_OF_MEDIANS}, the worse of MTU 1500 and 9000", ROUNDS, MESSAGES, "messages")
_ONE = replace(_WORSE, text=_OF_MEDIANS)
_STREAM = "stream of 1.2 GiB or more"
_STREAMED, _ONE_STREAM = (replace(one, batch=1, of=_STREAM) for one in (_WORSE, _ONE))
_CALLED, _ONE_CALLED = (replace(one, batch=CALLS, of="calls") for one in (_WORSE, _ONE))
_SHARED = replace(_WORSE, text="device over UCX's shared memory, of the medians of the rounds")
_SHARED_STREAM = replace(_SHARED, batch=1, of=_STREAM)
_MEDIAN = replace(_WORSE, text="median of the rounds")
_EACH = "the target is for the worse of both MTUs"
_MACHINE = "it depends on the processor; what is judged is the ratio"
_MPI = "the target for the latency is that of ucx_perftest; this is what an MPI makes of it"

EXPERIMENT = Experiment(
    name="hca-ucx",
    paper="003 §2",
    summary="UCX and Open MPI on the software device, over TCP and over shared memory",
    run=run,
    quick=Quick(partial(_run, rounds=1), takes_s=90.0),
    figures=(
        Figure("latency_ratio_veth", "ratio", _WORSE, Target("<=", 1.2)),
        Figure("bandwidth_ratio_64KiB", "ratio", _STREAMED, Target(">=", 1.0)),
        Figure("bandwidth_ratio_1MiB", "ratio", _STREAMED, Target(">=", 1.0)),
        Figure("allreduce_64KiB_ratio", "ratio", _CALLED, Target("<=", 1.0)),
        Figure("latency_over_ucx_shm", "ratio", _SHARED, Target("<=", 3.0)),
        Figure("bandwidth_1MiB_over_ucx_shm", "ratio", _SHARED_STREAM, Target(">=", 0.5)),
        Figure(
            "bandwidth_64KiB_over_ucx_shm", "ratio", _SHARED_STREAM, "the target is for 1 MiB"
        ),
        Figure("mpi_latency_ratio", "ratio", _CALLED, _MPI),
        Figure("latency_ratio_veth_mtu_{mtu}", "ratio", _ONE, _EACH),
        Figure("bandwidth_ratio_{size}_mtu_{mtu}", "ratio", _ONE_STREAM, _EACH),
        Figure("allreduce_64KiB_ratio_mtu_{mtu}", "ratio", _ONE_CALLED, _EACH),
        Figure("mpi_latency_ratio_mtu_{mtu}", "ratio", _ONE_CALLED, _MPI),
        Figure("latency_us_{transport}", "µs", _MEDIAN, _MACHINE),
        Figure("mpi_latency_us_{transport}", "µs", replace(_CALLED, text=_MEDIAN.text), _MACHINE),
        Figure(
            "allreduce_64KiB_us_{transport}", "µs", replace(_CALLED, text=_MEDIAN.text), _MACHINE
        ),
        Figure(
            "bandwidth_{size}_gbps_{transport}", "Gbit/s",
            replace(_STREAMED, text=_MEDIAN.text), _MACHINE,
        ),
    ),
)  # fmt: skip
