# SPDX-License-Identifier: BSD-3-Clause
"""Decisions: what was concluded from the measurements, as rows for the page.

Three kinds of file can stand beside samples: a platform (models fitted), a tuning (what is used
instead of the MPI's default, with the evidence), and interleaved runs (a program run plain and
tuned).
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from json import JSONDecodeError
from pathlib import Path
from typing import Any

from lanewise.errors import RequestError
from lanewise.files.platform import load as load_platform
from lanewise.files.schemas import parsed, text_in
from lanewise.results.quantity import percent_text, size_text, time_text
from lanewise.results.records import SCHEMA_NAME as SAMPLES_SCHEMA
from lanewise.tuning import interleaved
from lanewise.tuning.content import Choice, CollectiveTuning, Rule, Tuning
from lanewise.tuning.decide import gains as gains_at
from lanewise.tuning.read import load_all

Json = dict[str, Any]


@dataclass(frozen=True)
class ModelRow:
    """One fitted model; `held_out` is its error on points that it had not seen."""

    name: str
    held_out: str
    parameters: str
    best: bool


@dataclass(frozen=True)
class ChoiceRow:
    """What is used for a collective in a range of sizes, and what it gains over the default."""

    collective: str
    sizes: str
    algorithm: str
    gain: str


@dataclass(frozen=True)
class InterleavedRow:
    """Interleaved runs of a program, plain and tuned: medians, ratio and its interval."""

    program: str
    plain: str
    tuned: str
    ratio: str
    rounds: int


@dataclass(frozen=True)
class Decisions:
    """All that was concluded, and from which files."""

    models: Sequence[ModelRow]
    choices: Sequence[ChoiceRow]
    interleaved: Sequence[InterleavedRow]
    files: Sequence[str]


# Of files that hold decisions.
SCHEMAS = ("lanewise-platform", "lanewise-tuning", interleaved.SCHEMA, interleaved.SCHEMA_BEFORE)
NO_DECISIONS = Decisions((), (), (), ())


def schema_of(path: Path) -> str:
    """Return the schema that a file names, empty for samples and for what cannot be read.

    A pipe is not read, since that would wait for a writer, and what was read would be gone.
    Raises RequestError for JSON that is refused whatever its schema, as with a key twice.
    """
    try:
        text = text_in(path) if path.is_file() else ""
        values = parsed(text)
    except (OSError, UnicodeDecodeError, JSONDecodeError):
        return ""
    except ValueError as error:
        if SAMPLES_SCHEMA in text.partition("\n")[0]:
            return ""  # and the reader of samples names the line
        raise RequestError(f"{path} is not JSON ({error}); write it again") from None
    schema = str(values.get("schema", "")) if isinstance(values, dict) else ""
    # Samples whose first point is not there yet are one object too.
    return "" if schema == SAMPLES_SCHEMA else schema


def decisions_of(paths: Sequence[Path]) -> Decisions:
    """Read platforms and tunings; RequestError for a schema that is none of them."""
    models: list[ModelRow] = []
    choices: list[ChoiceRow] = []
    rows: list[InterleavedRow] = []
    for path in paths:
        schema = schema_of(path)
        if schema == "lanewise-platform":
            models += model_rows(load_platform(path))
        elif schema == "lanewise-tuning":
            choices += [row for one in load_all(path) for row in choice_rows(one)]
        elif schema in (interleaved.SCHEMA, interleaved.SCHEMA_BEFORE):
            rows.append(interleaved_row(interleaved.load(path)))
        else:
            raise RequestError(
                f"{path}: a report is made of samples, platforms, tunings, profiles and "
                f"interleaved runs, not {schema!r}"
            )
    return Decisions(models, choices, rows, list(map(str, paths)))


def model_rows(platform: Json) -> list[ModelRow]:
    """Return a row a model, the one that predicts held-out points best marked."""
    models: Mapping[str, Json] = platform["models"]
    tests = {name: model["held_out"] for name, model in models.items()}
    errors = {name: test["relative_rms"] for name, test in tests.items()}
    judged = {name: error for name, error in errors.items() if tests[name]["points"] > 0}
    best = min(judged, key=judged.__getitem__, default="")
    return [
        ModelRow(
            name=name,
            held_out=percent_text(errors[name]) if name in judged else "none",
            parameters=_parameters_text(model),
            best=name == best,
        )
        for name, model in models.items()
    ]


def _parameters_text(model: Json) -> str:
    """Name the single parameters; of those that exist for each link or rank, the median."""
    texts = [_named(key, value) for key, value in model.items() if _is_parameter(value)]
    for key in ("links", "processors", "sizes"):
        items: list[Json] = model.get(key, [])
        for name in [name for name in (items[0] if items else {}) if _is_parameter(items[0][name])]:
            middle = statistics.median(item[name]["value"] for item in items)
            texts.append(f"{name.removesuffix('_s').replace('_', ' ')} {_value(name, middle)}")
    return ", ".join(texts)


def _is_parameter(value: object) -> bool:
    return isinstance(value, dict) and value.keys() >= {"value", "low", "high"}


def _named(key: str, parameter: Json) -> str:
    name = key.removesuffix("_s").replace("_", " ")
    low, high = _value(key, parameter["low"]), _value(key, parameter["high"])
    return f"{name} {_value(key, parameter['value'])} ({low} to {high})"


def _value(key: str, value: float) -> str:
    return f"{value * 1e9:.3g} ns/B" if key.endswith("per_byte") else time_text(value)


def choice_rows(tuning: Tuning) -> list[ChoiceRow]:
    """Return a row a rule, and one for each collective that keeps the MPI's default."""
    rows: list[ChoiceRow] = []
    for name, collective in tuning.collectives.items():
        rows += [
            ChoiceRow(
                name,
                _range_text(rule),
                _algorithm_text(rule),
                _gain_text(collective, rule, tuning.margin),
            )
            for rule in collective.rules
        ]
        if not collective.rules:
            rows.append(ChoiceRow(name, "every size", "the MPI's default", "nothing was faster"))
    return rows


