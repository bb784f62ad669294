# SPDX-License-Identifier: BSD-3-Clause
"""Measure in a running job, on a communicator of mpi4py: one launch, that of the job itself.

The first rank has the native program read the options, so that they mean the same as on the command
line.  All ranks measure, the first one writes the records down, and all get the same measurement.
What fails on the first rank is raised on all of them, and what fails on another rank before they
measure becomes an error of all, so that none waits for another.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from ctypes import byref, c_double, c_int, c_size_t, c_uint64, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from lanewise.errors import LanewiseError, RequestError, RunError
from lanewise.files.whole import write_whole
from lanewise.launch.describe import describe
from lanewise.launch.machine import clock_source, governors
from lanewise.launch.mpi4py_library import family_of, handle_of, library_version
from lanewise.launch.native import MEASURE, find_program
from lanewise.launch.native_arguments import arguments_of
from lanewise.launch.native_library import Sentences, error_of
from lanewise.launch.run_native import ask_program
from lanewise.measurement import library as native
from lanewise.measurement.measurement import Measurement
from lanewise.measurement.options import texts_of
from lanewise.measurement.request import Request, refuse_output
from lanewise.results.read import parse
from lanewise.results.records import SCHEMA_NAME, SCHEMA_VERSION

# Options that say how an operation is measured, or what; the others are of whole launches.
POSSIBLE = (
    "buffers", "clock", "confidence", "error", "method", "pipeline", "repetitions", "resync",
    "root", "rule", "seed", "sizes", "start", "time_limit", "warmup", "weights", "window",
)  # fmt: skip
# Subjects that are no operation of the MPI.
NOT_HERE = ("pairs", "triplets", "clock", "polling", "post-work-wait", "lanes")

Result = TypeVar("Result")


@dataclass(frozen=True)
class Plan:
    """What the native program read: sizes by operation, how to measure, and its arguments."""

    sizes_bytes_of: Mapping[str, Sequence[int]]
    how: Mapping[str, Any]
    resync_s: float
    clock: str
    words: Sequence[str]
    notes: Sequence[str]


def measure_in_job(request: Request, comm: Any) -> Measurement:
    """Measure on all ranks of `comm`, collectively, and return the same on each of them.

    Raises RequestError for an intercommunicator, whose two groups have no first rank together.
    """
    if comm.Is_inter():
        raise RequestError("comm is an intercommunicator; merge its groups with comm.Merge()")
    family = on_each(comm, _loaded_family)
    plan = on_first(comm, lambda: plan_of(request, comm.size))
    began_s = time.monotonic()
    sentences = Sentences()
    records: list[dict[str, Any]] = []
    places = comm.allgather(_place())
    for operation, sizes_bytes in plan.sizes_bytes_of.items():
        records += measure_operation(comm, family, plan, (operation, sizes_bytes), sentences)

    def written() -> tuple[str, list[str]]:
        context = context_of(comm, family, plan, places)
        end = {"record": "end", "points": len(records), "elapsed_s": time.monotonic() - began_s}
        lines = (json.dumps(line) + "\n" for line in (context, *records, end))
        return "".join(lines), [*plan.notes, *sentences.notes]

    text, notes = on_first(comm, written)
    if request.output is not None:
        output = request.output
        on_first(comm, lambda: write_whole(output, text))
    path = request.output or Path("running-job")
    return Measurement(parse(path, text), text, tuple(dict.fromkeys(notes)))


def on_first(comm: Any, act: Callable[[], Result]) -> Result:
    """Return on all ranks what `act` returned on the first, or raise there what it raised."""
    outcome: tuple[Result | None, LanewiseError | TypeError | None] = (None, None)
    if comm.rank == 0:
        try:
            outcome = act(), None
        except (LanewiseError, TypeError) as error:
            outcome = None, error
        except Exception as error:  # of whatever kind: the others wait
            outcome = None, RunError(f"the first rank failed: {type(error).__name__}: {error}")
    result, raised = comm.bcast(outcome, root=0)
    if raised is not None:
        raise raised
    return result  # type: ignore[no-any-return]


def on_each(comm: Any, act: Callable[[], Result]) -> Result:
    """Return what `act` returned on this rank; raise on all ranks where it raised on one.

    A rank on which it did not raise raises RunError with the words of the first on which it did.
    """
    try:
        result = act()
    except Exception as error:  # of whatever kind: the others wait
        comm.allgather(f"rank {comm.rank} cannot take part: {error}")
        raise
    if failures := list(filter(None, comm.allgather(""))):
        raise RunError(failures[0])
    return result


def plan_of(request: Request, ranks: int) -> Plan:
    """Have the native program read the request; RequestError or TypeError where it is refused."""
    for name in NOT_HERE:
        if name in request.operations:
            raise RequestError(
                f"{name} cannot be measured in a running job; start the program without a launcher "
                "and without comm="
            )
    refuse_output(request)
    program = find_program(MEASURE, os.environ)
    described = describe([str(program)]).options
    texts = texts_of(request.options, described)
    for name, value in texts.items():
        if name not in POSSIBLE and value is not None:
            raise RequestError(
                f"{name} is not possible in a running job; leave it out, or start the program "
                "without a launcher and without comm="
            )
    words = arguments_of(described, {**texts, "operations": request.operations})
    words.append(f"--ranks={ranks}")
    clock = texts.get("clock") or "auto"
    if clock not in native.CLOCKS:
        raise RequestError(f"clock {clock} is not possible in a running job; leave it out")
    values = json.loads(ask_program(program, [*words, "--plan"]).splitlines()[-1])
    return Plan(
        sizes_bytes_of=values["sizes_bytes_of"], how=values["how"], resync_s=values["resync_s"],
        clock=clock, words=words, notes=values["notes"],
    )  # fmt: skip


def measure_operation(
    comm: Any, family: str, plan: Plan, what: tuple[str, Sequence[int]], sentences: Sentences
) -> list[dict[str, Any]]:
    """Measure one operation at its sizes; return its point records, the same on every rank.

    Raises RequestError or RunError on all ranks where the library refuses or fails.
    """
    operation, sizes_bytes = what
    loaded = native.load(family)
    made, samples = c_void_p(), c_void_p()
    sizes = (c_uint64 * len(sizes_bytes))(*sizes_bytes)
    options = options_of(loaded, plan, sentences)
    status = make_operation(loaded, operation, plan, made)
    try:
        status = status or loaded.lw_measure(
            handle_of(comm), made, plan.how["root"], sizes, len(sizes), byref(options),
            byref(samples),
        )  # fmt: skip
        raise_together(comm, loaded, operation, status, sentences)
        return [point_of(loaded, operation, samples, i) for i in range(len(sizes))]
    finally:
        loaded.lw_samples_free(samples)
        loaded.lw_operation_free(made)


def raise_together(
    comm: Any, loaded: Any, operation: str, status: int, sentences: Sentences
) -> None:
    """Raise the failure of the first rank that has one on all ranks, with the library's words."""
    text = loaded.lw_status_text(status).decode()
    said = "; ".join(sentences.reasons) or f"{operation}: {text}"
    failed = [found for found in comm.allgather((status, said)) if found[0]]
    if failed:
        raise error_of(*failed[0])


