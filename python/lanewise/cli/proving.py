# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise tune --prove`: run under an emitted file and see that it is obeyed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lanewise.errors import RequestError, RunError
from lanewise.launch.choose import Choice, choose, require_launcher
from lanewise.launch.job import Job
from lanewise.launch.machine import core_count
from lanewise.launch.native import PROVE
from lanewise.launch.run import event_of, kill_session
from lanewise.tuning import emit_openmpi, prove
from lanewise.tuning.content import Tuning
from lanewise.tuning.emitters import emitter_named

# A call that has not come back by then hangs.
TIMEOUT_S = 120.0


def prove_emission(tuning: Tuning, values: Mapping[str, Any]) -> None:
    """Prove the file that --emit writes of `tuning`; RunError that names what is not so."""
    emitter = emitter_named(values["emit"])
    choice = choose(values["fabric"] or emitter.family, os.environ)
    require_launcher(choice)
    if emitter.name == "openmpi6" and not newer_than_5(choice.build.mpi_version):
        raise RequestError(
            f"{choice.build.mpi_version} does not read this format; prove it under Open MPI 6"
        )
    if emitter.name == "mpich":
        count, faults = prove_mpich(choice, tuning)
    else:
        count, faults = prove_openmpi(choice, tuning, emitter.emit(tuning).text)
    for fault in faults[1:]:
        sys.stderr.write(f"lanewise tune: not obeyed: {fault}\n")
    if faults:
        raise RunError(f"the emitted file is not obeyed: {faults[0]}")
    sys.stderr.write(f"the emitted file is obeyed: {count} calls as they should be\n")


def newer_than_5(version: str) -> bool:
    """Tell whether a version text such as `Open MPI 4.1.4` is of 6 or later."""
    digits = "".join(c if c.isdigit() or c == "." else " " for c in version).split()
    return bool(digits) and int(digits[0].split(".")[0]) >= 6


def prove_openmpi(choice: Choice, tuning: Tuning, text: str) -> tuple[int, list[str]]:
    """Run under the file and under its probe; return the number of calls and the faults."""
    rules = prove.rules_by_size(tuning)
    calls = prove.calls_for(rules, tuning.ranks)
    if not calls:
        return 0, []
    with tempfile.TemporaryDirectory(prefix="lanewise-prove-") as name:
        answers = ask(choice, tuning.ranks, [*map(str, calls), "--sparse"],
                      under(Path(name) / "rules", text))  # fmt: skip
        faults = prove.faults_under_file(calls, answers)
        faults += prove.faults_of_numbers(rules, answers)
        if emit_reads_classic(choice):
            probed = ask(choice, tuning.ranks, [str(call) for call in calls],
                         under(Path(name) / "probe", emit_openmpi.probe(tuning)))  # fmt: skip
            faults += prove.faults_under_probe(calls, probed)
    return 2 * len(calls), faults


def emit_reads_classic(choice: Choice) -> bool:
    """Tell whether the Open MPI here reads the classic grammar, in which the probe is written."""
    return not newer_than_5(choice.build.mpi_version)


def under(path: Path, text: str) -> dict[str, str]:
    """Write a rules file and return the variables that make Open MPI read it."""
    path.write_text(text, encoding="utf-8")
    return {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_dynamic_rules_filename": str(path),
    }


def prove_mpich(choice: Choice, tuning: Tuning) -> tuple[int, list[str]]:
    """Run under the variables; return the number of calls and the faults."""
    rules = prove.rules_for_all(tuning)
    calls = prove.calls_for({name: (rule,) for name, rule in rules.items()}, tuning.ranks)
    if not calls:
        return 0, []
    text = emitter_named("mpich").emit(tuning).text
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    variables = dict(line.split("=", 1) for line in lines)
    answers = ask(choice, tuning.ranks, [*map(str, calls), "--sparse"], variables)
    faults = prove.faults_under_file(calls, answers)
    return len(calls), faults + prove.faults_of_variables(rules, answers)


def ask(
    choice: Choice, ranks: int, arguments: Sequence[str], variables: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Run lanewise-prove and return its answers, those before a hang or a crash included."""
    job = Job(
        program=(str(choice.build.program(PROVE)), *arguments),
        ranks=ranks,
        launcher=choice.launcher,
        mpi=choice.build.mpi,
        cores=core_count(),
        user_id=os.getuid(),
    )
    line = choice.fabric.command(job)
    environment = {**os.environ, **choice.fabric.environment(job), **variables}
    with subprocess.Popen(
        line, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            output, _ = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            kill_session(process.pid)
            output, _ = process.communicate()
        finally:
            kill_session(process.pid)
    events = (event_of(text) for text in output.splitlines())
    return [event for event in events if event is not None and event["event"] == "proof"]