def interleaved_row(taken: interleaved.Interleaved) -> InterleavedRow:
    """Return the row of one program."""
    interval = taken.interval()
    bounds = f" ({interval[0]:.2f} to {interval[1]:.2f})" if interval else ""
    return InterleavedRow(
        program=taken.line,
        plain=time_text(statistics.median(taken.plain_s)),
        tuned=time_text(statistics.median(taken.tuned_s)),
        ratio=f"{taken.ratio():.2f}{bounds}",
        rounds=len(taken.plain_s),
    )


def _range_text(rule: Rule) -> str:
    if rule.from_bytes == 0 and rule.to_bytes >= 2**63:
        return "every size"
    return f"{size_text(rule.from_bytes)} to {size_text(rule.to_bytes)}"


def _algorithm_text(rule: Rule) -> str:
    segment = f", segments of {size_text(rule.segment_bytes)}" if rule.segment_bytes else ""
    lanes = f", {rule.lanes} lanes" if rule.lanes > 1 else ""
    return rule.algorithm + segment + lanes


def _gain_text(collective: CollectiveTuning, rule: Rule, margin: float) -> str:
    chosen = Choice("lanewise", rule.algorithm, rule.segment_bytes, rule.lanes)
    gains = [
        1 / ratio
        for point in collective.points
        if rule.from_bytes <= point.message_bytes <= rule.to_bytes
        for choice, ratio in gains_at(point, "lanewise", margin).items()
        if choice == chosen
    ]
    if not gains:
        return ""
    if len(gains) == 1 or max(gains) - min(gains) < 0.01:
        return f"{max(gains):.2f} times as fast"
    return f"{min(gains):.2f} to {max(gains):.2f} times as fast"
