# SPDX-License-Identifier: BSD-3-Clause
"""Speed: latency, bandwidth and message rate of the software device on a veth pair.

UCX over TCP and a plain UDP ping are measured on the same pair, interleaved with the device.  Each
figure is the median of the rounds, so that a disturbance of this machine affects all alike.
"""

from __future__ import annotations

import re
import statistics
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from experiments.experiment import Experiment, Outcome, Row, Target
from experiments.hca.clients import QPERF_PORT, UCX_PORT
from experiments.hca.hosts import CALLER, LISTENER, Hosts
from experiments.hca.many import many
from experiments.workspace import Workspace, failing_as_run
from lanewise.errors import RunError
from lanewise.testbed import bed
from lanewise.testbed.bed import Source

ROUNDS = 9
ASLEEP_S = 10
MTU_BYTES = 9000
ADDRESS = "10.9.0.1"
DESCRIPTION = '[[site]]\nname = "a"\nhosts = 2\n'
_PAIR = ("name", "fast0", "mtu", str(MTU_BYTES))
_UNITS_US = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "sec": 1e6}
_MIB_TO_GBIT = 8 * 2**20 / 1e9
# The kernel reports a carrier up to a second after both ends are up.
_AWAIT_CARRIER = "until ip -o link show fast0 | grep -q 'state UP'; do sleep 0.05; done"

Measure = Callable[[Hosts], float]


@contextmanager
def joined_hosts() -> Iterator[Hosts]:
    """Create two hosts and join them by a veth pair of their own."""
    with failing_as_run(), bed.created(Source(DESCRIPTION, "speed", "speed.toml")) as raised:
        far = str(raised.folder / "net" / CALLER)
        words = ["ip", "link", "add", *_PAIR, "type", "veth", "peer", *_PAIR, "netns", far]
        _must(raised.line(LISTENER, words))
        for host, address in ((LISTENER, f"{ADDRESS}/24"), (CALLER, "10.9.0.2/24")):
            _must(raised.line(host, ["ip", "address", "add", address, "dev", "fast0"]))
            _must(raised.line(host, ["ip", "link", "set", "fast0", "up"]))
        for host in (LISTENER, CALLER):
            _must(raised.line(host, ["timeout", "5", "sh", "-c", _AWAIT_CARRIER]))
        yield Hosts(raised, ["--ports", "fast0"])


def _must(line: Sequence[str]) -> None:
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunError(f"{' '.join(line)}: {done.stderr.strip()}")


def perftest(hosts: Hosts, program: str, options: Sequence[str], column: int) -> float:
    """Run a program of perftest and return a column of its last line of numbers."""
    words = [program, "-x", "0", "-F", *options]
    said = hosts.pair(words, [*words, ADDRESS])
    rows = re.findall(r"^ *\d+ +\d+ .*$", said.caller, re.MULTILINE)
    if not said.good or not rows:
        raise RunError(f"{program} failed: {said}")
    return float(rows[-1].split()[column])


def ucx(hosts: Hosts, test: str, options: Sequence[str], column: int) -> float:
    """Run ucx_perftest over TCP and return a column of its final line."""
    variables = {"UCX_TLS": "tcp", "UCX_NET_DEVICES": "fast0"}
    plain = replace(hosts, device=False, variables=variables)
    words = ["ucx_perftest", "-t", test, *options, ADDRESS]
    said = plain.pair(["ucx_perftest"], words, UCX_PORT)
    rows = re.findall(r"^Final:.*$", said.caller, re.MULTILINE)
    if not said.good or not rows:
        raise RunError(f"ucx_perftest failed: {said}")
    return float(rows[-1].split()[column])


def udp_latency_us(hosts: Hosts) -> float:
    """Return half the round trip of a small UDP datagram."""
    words = ["qperf", "-t", "1", ADDRESS, "-m", "8", "udp_lat", "quit"]
    said = replace(hosts, device=False).pair(["qperf"], words, QPERF_PORT)
    found = re.search(r"latency += +([\d.]+) (\w+)", said.caller)
    if found is None:
        raise RunError(f"qperf failed: {said}")
    return float(found.group(1)) * _UNITS_US[found.group(2)]


