# SPDX-License-Identifier: BSD-3-Clause
"""Migration failover: from the pulled cable to traffic on the other port.

Automatic path migration (2007), section 4.2.2.  The cable of the port in use is pulled 200 times,
alternately at the caller's end and at its peer's, on a machine that does nothing else and again
with all cores busy.  Each time is measured at the caller, until a message that it posted after the
pull is confirmed, including what the kernel takes to bring the interface down.  What the two ends
report says why each of them left the port; a cut of a port that was not in use does not count.
Messages in both directions are numbered and checksummed, and atomics are counted.  Then a cable is
pulled without protection, until all retries are used up.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Quick, Row, Target
from experiments.migration import ended
from experiments.migration.two_ports import (
    LISTENER,
    PORTS,
    RETRIES_MS,
    Said,
    TrafficEndedError,
    cut,
    exchange,
    faults_of,
    retry_exhaustion_ms,
    two_hosts,
)
from experiments.workspace import Workspace
from lanewise.errors import RunError
from lanewise.launch.machine import core_count
from lanewise.plots import Strip, draw_strips
from lanewise.results.quantity import time_tick
from lanewise.testbed.bed import Bed

CUTS = 200  # half of them at each end
BETWEEN_S = 0.25
BEGIN_S = 0.5
DOWN_S = 0.06
SEED_STEP_S = 0.0137  # no multiple of the period, so that cuts occur at varying moments
LIMIT_MS = 5.0
LOADED_LIMIT_MS = 20.0
COUNTED_MIN = 0.95
ENDS = ("caller", "peer")
# What a device calls a cause, and what people do.
CAUSES = {"carrier": "carrier event", "silence": "silent path", "retries": "retry exhaustion",
          "command": "command"}  # fmt: skip
FOLLOWED, NOT_LEFT = "followed the other end", "cable back"
# A thread tells of a migration a while after the device has made it.
TOLD_LATE_NS = 5_000_000


@dataclass(frozen=True)
class Failover:
    """A cut: when, at which end, how long until traffic went on, and why."""

    at_s: float
    end: str
    ms: float
    cause: str


@dataclass(frozen=True)
class Failovers:
    """The cuts of one run of the programs that count, and how many hit a port not in use."""

    cuts: list[Failover]
    missed: int
    said: Said

    def times_ms(self, *ends: str) -> list[float]:
        """Return the times of the cuts at these ends, in order of size."""
        return sorted(one.ms for one in self.cuts if one.end in ends)


def run(workspace: Workspace, cuts: int = CUTS) -> Outcome:
    """Pull the cables in use under traffic, quiet and with busy cores."""
    conditions = {"cuts": cuts, "down_s": DOWN_S, "policy": "stay", "window": 8,
                  "busy": core_count()}  # fmt: skip
    with two_hosts() as raised:
        try:
            found = {"quiet": _failovers(workspace, raised, "quiet", cuts)}
            with busy_cores():
                found["loaded"] = _failovers(workspace, raised, "loaded", cuts)
        except TrafficEndedError as error:
            return ended.outcome(workspace, "migration-failover", conditions, str(error))
        workspace.say("a cut without protection")
        exhausted_ms = retry_exhaustion_ms(raised)
    for load, one in found.items():
        if len(one.cuts) < cuts * COUNTED_MIN:
            raise RunError(f"only {len(one.cuts)} of {cuts} cuts ({load}) hit the port in use")
    figures = {
        **figures_of(found),
        ended.ENDED: 0.0,
        "retry_exhaustion_ms": exhausted_ms,
        "retry_exhaustion_expected_ms": RETRIES_MS,
    }
    strips = [
        Strip(f"{load}, {end}'s end", [ms / 1e3 for ms in one.times_ms(end)])
        for load, one in found.items() for end in ENDS
    ]  # fmt: skip
    title = "From the pulled cable to traffic on the other port"
    return Outcome(
        figures=figures,
        rows=[
            Row("median", "", f"{figures['carrier_to_traffic_ms_p50']:.2f} ms"),
            Row("99 of 100", "", f"{figures['carrier_to_traffic_ms_p99']:.2f} ms"),
            Row("99 of 100, the peer's end", "", f"{figures['peer_cut_ms_p99']:.2f} ms"),
            Row("99 of 100, busy cores", "", f"{figures['p99_loaded_ms']:.2f} ms"),
            *(_row_of_causes(load, one) for load, one in found.items()),
            Row("unprotected, until it fails", f"{RETRIES_MS:.1f} ms", f"{exhausted_ms:.1f} ms"),
            Row("lost, twice", "none", f"{figures['lost']:.0f}, {figures['duplicated']:.0f}"),
        ],
        conditions=conditions,
        files=workspace.save(
            draw_strips(title, strips, time_tick, limit=LIMIT_MS / 1e3, scale="log"),
            "migration-failover",
        ),
        curves=curves_of(found),
        notes=["on few or busy cores most of the tail is waiting for a processor"],
    )  # fmt: skip


@contextmanager
def busy_cores() -> Iterator[None]:
    """Keep every core busy for the duration of the block."""
    line = [sys.executable, "-c", "while True: pass"]
    spinning = [subprocess.Popen(line, stdin=subprocess.DEVNULL) for _ in range(core_count())]
    try:
        yield
    finally:
        for one in spinning:
            one.kill()
            one.wait()


def _failovers(workspace: Workspace, raised: Bed, load: str, cuts: int) -> Failovers:
    seconds = 2 * BEGIN_S + BETWEEN_S * cuts
    workspace.say(f"{load}: {cuts} cuts in {seconds:g} s")
    report = workspace.fresh(f"protect-{load}.jsonl")
    said = exchange(
        raised, ["--seconds", f"{seconds:g}"],
        protect=("--policy", "stay", "--report", str(report)), at_caller=_cuts(raised, cuts),
    )  # fmt: skip
    return failovers_of(said, _migrations(report))


def _cuts(raised: Bed, cuts: int) -> list[str]:
    """Return the options: the port in use loses its cable, alternately twice at each end."""
    words: list[str] = []
    for number in range(cuts):
        at_s = BEGIN_S + BETWEEN_S * number + (number * SEED_STEP_S) % 0.05
        host = f"{raised.folder / 'net' / LISTENER}@" if end_of(number) == "peer" else ""
        words += cut(host + "/".join(PORTS), at_s, DOWN_S)
    return words


def end_of(number: int) -> str:
    """Return at which end a cut is made: each end has both of its ports pulled in turn."""
    return ENDS[number // 2 % 2]


def _migrations(report: Path) -> list[dict[str, Any]]:
    """Return the migrations of both ends, in order."""
    events = [
        event
        for line in report.read_text(encoding="utf-8").splitlines()
        for event in json.loads(line)["events"] if event["event"] == "migrated"
    ]  # fmt: skip
    return sorted(events, key=lambda event: int(event["at_ns"]))


def failovers_of(said: Said, migrations: Sequence[Mapping[str, Any]]) -> Failovers:
    """Match the cuts that the caller made with what the two ends report."""
    pulled = said.caller[0]["cuts"]
    found: list[Failover] = []
    missed = 0
    for number, (one, resumed_ns) in enumerate(
        zip(pulled, said.caller[0]["resumed_ns"], strict=True)
    ):
        if resumed_ns < 0:
            continue  # the traffic had ended
        last = number + 1 == len(pulled)
        until_ns = math.inf if last else pulled[number + 1]["from_ns"]
        cause = cause_of(one, resumed_ns, migrations, until_ns)
        if cause is None:
            missed += 1
            continue
        at_s = (one["from_ns"] - pulled[0]["from_ns"]) / 1e9
        found.append(Failover(at_s, end_of(number), resumed_ns / 1e6, cause))
    return Failovers(found, missed, said)


def cause_of(
    pulled: Mapping[str, Any],
    resumed_ns: int,
    migrations: Sequence[Mapping[str, Any]],
    until_ns: float,
) -> str | None:
    """Return why traffic went on after a cut; None where it hit a port that was not in use.

    `until_ns` is when the next cable was pulled.
    """
    port = PORTS.index(pulled["interface"]) + 1
    if port != pulled["port_in_use"]:
        return None
    after = [one for one in migrations if pulled["from_ns"] <= one["at_ns"] < until_ns]
    if not after:
        # Nobody has left the port, so nothing went on before the cable was back, if it was in use.
        return NOT_LEFT if resumed_ns >= DOWN_S * 1e9 else None
    if after[0]["port"] == port:
        return None
    told_ns = pulled["from_ns"] + resumed_ns + TOLD_LATE_NS
    own = [one for one in after if one.get("cause", "peer") != "peer"]
    before = [one for one in own if one["at_ns"] < told_ns]
    deciding = before[-1:] or own[:1]
    return CAUSES[deciding[0]["cause"]] if deciding else FOLLOWED


def p99(values: Sequence[float]) -> float:
    """Return the 99th percentile of values in order of size."""
    return values[math.ceil(0.99 * len(values)) - 1]


def figures_of(found: Mapping[str, Failovers]) -> dict[str, float]:
    """Return the times of both loads, and what was counted in both."""
    quiet, loaded = found["quiet"], found["loaded"]
    own, peer = quiet.times_ms("caller"), quiet.times_ms("peer")
    busy = loaded.times_ms(*ENDS)
    faults = [faults_of(one.said) for one in found.values()]
    sent = sum(side[0]["sent"] for one in found.values()
               for side in (one.said.caller, one.said.listener))  # fmt: skip
    by_cause = {
        f"{cause.replace(' ', '_')}_{load}": float(count)
        for load, one in found.items()
        for cause, count in causes_of(one).items()
    }
    return {
        "carrier_to_traffic_ms_p50": statistics.median(own),
        "carrier_to_traffic_ms_p99": p99(own),
        "carrier_to_traffic_ms_max": own[-1],
        "peer_cut_ms_p50": statistics.median(peer),
        "peer_cut_ms_p99": p99(peer),
        "peer_cut_ms_max": peer[-1],
        "p50_loaded_ms": statistics.median(busy),
        "p99_loaded_ms": p99(busy),
        "max_loaded_ms": busy[-1],
        **{key: sum(one[key] for one in faults) for key in faults[0]},
        "messages": float(sent),
        "cuts": float(len(quiet.cuts) + len(loaded.cuts)),
        "cuts_missed": float(quiet.missed + loaded.missed),
        **by_cause,
    }


def causes_of(found: Failovers) -> dict[str, int]:
    """Return how many cuts ended by which cause."""
    counted = Counter(one.cause for one in found.cuts)
    return {cause: counted[cause] for cause in (*CAUSES.values(), FOLLOWED, NOT_LEFT)}


def curves_of(found: Mapping[str, Failovers]) -> dict[str, list[tuple[float, float]]]:
    """Return when each cut was and what it took, by load, end and cause."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for load, all_cuts in found.items():
        for one in all_cuts.cuts:
            points = curves.setdefault(f"{load}/{one.end}'s end, {one.cause}", [])
            points.append((one.at_s, one.ms / 1e3))
    return curves


