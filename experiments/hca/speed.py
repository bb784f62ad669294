# SPDX-License-Identifier: BSD-3-Clause
"""Speed: latency, bandwidth and message rate of the software device on a veth pair.

UCX over TCP and a plain UDP ping are measured on the same pair, interleaved with the device.  Each
figure is the median of the rounds, so that a disturbance of this machine affects all alike.
"""

from __future__ import annotations

import re
import statistics
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row, Target
from experiments.hca.hosts import CALLER, LISTENER, QPERF_PORT, UCX_PORT, Hosts
from experiments.hca.many import QUEUE_PAIRS, many
from experiments.workspace import Workspace, failing_as_run
from lanewise.errors import RunError
from lanewise.plots import Bar, draw_bars
from lanewise.testbed import bed
from lanewise.testbed.bed import Source

ROUNDS = 9
MESSAGES, SMALL_MESSAGES = 20_000, 50_000
ASLEEP_S = 10
MTU_BYTES = 9000
INTERFACE = "fast0"
ADDRESS = "10.9.0.1"
DESCRIPTION = '[[site]]\nname = "a"\nhosts = 2\n'
UCX_OVER_TCP = {"UCX_TLS": "tcp", "UCX_NET_DEVICES": INTERFACE}
_UNITS_US = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "sec": 1e6}
MIB_TO_GBIT = 8 * 2**20 / 1e9
# The kernel reports a carrier up to a second after both ends are up.
_AWAIT_CARRIER = f"until ip -o link show {INTERFACE} | grep -q 'state UP'; do sleep 0.05; done"

Measure = Callable[[Hosts], float]


@dataclass(frozen=True)
class Plot:
    """What is drawn of the rounds: the figures by title, and which two the ratio is of."""

    file: str
    what: str
    ratio: tuple[str, str]
    titles: Mapping[str, str]
    write: Callable[[float], str]


@contextmanager
def joined_hosts(mtu_bytes: int) -> Iterator[Hosts]:
    """Create two hosts and join them by a veth pair of their own."""
    end = ("name", INTERFACE, "mtu", str(mtu_bytes))
    with failing_as_run(), bed.created(Source(DESCRIPTION, "speed", "speed.toml")) as raised:
        far = str(raised.folder / "net" / CALLER)
        words = ["ip", "link", "add", *end, "type", "veth", "peer", *end, "netns", far]
        _must(raised.line(LISTENER, words))
        for host, address in ((LISTENER, f"{ADDRESS}/24"), (CALLER, "10.9.0.2/24")):
            _must(raised.line(host, ["ip", "address", "add", address, "dev", INTERFACE]))
            _must(raised.line(host, ["ip", "link", "set", INTERFACE, "up"]))
        for host in (LISTENER, CALLER):
            _must(raised.line(host, ["timeout", "5", "sh", "-c", _AWAIT_CARRIER]))
        yield Hosts(raised, ["--ports", INTERFACE])


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
    """Run ucx_perftest over the transport of the hosts; return a column of its final line."""
    words = ["ucx_perftest", "-t", test, *options, ADDRESS]
    said = hosts.pair(["ucx_perftest"], words, UCX_PORT)
    rows = re.findall(r"^Final:.*$", said.caller, re.MULTILINE)
    if not said.good or not rows:
        raise RunError(f"ucx_perftest failed: {said}")
    return float(rows[-1].split()[column])


def ucx_over_tcp(hosts: Hosts, test: str, options: Sequence[str], column: int) -> float:
    """Run the same without the device."""
    return ucx(replace(hosts, device=False, variables=UCX_OVER_TCP), test, options, column)


def udp_latency_us(hosts: Hosts) -> float:
    """Return half the round trip of a small UDP datagram."""
    words = ["qperf", "-t", "1", ADDRESS, "-m", "8", "udp_lat", "quit"]
    said = replace(hosts, device=False).pair(["qperf"], words, QPERF_PORT)
    found = re.search(r"latency += +([\d.]+) (\w+)", said.caller)
    if found is None:
        raise RunError(f"qperf failed: {said}")
    return float(found.group(1)) * _UNITS_US[found.group(2)]


