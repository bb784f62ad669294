# SPDX-License-Identifier: BSD-3-Clause
"""The paper's own sites, simulated: 2 x 32 nodes at 5 and 20 ms; and 2 x 512 nodes.

Multilane Scatter/Gather (2008), section 5.  Each node has one interface of 1 Gb/s, and the link
between the sites carries 1 Gb/s.  The TCP window gives a connection 250 Mb/s at 5 ms, as the paper
measured; at 20 ms it then carries a quarter.  The MPI's default, the single lane, the paper's three
steps and the pipelined lanes are compared over message sizes (Figures 4 and 5) and over lanes
(Figures 9 and 10).  The paper's T(P) uses lane rates that are measured in the simulation, and
chooses P.  As in a tuning, what it chooses has to be faster than the default by the margin, which
is taken otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Quick, Row, Target
from experiments.multilane.simulated_sites import SimulatedSites
from experiments.workspace import SIMULATED, Workspace
from lanewise.plots import Bar, Curve, draw_bars, draw_curves
from lanewise.plots.series import Series, draw_series
from lanewise.results.quantity import size_text, time_text

HOSTS, MANY_HOSTS = 32, 512
DELAYS_MS = (5, 20)
# 250 Mb/s, a round trip of 10 ms and the LAN's at both ends.
WINDOW_BYTES = 250e6 / 8 * 2 * (5e-3 + 50e-6)
SIZES = ("256K", "1M", "4M")
LARGE, MANY_LARGE = 4 << 20, 64 << 10
LANES = (1, 2, 4, 8, 16, 32)
FORMS = {"three_step": "three steps", "multilane": "pipelined"}
COLLECTIVES = ("scatter", "gather")
PAPER = {"scatter": "1.5 to 2.0", "gather": "2"}
# That of lanewise tune.
MARGIN = 0.03
DEFAULT = "default"

Medians = dict[int, dict[str, float]]


def way(form: str, lanes: int) -> str:
    """Return the name of the way of a form over `lanes` lanes."""
    return f"{form}:0:{lanes}"


@dataclass(frozen=True)
class Found:
    """Seconds of one collective at one delay: by size and way, by P and form, and T(P)."""

    sizes_s: Mapping[int, Mapping[str, float]]
    lanes_s: Mapping[str, Mapping[int, float]]
    model_s: Mapping[int, float]

    def best(self, form: str) -> int:
        """Return the P that is fastest at the largest size."""
        return min(LANES, key=lambda lanes: self.lanes_s[form][lanes])

    def speedup(self, form: str) -> float:
        """Return what the best P gains over a single lane at the largest size."""
        return self.sizes_s[LARGE]["single_lane"] / self.lanes_s[form][self.best(form)]

    def ways_s(self) -> dict[str, float]:
        """Return the seconds of every way at the largest size."""
        lanes_s = {
            way(form, lanes): seconds
            for form, of_form in self.lanes_s.items()
            for lanes, seconds in of_form.items()
        }
        return {**self.sizes_s[LARGE], **lanes_s}

    def chosen(self) -> str:
        """Return the pipelined lanes that T(P) promises most of, or the default if as fast."""
        promised = way("multilane", min(self.model_s, key=lambda lanes: self.model_s[lanes]))
        ways_s = self.ways_s()
        return promised if ways_s[promised] < (1 - MARGIN) * ways_s[DEFAULT] else DEFAULT

    def chosen_over_best(self) -> float:
        """Return the time of what is chosen over that of the fastest way."""
        ways_s = self.ways_s()
        return ways_s[self.chosen()] / min(ways_s.values())


def run(workspace: Workspace) -> Outcome:
    """Compare scatters and gathers on the simulated sites."""
    return _run(workspace, DELAYS_MS)


def _run(workspace: Workspace, delays_ms: Sequence[int]) -> Outcome:
    found: dict[tuple[str, int], Found] = {}
    for delay_ms in delays_ms:
        sites = SimulatedSites(HOSTS, delay_ms / 1e3, WINDOW_BYTES)
        platform = lane_rates(workspace, sites, f"multilane-paper-{delay_ms}ms")
        for collective in COLLECTIVES:
            found[collective, delay_ms] = measured(workspace, sites, collective, platform)
    figures = figures_of(found)
    return Outcome(
        figures=figures,
        rows=rows_of(found),
        conditions=conditions(HOSTS, LARGE),
        files=_draw(workspace, found),
        curves=curves_of(found),
    )


def run_many(workspace: Workspace) -> Outcome:
    """Compare scatters and gathers on 2 x 512 simulated hosts over the paper's lanes."""
    sites = SimulatedSites(MANY_HOSTS, DELAYS_MS[0] / 1e3, WINDOW_BYTES, windows="host")
    ways = [DEFAULT, "single_lane", *(way(form, HOSTS) for form in FORMS)]
    found = {
        each: compare(workspace, sites, each, ["64K"], ways)[MANY_LARGE] for each in COLLECTIVES
    }
    return Outcome(
        figures=figures_of_many(found),
        rows=[
            Row(f"{collective}, {name}", "", time_text(times_s[name]))
            for collective, times_s in found.items()
            for name in ways
        ],
        conditions=conditions(MANY_HOSTS, MANY_LARGE),
        files=workspace.save(
            draw_bars([_panel_of_many(*each) for each in found.items()], time_text),
            "multilane-many-hosts",
        ),
    )