def _row_of_causes(load: str, found: Failovers) -> Row:
    causes = {cause: count for cause, count in causes_of(found).items() if count}
    return Row(f"why, {load}", "", ", ".join(f"{count} {cause}" for cause, count in causes.items()))


_TIMES = "of the times from pulling a cable to a confirmed message"
_COUNT = Estimator("number of messages, quiet and loaded", 1, 2 * CUTS, "cuts")
_COUNTED = "what is judged is whether messages were lost or came twice"
_TAIL = "the target is for the 99th percentile"


def _percentile(text: str, cuts: int = CUTS // 2) -> Estimator:
    return Estimator(f"{text} {_TIMES}", 1, cuts, "cuts")


EXPERIMENT = Experiment(
    name="migration-failover",
    paper="003 §4.2.2",
    summary="pulled cables at both ends, quiet and loaded: how long until traffic goes on, and why",
    run=run,
    quick=Quick(partial(run, cuts=20), takes_s=25.0),
    figures=(
        Figure(
            "carrier_to_traffic_ms_p99", "ms", _percentile("99th percentile"),
            Target("<=", LIMIT_MS),
        ),
        Figure(
            "peer_cut_ms_p99", "ms",
            _percentile("99th percentile, where the peer's end is pulled,"), Target("<=", LIMIT_MS),
        ),
        Figure(
            "p99_loaded_ms", "ms", _percentile("99th percentile, either end, cores busy,", CUTS),
            Target("<=", LOADED_LIMIT_MS),
        ),
        ended.figure(2 * CUTS),
        Figure("lost", "messages", _COUNT, Target("<=", 0.0)),
        Figure("duplicated", "messages", _COUNT, Target("<=", 0.0)),
        Figure("carrier_to_traffic_ms_p50", "ms", _percentile("median"), _TAIL),
        Figure("carrier_to_traffic_ms_max", "ms", _percentile("largest"), _TAIL),
        Figure(
            "peer_cut_ms_{statistic}", "ms",
            _percentile("median or largest, where the peer's end is pulled,"), _TAIL,
        ),
        Figure(
            "{statistic}_loaded_ms", "ms",
            _percentile("median or largest, either end, cores busy,", CUTS), _TAIL,
        ),
        Figure("corrupted", "messages", _COUNT, _COUNTED),
        Figure("atomics_wrong", "atomics", _COUNT, _COUNTED),
        Figure("messages", "messages", _COUNT, "it says how much traffic there was"),
        Figure(
            "cuts", "cuts", Estimator("cuts that hit the port in use", 1, 2 * CUTS, "cuts"),
            "the experiment fails below 95 %",
        ),
        Figure(
            "cuts_missed", "cuts", Estimator("cuts of a port not in use", 1, 2 * CUTS, "cuts"),
            "such a cut does not count, and the experiment fails where they are more than 5 %",
        ),
        *(
            Figure(
                f"{cause.replace(' ', '_')}_{{load}}", "cuts",
                Estimator(f"cuts that ended by: {cause}", 1, CUTS, "cuts"),
                "it says why; the target is for the time",
            )
            for cause in (*CAUSES.values(), FOLLOWED, NOT_LEFT)
        ),
        Figure(
            "retry_exhaustion_ms", "ms",
            Estimator("time until an unprotected connection fails", 1, 1, "cut"),
            "it follows from the configured timeout and retries",
        ),
        Figure(
            "retry_exhaustion_expected_ms", "ms",
            Estimator("computed from the timeout and the retries", 1, 1, "computation"),
            "it is computed",
        ),
    ),
)  # fmt: skip