def measured(workspace: Workspace, measures: dict[str, Measure]) -> dict[str, list[float]]:
    """Measure each once per round, and return the values of all rounds."""
    values: dict[str, list[float]] = {name: [] for name in measures}
    with joined_hosts(MTU_BYTES) as hosts:
        for number in range(ROUNDS):
            for name, measure in measures.items():
                workspace.say(f"round {number + 1} of {ROUNDS}: {name}")
                values[name].append(measure(hosts))
    return values


def outcome(workspace: Workspace, values: dict[str, list[float]], plot: Plot) -> Outcome:
    """Return the medians of the rounds and the ratio of two of them, with a table and a plot."""
    figures = {name: statistics.median(found) for name, found in values.items()}
    device, peer = plot.ratio
    figures["ratio"] = figures[device] / figures[peer]
    ratios = [ours / theirs for ours, theirs in zip(values[device], values[peer], strict=True)]
    bars = [
        Bar(title, figures[name], title, low=min(values[name]), high=max(values[name]))
        for name, title in plot.titles.items()
    ]
    panels = [(f"{plot.what}, {ROUNDS} rounds", bars)]
    return Outcome(
        figures=figures,
        rows=[Row(name, "-", f"{value:.3g}") for name, value in figures.items()],
        conditions={"rounds": ROUNDS, "mtu_bytes": MTU_BYTES},
        files=workspace.save(draw_bars(panels, plot.write), plot.file),
        launches={**values, "ratio": ratios},
    )


def run_latency(workspace: Workspace) -> Outcome:
    """Compare the latency of a small message."""
    lat = ["-n", str(MESSAGES), "-s", "8"]
    values = measured(workspace, {
        "rc_latency_us": partial(
            perftest, program="ib_send_lat", options=[*lat, "-I", "64"], column=4),
        "ucx_tcp_latency_us": partial(ucx_over_tcp, test="tag_lat", options=lat, column=2),
        "udp_us": udp_latency_us,
    })  # fmt: skip
    return outcome(workspace, values, Plot(
        "hca-latency", "One-way time of 8 bytes", ("rc_latency_us", "ucx_tcp_latency_us"),
        {"rc_latency_us": "device, perftest", "ucx_tcp_latency_us": "TCP, UCX",
         "udp_us": "UDP, qperf"},
        lambda value: f"{value:.3g} µs",
    ))  # fmt: skip


def run_bandwidth(workspace: Workspace) -> Outcome:
    """Compare the bandwidth of messages of 64 KiB."""
    options = ["-s", "65536", "-n", str(MESSAGES)]
    measures: dict[str, Measure] = {
        f"{what}_64KiB_gbps": partial(
            perftest, program=f"ib_{what}_bw", options=[*options, "--report_gbits"], column=3)
        for what in ("write", "read", "send")
    }  # fmt: skip
    measures["ucx_tcp_gbps"] = partial(ucx_over_tcp, test="tag_bw", options=options, column=6)
    values = measured(workspace, measures)
    values["ucx_tcp_gbps"] = [MIB_TO_GBIT * value for value in values["ucx_tcp_gbps"]]
    titles = {f"{what}_64KiB_gbps": f"device, {what}s" for what in ("write", "read", "send")}
    return outcome(workspace, values, Plot(
        "hca-bandwidth", "Bandwidth of 64 KiB", ("write_64KiB_gbps", "ucx_tcp_gbps"),
        {**titles, "ucx_tcp_gbps": "TCP, UCX"}, lambda value: f"{value:.3g} Gbit/s",
    ))  # fmt: skip


