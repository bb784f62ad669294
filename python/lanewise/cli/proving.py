# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise tune export --verify`: run under an exported file and see that it is obeyed."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanewise.cli.numbers import counted
from lanewise.errors import RequestError, RunError
from lanewise.launch.choose import Choice, choose, require_launcher
from lanewise.launch.job import Job
from lanewise.launch.native import PROVE
from lanewise.launch.room import placed, room
from lanewise.launch.run import Event, LimitError
from lanewise.launch.run_native import Conditions, run_native
from lanewise.tuning import emit_mpich, emit_openmpi, emit_openmpi6, prove
from lanewise.tuning.content import Tuning
from lanewise.tuning.emitters import emitter_named
from lanewise.tuning.safety import Operators

# A call that has not come back by then hangs.
TIMEOUT_S = 120.0


# How lanewise-prove calls besides with every argument given.
MANNERS = {Operators.ANY: ("--sparse", "--ordered"), Operators.COMMUTATIVE: ("--sparse",)}


def prove_export(tuning: Tuning, format_: str, launcher: str, operators: Operators) -> None:
    """Prove the file written of `tuning` in a format; RunError that names what is not so."""
    manners = MANNERS[operators]
    emitter = emitter_named(format_)
    rules = emitter.emittable(tuning).rules
    choice = choose(launcher or emitter.family, os.environ)
    require_launcher(choice)
    if emitter.name == "openmpi6" and not newer_than_5(choice.build.mpi_version):
        raise RequestError(
            f"{choice.build.mpi_version} does not read this format; prove it under Open MPI 6"
        )
    if emitter.name == "openmpi" and newer_than_5(choice.build.mpi_version):
        raise RequestError(
            f"{choice.build.mpi_version} takes this format otherwise; emit openmpi6 for it"
        )
    if emitter.name == "mpich":
        count, faults = prove_mpich(choice, tuning, manners)
    elif emitter.name == "openmpi6":
        count, faults = prove_openmpi6(choice, tuning, emitter.emit(tuning).text, manners)
    else:
        count, faults = prove_openmpi(choice, tuning, emitter.emit(tuning).text, manners)
    for bounds in prove.not_tried(rules) if emitter.family == "openmpi" else ():
        sys.stderr.write(f"lanewise tune: not verified: {bounds}\n")
    for fault in faults[1:]:
        sys.stderr.write(f"lanewise tune: not followed: {fault}\n")
    if faults:
        raise RunError(f"the MPI does not follow the file: {faults[0]}")
    if count == 0:
        sys.stderr.write("the file has no rules, so there is nothing to verify\n")
        return
    sys.stderr.write(f"the MPI follows the file: {counted(count, 'call')} behave as it says\n")


def newer_than_5(version: str) -> bool:
    """Tell whether a version text such as `Open MPI 4.1.4` is of 6 or later."""
    digits = "".join(c if c.isdigit() or c == "." else " " for c in version).split()
    return bool(digits) and int(digits[0].split(".")[0]) >= 6


def prove_openmpi(
    choice: Choice, tuning: Tuning, text: str, manners: Sequence[str]
) -> tuple[int, list[str]]:
    """Run under the file and under its probe; return the number of calls and the faults."""
    rules = emit_openmpi.emittable(tuning).rules
    calls = prove.calls_for(rules, tuning.ranks)
    if not calls:
        return 0, []
    with tempfile.TemporaryDirectory(prefix="lanewise-prove-") as name:
        heard = ask(choice, tuning.ranks, [*map(str, calls), *manners],
                    under(Path(name) / "rules", text))  # fmt: skip
        faults = prove.faults_under_file(calls, heard.answers)
        faults += prove.faults_of_numbers(rules, heard.answers)
        probed = ask(choice, tuning.ranks, [str(call) for call in calls],
                     under(Path(name) / "probe", emit_openmpi.probe(tuning)))  # fmt: skip
        faults += prove.faults_under_probe(calls, probed.answers)
    return 2 * len(calls), faults


def prove_openmpi6(
    choice: Choice, tuning: Tuning, text: str, manners: Sequence[str]
) -> tuple[int, list[str]]:
    """Run under the file, and have Open MPI 6 say which rule it takes for each call."""
    rules = emit_openmpi6.emittable(tuning).rules
    calls = prove.calls_for(rules, tuning.ranks)
    if not calls:
        return 0, []
    with tempfile.TemporaryDirectory(prefix="lanewise-prove-") as name:
        variables = {**under(Path(name) / "rules", text), "OMPI_MCA_coll_tuned_verbose": "25"}
        heard = ask(choice, tuning.ranks, [*map(str, calls), *manners], variables)
    faults = prove.faults_under_file(calls, heard.answers)
    said = prove.said_in(heard.errors)
    return len(calls), faults + prove.faults_of_what_is_said(rules, calls, tuning.ranks, said)


def under(path: Path, text: str) -> dict[str, str]:
    """Write a rules file and return the variables that make Open MPI read it."""
    path.write_text(text, encoding="utf-8")
    return {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_dynamic_rules_filename": str(path),
    }


def prove_mpich(choice: Choice, tuning: Tuning, manners: Sequence[str]) -> tuple[int, list[str]]:
    """Run under the variables; return the number of calls and the faults."""
    rules = emit_mpich.emittable(tuning).rules
    calls = prove.calls_for(rules, tuning.ranks)
    if not calls:
        return 0, []
    text = emitter_named("mpich").emit(tuning).text
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    variables = dict(line.split("=", 1) for line in lines)
    heard = ask(choice, tuning.ranks, [*map(str, calls), *manners], variables)
    faults = prove.faults_under_file(calls, heard.answers)
    return len(calls), faults + prove.faults_of_variables(rules, heard.answers)


@dataclass(frozen=True)
class Heard:
    """What came of a run: the answers, and the lines on standard error."""

    answers: list[dict[str, Any]]
    errors: list[str]


def ask(
    choice: Choice, ranks: int, arguments: Sequence[str], variables: Mapping[str, str]
) -> Heard:
    """Run lanewise-prove and return what it says, up to a hang or a crash."""
    job = Job(
        program=(str(choice.build.program(PROVE)), *arguments),
        ranks=ranks,
        executable=choice.executable,
        mpi=choice.build.mpi,
        user_id=os.getuid(),
        pmi_plugin=choice.pmi_plugin,
    )
    job = placed(job, choice.launcher, room(os.environ))
    answers: list[dict[str, Any]] = []

    def keep(event: Event) -> None:
        if event["event"] == "proof":
            answers.append(event)

    try:
        outcome = run_native(
            choice, job, keep, Conditions(environment=variables, limit_s=TIMEOUT_S, tail_lines=None)
        )
    except LimitError as error:
        outcome = error.outcome
    return Heard(answers, list(outcome.output))
