# SPDX-License-Identifier: BSD-3-Clause
"""Multilane scatter and gather between two sites.

Multilane Scatter/Gather (2008), Figures 4, 5, 9 and 10.  Two sites of four hosts are created here;
one host fills a quarter of the link between them.  One run compares the MPI's default, MagPIe's
single lane, the paper's three steps, and the pipelined lanes for each number of lanes P, over
message sizes.  P is then chosen as a user's tuner would: by the better of the paper's T(P) and the
priced schedule, verified by the first half of the rounds; the second half judges the choice, and
all ratios are of its times.  Other ways to fill the link are measured besides: BBR and CUBIC, each
with large buffers, and several TCP connections per pair of ranks.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row, Target
from experiments.multilane.two_sites import IN_A_ROW, OWN, Comparison, Sites, Times
from experiments.workspace import Workspace, failing_as_run
from lanewise.plots import Curve, draw_curves
from lanewise.plots.series import Series, draw_series
from lanewise.results.quantity import size_text, time_text
from lanewise.testbed import bed, shipped
from lanewise.testbed.bed import Source

RANKS = 8
REMOTE = 4
LANES = (1, 2, 3, 4)
SIZES = ("64K", "256K", "1M", "4M", "16M")
MEDIUM, LARGE = 4 << 20, 16 << 20
ROUNDS = 4  # half of them choose, half judge
SIDE_ROUNDS = 1
SIDE_SIZES = ("16M",)
LAN_BITS_PER_S, NIC_BITS_PER_S, LINK_BITS_PER_S, DELAY_S = 10e9, 250e6, 1e9, 5e-3
BUFFER = "64 MiB"
# The lanes of the bound are measured, and rates differ by some per cent from minute to minute.
FRACTION_MAX = 1.05
CONGESTION = {"bbr": "BBR", "cubic": "CUBIC"}
SIDES = {
    "links": f"btl_tcp_links={REMOTE}",
    **{name: f"{title}, {BUFFER} buffers" for name, title in CONGESTION.items()},
}
KERNEL_TCP = ("tcp_congestion_control", "tcp_rmem", "tcp_wmem")


def lanes_way(lanes: int, form: str = "multilane") -> str:
    """Return the name of the way over `lanes` lanes."""
    return f"{form}:{OWN}:{lanes}"


@dataclass(frozen=True)
class Predicted:
    """Seconds by P at one size: of the paper's cost model, and of the priced schedule."""

    model_s: Mapping[int, float]
    priced_s: Mapping[int, float]

    def lanes(self) -> tuple[int, int]:
        """Return the P that is best for either."""
        return (
            min(self.model_s, key=lambda lanes: self.model_s[lanes]),
            min(self.priced_s, key=lambda lanes: self.priced_s[lanes]),
        )


@dataclass(frozen=True)
class Found:
    """All measurements of one testbed."""

    times_s: Mapping[int, Times]
    side_s: Mapping[str, Mapping[int, Times]]
    predicted: Mapping[int, Predicted]
    lanes_Bps: Sequence[float]  # noqa: N815 - the unit is bytes a second
    latency_s: float


def run_scatter(workspace: Workspace) -> Outcome:
    """Compare scatters between two sites."""
    return _run(workspace, "scatter", ("a", "b"))


def run_gather(workspace: Workspace) -> Outcome:
    """Compare gathers between two sites."""
    return _run(workspace, "gather", ("b", "a"))


def _run(workspace: Workspace, collective: str, direction: tuple[str, str]) -> Outcome:
    found = measured(workspace, collective, direction)
    choices = {size: choose(found.times_s[size], found.predicted[size]) for size in found.times_s}
    figures = figures_of(found, choices)
    return Outcome(
        figures=figures,
        rows=rows_of(found, choices, figures),
        conditions={
            "ranks": RANKS,
            "hosts": "2 sites of 4, LAN 10 Gb/s, WAN 250 Mb/s a host, 1 Gb/s in all, 5 ms",
            "rounds": ROUNDS,
            **{name: kernel_setting(name) for name in KERNEL_TCP},
            "mptcp": "each host has one address and one way out: no second path for MPTCP",
        },
        files=_draw(workspace, collective, found, choices),
    )


