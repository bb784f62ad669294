# SPDX-License-Identifier: BSD-3-Clause
"""Model accuracy: fitted parameters and predicted times against a cluster that is known exactly.

MPIBlib (2008), section 4, estimates its models on a real cluster, where the truth is unknown.  Here
the cluster is simulated: the parameters that the fit finds are compared with those of the
simulation, and the predictions of each model for linear, binomial and chain algorithms with the
times that these take there.  The best model is the one that the fit itself selects, without having
seen any of these times.

A simulation that is configured as LMO says nothing about the protocols and caches of a real
machine.  So the models are fitted to the shared memory of this host as well, over several launches,
and judged by the sizes that the fit holds out.  The fit calls best what predicts these sizes best,
so for each launch the model that is best on the others is judged, by the sizes that a fit to this
launch alone holds out.  Between the two is the default cluster of SMPI: its
protocols and factors of speed are those of a measured one and not those of LMO, but nothing
varies, so that what a model leaves over is what it does not describe.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row, Target
from experiments.model_accuracy.known_clusters import KnownCluster, heterogeneous, homogeneous
from experiments.workspace import SIMULATED, Workspace
from lanewise.plots import Bar, draw_bars
from lanewise.results.quantity import percent_text

RANKS = 8
# The shared memory of this host; only two ranks have a core each everywhere.
RANKS_HERE = 2
LAUNCHES_HERE = 5
BEST_HERE = "error_held_out_percent"
UNSEEN_HERE = "error_unseen_launch_percent"
RESIDUAL_DEFAULT = "residual_percent_default"
HELD_OUT_DEFAULT = "error_held_out_percent_default"
MODELS = ("hockney", "loggp", "plogp", "lmo", "piecewise")
# None of these sizes is measured for the fit.
SIZES = "100,3000,50000,300000"
ALGORITHMS = {
    "scatter": ("linear", "binomial"),
    "gather": ("linear", "binomial"),
    "bcast": ("linear", "binomial", "chain"),
}
REPETITIONS = ("--repetitions", "10")

Key = tuple[str, str, int]
Errors = dict[str, float]


@dataclass(frozen=True)
class Left:
    """What each model leaves over of all points, and of those that the fit holds out."""

    residuals: Errors
    held_out: Errors


@dataclass(frozen=True)
class Found:
    """The result for one cluster: the worst errors by model, and the model that the fit selects."""

    best: str
    parameters: Errors
    predictions: Errors


def run(workspace: Workspace) -> Outcome:
    """Measure, fit and predict on both known clusters; fit on the default one, and here."""
    found = {
        cluster.name: examine(workspace, cluster)
        for cluster in (homogeneous(RANKS), heterogeneous(RANKS))
    }
    files = [measured_here(workspace, launch) for launch in range(LAUNCHES_HERE)]
    here = held_out(workspace, [path for of_launch in files for path in of_launch])
    alone = [held_out(workspace, of_launch) for of_launch in files]
    unseen = errors_unseen([best_without(workspace, files, one) for one in files], alone)
    default = left_on_default(workspace)
    return Outcome(
        figures={
            **figures_of(found), **figures_default(default), **figures_here(here),
            UNSEEN_HERE: math.sqrt(sum(error**2 for error in unseen) / len(unseen)),
        },
        rows=[*_rows(found), *_rows_default(default), *_rows_here(here)],
        conditions={
            "ranks": RANKS,
            "time": "simulated",
            "sizes": SIZES,
            "ranks_here": RANKS_HERE,
            "launches_here": LAUNCHES_HERE,
        },
        files=_draw(workspace, found, default, here),
        launches={
            BEST_HERE: [figures_here(errors)[BEST_HERE] for errors in alone], UNSEEN_HERE: unseen,
        },
    )  # fmt: skip


def figures_of(found: Mapping[str, Found]) -> dict[str, float]:
    """Return the worst errors over the clusters."""
    figures = {}
    for what in ("parameter", "prediction"):
        for model in MODELS:
            errors = [getattr(one, f"{what}s") for one in found.values()]
            known = [error[model] for error in errors if model in error]
            if known:
                figures[f"{what}_error_{model}"] = max(known)
    parameters = [error for one in found.values() for error in one.parameters.values()]
    best = [one.predictions[one.best] for one in found.values()]
    return {
        "parameter_error_worst": max(parameters),
        **figures,
        "prediction_error_worst_of_best": max(best),
    }


def measured_here(workspace: Workspace, launch: int) -> list[str]:
    """Measure the shared memory of this host in launches of their own; return the files."""
    return [str(path) for path in _measured(workspace, f"here-{launch}", RANKS_HERE)]


def held_out(workspace: Workspace, files: Sequence[str]) -> Errors:
    """Return by model the error at held-out sizes of a fit to the files, the best model first."""
    platform = workspace.ask("lanewise-fit", arguments=[*files, "--json"])
    errors = {
        name: float(model["held_out"]["relative_rms"]) for name, model in platform["models"].items()
    }
    return {platform["best"]: errors[platform["best"]], **errors}


def best_without(workspace: Workspace, files: Sequence[list[str]], launch: list[str]) -> str:
    """Return the model that is best on all launches but one."""
    others = [path for of_launch in files if of_launch is not launch for path in of_launch]
    return next(iter(held_out(workspace, others)))


def figures_here(errors: Errors) -> dict[str, float]:
    """Return the error of the best model, which is the first, and then of each, in percent."""
    percent = {name: 100 * error for name, error in errors.items()}
    return {
        BEST_HERE: next(iter(percent.values())),
        **{f"{BEST_HERE}_{name}": value for name, value in percent.items()},
    }


def errors_unseen(best_on_others: Sequence[str], alone: Sequence[Errors]) -> list[float]:
    """Return by launch the error there, in percent, of the model that is best on the others."""
    pairs = zip(best_on_others, alone, strict=True)
    return [100 * errors.get(best, math.inf) for best, errors in pairs]


def left_on_default(workspace: Workspace) -> Left:
    """Fit all models on the default cluster of SMPI, and return what they leave over."""
    files = [str(path) for path in _measured(workspace, "default", RANKS, launcher=SIMULATED)]
    models = workspace.ask("lanewise-fit", arguments=[*files, "--json"])["models"]
    return Left(
        residuals={name: rms_of(model["residuals"]) for name, model in models.items()},
        held_out={name: float(one["held_out"]["relative_rms"]) for name, one in models.items()},
    )


def rms_of(residuals: Sequence[Mapping[str, Any]]) -> float:
    """Return the root mean square over the points of all operations and sizes."""
    squares = sum(float(one["relative_rms"]) ** 2 * int(one["points"]) for one in residuals)
    return math.sqrt(squares / sum(int(one["points"]) for one in residuals))


def figures_default(left: Left) -> dict[str, float]:
    """Return what each model leaves over on the default cluster, in percent."""
    errors = {RESIDUAL_DEFAULT: left.residuals, HELD_OUT_DEFAULT: left.held_out}
    return {
        f"{key}_{name}": 100 * error
        for key, of_models in errors.items()
        for name, error in of_models.items()
    }


def examine(workspace: Workspace, cluster: KnownCluster) -> Found:
    """Fit the models on `cluster` and compare them with it."""
    platform_file = workspace.folder / f"{cluster.name}.json"
    where = {"launcher": SIMULATED, "cluster": cluster.simulated()}
    files = [str(path) for path in _measured(workspace, cluster.name, cluster.ranks, **where)]
    platform = workspace.ask("lanewise-fit", arguments=[*files, "-o", str(platform_file), "--json"])
    models = platform["models"]
    simulated_s = _simulated(workspace, cluster)
    return Found(
        best=platform["best"],
        parameters={
            model: max(relative(value, truth) for value, truth in pairs)
            for model, pairs in parameters(models, cluster).items()
        },
        predictions={
            model: max(
                relative(predicted_s, simulated_s[key])
                for key, predicted_s in _predicted(workspace, platform_file, model).items()
            )
            for model in models
        },
    )


def relative(value: float, truth: float) -> float:
    """Return how far `value` is off, as a share of the truth."""
    return abs(value - truth) / truth


def parameters(
    models: Mapping[str, Any], cluster: KnownCluster
) -> dict[str, list[tuple[float, float]]]:
    """Return by model the pairs (fitted, true) of all parameters that have a true value here.

    LogGP and PLogP have one set of numbers, as only a homogeneous cluster has.
    """
    pairs = {
        "hockney": list(_hockney(models["hockney"], cluster)),
        "lmo": list(_lmo(models["lmo"], cluster)),
    }
    if len(set(cluster.processors)) == 1 and len(set(cluster.wires.values())) == 1:
        pairs["loggp"] = list(_loggp(models["loggp"], cluster))
        pairs["plogp"] = list(_plogp(models["plogp"], cluster))
    return pairs


def _value(entry: Mapping[str, Any], key: str) -> float:
    return float(entry[key]["value"])


def _hockney(model: Mapping[str, Any], cluster: KnownCluster) -> Iterator[tuple[float, float]]:
    for link in model["links"]:
        low, high = link["ranks"]
        ends = cluster.processors[low], cluster.processors[high]
        fixed_s = sum(end.fixed_s for end in ends) + cluster.latency_s((low, high))
        s_per_byte = sum(end.s_per_byte for end in ends) + cluster.wires[low, high].s_per_byte
        yield _value(link, "latency_s"), fixed_s
        yield _value(link, "s_per_byte"), s_per_byte


def _lmo(model: Mapping[str, Any], cluster: KnownCluster) -> Iterator[tuple[float, float]]:
    for entry, processor in zip(model["processors"], cluster.processors, strict=True):
        yield _value(entry, "fixed_s"), processor.fixed_s
        yield _value(entry, "s_per_byte"), processor.s_per_byte
    for link in model["links"]:
        low, high = link["ranks"]
        yield _value(link, "latency_s"), cluster.latency_s((low, high))
        yield _value(link, "s_per_byte"), cluster.wires[low, high].s_per_byte


def _loggp(model: Mapping[str, Any], cluster: KnownCluster) -> Iterator[tuple[float, float]]:
    # Messages follow each other as fast as a processor issues them: o and g are equal.
    processor = cluster.processors[0]
    yield _value(model, "latency_s"), cluster.latency_s((0, 1))
    yield _value(model, "overhead_s"), processor.fixed_s
    yield _value(model, "gap_s"), processor.fixed_s + processor.s_per_byte
    yield _value(model, "gap_s_per_byte"), processor.s_per_byte


def _plogp(model: Mapping[str, Any], cluster: KnownCluster) -> Iterator[tuple[float, float]]:
    # L + g(0) is half a round trip, which includes both processors; g(0) is one of them.
    processor = cluster.processors[0]
    yield _value(model, "latency_s"), cluster.latency_s((0, 1)) + processor.fixed_s
    for size in model["sizes"]:
        truth = processor.fixed_s + size["message_bytes"] * processor.s_per_byte
        for key in ("send_s", "receive_s", "gap_s"):
            yield _value(size, key), truth


def _measured(workspace: Workspace, label: str, ranks: int, **where: Any) -> Iterator[Path]:
    runs = workspace.ask("lanewise-fit", arguments=["--experiments", str(ranks)])
    for experiment in runs["experiments"]:
        name = experiment["name"]
        words = experiment["arguments"].split()
        simulated = "--repetitions" not in words and where.get("launcher") == SIMULATED
        samples = workspace.measure(
            f"{label}-{name}",
            [experiment["operation"], *words, *(REPETITIONS if simulated else ())],
            ranks,
            **where,
        )
        yield samples.path


def _simulated(workspace: Workspace, cluster: KnownCluster) -> dict[Key, float]:
    names = [f"{collective}:{name}" for collective, all_ in ALGORITHMS.items() for name in all_]
    answer = workspace.ask(
        "lanewise-simulated-times",
        cluster.ranks,
        arguments=[SIZES, *names],
        launcher=SIMULATED,
        cluster=cluster.simulated(),
    )
    return {
        (one["collective"], one["algorithm"], one["message_bytes"]): one["time_s"]
        for one in answer["times"]
    }


def _predicted(workspace: Workspace, platform_file: Path, model: str) -> dict[Key, float]:
    predicted_s = {}
    for collective, names in ALGORITHMS.items():
        question = [collective, "--platform", str(platform_file), "--model", model]
        question += [f"--algorithm={name}" for name in names] + ["--sizes", SIZES]
        answer = workspace.ask("lanewise-predict", arguments=question)
        for candidate in answer["candidates"]:
            for size, time_s in zip(answer["message_bytes"], candidate["predicted_s"], strict=True):
                predicted_s[collective, candidate["algorithm"], size] = time_s
    return predicted_s


def _rows(found: Mapping[str, Found]) -> Iterator[Row]:
    for cluster, one in found.items():
        for model, error in one.parameters.items():
            yield Row(f"{cluster}: {model}, worst parameter", "", percent_text(error))
        for model, error in one.predictions.items():
            mark = ", called best" if model == one.best else ""
            yield Row(f"{cluster}: {model}, worst prediction{mark}", "", percent_text(error))


def _rows_here(errors: Errors) -> Iterator[Row]:
    for place, (model, error) in enumerate(errors.items()):
        mark = ", called best" if place == 0 else ""
        yield Row(f"this host: {model}, held-out sizes{mark}", "", percent_text(error))


def _rows_default(left: Left) -> Iterator[Row]:
    for model, error in left.residuals.items():
        yield Row(f"SMPI's default: {model}, residual", "", percent_text(error))
    for model, error in left.held_out.items():
        yield Row(f"SMPI's default: {model}, held-out points", "", percent_text(error))


def _draw(
    workspace: Workspace, found: Mapping[str, Found], default: Left, here: Errors
) -> list[Path]:
    errors = {
        **{f"Worst prediction, {cluster}": one.predictions for cluster, one in found.items()},
        "Residual, SMPI's default cluster": default.residuals,
        "Held-out sizes, shared memory of this host": here,
    }
    panels = [
        (title, [Bar(model, of_models[model], model) for model in MODELS if model in of_models])
        for title, of_models in errors.items()
    ]
    return workspace.save(draw_bars(panels, percent_text), "model-accuracy")


_SIMULATED = "simulation of each cluster"
_HELD_OUT = Estimator(
    "relative root mean square error at sizes that the fit to all launches holds out",
    LAUNCHES_HERE, 1, "run of each experiment of the fit",
)  # fmt: skip
_UNSEEN = replace(
    _HELD_OUT,
    text="relative root mean square error at sizes that a fit to one launch holds out, "
    "of the model that is best on the others; root mean square over the launches",
)
_DEFAULT = "run of each experiment of the fit on SMPI's default cluster"
_RESIDUAL = Estimator("relative root mean square residual of all points", 1, 1, _DEFAULT)
_EACH = "it is shown for each model; the target is for the best"

EXPERIMENT = Experiment(
    name="model-accuracy",
    paper="000 §4",
    summary="fitted parameters and predictions on known simulated clusters, and on shared memory",
    run=run,
    figures=(
        Figure(
            "parameter_error_worst", "ratio",
            Estimator("largest relative error of a fitted parameter", 1, 1, _SIMULATED),
            Target("<=", 0.05),
        ),
        Figure(
            "prediction_error_worst_of_best", "ratio",
            Estimator("largest relative error of the model that the fit selects", 1, 1, _SIMULATED),
            Target("<=", 0.10),
        ),
        Figure(UNSEEN_HERE, "%", _UNSEEN, Target("<=", 10)),
        Figure(BEST_HERE, "%", _HELD_OUT, Target("<=", 10)),
        Figure(f"{RESIDUAL_DEFAULT}_lmo", "%", _RESIDUAL, Target("<=", 10)),
        Figure(
            "parameter_error_{model}", "ratio",
            Estimator("largest relative error of a fitted parameter", 1, 1, _SIMULATED),
            "the target is for the worst of all models",
        ),
        Figure(
            "prediction_error_{model}", "ratio",
            Estimator("largest relative error of a predicted time", 1, 1, _SIMULATED), _EACH,
        ),
        Figure(
            f"{BEST_HERE}_{{model}}", "%", _HELD_OUT,
            "it is shown for each model; the target is for the model that is best on these sizes",
        ),
        Figure(
            f"{RESIDUAL_DEFAULT}_{{model}}", "%", _RESIDUAL,
            "it is shown for each model; the target is for LMO",
        ),
        Figure(
            f"{HELD_OUT_DEFAULT}_{{model}}", "%",
            Estimator("relative root mean square error of points that the fit holds out", 1, 1,
                      _DEFAULT),
            "the target is for the residual",
        ),
    ),
)  # fmt: skip
