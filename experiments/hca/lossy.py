# SPDX-License-Identifier: BSD-3-Clause
"""Lossy links: reliable connections of the software device over a link that loses and reorders.

Two sites are joined by a delay line that loses packets and holds back one in a hundred.  A
ping-pong checks every byte at a loss of 1 %; a stream of writes measures the goodput at each loss,
and the counters of the device what it cost.  On the same link, interleaved with the device, TCP
sends a stream with the congestion control cubic, the default of most kernels, and with bbr.
"""

from __future__ import annotations

import json
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Quick, Row, Target
from experiments.hca.hosts import ADDRESS, QPERF_PORT, Hosts
from experiments.workspace import Workspace, failing_as_run
from lanewise.errors import RunError
from lanewise.plots import Bar, draw_bars
from lanewise.testbed import bed
from lanewise.testbed.bed import Source

CALLER = "b1"
LOSS, REORDER = "1 %", "1 %"
LOSSES = ("0.1 %", LOSS, "5 %")
LINK_GBPS = 1.0
SECONDS = 5
ROUNDS = 5
DEVICE, CUBIC, BBR = SENDERS = ("device", "cubic", "bbr")
_CONNECTED = "#bytes"  # heads the table of ib_write_bw, which is connected then
_TO_GBIT = {"KB": 8e-6, "MB": 8e-3, "GB": 8.0}
# LIDs are derived from addresses only within a network, and each site is a network.
_DEVICE = """
ports = ["lan0"]
[lids]
"10.1.0.1" = 16
"10.2.0.1" = 17
"""


def description(loss: str) -> str:
    """Return the testbed: a site on either side of a link that loses such a share."""
    return f"""
[[site]]
name = "a"
hosts = 1

[[site]]
name = "b"
hosts = 1

[[link]]
between = ["a", "b"]
rate = "{LINK_GBPS:g} Gbit/s"
delay = "100 us"
loss = "{loss}"
reorder = "{REORDER}"
"""


def device_options(folder: Path) -> list[str]:
    """Write the configuration of the device on either host; return the options that select it."""
    file = folder / "device.toml"
    file.write_text(_DEVICE, encoding="utf-8")
    return ["--config", str(file)]


def pingpong(hosts: Hosts, kind: str) -> bool:
    """Tell whether a ping-pong over the link delivered every byte unchanged."""
    words = [f"ibv_{kind}_pingpong", "-g", "0", "-c", "-n", "1000"]
    listening = hosts.listen(words, 18515)
    calling = hosts.run(CALLER, [*words, ADDRESS])
    listening.communicate()
    return calling.returncode == 0 and listening.returncode == 0


@dataclass(frozen=True)
class Stream:
    """The goodput of a stream and the counters of its sender; one that died carried nothing."""

    gbps: float
    counters: Mapping[str, int]
    died: str = ""


def stream(hosts: Hosts) -> Stream:
    """Write for some seconds, and read the counters of the sender towards the end."""
    words = ["ib_write_bw", "-x", "0", "-F", "-s", "65536", "-D", str(SECONDS), "--report_gbits"]
    listening = hosts.listen(words, 18515)
    calling = hosts.start(CALLER, [*words, ADDRESS])
    time.sleep(0.8 * SECONDS)
    counters = counters_on(hosts, CALLER)
    said, _ = calling.communicate()
    listening.communicate()
    return stream_of(calling.returncode, said, counters)


def stream_of(status: int, said: str, counters: Mapping[str, int]) -> Stream:
    """Return what ib_write_bw said of its stream.

    RunError where it failed before it sent anything, or sent without counters.  It had begun if
    its queue pair was there to be counted, or the table, which one that is killed has not written.
    """
    why = f"ib_write_bw ended with status {status}: {said.strip()}"
    if _CONNECTED not in said and not counters:
        raise RunError(why)
    rows = re.findall(r"^ *65536 .*$", said, re.MULTILINE)
    if status != 0 or not rows:
        return Stream(0.0, counters, why)
    if not counters:
        raise RunError(f"there are no counters of a stream on {CALLER}")
    return Stream(float(rows[-1].split()[3]), counters)


def counters_on(hosts: Hosts, host: str) -> dict[str, int]:
    """Return the counters of the one queue pair on a host; none where it is gone."""
    words = [sys.executable, "-m", "lanewise", "rdma", "status", "--json"]
    done = subprocess.run(
        hosts.bed.line(host, words), capture_output=True, text=True, check=False
    )  # fmt: skip
    devices: list[dict[str, Any]] = json.loads(done.stdout or '{"devices": []}')["devices"]
    pairs = [pair for device in devices for pair in device["queue_pairs"]]
    return dict(pairs[0]["counters"]) if pairs else {}