def measured(workspace: Workspace, collective: str, direction: tuple[str, str]) -> Found:
    """Create the sites, measure lanes and the ways, and predict."""
    source = shipped.find("two-site")
    base = ("default", "single_lane")
    ways = [*base, *(lanes_way(each) for each in LANES), lanes_way(REMOTE, "three_step")]
    side: dict[str, Mapping[int, Times]] = {}
    with failing_as_run():
        with bed.created(source) as raised:
            sites = Sites(raised, workspace, RANKS)
            platform = sites.lane_rates(f"multilane-{collective}-platform")
            times_s = sites.compare(Comparison(collective, SIZES, ROUNDS, ways))
            settings = {"OMPI_MCA_btl_tcp_links": str(REMOTE)}
            comparison = Comparison(collective, SIDE_SIZES, SIDE_ROUNDS, base, settings)
            side["links"] = sites.compare(comparison)
        comparison = Comparison(
            collective, SIDE_SIZES, SIDE_ROUNDS, ["single_lane", lanes_way(REMOTE)]
        )
        for congestion in CONGESTION:
            tcp = f'\n[tcp]\ncongestion = "{congestion}"\nbuffer = "{BUFFER}"\n'
            large = Source(source.text + tcp, f"two-site-{congestion}", source.where)
            with bed.created(large) as raised:
                side[congestion] = Sites(raised, workspace, RANKS).compare(comparison)
    predicted = predictions(workspace, collective, platform, list(times_s))
    lanes, latency_s = curve_of(platform, direction)
    return Found(times_s, side, predicted, lanes, latency_s)


def kernel_setting(name: str) -> str:
    """Return the default of the kernel, which holds unless a testbed overrides it."""
    return Path("/proc/sys/net/ipv4", name).read_text(encoding="utf-8").strip()


def curve_of(platform: Path, direction: tuple[str, str]) -> tuple[list[float], float]:
    """Return what 1, 2, ... lanes carry from one site to another, and the latency."""
    curves = json.loads(platform.read_text(encoding="utf-8"))["lanes"]
    curve = next(each for each in curves if (each["from"], each["to"]) == direction)
    return list(curve["bandwidth_Bps"]), float(curve["latency_s"])


def predictions(
    workspace: Workspace, collective: str, platform: Path, sizes: Sequence[int]
) -> dict[int, Predicted]:
    """Return what the cost model and the priced schedules say, by size."""
    words = [collective, "--platform", str(platform), "--model", "lanes"]
    words += ["--sizes", ",".join(map(str, sizes))]
    words += [f"--algorithm={lanes_way(lanes)}" for lanes in LANES]
    answer = workspace.ask("lanewise-predict", arguments=words)
    by_lanes = {entry["lanes"]: entry for entry in answer["candidates"]}
    return {
        size: Predicted(
            {lanes: entry["cost_model_s"][i] for lanes, entry in by_lanes.items()},
            {lanes: entry["predicted_s"][i] for lanes, entry in by_lanes.items()},
        )
        for i, size in enumerate(sizes)
    }


def halves(times_s: Sequence[float]) -> tuple[float, float]:
    """Return the medians of the rounds that choose and of those that judge."""
    middle = len(times_s) // 2
    return statistics.median(times_s[:middle]), statistics.median(times_s[middle:])


def choose(times_s: Times, predicted: Predicted) -> int:
    """Return P: the better of two predictions, unless another measures 5 % faster."""
    measured_s = {lanes: halves(times_s[lanes_way(lanes)])[0] for lanes in LANES}
    wanted = min(predicted.lanes(), key=lambda lanes: measured_s[lanes])
    best = min(measured_s, key=lambda lanes: measured_s[lanes])
    return best if measured_s[wanted] > 1.05 * measured_s[best] else wanted


