# SPDX-License-Identifier: BSD-3-Clause
"""The map: where the MPI's default, one lane or several lanes between two sites are the fastest.

Two sites of eight hosts are simulated over the rate of one host as a share of the link's, over the
round trip, and over what holds a connection back: a buffer, or a loss.  A simulated connection has
no packets that could be lost, so a loss is the rate that Mathis, Semke, Mahdavi and Ott give for it
(The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm, CCR 27(3), 1997).  A few points
are also measured with real TCP, on sites of four hosts in a testbed.

At each point the lanes are measured first.  From these rates alone every way is predicted, and what
is promised to be the fastest is chosen.  Then the ways are measured, and judge the choice.  The
default is predicted as the algorithm whose messages those of the MPI are, which for Open MPI 4.1,
and for SimGrid's copy of its rules, are known (coll_tuned_decision_fixed).
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Quick, Row, Target
from experiments.multilane.simulated_sites import SimulatedSites
from experiments.multilane.two_sites import IN_A_ROW, Comparison, Sites
from experiments.multilane.winner_map_picture import draw_map
from experiments.multilane.winners import DEFAULT, Point, fastest, figures_of, lanes_of, lanes_way
from experiments.workspace import SIMULATED, Workspace, failing_as_run
from lanewise.testbed import bed
from lanewise.testbed.bed import Source

COLLECTIVES = ("scatter", "gather")
HOSTS, BED_HOSTS = 8, 4
MESSAGE, MESSAGE_BYTES = "1M", 1 << 20
WAN_BITS_PER_S = 1e9
RATIOS = (1 / 8, 1 / 4, 1.0, 4.0)
ROUND_TRIPS_S = (2e-3, 10e-3, 50e-3)
# Of a connection: its buffer, and its loss.
LARGE_BUFFER = 8 << 20
BUFFERS = {"64 KiB": 64 << 10, "256 KiB": 256 << 10, "8 MiB": LARGE_BUFFER}
LOSSES = {"0.01 %": 1e-4, "0.1 %": 1e-3, "1 %": 1e-2}
ROUNDS = 1
WORST_SHOWN = 6
# Simulated time does not depend on what else runs.
SIMULATIONS_AT_ONCE = 8
# The messages of Open MPI's default for MESSAGE, by collective and ranks.
DEFAULT_IS = {
    ("scatter", 2 * HOSTS): "linear_nb",
    ("scatter", 2 * BED_HOSTS): "linear",
    ("gather", 2 * HOSTS): "binomial",
    ("gather", 2 * BED_HOSTS): "binomial",
}


@dataclass(frozen=True)
class Place:
    """The conditions of a point: host over link, round trip, and what limits a connection."""

    ratio: float
    round_trip_s: float
    limit: str

    @property
    def buffer_bytes(self) -> int:
        """Return the buffer of a connection."""
        return BUFFERS.get(self.limit, LARGE_BUFFER)

    @property
    def loss(self) -> float:
        """Return the share of packets that is lost."""
        return LOSSES.get(self.limit, 0.0)

    @property
    def name(self) -> str:
        """Return the place as a name for files."""
        limit = self.limit.replace(" ", "").replace("%", "percent")
        return f"map-{self.ratio:g}-{self.round_trip_s * 1e3:g}ms-{limit}"

    def simulated(self) -> SimulatedSites:
        """Return the sites for the simulator."""
        return SimulatedSites(
            HOSTS,
            self.round_trip_s / 2,
            self.buffer_bytes,
            rate_bits_per_s=self.ratio * WAN_BITS_PER_S,
            wan_bits_per_s=WAN_BITS_PER_S,
            loss=self.loss,
        )

    def described(self) -> Source:
        """Return the sites for a testbed."""
        rate = f"{self.ratio * WAN_BITS_PER_S / 1e6:g} Mbit/s"
        site = f'hosts = {BED_HOSTS}\nlan = {{ rate = "10 Gbit/s" }}\nwan = {{ rate = "{rate}" }}\n'
        sites = "".join(f'[[site]]\nname = "{name}"\n{site}' for name in "ab")
        loss = f'loss = "{100 * self.loss:g} %"\n' if self.loss else ""
        link = (
            f'[[link]]\nbetween = ["a", "b"]\nrate = "{WAN_BITS_PER_S / 1e9:g} Gbit/s"\n'
            f'delay = "{self.round_trip_s * 1e3 / 2:g} ms"\n{loss}'
        )
        tcp = f'[tcp]\ncongestion = "cubic"\nbuffer = "{self.buffer_bytes >> 10} KiB"\n'
        return Source(sites + link + tcp, self.name, "the map")


LIMITS = (*BUFFERS, *LOSSES)
PLACES = [
    Place(ratio, round_trip_s, limit)
    for round_trip_s in ROUND_TRIPS_S
    for ratio in RATIOS
    for limit in LIMITS
]
FEW_PLACES = [Place(ratio, 10e-3, limit) for ratio in (1 / 4, 1.0) for limit in ("64 KiB", "0.1 %")]
BED_PLACES = [
    Place(1 / 4, 10e-3, "8 MiB"),
    Place(1 / 4, 10e-3, "64 KiB"),
    Place(1 / 4, 10e-3, "0.1 %"),
]


def ways_up_to(lanes_max: int) -> list[str]:
    """Return the default, one lane, and P lanes for P = 2, 4, ..."""
    doublings = [1 << i for i in range(lanes_max.bit_length())]
    return [DEFAULT, *map(lanes_way, doublings)]


def run(workspace: Workspace) -> Outcome:
    """Draw the map."""
    return _run(workspace, PLACES)


def _run(workspace: Workspace, places: Sequence[Place]) -> Outcome:
    with ProcessPoolExecutor(SIMULATIONS_AT_ONCE) as pool:
        found = pool.map(partial(simulated_points, workspace), places)
        points = [point for of_place in found for point in of_place]
    return Outcome(
        figures=figures_of(points),
        rows=rows_of(points),
        conditions={"sites": f"2 of {HOSTS} hosts, simulated", **conditions_of(points)},
        files=workspace.save(draw_map(points), "multilane-map"),
    )


def run_in_testbed(workspace: Workspace) -> Outcome:
    """Measure a few points with real TCP."""
    points = [point for place in BED_PLACES for point in bed_points(workspace, place)]
    return Outcome(
        figures=figures_of(points),
        rows=rows_of(points),
        conditions={"sites": f"2 of {BED_HOSTS} hosts, testbed", **conditions_of(points)},
        files=workspace.save(draw_map(points), "multilane-map-testbed"),
    )


def conditions_of(points: Sequence[Point]) -> dict[str, object]:
    """Return the conditions, and all points."""
    return {
        "wan_bits_per_s": WAN_BITS_PER_S,
        "message_bytes": MESSAGE_BYTES,
        "default_is": {f"{name} on {ranks}": of for (name, ranks), of in DEFAULT_IS.items()},
        "points": [point.kept() for point in points],
    }


def simulated_points(workspace: Workspace, place: Place) -> list[Point]:
    """Return the points of a simulated place, one for each collective."""
    workspace = replace(workspace, folder=workspace.folder.resolve() / place.name)
    workspace.folder.mkdir(parents=True, exist_ok=True)
    points = []
    sites = place.simulated()
    cluster = sites.simulated(workspace.folder)
    platform = workspace.fresh(f"{place.name}.json")
    workspace.ask(
        "lanewise-lane-rates", sites.ranks, arguments=["-o", str(platform)],
        launcher=SIMULATED, cluster=cluster,
    )  # fmt: skip
    ways = ways_up_to(HOSTS)
    for collective in COLLECTIVES:
        predicted_s = predictions(workspace, collective, platform, sites.ranks, ways)
        answer = workspace.ask(
            "lanewise-lane-compare", sites.ranks, arguments=[collective, MESSAGE, "1", *ways],
            launcher=SIMULATED, cluster=cluster,
        )  # fmt: skip
        (times_s,) = (each["times_s"] for each in answer["points"])
        points.append(point_of(collective, place, times_s, predicted_s))
    return points


def bed_points(workspace: Workspace, place: Place) -> Iterator[Point]:
    """Yield the points of a place in a testbed, one for each collective."""
    ranks, ways = 2 * BED_HOSTS, ways_up_to(BED_HOSTS)
    with failing_as_run(), bed.created(place.described()) as raised:
        sites = Sites(raised, workspace, ranks)
        platform = sites.lane_rates(f"{place.name}-testbed")
        for collective in COLLECTIVES:
            predicted_s = predictions(workspace, collective, platform, ranks, ways)
            found = sites.compare(Comparison(collective, [MESSAGE], ROUNDS, ways))
            yield point_of(collective, place, found[MESSAGE_BYTES], predicted_s)


def point_of(
    collective: str,
    place: Place,
    times_s: Mapping[str, Sequence[float]],
    predicted_s: Mapping[str, float],
) -> Point:
    """Return the point with the medians of the executions."""
    measured_s = {way: statistics.median(times) for way, times in times_s.items()}
    return Point(collective, place.ratio, place.round_trip_s, place.limit, measured_s, predicted_s)


def predictions(
    workspace: Workspace, collective: str, platform: Path, ranks: int, ways: Sequence[str]
) -> dict[str, float]:
    """Return what the priced schedules promise of each way, from the rates of the lanes."""
    algorithms = {way: DEFAULT_IS[collective, ranks] if way == DEFAULT else way for way in ways}
    words = [collective, "--platform", str(platform), "--model", "lanes", "--sizes", MESSAGE]
    words += [f"--algorithm={algorithm}" for algorithm in algorithms.values()]
    answer = workspace.ask("lanewise-predict", arguments=words)
    found = [entry["predicted_s"][0] for entry in answer["candidates"]]
    return dict(zip(algorithms, found, strict=True))


def rows_of(points: Sequence[Point]) -> list[Row]:
    """Return the table: how often what wins, and the choices that lose most."""
    rows = [Row(name, "", f"{value:.4g}") for name, value in figures_of(points).items()]
    worst = sorted(points, key=lambda point: -point.chosen_over_best)[:WORST_SHOWN]
    return rows + [Row(_place_text(point), "", _choice_text(point)) for point in worst]


def _place_text(point: Point) -> str:
    return (
        f"{point.collective}, host {point.ratio:g} of the link, {point.round_trip_s * 1e3:g} ms, "
        f"{point.limit}"
    )


def _choice_text(point: Point) -> str:
    return (
        f"{_way_text(point.chosen)} chosen, {_way_text(fastest(point.measured_s))} wins, "
        f"{point.chosen_over_best:.2f} of the fastest"
    )


def _way_text(way: str) -> str:
    lanes = lanes_of(way)
    return "default" if lanes == 0 else f"{lanes} lane{'s' if lanes > 1 else ''}"


_EXACT = Estimator("over all points, in simulated time, which repeats exactly", 1, 1, "simulation")
_REAL = Estimator(
    "over the points of the testbed, of the median of each way", 1, ROUNDS * IN_A_ROW,
    "executions of each way",
)  # fmt: skip
_COUNT = "it counts points, and says nothing of a choice"
_WORST = "tune measures what is predicted before it makes a rule"
_FEW = "the points are few, and other programs use the processors"


def _figures(estimator: Estimator, good: Target | str, median: Target | str) -> tuple[Figure, ...]:
    return (
        Figure("good_choices_percent", "%", estimator, good),
        Figure("chosen_over_best_median", "ratio", estimator, median),
        Figure("chosen_over_best_worst", "ratio", estimator, _WORST),
        Figure("points", "points", estimator, _COUNT),
        Figure("{way}_wins", "points", estimator, _COUNT),
        Figure("lanes_win", "points", estimator, _COUNT),
    )


EXPERIMENT = Experiment(
    name="multilane-map",
    paper="001 §6",
    summary="where the default, one lane or several are the fastest, and whether it is foreseen",
    run=run,
    quick=Quick(partial(_run, places=FEW_PLACES), takes_s=30.0),
    figures=_figures(_EXACT, Target(">=", 90), Target("<=", 1.05)),
)

TESTBED = Experiment(
    name="multilane-map-testbed",
    paper="001 §6",
    summary="a few points of the map with real TCP",
    run=run_in_testbed,
    figures=_figures(_REAL, _FEW, _FEW),
)
