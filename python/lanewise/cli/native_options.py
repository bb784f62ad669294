# SPDX-License-Identifier: BSD-3-Clause
"""The options of `lanewise measure` that the native program understands, and how they are passed.

They are text here: the native program has the one parser of sizes, limits and names, and `--plan`
asks it before anything is launched.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer


def text_option(name: str, metavar: str, meaning: str) -> Any:
    """Return the type of an option that is handed to the native program as it stands."""
    return Annotated[str | None, typer.Option(name, metavar=metavar, help=meaning)]


Libraries = Annotated[
    list[str] | None,
    typer.Option("--operation", metavar="LIB.so:SYMBOL", help="An operation of yours; repeatable."),
]
Sizes = text_option("--sizes", "GRAMMAR", "8,1K,64K or 1:4M:x2 or 0:100K:1K; default 1:1M:x2.")
Adaptive = text_option("--adaptive", "TOLERANCE", "Add sizes where the curve bends by more.")
Stride = text_option("--stride", "BYTES", "Least distance of adaptive sizes; default 1K.")
Reply = text_option("--reply", "same|SIZE", "pairs, triplets: bytes on the way back.")
Order = text_option("--order", "parallel|sequential", "pairs, triplets: disjoint ones at once.")
Root = text_option("--root", "RANK", "Root of rooted operations; default 0.")
Method = text_option("--method", "METHOD", "Timing method: max, global, ...; default max.")
Start = text_option("--start", "START", "How ranks start together; default barrier.")
Clock = text_option("--clock", "auto|monotonic|wtime|skewed", "Clock of each rank; default auto.")
SkewOffset = text_option("--skew-offset", "S", "Skewed clock: seconds ahead, times the rank.")
SkewDrift = text_option("--skew-drift", "X", "Skewed clock: seconds gained a second.")
Rule = text_option("--rule", "median|student", "Interval that ends a point; default median.")
Confidence = text_option("--confidence", "P", "Confidence of the interval; default 0.95.")
Error = text_option("--error", "E", "Wanted half-width over the centre; default 0.025.")
Repetitions = text_option("--repetitions", "N|MIN:MAX", "N alone: just so many; default 10:1000.")
Warmup = text_option("--warmup", "N", "Repetitions before each batch that do not count.")
TimeLimit = text_option("--time-limit", "S", "Seconds for one point; default 10, 0: none.")
Pipeline = text_option("--pipeline", "N", "Executions a sample; 1 isolates each; default 1.")
Window = text_option("--window", "N", "Streaming: messages on the way at once; default 160.")
Buffers = text_option("--buffers", "WORDS", "cold, unaligned, rotating, huge; default warm.")
Intervals = text_option("--intervals", "FIRST:LAST:N", "polling: seconds between two looks.")
Work = text_option("--work", "S", "polling: seconds of work a repetition; default 0.02.")
Weights = text_option("--weights", "A,B,...", "v-operations: each rank's share of the size.")
Resync = text_option("--resync", "S", "Synchronise the global clock anew when older.")
Seed = text_option("--seed", "N", "Of the order in which points take turns; default 0.")
Wait = text_option("--wait", "S", "clock: seconds between synchronisation and check.")
Output = Annotated[
    str | None,
    typer.Option("-o", "--output", metavar="FILE", help="Where to keep every sample (.jsonl)."),
]
Validate = Annotated[bool, typer.Option("--validate", help="Check the data that arrives, too.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the points FILE lacks.")]

PASSED = (
    "sizes", "adaptive", "stride", "reply", "order", "root", "method", "start", "clock",
    "skew_offset", "skew_drift", "rule", "confidence", "error", "repetitions", "warmup",
    "time_limit", "pipeline", "window", "buffers", "intervals", "work", "weights", "resync", "seed",
    "wait",
)  # fmt: skip


def native_arguments(values: Mapping[str, Any]) -> list[str]:
    """Return the native program's arguments for the parsed options of `lanewise measure`.

    An option that was not given is left out, so that the native default holds.
    """
    arguments = list(values.get("operations") or [])
    arguments += [f"--operation={name}" for name in values.get("libraries") or []]
    for name in PASSED:
        if values.get(name) is not None:
            arguments.append(f"--{name.replace('_', '-')}={values[name]}")
    if values.get("output"):
        arguments += ["-o", str(values["output"])]
    if values.get("validate"):
        arguments.append("--validate")
    if values.get("resume"):
        arguments.append("--resume")
    return arguments