def medians(workspace: Workspace, measures: dict[str, Measure]) -> dict[str, float]:
    """Measure each once per round, for several rounds, and return the medians."""
    values: dict[str, list[float]] = {name: [] for name in measures}
    with joined_hosts() as hosts:
        for number in range(ROUNDS):
            for name, measure in measures.items():
                workspace.say(f"round {number + 1} of {ROUNDS}: {name}")
                values[name].append(measure(hosts))
    return {name: statistics.median(found) for name, found in values.items()}


def outcome(figures: dict[str, float], unit: str) -> Outcome:
    """Return figures with a table of them."""
    rows = [Row(name, "-", f"{value:.3g} {unit}") for name, value in figures.items()]
    return Outcome(figures, rows, {"rounds": ROUNDS, "mtu_bytes": MTU_BYTES}, [])


def run_latency(workspace: Workspace) -> Outcome:
    """Compare the latency of a small message."""
    lat = ["-n", "20000", "-s", "8"]
    figures = medians(workspace, {
        "rc_latency_us": partial(
            perftest, program="ib_send_lat", options=[*lat, "-I", "64"], column=4),
        "ucx_tcp_latency_us": partial(ucx, test="tag_lat", options=lat, column=2),
        "udp_us": udp_latency_us,
    })  # fmt: skip
    figures["ratio"] = figures["rc_latency_us"] / figures["ucx_tcp_latency_us"]
    return outcome(figures, "")


def run_bandwidth(workspace: Workspace) -> Outcome:
    """Compare the bandwidth of messages of 64 KiB."""
    options = ["-s", "65536", "-n", "20000"]
    measures: dict[str, Measure] = {
        f"{what}_64KiB_gbps": partial(
            perftest, program=f"ib_{what}_bw", options=[*options, "--report_gbits"], column=3)
        for what in ("write", "read", "send")
    }  # fmt: skip
    measures["ucx_tcp_gbps"] = partial(ucx, test="tag_bw", options=options, column=6)
    figures = medians(workspace, measures)
    figures["ucx_tcp_gbps"] *= _MIB_TO_GBIT
    figures["ratio"] = figures["write_64KiB_gbps"] / figures["ucx_tcp_gbps"]
    return outcome(figures, "")


def run_message_rate(workspace: Workspace) -> Outcome:
    """Compare the rates of small messages."""
    options = ["-s", "8", "-n", "50000"]
    figures = medians(workspace, {
        "rc_messages_per_s": partial(
            perftest, program="ib_send_bw", options=[*options, "-I", "64"], column=4),
        "ucx_tcp_messages_per_s": partial(ucx, test="tag_bw", options=options, column=8),
    })  # fmt: skip
    figures["rc_messages_per_s"] *= 1e6
    workspace.say("ten thousand queue pairs, and a program that sleeps")
    with joined_hosts() as hosts:
        found = many(hosts, workspace.folder, ASLEEP_S)
    figures["queue_pairs"] = found.queue_pairs
    figures["queue_pair_bytes"] = found.bytes_each
    figures["idle_cpu_percent"] = found.idle_percent
    figures["ratio"] = figures["rc_messages_per_s"] / figures["ucx_tcp_messages_per_s"]
    return outcome(figures, "")


LATENCY = Experiment(
    name="hca-latency",
    paper="003 §2",
    summary="latency of the software device beside UCX over TCP and UDP",
    run=run_latency,
    targets=(Target("ratio", "<=", 1.2),),
)
BANDWIDTH = Experiment(
    name="hca-bandwidth",
    paper="003 §2",
    summary="bandwidth of the software device beside UCX over TCP",
    run=run_bandwidth,
    targets=(Target("write_64KiB_gbps", ">=", 20.0), Target("ratio", ">=", 1.0)),
)
MESSAGE_RATE = Experiment(
    name="hca-message-rate",
    paper="003 §2",
    summary="small messages a second on the software device beside UCX over TCP",
    run=run_message_rate,
    targets=(Target("ratio", ">=", 1.0),),
)
