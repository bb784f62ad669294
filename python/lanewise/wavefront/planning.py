# SPDX-License-Identifier: BSD-3-Clause
"""Planning: what a run will read, write, need and take, before it is begun."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lanewise.wavefront import library as native
from lanewise.wavefront.kernel import native_kernel
from lanewise.wavefront.options import text_bytes

_MEBIBYTE = 2**20


@dataclass(frozen=True)
class Plan:
    """What a run will do; the names are those of the event `plan` of `lanewise wavefront`.

    `waves` are the iterations that share a pass over the disk, `passes` their number, and
    `buffers` the strips of each matrix in memory, with `held_strips` beside them where rows are
    periodic.  `chain` is how many iterations may share a pass before the direction turns, 0 where
    all may.  Rows in tiles are cut into `parallelograms` of `parallelogram_columns` columns, which
    are 0 where rows are whole.  `wave_groups`, `rounds` and `column_block_vectors` say how waves
    share the processors' caches.  Bytes are of the whole run, `memory_bytes` those at its peak and
    `memory_bytes_min` the smallest budget that would do.  `time_s` and `waves_to_hide_disk` are 0
    unless all rates are known; `disk_bound` says whether the disk or the kernel limits the time.
    """

    waves: int
    passes: int
    chain: int
    threads: int
    buffers: int
    held_strips: int
    rows_per_block: int
    wave_groups: int
    rounds: int
    column_block_vectors: int
    memory_bytes: int
    memory_bytes_min: int
    parallelograms: int
    parallelogram_columns: int
    read_bytes: int
    written_bytes: int
    waves_to_hide_disk: int
    time_s: float
    disk_bound: bool

    def __str__(self) -> str:
        """Return a few lines for a person."""
        lines = [
            f"passes   {self.passes} of up to {self.waves} waves on {self.threads} threads, "
            f"{self.buffers} strips in memory",
            f"memory   {self.memory_bytes / _MEBIBYTE:.0f} MiB "
            f"(at least {self.memory_bytes_min / _MEBIBYTE:.0f})",
            f"disk     reads {self.read_bytes / _MEBIBYTE:.0f} MiB, "
            f"writes {self.written_bytes / _MEBIBYTE:.0f} MiB",
        ]
        if self.waves_to_hide_disk:
            limit = "disk" if self.disk_bound else "kernel"
            lines.append(
                f"time     {self.time_s:.1f} s, limited by the {limit}; "
                f"waves that hide the disk: {self.waves_to_hide_disk}"
            )
        return "\n".join(lines)


def plan_of(
    shape: native.MatrixShape, kernel: Any, parameters: Sequence[float], options: native.RunOptions
) -> Plan:
    """Return the plan of a run over a store of `shape`; RequestError where it cannot be run."""
    plan = native.RunPlan(struct_size=ctypes.sizeof(native.RunPlan))
    failures = native.Failures()
    ends = (native.byref(options), failures.callback, None, native.byref(plan))
    if isinstance(kernel, str):
        values = (ctypes.c_double * len(parameters))(*parameters)
        function = native.loaded().lw_wavefront_plan_run
        name = text_bytes("kernel", kernel)
        status = function(native.byref(shape), name, values, len(values), *ends)
    else:
        own = native_kernel(kernel, native.ELEMENTS[shape.element])
        function = native.loaded().lw_wavefront_plan_run_kernel
        status = function(native.byref(shape), native.byref(own), *ends)
    failures.check(status)
    return Plan(**{**native.members(plan), "disk_bound": bool(plan.disk_bound)})
