# SPDX-License-Identifier: BSD-3-Clause
"""Testbed accuracy: whether emulated links have the delay and the rate that they should.

Multilane Scatter/Gather (2008), Figure 6, had an appliance between its sites (GtrcNET-1); here the
link is a process.  Probes cross it while another connection sends 1 Gb/s through it: their time in
transit should be the configured delay.  Then connections fill the link at several rates, which are
changed while it is up, and at a rate that this machine cannot reach.

What connections of TCP make of a rate depends on the processors that they find.  What the link does
is told apart from that by a flood of packets that nobody answers, of more than the link carries:
what has left its far end, by its own count of bytes, should be the configured rate.  The queue
before the link is long then, so that it does not run empty while the sender waits for a processor;
where it never overflowed, too little was sent to say anything.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row, Target
from experiments.stopping import kill
from experiments.workspace import Workspace, failing_as_run
from lanewise.errors import RunError
from lanewise.plots import Strip, draw_strips
from lanewise.results.quantity import time_tick
from lanewise.testbed import bed, fault
from lanewise.testbed.bed import Bed, Source
from lanewise.testbed.probe import WARM_UP_S
from lanewise.testbed.show import state_of
from lanewise.toml.quantities import rate_text

DELAY_MS = 5.0
PROBES = 1000
SECONDS = 4.0
STREAMS = 4
RATES_BITS_PER_S = (100e6, 1e9)
# A flood is so many times the rate of the link.
FLOOD = 1.3
LINK = "a-b"
# Time in which a full queue drains: one round trip, and for a flood longer than a sender waits for
# a processor.
QUEUE_S = 2 * DELAY_MS / 1e3
QUEUE_FLOODED_S = 0.5
# The share of TCP payload in a packet of 1500 bytes, with TCP timestamps.
PAYLOAD_SHARE = 1448 / 1500

DESCRIPTION = f"""
[[site]]
name = "a"
hosts = 2

[[site]]
name = "b"
hosts = 2

[[link]]
between = ["a", "b"]
rate = "10 Gbit/s"
delay = "{DELAY_MS} ms"
queue = "16 MiB"

[[host]]
name = "a2"
lan = {{ rate = "1 Gbit/s" }}