def make_operation(loaded: Any, operation: str, plan: Plan, made: c_void_p) -> int:
    """Make the operation called so, with the weights and window of the plan; return the status."""
    status = int(loaded.lw_operation_named(operation.encode(), byref(made)))
    weights = plan.how["weights"]
    if weights and not status:
        shares = (c_double * len(weights))(*weights)
        status = int(loaded.lw_operation_weights(made, shares, len(weights)))
    # Of operations that do not stream the library refuses it, and nothing changes.
    loaded.lw_operation_window(made, plan.how["window"])
    return status


def options_of(loaded: Any, plan: Plan, sentences: Sentences) -> native.Options:
    """Return what the plan says as the options of the library."""
    stopping, buffers = plan.how["stopping"], plan.how["buffers"]
    timing, start = c_int(), c_int()
    loaded.lw_timing_named(plan.how["method"].encode(), byref(timing))
    loaded.lw_start_named(plan.how["start"].encode(), byref(start))
    return native.Options(
        struct_size=ctypes.sizeof(native.Options), timing=timing.value, start=start.value,
        clock=native.CLOCKS[plan.clock], rule=native.RULES[stopping["rule"]],
        repetitions_min=stopping["repetitions_min"], repetitions_max=stopping["repetitions_max"],
        warmup_repetitions=stopping["warmup_repetitions"],
        pipeline_length=plan.how["pipeline_length"], confidence=stopping["confidence"],
        error=stopping["error"], time_limit_s=stopping["time_limit_s"], seed=plan.how["seed"],
        resync_s=plan.resync_s, report=sentences.callback,
        buffers=native.Buffers(
            rotating_sets=buffers["turns"], offset_bytes=buffers["offset_bytes"],
            pages=int(buffers["pages"] == "huge"), caches=int(buffers["caches"] == "cold"),
        ),
    )  # fmt: skip