def choose_congestion_control(hosts: Hosts, name: str) -> None:
    """Let connections of the caller use a congestion control of TCP; RunError where it has none.

    Only the route can name any that the kernel has: in a network namespace the setting of the
    kernel refuses those that not every user may choose.
    """
    route = _ip(hosts, ["route", "show", "to", "match", ADDRESS]).split(" congctl ")[0]
    _ip(hosts, ["route", "replace", *route.split(), "congctl", name])


def _ip(hosts: Hosts, words: Sequence[str]) -> str:
    line = hosts.bed.line(CALLER, ["ip", *words])
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunError(f"ip {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def tcp_stream(hosts: Hosts, congestion: str) -> float:
    """Send over TCP for some seconds with a congestion control; return the goodput in Gb/s."""
    choose_congestion_control(hosts, congestion)
    words = ["qperf", "-t", str(SECONDS), "-m", "64K", ADDRESS, "tcp_bw", "quit"]
    said = replace(hosts, device=False).pair(["qperf"], words, QPERF_PORT)
    found = re.search(r"bw += +([\d.]+) (\w+)/sec", said.caller)
    if found is None:
        raise RunError(f"qperf failed: {said}")
    return float(found[1]) * _TO_GBIT[found[2]]


class Link:
    """What was measured on a link of one loss: the goodput of each sender in each round."""

    def __init__(self) -> None:
        self.gbps: dict[str, list[float]] = {sender: [] for sender in SENDERS}
        self.counters: list[Mapping[str, int]] = []
        self.died: list[str] = []

    def send(self, hosts: Hosts, sender: str) -> None:
        """Measure one stream."""
        if sender != DEVICE:
            self.gbps[sender].append(tcp_stream(hosts, sender))
            return
        self.add(stream(hosts))

    def add(self, one: Stream) -> None:
        """Add a stream of the device."""
        self.gbps[DEVICE].append(one.gbps)
        self.counters += [one.counters] if one.counters else []
        self.died += [one.died] if one.died else []

    def ratio(self, peer: str) -> float:
        """Return the goodput of the device over that of a peer, of the medians."""
        return statistics.median(self.gbps[DEVICE]) / statistics.median(self.gbps[peer])

    def ratios(self, peer: str) -> list[float]:
        """Return the ratio of goodputs of each round."""
        pairs = zip(self.gbps[DEVICE], self.gbps[peer], strict=True)
        return [ours / theirs for ours, theirs in pairs]

    @property
    def resent(self) -> list[float]:
        """Return the packets that the device sent again in each stream."""
        return [float(one["packets_resent"]) for one in self.counters]

    @property
    def resent_percent(self) -> list[float]:
        """Return the share of packets that were sent again, for each stream."""
        return [100 * one["packets_resent"] / max(1, one["packets_sent"]) for one in self.counters]


def run(workspace: Workspace) -> Outcome:
    """Validate data over the link, then measure the goodput of the device and of TCP."""
    return _run(workspace, LOSSES, ROUNDS)


def _run(workspace: Workspace, losses: Sequence[str], rounds: int) -> Outcome:
    if shutil.which("ib_write_bw") is None:
        raise RunError("ib_write_bw is not installed; install perftest")
    links: dict[str, Link] = {}
    validated = False
    for loss in losses:
        source = Source(description(loss), "lossy", "lossy.toml")
        with failing_as_run(), bed.created(source) as raised:
            hosts = Hosts(raised, ["--ports", "lan0"], caller=CALLER)
            if loss == LOSS:
                workspace.say("ping-pong with every byte looked at")
                validated = pingpong(hosts, "rc") and pingpong(hosts, "srq")
            links[loss] = Link()
            for number in range(rounds):
                workspace.say(f"loss of {loss}: round {number + 1} of {rounds}")
                for sender in SENDERS if number % 2 == 0 else reversed(SENDERS):
                    links[loss].send(hosts, sender)
    return outcome(workspace, links, validated=validated)


def outcome(workspace: Workspace, links: Mapping[str, Link], *, validated: bool) -> Outcome:
    """Return the figures of the link that loses 1 %, and the goodputs at every loss."""
    link = links[LOSS]
    launches = {
        "goodput_gbps": link.gbps[DEVICE],
        "goodput_over_tcp": link.ratios(CUBIC),
        "goodput_over_bbr": link.ratios(BBR),
    }
    # Not without the streams that died before their counters were read.
    if len(link.counters) == len(link.gbps[DEVICE]):
        launches |= {"retries": link.resent, "resent_percent": link.resent_percent}
    figures = {name: statistics.median(found) for name, found in launches.items()}
    figures |= {"goodput_over_tcp": link.ratio(CUBIC), "goodput_over_bbr": link.ratio(BBR)}
    figures["validated"] = float(validated)
    figures["streams_died"] = float(sum(len(one.died) for one in links.values()))
    for loss, one in links.items():
        ending = loss.replace(" %", "_percent_loss")
        for sender in SENDERS:
            launches[f"{sender}_gbps_{ending}"] = one.gbps[sender]
            figures[f"{sender}_gbps_{ending}"] = statistics.median(one.gbps[sender])
        for name, peer in (("goodput_over_tcp", CUBIC), ("goodput_over_bbr", BBR)):
            launches[f"{name}_{ending}"] = one.ratios(peer)
            figures[f"{name}_{ending}"] = one.ratio(peer)
    return Outcome(
        figures=figures,
        rows=[Row(name, "-", f"{value:.3g}") for name, value in figures.items()],
        conditions={
            "loss": LOSS,
            "losses": list(links),
            "reorder": REORDER,
            "link": f"{LINK_GBPS:g} Gbit/s",
            "counters": {loss: one.counters for loss, one in links.items()},
        },
        files=draw(workspace, links),
        notes=[
            f"a stream died at a loss of {loss}: {died}"
            for loss, one in links.items()
            for died in one.died
        ],
        launches=launches,
    )


def draw(workspace: Workspace, links: Mapping[str, Link]) -> list[Path]:
    """Draw the goodputs at each loss, and the packets that the device sent again."""
    rates = [
        (
            f"Goodput, loss of {loss}",
            [
                Bar(sender, statistics.median(found), sender, min(found), max(found))
                for sender, found in link.gbps.items()
            ],
        )
        for loss, link in links.items()
    ]
    again = [
        Bar(
            f"loss of {loss}", statistics.median(link.resent_percent), DEVICE,
            min(link.resent_percent), max(link.resent_percent),
        )
        for loss, link in links.items()
        if link.counters
    ]  # fmt: skip
    return [
        *workspace.save(draw_bars(rates, lambda value: f"{value:.3g} Gbit/s"), "hca-lossy"),
        *workspace.save(
            draw_bars([("Packets sent again", again)], lambda value: f"{value:.3g} %"),
            "hca-lossy-packets",
        ),
    ]


_STREAM = f"stream of {SECONDS} s"
_AT = f"at a loss of {LOSS}"
_MEDIAN = Estimator(f"mean rate of the stream, median of the rounds, {_AT}", ROUNDS, 1, _STREAM)
_OVER_TCP = replace(
    _MEDIAN, text=f"device over TCP with cubic, of the medians of the rounds, {_AT}"
)
_OVER_BBR = replace(_MEDIAN, text=f"device over TCP with bbr, of the medians of the rounds, {_AT}")
_AT_LOSS = replace(_MEDIAN, text="mean rate of the stream, median of the rounds")
_RATIO = replace(_MEDIAN, text="device over TCP, of the medians of the rounds")

EXPERIMENT = Experiment(
    name="hca-lossy",
    paper="003 §2",
    summary="goodput of the software device beside TCP over a link that loses packets",
    run=run,
    quick=Quick(partial(_run, losses=(LOSS,), rounds=1), takes_s=40.0),
    figures=(
        Figure(
            "validated", "0 or 1",
            Estimator(f"whether every byte arrived unchanged, {_AT}", 1, 2, "ping-pongs"),
            Target(">=", 1.0),
        ),
        Figure(
            "streams_died", "streams",
            Estimator(
                "streams of the device that ended early, at all losses", 1,
                ROUNDS * len(LOSSES), f"streams of {SECONDS} s",
            ),
            Target("<=", 0.0),
        ),
        Figure(
            "retries", "packets",
            replace(_MEDIAN, text=f"packets sent again, median of the rounds, {_AT}"),
            Target(">=", 1.0),
        ),
        Figure("goodput_over_tcp", "ratio", _OVER_TCP, Target(">=", 1.0)),
        Figure(
            "goodput_over_bbr", "ratio", _OVER_BBR,
            "the target is for cubic, the default of most kernels",
        ),
        Figure("goodput_gbps", "Gbit/s", _MEDIAN, "what is judged is the ratio to TCP"),
        Figure(
            "resent_percent", "%",
            replace(_MEDIAN, text=f"share of packets sent again, median of the rounds, {_AT}"),
            "it follows from the loss of the link",
        ),
        Figure(
            "{sender}_gbps_{loss}_percent_loss", "Gbit/s", _AT_LOSS,
            "what is judged is the ratio to TCP",
        ),
        Figure(
            "goodput_over_{peer}_{loss}_percent_loss", "ratio", _RATIO,
            f"the target is for a loss of {LOSS}",
        ),
    ),
)  # fmt: skip
