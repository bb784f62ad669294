# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise.measure`: measure MPI operations from a program in Python."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lanewise.errors import RequestError
from lanewise.measurement.in_job import measure_in_job
from lanewise.measurement.launched import measure_launched
from lanewise.measurement.measurement import Measurement
from lanewise.measurement.request import Request, positive, refuse_no_sizes
from lanewise.measurement.running_job import is_rank, world
from lanewise.suite.asked import asked_for, is_left_out


def measure(  # noqa: PLR0913
    *operations: str,
    ranks: int | None = None,
    sizes: str | int | Sequence[int] | None = None,
    launches: int | None = None,
    launcher: str = "",
    transport: str = "",
    hosts: str | Sequence[str] = "",
    hostfile: str | Path = "",
    launcher_arguments: Sequence[str] = (),
    smpi_rate: str | float = "",
    smpi_latency: str | float = "",
    smpi_speeds: str | float | Iterable[str | float] = "",
    output: str | Path | None = None,
    comm: Any = None,
    **options: Any,
) -> Measurement:
    """Measure MPI operations, by the names that `lanewise measure --list` prints.

    The ranks of native programs are launched `launches` times (by default 5, or 1 if time is
    simulated); in each launch, each point is repeated until its interval is narrow enough.
    `sizes` are in bytes: a number, several, or text such as "1:1M:x2".  `ranks` is the number of
    ranks (default: those of the batch job, else the cores, at least 2).  `launcher`, `transport`,
    `hosts`, `hostfile` and `launcher_arguments` say how they are started, as the options of the
    command do; `smpi_rate`, `smpi_latency` and `smpi_speeds` describe what the launcher smpi
    simulates, in bytes a second, seconds and operations a second, or as text with units.  With
    `output` every sample goes to that file as soon as it is measured.

    With `comm`, a communicator of mpi4py, or if an MPI launcher started this program, no ranks are
    launched: those of `comm`, or all ranks of the job, measure.  All of them make the same call and
    get the same measurement, which has one launch, that of the job.  `output` is then written after
    the last operation, not sample by sample.

    Further keywords are options of the command with `_` for `-`, such as `method="global"`,
    `error=0.01`, `repetitions=(10, 100)` or `time_limit="2s"`; numbers are seconds, bytes or
    fractions.

    Raises RequestError if the request is invalid, and nothing is started; RunError if the ranks
    failed; TypeError for an unknown keyword.  An interrupt ends the ranks and is raised as
    KeyboardInterrupt.
    """
    if not operations and not options.get("operation"):
        raise RequestError("no operation; name one that lanewise measure --list prints")
    refuse_no_sizes(sizes)
    request = Request(
        operations=operations,
        ranks=positive("ranks", ranks),
        launches=positive("launches", launches),
        output=Path(output) if output is not None else None,
        options={"sizes": sizes, **options},
    )
    running = comm
    if running is None and is_rank(os.environ):
        running = world(os.environ)
    if running is not None:
        refuse_launch(request, running, {
            "launcher": launcher, "transport": transport, "hosts": hosts, "hostfile": hostfile,
            "launcher_arguments": launcher_arguments, "smpi_rate": smpi_rate,
            "smpi_latency": smpi_latency, "smpi_speeds": smpi_speeds,
        })  # fmt: skip
        return measure_in_job(request, running)
    asked = asked_for(
        launcher, transport, hosts, hostfile, launcher_arguments, smpi_rate=smpi_rate,
        smpi_latency=smpi_latency, smpi_speeds=smpi_speeds,
    )  # fmt: skip
    return measure_launched(request, asked)


def refuse_launch(request: Request, comm: Any, launching: Mapping[str, Any]) -> None:
    """Raise RequestError for what only a launch could do; all ranks were given the same."""
    for name in (name for name, value in launching.items() if not is_left_out(value)):
        raise RequestError(
            f"{name} describes a launch, but a running job launches nothing; leave it out"
        )
    if request.launches not in (None, 1):
        raise RequestError(
            f"launches={request.launches}: a running job is one launch; leave it out"
        )
    if request.ranks not in (None, comm.size):
        raise RequestError(
            f"ranks={request.ranks}: the running job has {comm.size}; leave it out, or start the "
            "program without an MPI launcher"
        )