def _panel_of_many(collective: str, times_s: Mapping[str, float]) -> tuple[str, list[Bar]]:
    names = {DEFAULT: "MPI's default", "single_lane": "single lane"}
    names |= {way(form, HOSTS): f"{label}, {HOSTS} lanes" for form, label in FORMS.items()}
    title = f"{collective} of {size_text(MANY_LARGE)}, 2 x {MANY_HOSTS} hosts"
    return title, [Bar(label, times_s[name], label) for name, label in names.items()]


def conditions(hosts: int, message_bytes: int) -> dict[str, object]:
    """Return the conditions that describe the simulated sites."""
    return {
        "sites": f"2 of {hosts} hosts, one interface of 1 Gb/s a host, WAN 1 Gb/s",
        "window_bytes": WINDOW_BYTES,
        "message_bytes": message_bytes,
        "simulator": "SimGrid SMPI, CM02 with network/TCP-gamma, coll-selector ompi",
    }


def compare(
    workspace: Workspace,
    sites: SimulatedSites,
    collective: str,
    sizes: Sequence[str],
    ways: Sequence[str],
) -> Medians:
    """Return seconds by size and way; a simulation repeats exactly, so one round is enough."""
    answer = workspace.ask(
        "lanewise-lane-compare",
        sites.ranks,
        arguments=[collective, ",".join(sizes), "1", *ways],
        launcher=SIMULATED,
        cluster=sites.simulated(workspace.folder),
    )
    return {
        point["message_bytes"]: {name: min(times) for name, times in point["times_s"].items()}
        for point in answer["points"]
    }


def lane_rates(workspace: Workspace, sites: SimulatedSites, name: str) -> Path:
    """Measure b(P) between the simulated sites; return the platform.json that holds it."""
    path = workspace.fresh(f"{name}.json")
    workspace.ask(
        "lanewise-lane-rates",
        sites.ranks,
        arguments=["-o", str(path)],
        launcher=SIMULATED,
        cluster=sites.simulated(workspace.folder),
    )
    return path


def measured(workspace: Workspace, sites: SimulatedSites, collective: str, platform: Path) -> Found:
    """Compare over sizes, then over P at the largest; evaluate T(P)."""
    ways = [DEFAULT, "single_lane", *(way(form, HOSTS) for form in FORMS)]
    sizes_s = compare(workspace, sites, collective, SIZES, ways)
    lanes_s = {}
    for form in FORMS:
        ways = [way(form, lanes) for lanes in LANES]
        times_s = compare(workspace, sites, collective, ["4M"], ways)[LARGE]
        lanes_s[form] = {lanes: times_s[way(form, lanes)] for lanes in LANES}
    return Found(sizes_s, lanes_s, model(workspace, collective, platform))


def model(workspace: Workspace, collective: str, platform: Path) -> dict[int, float]:
    """Return the paper's T(P) at the largest size."""
    words = [collective, "--platform", str(platform), "--model", "lanes", "--sizes", str(LARGE)]
    words += [f"--algorithm={way('three_step', lanes)}" for lanes in LANES]
    answer = workspace.ask("lanewise-predict", arguments=words)
    return {entry["lanes"]: entry["cost_model_s"][0] for entry in answer["candidates"]}


def figures_of(found: Mapping[tuple[str, int], Found]) -> dict[str, float]:
    """Return the figures by key."""
    figures: dict[str, float] = {}
    for (collective, delay_ms), each in found.items():
        end = "" if delay_ms == DELAYS_MS[0] else f"_{delay_ms}ms"
        large_s = each.sizes_s[LARGE]
        figures |= {
            f"speedup_{collective}{end}": each.speedup("multilane"),
            f"speedup_{collective}_three_step{end}": each.speedup("three_step"),
            f"lanes_{collective}{end}": each.best("multilane"),
            f"lanes_{collective}_three_step{end}": each.best("three_step"),
            f"lanes_{collective}_by_model{end}": min(each.model_s, key=lambda p: each.model_s[p]),
            f"single_lane_{collective}{end}_s": large_s["single_lane"],
            f"default_{collective}{end}_s": large_s[DEFAULT],
            f"best_lanes_over_default_{collective}{end}": min(
                seconds for name, seconds in each.ways_s().items() if name != DEFAULT
            )
            / large_s[DEFAULT],
        }
    return {**figures, "chosen_over_best": max(each.chosen_over_best() for each in found.values())}