def figures_of(found: Found, choices: Mapping[int, int]) -> dict[str, float]:
    """Return the figures by key."""

    def median_s(size: int, way: str) -> float:
        return statistics.median(found.times_s[size][way])

    def judged_s(size: int, way: str) -> float:
        return halves(found.times_s[size][way])[1]

    chosen_s = {size: judged_s(size, lanes_way(choices[size])) for size in (MEDIUM, LARGE)}
    judged = {lanes: judged_s(LARGE, lanes_way(lanes)) for lanes in LANES}
    fractions = {size: bound(found, size) / seconds for size, seconds in chosen_s.items()}
    model, priced = found.predicted[LARGE].lanes()
    figures = {
        "speedup_over_single_lane": judged_s(LARGE, "single_lane") / chosen_s[LARGE],
        "speedup_over_default": judged_s(LARGE, "default") / chosen_s[LARGE],
        "fraction_of_bound": fractions[LARGE],
        "fraction_of_bound_max": max(fractions.values()),
        "bound_s": bound(found, LARGE),
        "physical_bound_s": physical_bound(LARGE),
        "speedup_4MB": judged_s(MEDIUM, "single_lane") / chosen_s[MEDIUM],
        "fraction_of_bound_4MB": fractions[MEDIUM],
        "chosen_over_best": judged[choices[LARGE]] / min(judged.values()),
        "lanes_chosen": choices[LARGE],
        "lanes_by_cost_model": model,
        "lanes_by_priced_schedule": priced,
        "three_step_s": median_s(LARGE, lanes_way(REMOTE, "three_step")),
        "default_s": median_s(LARGE, "default"),
        "single_lane_s": median_s(LARGE, "single_lane"),
    }
    figures |= {f"lanes_{each}_s": median_s(LARGE, lanes_way(each)) for each in LANES}
    for name, points in found.side_s.items():
        for way, times in points[LARGE].items():
            figures[f"{way.partition(':')[0]}_{name}_s"] = statistics.median(times)
    return figures


def bound(found: Found, size: int) -> float:
    """Return the least time: all bytes over all lanes, and the latency of the last."""
    return REMOTE * size / max(found.lanes_Bps) + found.latency_s


def physical_bound(size: int) -> float:
    """Return the least time by the rates of the link, of all lanes and of the root's LAN."""
    lanes = REMOTE * NIC_BITS_PER_S
    local = (RANKS - REMOTE - 1) * size + REMOTE * size * (REMOTE - 1) / REMOTE
    needed_s = max(8 * REMOTE * size / min(LINK_BITS_PER_S, lanes), 8 * local / LAN_BITS_PER_S)
    return needed_s + DELAY_S


def rows_of(found: Found, choices: Mapping[int, int], figures: Mapping[str, float]) -> list[Row]:
    """Return the table: every way at the largest size, and other ways to fill the link."""
    rows = [
        Row(way, "", time_text(statistics.median(times)))
        for way, times in found.times_s[LARGE].items()
    ]
    for name, points in found.side_s.items():
        rows += [
            Row(f"{way}, {SIDES[name]}", "", time_text(statistics.median(times)))
            for way, times in points[LARGE].items()
        ]
    paper = "1.5 to 2.0"
    rows += [
        Row("bound", "", time_text(figures["bound_s"])),
        Row("single lane / lanes chosen", paper, f"{figures['speedup_over_single_lane']:.2f}"),
        Row("bound / lanes chosen", "", f"{figures['fraction_of_bound']:.2f}"),
    ]
    chosen = ", ".join(f"{size_text(size)}: {lanes}" for size, lanes in choices.items())
    return [*rows, Row("lanes chosen", "", chosen)]