[tcp]
congestion = "cubic"
buffer = "64 MiB"
"""


def run(workspace: Workspace) -> Outcome:
    """Create two sites and measure delay, rate and throughput of the link between them."""
    workspace.say(f"two sites, {DELAY_MS:g} ms apart")
    with failing_as_run(), bed.created(Source(DESCRIPTION, "accuracy", "accuracy.toml")) as raised:
        idle_ms = delays_ms(raised)
        with pouring(raised, "a2", "b2", 1) as loads:
            loaded_ms = delays_ms(raised)
        throughput = filled_at(raised, workspace, STREAMS)
        measured, carried = {}, {}
        for rate in RATES_BITS_PER_S:
            change_rate(raised, rate, QUEUE_S)
            measured[rate] = filled_at(raised, workspace, STREAMS)
            change_rate(raised, rate, QUEUE_FLOODED_S)
            carried[rate] = flooded_at(raised, workspace, rate)
    figures = figures_of(idle_ms, loaded_ms, Rates(measured, carried), throughput)
    return Outcome(
        figures={**figures, "load_gbps": loads[0] / 1e9},
        rows=_rows(figures, Rates(measured, carried)),
        conditions={"delay_ms": DELAY_MS, "streams": STREAMS, "probes": PROBES},
        files=_draw(workspace, {"idle": idle_ms, "under 1 Gb/s": loaded_ms}),
    )


@dataclass(frozen=True)
class Rates:
    """By configured rate, in bits per second: the payload of connections, and what the link did."""

    payload: Mapping[float, float]
    link: Mapping[float, float]


def figures_of(
    idle_ms: Sequence[float],
    loaded_ms: Sequence[float],
    rates: Rates,
    throughput_bits_per_s: float,
) -> dict[str, float]:
    """Return the figures: errors of the median and of the worst but one in a hundred."""
    rate_errors = [abs(found / (rate * PAYLOAD_SHARE) - 1) for rate, found in rates.payload.items()]
    link_errors = [abs(found / rate - 1) for rate, found in rates.link.items()]
    filled = not any(map(math.isnan, link_errors))
    return {
        "delay_error_ms": abs(statistics.median(loaded_ms) - DELAY_MS),
        "delay_error_idle_ms": abs(statistics.median(idle_ms) - DELAY_MS),
        "delay_error_ms_p99": statistics.quantiles(loaded_ms, n=100)[98] - DELAY_MS,
        "link_rate_error_percent": 100 * max(link_errors) if filled else math.nan,
        "rate_error_percent": 100 * max(rate_errors),
        "throughput_gbps": throughput_bits_per_s / 1e9,
    }


def delays_ms(raised: Bed) -> list[float]:
    """Return the time that each probe took from site a to site b."""
    with (
        probing(raised, "b1", "stamp", PROBES) as receiver,
        probing(raised, "a1", "probe", "b1", PROBES),
    ):
        answer = answer_of(receiver)
    delays = [delay_ns / 1e6 for delay_ns in answer["delays_ns"]]
    if len(delays) < PROBES:
        raise RunError(f"{PROBES - len(delays)} of {PROBES} probes were lost")
    return delays


def filled_at(raised: Bed, workspace: Workspace, streams: int) -> float:
    """Return the total rate of several connections in bits per second."""
    workspace.say(f"{streams} connections for {SECONDS:g} s")
    with pouring(raised, "a1", "b1", streams) as found:
        pass
    return found[0]


def flooded_at(raised: Bed, workspace: Workspace, rate_bits_per_s: float) -> float:
    """Return at which rate packets leave the link while more are sent than it carries.

    NaN where no packet found the queue before the link full.
    """
    workspace.say(f"packets for {SECONDS:g} s, {FLOOD:g} times {rate_text(rate_bits_per_s)}")
    with probing(raised, "a1", "flood", "b1", FLOOD * rate_bits_per_s):
        time.sleep(WARM_UP_S)
        before, begin_s = counted(raised), time.monotonic()
        time.sleep(SECONDS)
        after, end_s = counted(raised), time.monotonic()
    if after["dropped_by_queue"] == before["dropped_by_queue"]:
        return math.nan
    return 8 * (after["delivered_bytes"] - before["delivered_bytes"]) / (end_s - begin_s)


def counted(raised: Bed) -> dict[str, int]:
    """Return what the link has counted of packets to site b."""
    (link,) = [one for one in state_of(raised)["links"] if one["name"] == LINK]
    there, _ = link["directions"]
    return dict(there)


@contextmanager
def pouring(raised: Bed, source: str, target: str, streams: int) -> Iterator[list[float]]:
    """Send from host to host meanwhile; the list then has the rate in bits per second."""
    found: list[float] = []
    with (
        probing(raised, target, "drain", streams, SECONDS) as receiver,
        probing(raised, source, "pour", target, streams),
    ):
        yield found
        answer = answer_of(receiver)
    found.append(8 * answer["received_bytes"] / answer["elapsed_s"])


@contextmanager
def probing(raised: Bed, host: str, *words: object) -> Iterator[subprocess.Popen[str]]:
    """Run one end of a probe on a host; one that receives is ready when this returns."""
    command = [sys.executable, "-m", "lanewise.testbed.probe", *map(str, words)]
    with subprocess.Popen(
        raised.line(host, command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            if words[0] in ("stamp", "drain"):
                answer_of(process)
            yield process
        finally:
            kill(process)


def answer_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Return the next line of a probe."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line.startswith("{"):
        raise RunError("a probe in the testbed ended early")
    return dict(json.loads(line))


def change_rate(raised: Bed, rate_bits_per_s: float, queue_s: float) -> None:
    """Set the rate of the link, and its queue to what crosses it in so many seconds."""
    queue = f"{round(rate_bits_per_s / 8 * queue_s)} B"
    words = {"rate": f"{rate_bits_per_s:.0f} bit/s", "queue": queue}
    plan = raised.plan()
    fault.bring_about(raised, plan, fault.single("degrade", LINK, words, plan))


def _rows(figures: dict[str, float], rates: Rates) -> list[Row]:
    return [
        Row("delay, error of the median, idle", "", f"{figures['delay_error_idle_ms']:.3f} ms"),
        Row("delay, error of the median, 1 Gb/s", "", f"{figures['delay_error_ms']:.3f} ms"),
        Row("delay, error of 99 in 100, 1 Gb/s", "", f"{figures['delay_error_ms_p99']:.3f} ms"),
        *(
            Row(f"link at {rate_text(rate)}, flooded", "", f"{found / rate:.2%}")
            for rate, found in rates.link.items()
        ),
        *(
            Row(f"payload of TCP at {rate_text(rate)}", "", f"{found / rate / PAYLOAD_SHARE:.2%}")
            for rate, found in rates.payload.items()
        ),
        Row("most that goes through", "", f"{figures['throughput_gbps']:.2f} Gbit/s"),
    ]


def _draw(workspace: Workspace, delays: dict[str, list[float]]) -> list[Path]:
    strips = [
        Strip(name, [(each - DELAY_MS) / 1e3 for each in found]) for name, found in delays.items()
    ]
    title = f"Time on the way beyond {DELAY_MS:g} ms, each probe"
    return workspace.save(draw_strips(title, strips, time_tick, limit=2e-4), "testbed-accuracy")


_TRANSIT = Estimator("error of the median time in transit", 1, PROBES, "probes")
_FILLED = f"run of {SECONDS:g} s"

EXPERIMENT = Experiment(
    name="testbed-accuracy",
    paper="001 Fig. 6",
    summary="delay, rate and throughput of an emulated link between two sites",
    run=run,
    figures=(
        Figure("delay_error_ms", "ms", _TRANSIT, Target("<=", 0.2)),
        Figure(
            "throughput_gbps", "Gbit/s",
            Estimator(f"mean rate of {STREAMS} connections together", 1, 1, _FILLED),
            Target(">=", 5.0),
        ),
        Figure(
            "link_rate_error_percent", "%",
            Estimator("largest error of the rate at which packets leave it in a flood",
                      1, len(RATES_BITS_PER_S), f"rates of {SECONDS:g} s each"),
            Target("<=", 1.0),
        ),
        Figure("delay_error_idle_ms", "ms", _TRANSIT, "the target is for a link with load"),
        Figure(
            "delay_error_ms_p99", "ms",
            Estimator("error of the 99th percentile", 1, PROBES, "probes"),
            "probes wait for a processor there, and the target is for the median",
        ),
        Figure(
            "rate_error_percent", "%",
            Estimator("largest error of the payload at a configured rate", 1, 1, _FILLED),
            "it is what TCP makes of the link, by the processors that it finds",
        ),
        Figure(
            "load_gbps", "Gbit/s", Estimator("mean rate of the other connection", 1, 1, _FILLED),
            "it is the load under which the delay was measured",
        ),
    ),
)  # fmt: skip