def figures_of_many(found: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Return what lanes gain over the single one and the default, by collective and form."""
    figures: dict[str, float] = {}
    for collective, times_s in found.items():
        for form in FORMS:
            end = "" if form == "multilane" else f"_{form}"
            lanes_s = times_s[way(form, HOSTS)]
            figures[f"speedup_{collective}{end}"] = times_s["single_lane"] / lanes_s
            figures[f"speedup_over_default_{collective}{end}"] = times_s[DEFAULT] / lanes_s
    return figures


def curves_of(found: Mapping[tuple[str, int], Found]) -> dict[str, list[tuple[float, float]]]:
    """Return seconds over sizes and over lanes, as scatter_5ms_over_sizes/single lane."""
    curves = {}
    for (collective, delay_ms), each in found.items():
        kind = f"{collective}_{delay_ms}ms_over"
        for curve in _over_sizes(each):
            points = list(zip(curve.sizes_bytes, curve.median_s, strict=True))
            curves[f"{kind}_sizes/{curve.label}"] = points
        for series in _over_lanes(each):
            curves[f"{kind}_lanes/{series.label}"] = list(zip(series.x, series.y, strict=True))
    return curves


def rows_of(found: Mapping[tuple[str, int], Found]) -> list[Row]:
    """Return the table: each delay's seconds and gains beside the paper's."""
    rows = []
    for (collective, delay_ms), each in found.items():
        what = f"{collective}, {delay_ms} ms"
        paper = PAPER[collective] if delay_ms == DELAYS_MS[0] else ""
        rows += [
            Row(f"{what}, {name}", "", time_text(each.sizes_s[LARGE][name]))
            for name in (DEFAULT, "single_lane")
        ]
        for form, label in FORMS.items():
            best = each.best(form)
            here = f"{time_text(each.lanes_s[form][best])}, {each.speedup(form):.2f} of one lane"
            rows.append(Row(f"{what}, {label}, {best} lanes", paper, here))
        over_best = f"{each.chosen()}, {each.chosen_over_best():.2f} of the fastest"
        rows.append(Row(f"{what}, chosen", "", over_best))
    return rows


def _draw(workspace: Workspace, found: Mapping[tuple[str, int], Found]) -> list[Path]:
    over_sizes = {_title(key): _over_sizes(each) for key, each in found.items()}
    over_lanes = {_title(key): _over_lanes(each) for key, each in found.items()}
    lanes = draw_series(
        list(over_lanes.items()),
        "lanes",
        lambda lanes: f"{lanes:g}",
        ticks=[float(p) for p in LANES],
    )
    return [
        *workspace.save(draw_curves(list(over_sizes.items())), "multilane-paper-sizes"),
        *workspace.save(lanes, "multilane-paper-lanes"),
    ]


def _title(key: tuple[str, int]) -> str:
    return f"{key[0]}, {key[1]} ms"


def _over_sizes(found: Found) -> list[Curve]:
    names = {DEFAULT: "MPI's default", "single_lane": "single lane"}
    names |= {way(form, HOSTS): f"{label}, {HOSTS} lanes" for form, label in FORMS.items()}
    sizes = [float(size) for size in found.sizes_s]
    return [
        Curve(label, sizes, [times[name] for times in found.sizes_s.values()])
        for name, label in names.items()
    ]


def _over_lanes(found: Found) -> list[Series]:
    curves = {label: found.lanes_s[form] for form, label in FORMS.items()}
    curves["T(P) of the paper"] = found.model_s
    curves["MPI's default"] = dict.fromkeys(LANES, found.sizes_s[LARGE][DEFAULT])
    return [
        Series(label, [float(p) for p in LANES], [times[p] for p in LANES])
        for label, times in curves.items()
    ]


_EXACT = Estimator("simulated time, which repeats exactly", 1, 1, "simulation")
_PAPER = "the paper's range stands beside it, and the targets are those of multilane-scatter"
_GAIN = "what is shown is the gain of lanes"
_CHOICE = "whichever is faster has to be chosen, and that is judged by chosen_over_best"

EXPERIMENT = Experiment(
    name="multilane-paper",
    paper="001 Fig. 4, 5, 9 and 10",
    summary="the paper's 2 x 32 nodes, simulated: single lane, three steps and pipelined lanes",
    run=run,
    quick=Quick(partial(_run, delays_ms=DELAYS_MS[:1]), takes_s=45.0),
    figures=(
        Figure("chosen_over_best", "ratio", _EXACT, Target("<=", 1.05)),
        Figure("speedup_{collective}", "ratio", _EXACT, _PAPER),
        Figure("best_lanes_over_default_{collective}", "ratio", _EXACT, _CHOICE),
        Figure("lanes_{collective}", "lanes", _EXACT, _GAIN),
        Figure("single_lane_{collective}_s", "s", _EXACT, _GAIN),
        Figure("default_{collective}_s", "s", _EXACT, _GAIN),
    ),
)

MANY = Experiment(
    name="multilane-many-hosts",
    paper="001 §6",
    summary="2 x 512 nodes like the paper's, simulated: default, one lane, three steps and lanes",
    run=run_many,
    figures=(
        Figure(
            "speedup_over_default_{collective}", "ratio", _EXACT,
            "whichever is faster has to be chosen, and tune measures both",
        ),
        Figure("speedup_{collective}", "ratio", _EXACT, "the paper has no such number"),
    ),
)  # fmt: skip