def _draw(
    workspace: Workspace, collective: str, found: Found, choices: Mapping[int, int]
) -> list[Path]:
    sizes = list(found.times_s)

    def curve(label: str, way_at: Callable[[int], str]) -> Curve:
        times = [statistics.median(found.times_s[size][way_at(size)]) for size in sizes]
        return Curve(label, [float(size) for size in sizes], times)

    over_sizes = [
        curve("MPI's default", lambda _: "default"),
        curve("single lane", lambda _: "single_lane"),
        curve("three steps, 4 lanes", lambda _: lanes_way(REMOTE, "three_step")),
        curve("lanes chosen", lambda size: lanes_way(choices[size])),
        Curve("bound", [float(size) for size in sizes], [bound(found, size) for size in sizes]),
    ]
    panel = (f"{collective}, 2 x 4 hosts", over_sizes)
    over_lanes = draw_series(
        [(f"{collective}, {size_text(LARGE)}", _over_lanes(found))],
        "lanes",
        lambda lanes: f"{lanes:g}",
        ticks=[float(lanes) for lanes in LANES],
        scale="linear",
    )
    return [
        *workspace.save(draw_curves([panel]), f"multilane-{collective}"),
        *workspace.save(over_lanes, f"multilane-{collective}-lanes"),
    ]


def _over_lanes(found: Found) -> list[Series]:
    measured_s = {
        lanes: statistics.median(found.times_s[LARGE][lanes_way(lanes)]) for lanes in LANES
    }
    predicted = found.predicted[LARGE]
    curves = {
        "measured": measured_s,
        "T(P) of the paper": predicted.model_s,
        "priced schedule": predicted.priced_s,
    }
    return [
        Series(label, [float(lanes) for lanes in LANES], [times_s[lanes] for lanes in LANES])
        for label, times_s in curves.items()
    ]


_MEDIAN = Estimator("median time", 1, ROUNDS * IN_A_ROW, "executions of each way")
_JUDGED = Estimator(
    "of the medians of the half of the executions that did not choose",
    1, ROUNDS * IN_A_ROW, "executions of each way",
)  # fmt: skip
_BOUND = Estimator(
    "by the measured rates of lanes; physical: by the rates of links", 1, 1, "computation"
)
_MACHINE = "it depends on the links; what is judged are ratios of times"
_LANES = "what is judged is the time of the lanes that are chosen"


def _experiment(collective: str, figures: str, run: Callable[[Workspace], Outcome]) -> Experiment:
    return Experiment(
        name=f"multilane-{collective}",
        paper=f"001 {figures}",
        summary=f"{collective} between two sites: default, single lane and lanes",
        run=run,
        figures=(
            Figure("speedup_over_single_lane", "ratio", _JUDGED, Target(">=", 3.5)),
            Figure(
                "fraction_of_bound", "ratio", _JUDGED, Target(">=", 0.9, at_most=FRACTION_MAX)
            ),
            Figure(
                "fraction_of_bound_max", "ratio",
                replace(_JUDGED, text="larger of two fractions; above the target the bound is bad"),
                Target("<=", FRACTION_MAX),
            ),
            Figure("speedup_4MB", "ratio", _JUDGED, Target(">=", 2.5)),
            Figure("chosen_over_best", "ratio", _JUDGED, Target("<=", 1.05)),
            Figure(
                "speedup_over_default", "ratio", _JUDGED,
                "the default of another MPI may use several connections",
            ),
            Figure("fraction_of_bound_4MB", "ratio", _JUDGED, "the target is for 16 MiB"),
            Figure("bound_s", "s", _BOUND, "it is computed"),
            Figure("physical_bound_s", "s", _BOUND, "it is computed"),
            Figure("lanes_chosen", "lanes", _MEDIAN, _LANES),
            Figure("lanes_by_{way}", "lanes", _BOUND, _LANES),
            Figure("{way}_s", "s", _MEDIAN, _MACHINE),
        ),
    )  # fmt: skip


SCATTER = _experiment("scatter", "Fig. 4 and 9", run_scatter)
GATHER = _experiment("gather", "Fig. 5 and 10", run_gather)
