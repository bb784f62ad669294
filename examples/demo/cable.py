# SPDX-License-Identifier: BSD-3-Clause
"""Chapter 3: pull a cable under a running RDMA transfer, and see it go on over the other port."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from matplotlib.figure import Figure

from examples.demo.story import Chapter, Shown, Stage
from lanewise.errors import RunError
from lanewise.plots.style import COLOURS, SOFT, house_style, make_panels
from lanewise.results.quantity import time_text

BED = "two-port"
PORTS = ("lan0", "lan1")
PROTECTED = ("lanewise", "rdma", "run", "--ports", "lan0,lan1", "--", "lanewise", "rdma", "protect")
TRANSFER = ("ib_write_bw", "-x", "0", "-D", "7")
ADDRESS = "10.1.0.2"
# Seconds of traffic before the cable is pulled, and before it is plugged in again.
PULLED_S = 2.0
PLUGGED_S = 3.5
# With less than this in one sample a port carries no data, only acknowledgements and the like.
IDLE_BYTES = 20_000
TIMEOUT_S = 30.0
# One of so many samples is drawn.
DRAWN_EVERY = 4

Sample = tuple[float, tuple[int, ...]]


def show(stage: Stage) -> Shown:
    """Run a transfer between two hosts with two ports each, and pull the cable of the first."""
    stage.lanewise("testbed", "up", BED)
    running: list[subprocess.Popen[str]] = []
    try:
        counts = count_bytes()
        server = stage.start("testbed", "run", BED, "--at", "a2", "--", *PROTECTED, "--", *TRANSFER)
        running += [counts, server]
        samples = Samples(counts)
        samples.read_for(1.0)
        client = stage.start(
            "testbed", "run", BED, "--at", "a1", "--", *PROTECTED, "--", *TRANSFER, ADDRESS
        )
        running.append(client)
        samples.read_until_traffic_of(client)
        samples.read_for(PULLED_S)
        pulled_s = fault(stage, "cut")
        samples.read_for(PLUGGED_S - PULLED_S)
        plugged_s = fault(stage, "mend")
        samples.read_while(client)
        if client.returncode or server.wait(timeout=TIMEOUT_S):
            raise RunError("the transfer did not end well")
    finally:
        for one in running:
            with suppress(ProcessLookupError):
                one.kill()
            one.wait()
        stage.lanewise("testbed", "down", BED)
    moved_s = samples.first_data_s(1, pulled_s)
    return Shown(
        f"The cable in use was pulled under a running ib_write_bw and plugged in again "
        f"{plugged_s - pulled_s:.1f} s later. The transfer went on over the other port within "
        f"{time_text(moved_s - pulled_s)}, returned when the port was back, and ended without an "
        "error.",
        draw(samples, pulled_s, plugged_s),
    )


def fault(stage: Stage, action: str) -> float:
    """Cut or mend the cable of port 1 and return the time at which it happened."""
    printed = stage.lanewise("testbed", "fault", BED, action, f"a1.{PORTS[0]}")
    return datetime.fromisoformat(json.loads(printed)["time"]).timestamp()


def count_bytes() -> subprocess.Popen[str]:
    """Start to print what the ports of host a1 have carried, a line every few milliseconds."""
    line = [
        sys.executable, "-m", "lanewise", "testbed", "run", BED, "--at", "a1", "--",
        sys.executable, str(Path(__file__).with_name("count_bytes.py")), *PORTS,
    ]  # fmt: skip
    return subprocess.Popen(line, stdout=subprocess.PIPE, text=True)


class Samples:
    """What the ports have carried, as it is read from the process that counts."""

    def __init__(self, counting: subprocess.Popen[str]) -> None:
        self._counting = counting
        self.samples: list[Sample] = []

    def read(self) -> Sample:
        """Read the next sample."""
        line = self._counting.stdout.readline() if self._counting.stdout else ""
        if not line:
            raise RunError("the ports could not be counted")
        time_s, *counts = json.loads(line)
        self.samples.append((time_s, tuple(counts)))
        return self.samples[-1]

    def read_for(self, seconds: float) -> None:
        """Read the samples of so many seconds."""
        end_s = self.read()[0] + seconds
        while self.read()[0] < end_s:
            pass

    def read_until_traffic_of(self, client: subprocess.Popen[str]) -> None:
        """Read until a port carries data; RunError where `client` ends before."""
        end_s = self.read()[0] + TIMEOUT_S
        while not any(moved > IDLE_BYTES for moved in self._moved(-2, -1)):
            if self.read()[0] > end_s or client.poll() is not None:
                raise RunError("the transfer did not start")

    def read_while(self, process: subprocess.Popen[str]) -> None:
        """Read until `process` has ended."""
        while process.poll() is None:
            self.read()

    def rates(self, every: int = 1) -> tuple[list[float], list[list[float]]]:
        """Return the times of one in `every` samples, and the bytes per second of each port."""
        times: list[float] = []
        rates: list[list[float]] = [[] for _ in PORTS]
        for (before_s, before), (after_s, after) in itertools.pairwise(self.samples[::every]):
            times.append(after_s)
            for port, rate in enumerate(rates):
                rate.append((after[port] - before[port]) / (after_s - before_s))
        return times, rates

    def first_data_s(self, port: int, from_s: float) -> float:
        """Return when a port had carried data for the first time after `from_s`."""
        for place in range(1, len(self.samples)):
            time_s = self.samples[place][0]
            if time_s > from_s and self._moved(place - 1, place)[port] > IDLE_BYTES:
                return time_s
        raise RunError("no data came over the other port")

    def _moved(self, first: int, last: int) -> Sequence[int]:
        before, after = self.samples[first][1], self.samples[last][1]
        return [end - begin for begin, end in zip(before, after, strict=True)]


@house_style()
def draw(samples: Samples, pulled_s: float, plugged_s: float) -> Figure:
    """Draw what each port carried over time."""
    figure, (panel,) = make_panels(1)
    figure.set_size_inches(9.2, 3.0)
    times, rates = samples.rates(DRAWN_EVERY)
    active = [time_s for time_s, *moved in zip(times, *rates, strict=True) if max(moved) > 1e6]
    for port, (rate, colour) in enumerate(zip(rates, COLOURS, strict=False), start=1):
        shown = [time_s - active[0] for time_s in times]
        panel.fill_between(shown, [one / 1e6 for one in rate], color=colour, alpha=0.35, lw=0)
        panel.plot(shown, [one / 1e6 for one in rate], color=colour, lw=1, label=f"port {port}")
    top = panel.get_ylim()[1]
    for time_s, words in ((pulled_s, "cable pulled"), (plugged_s, "plugged in")):
        panel.axvline(time_s - active[0], color=SOFT, lw=0.9, ls="--")
        panel.annotate(
            words, (time_s - active[0], top), xytext=(4, -2), textcoords="offset points",
            va="top", color=SOFT,
        )  # fmt: skip
    panel.set_xlim(-0.3, active[-1] - active[0] + 0.3)
    panel.set_ylim(0, top)
    panel.set_title("One RDMA transfer, two ports")
    panel.set_xlabel("seconds")
    panel.set_ylabel("MB/s")
    panel.legend(loc="lower left", ncols=2)
    return figure


CHAPTER = Chapter(
    name="cable",
    title="A cable is pulled, and the transfer goes on",
    question="Does an RDMA program survive the failure of its link?",
    estimate_s=20,
    page="paths.md",
    show=show,
)