def point_of(loaded: Any, operation: str, samples: c_void_p, index: int) -> dict[str, Any]:
    """Return one point of the library's samples as a record of samples.jsonl."""
    point, count = native.Point(struct_size=ctypes.sizeof(native.Point)), c_size_t()
    loaded.lw_samples_point(samples, index, byref(point))
    values = loaded.lw_samples_values(samples, index, byref(count))
    return {
        "record": "point", "operation": operation, "launch": 1, "root": point.root,
        "message_bytes": point.message_bytes, "median_s": _number(point.median_s),
        "low_s": _number(point.low_s), "high_s": _number(point.high_s),
        "mean_s": _number(point.mean_s), "repetitions": point.repetitions,
        "late_count": point.late_count, "outlier_count": point.outlier_count,
        "batches": point.batch_count, "stopped": native.STOPPED[point.stop],
        "elapsed_s": point.elapsed_s,
        "samples_s": [rounded(value) for value in values[: count.value]],
    }  # fmt: skip


def rounded(value_s: float) -> float:
    """Return a time to a tenth of a nanosecond and to six digits, as the native program does."""
    return round(value_s, 10) if abs(value_s) >= 1e-5 else float(f"{value_s:.6g}")


def context_of(
    comm: Any, family: str, plan: Plan, places: Sequence[Mapping[str, str]]
) -> dict[str, Any]:
    """Return the context record: the conditions, as the first rank sees them."""
    from mpi4py import MPI  # noqa: PLC0415

    return {
        "record": "context", "schema": SCHEMA_NAME, "version": SCHEMA_VERSION,
        "lanewise": native.load(family).lw_version().decode(),
        "mpi": {
            "family": family, "library": library_version().splitlines()[0].strip("\0 "),
            "standard": ".".join(str(part) for part in MPI.Get_version()),
        },
        "launcher": family, "ranks": comm.size,
        "placement": [{"rank": rank, **place} for rank, place in enumerate(places)],
        "cores": os.cpu_count() or 0, "kernel": f"{platform.system()} {platform.release()}",
        "governor": next(iter(governors()), "unknown"), "clocksource": clock_source(),
        "clock": "wtime" if plan.clock == "wtime" else "monotonic", **plan.how, "launches": 1,
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "arguments": plan.words,
    }  # fmt: skip


def _loaded_family() -> str:
    """Return the family of the MPI, whose library is loaded now."""
    family = family_of(library_version())
    native.load(family)
    return family


def _place() -> dict[str, str]:
    from mpi4py import MPI  # noqa: PLC0415

    cpus = sorted(os.sched_getaffinity(0))
    return {"host": MPI.Get_processor_name(), "cpus": ",".join(map(str, cpus))}


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
