# SPDX-License-Identifier: BSD-3-Clause
"""The options of the commands that compare algorithms, and how they are passed on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from lanewise.cli.native_options import text_option
from lanewise.cli.numbers import duration_s

PASSED = ("sizes", "time_limit", "margin", "confidence", "repetitions", "seed")

Collectives = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="COLLECTIVE...",
        help="scatter, ibcast, ... (default: all blocking ones).",
    ),
]
OutputFile = Annotated[
    str | None, typer.Option("-o", "--output", metavar="FILE", help="tuning.json to write.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Measure only the sizes FILE lacks.")]
Sizes = text_option("--sizes", "GRAMMAR", "8,1K,64K or 4:1M:x4; default 4:1M:x4.")
Budget = Annotated[
    str, typer.Option("--budget", metavar="TIME", help="For the whole run: 90s, 5min, 1h.")
]
TimeLimit = text_option("--time-limit", "S", "Seconds for one size; default 10.")
Margin = text_option("--margin", "X", "Least gain that makes a rule; default 0.03.")
Confidence = text_option("--confidence", "P", "Of the intervals; default 0.95.")
Repetitions = text_option("--repetitions", "MIN:MAX", "Of each candidate; default 10:1000.")
Seed = text_option("--seed", "N", "Of the order in which candidates take turns.")
Platform = text_option("--platform", "FILE", "platform.json: skip what it predicts hopeless.")
Emit = Annotated[str, typer.Option("--emit", hidden=True, help="As lanewise tune export --for.")]
EmitTo = Annotated[
    str | None,
    typer.Option("--emit-to", hidden=True, help="As lanewise tune export -o."),
]
Prove = Annotated[
    bool, typer.Option("--prove", hidden=True, help="As lanewise tune export --verify.")
]


def native_arguments(values: Mapping[str, Any]) -> list[str]:
    """Return the native program's arguments; what was not given is left to its defaults."""
    given = [name for name in PASSED if values[name] is not None]
    arguments = [f"--{name.replace('_', '-')}={values[name]}" for name in given]
    return [*arguments, f"--budget={budget_s(values['budget'])}"]


def budget_s(text: str) -> float:
    """Return a budget such as `5min` in seconds, 0 for none; RequestError for anything else."""
    return duration_s("--budget", text) if text else 0.0