def run_message_rate(workspace: Workspace) -> Outcome:
    """Compare the rates of small messages."""
    options = ["-s", "8", "-n", str(SMALL_MESSAGES)]
    values = measured(workspace, {
        "rc_messages_per_s": partial(
            perftest, program="ib_send_bw", options=[*options, "-I", "64"], column=4),
        "ucx_tcp_messages_per_s": partial(ucx_over_tcp, test="tag_bw", options=options, column=8),
    })  # fmt: skip
    values["rc_messages_per_s"] = [1e6 * value for value in values["rc_messages_per_s"]]
    workspace.say("ten thousand queue pairs, and a program that sleeps")
    with joined_hosts(MTU_BYTES) as hosts:
        found = many(hosts, workspace.folder, ASLEEP_S)
    done = outcome(workspace, values, Plot(
        "hca-message-rate", "Messages of 8 bytes a second",
        ("rc_messages_per_s", "ucx_tcp_messages_per_s"),
        {"rc_messages_per_s": "device, perftest", "ucx_tcp_messages_per_s": "TCP, UCX"},
        lambda value: f"{value / 1e6:.3g} million",
    ))  # fmt: skip
    many_figures = {
        "queue_pairs": float(found.queue_pairs),
        "queue_pair_bytes": float(found.bytes_each),
        "idle_cpu_percent": found.idle_percent,
    }
    rows = [Row(name, "-", f"{value:.3g}") for name, value in many_figures.items()]
    return replace(done, figures=done.figures | many_figures, rows=[*done.rows, *rows])


_MEDIAN = Estimator("median of the rounds", ROUNDS, MESSAGES, "messages")
_RATIO = Estimator("device over TCP, of the medians of the rounds", ROUNDS, MESSAGES, "messages")
_RATE = replace(_MEDIAN, batch=SMALL_MESSAGES)
_MACHINE = "it depends on the processor; what is judged is the ratio to TCP in the same rounds"
_MANY = Estimator("of one process", 1, QUEUE_PAIRS, "queue pairs")

LATENCY = Experiment(
    name="hca-latency",
    paper="003 §2",
    summary="latency of the software device beside UCX over TCP and UDP",
    run=run_latency,
    figures=(
        Figure("ratio", "ratio", _RATIO, Target("<=", 1.2)),
        Figure("rc_latency_us", "µs", _MEDIAN, _MACHINE),
        Figure("ucx_tcp_latency_us", "µs", _MEDIAN, "it is what the device is compared with"),
        Figure(
            "udp_us", "µs", replace(_MEDIAN, batch=1, of="second of round trips"),
            "it is the least that a datagram takes here",
        ),
    ),
)  # fmt: skip
BANDWIDTH = Experiment(
    name="hca-bandwidth",
    paper="003 §2",
    summary="bandwidth of the software device beside UCX over TCP",
    run=run_bandwidth,
    figures=(
        Figure("write_64KiB_gbps", "Gbit/s", _MEDIAN, Target(">=", 20.0)),
        Figure("ratio", "ratio", _RATIO, Target(">=", 1.0)),
        Figure("read_64KiB_gbps", "Gbit/s", _MEDIAN, "the targets are for writes"),
        Figure("send_64KiB_gbps", "Gbit/s", _MEDIAN, "the targets are for writes"),
        Figure("ucx_tcp_gbps", "Gbit/s", _MEDIAN, "it is what the device is compared with"),
    ),
)
MESSAGE_RATE = Experiment(
    name="hca-message-rate",
    paper="003 §2",
    summary="small messages a second on the software device beside UCX over TCP",
    run=run_message_rate,
    figures=(
        Figure("ratio", "ratio", replace(_RATIO, batch=SMALL_MESSAGES), Target(">=", 1.0)),
        Figure("rc_messages_per_s", "messages/s", _RATE, _MACHINE),
        Figure("ucx_tcp_messages_per_s", "messages/s", _RATE, "it is what is compared with"),
        Figure("queue_pairs", "queue pairs", _MANY, "the experiment fails if not all open"),
        Figure("queue_pair_bytes", "bytes", _MANY, "no bound for the memory was set"),
        Figure("idle_cpu_percent", "%", _MANY, "no bound for an idle process was set"),
    ),
)
