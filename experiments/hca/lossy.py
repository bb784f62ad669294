# SPDX-License-Identifier: BSD-3-Clause
"""Lossy links: reliable connections of the software device over a link that loses and reorders.

Two sites are joined by a delay line that loses one packet in a hundred.  A ping-pong checks every
byte; a stream of writes measures the goodput, and the counters of the device what it cost.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row, Target
from experiments.hca.hosts import ADDRESS, Hosts
from experiments.workspace import Workspace, failing_as_run
from lanewise.errors import RunError
from lanewise.plots import Bar, draw_bars
from lanewise.testbed import bed
from lanewise.testbed.bed import Source

CALLER = "b1"
LOSS, REORDER = "1 %", "1 %"
LINK_GBPS = 1.0
SECONDS = 5
DESCRIPTION = f"""
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
loss = "{LOSS}"
reorder = "{REORDER}"
"""
# LIDs are derived from addresses only within a network, and each site is a network.
_DEVICE = """
ports = ["lan0"]
[lids]
"10.1.0.1" = 16
"10.2.0.1" = 17
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


def stream(hosts: Hosts) -> tuple[float, dict[str, int]]:
    """Write for some seconds; return the goodput in Gb/s and the counters of the sender."""
    words = ["ib_write_bw", "-x", "0", "-F", "-s", "65536", "-D", str(SECONDS), "--report_gbits"]
    listening = hosts.listen(words, 18515)
    calling = hosts.start(CALLER, [*words, ADDRESS])
    time.sleep(0.8 * SECONDS)
    counters = counters_on(hosts, CALLER)
    said, _ = calling.communicate()
    listening.communicate()
    rows = re.findall(r"^ *65536 .*$", said, re.MULTILINE)
    if calling.returncode != 0 or not rows:
        raise RunError(f"ib_write_bw failed: {said}")
    return float(rows[-1].split()[3]), counters


def counters_on(hosts: Hosts, host: str) -> dict[str, int]:
    """Return the counters of the one queue pair on a host."""
    words = [sys.executable, "-m", "lanewise", "rdma", "status", "--json"]
    done = subprocess.run(
        hosts.bed.line(host, words), capture_output=True, text=True, check=False
    )  # fmt: skip
    devices: list[dict[str, Any]] = json.loads(done.stdout or '{"devices": []}')["devices"]
    pairs = [pair for device in devices for pair in device["queue_pairs"]]
    if not pairs:
        raise RunError(f"no queue pair on {host}; {done.stderr.strip()}")
    return dict(pairs[0]["counters"])


def run(workspace: Workspace) -> Outcome:
    """Validate data over the link, then measure the goodput."""
    with failing_as_run(), bed.created(Source(DESCRIPTION, "lossy", "lossy.toml")) as raised:
        hosts = Hosts(raised, ["--ports", "lan0"])
        workspace.say("ping-pong with every byte looked at")
        validated = pingpong(hosts, "rc") and pingpong(hosts, "srq")
        workspace.say(f"writes for {SECONDS} s")
        goodput_gbps, counters = stream(hosts)
    figures = {
        "goodput_gbps": goodput_gbps,
        "retries": float(counters["packets_resent"]),
        "resent_percent": 100 * counters["packets_resent"] / max(1, counters["packets_sent"]),
        "validated": float(validated),
    }
    return Outcome(
        figures=figures,
        rows=[Row(name, "-", f"{value:.3g}") for name, value in figures.items()],
        conditions={
            "loss": LOSS,
            "reorder": REORDER,
            "link": f"{LINK_GBPS:g} Gbit/s",
            "counters": counters,
        },
        files=draw(workspace, goodput_gbps, counters),
    )


def draw(workspace: Workspace, goodput_gbps: float, counters: dict[str, int]) -> list[Path]:
    """Draw the goodput beside the rate of the link, and the packets that were sent again."""
    rates = [Bar("link", LINK_GBPS, "link"), Bar("goodput", goodput_gbps, "goodput")]
    packets = [
        Bar(f"packets {name}", counters[f"packets_{name}"], name) for name in ("sent", "resent")
    ]
    return [
        *workspace.save(
            draw_bars([("Writes of 64 KiB", rates)], lambda value: f"{value:.3g} Gbit/s"),
            "hca-lossy",
        ),
        *workspace.save(
            draw_bars(
                [(f"Packets in {0.8 * SECONDS:g} s", packets)], lambda value: f"{value:,.0f}"
            ),
            "hca-lossy-packets",
        ),
    ]


_STREAM = f"stream of {SECONDS} s"

EXPERIMENT = Experiment(
    name="hca-lossy",
    paper="003 §2",
    summary="reliable connections of the software device over a link that loses 1 %",
    run=run,
    figures=(
        Figure(
            "validated", "0 or 1",
            Estimator("whether every byte arrived unchanged", 1, 2, "ping-pongs"),
            Target(">=", 1.0),
        ),
        Figure(
            "retries", "packets", Estimator("packets sent again", 1, 1, _STREAM),
            Target(">=", 1.0),
        ),
        Figure(
            "goodput_gbps", "Gbit/s", Estimator("mean rate of the stream", 1, 1, _STREAM),
            "the window halves with each loss, and no bound for what remains was set",
        ),
        Figure(
            "resent_percent", "%", Estimator("share of packets sent again", 1, 1, _STREAM),
            "it follows from the loss of the link",
        ),
    ),
)  # fmt: skip
