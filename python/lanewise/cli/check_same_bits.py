# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise check same-bits`: run a program in several ways, and say what first differs.

The library that `lanewise run` loads notes a hash of what each reduction gave.  The program is run
on several numbers of ranks, with several algorithms of its MPI, and as built for another MPI.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lanewise.errors import RequestError, RunError
from lanewise.launch import roll_call, tuned
from lanewise.launch.foreground import Foreground, repeated_stdin
from lanewise.launch.native import cautions
from lanewise.launch.run import TAIL_LINES

if TYPE_CHECKING:
    from lanewise.bits.compare import Difference, Run
    from lanewise.bits.records import CallSite

# What stands for the number of ranks in a launch line: this word, or what is in braces where the
# word is an argument of the program.
RANKS = "N"
BRACED_RANKS = "{N}"
DEFAULT_RANKS = "2,3,4"
RESULTS = "LANEWISE_RESULTS"
# Ways to reduce that an MPI can be told to take, as variables of its own.
ALGORITHMS: dict[str, dict[str, dict[str, str]]] = {
    "openmpi": {
        name: {
            "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
            "OMPI_MCA_coll_tuned_allreduce_algorithm": allreduce,
            "OMPI_MCA_coll_tuned_reduce_algorithm": reduce,
        }
        for name, allreduce, reduce in (("linear", "1", "1"), ("ring, pipeline", "4", "3"))
    },
    "mpich": {
        name: {
            "MPIR_CVAR_DEVICE_COLLECTIVES": "none",
            "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": allreduce,
            "MPIR_CVAR_REDUCE_INTRA_ALGORITHM": reduce,
        }
        for name, allreduce, reduce in (
            ("recursive doubling, binomial", "recursive_doubling", "binomial"),
            ("halves", "reduce_scatter_allgather", "reduce_scatter_gather"),
        )
    },
}

Line = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="-- LAUNCHER ...",
        help=f"Launch line of the program; {RANKS} or {BRACED_RANKS} stands for the ranks.",
    ),
]
RankCounts = Annotated[
    str,
    typer.Option(
        "--ranks",
        metavar="N,...",
        help=f"Numbers of ranks to run the program on (default: {DEFAULT_RANKS}).",
    ),
]
Also = Annotated[
    list[str] | None,
    typer.Option(
        "--also",
        metavar="LINE",
        help="Another launch line, such as that of a build for another MPI; repeatable.",
    ),
]
Level = Annotated[
    str,
    typer.Option(
        "--same-bits",
        metavar="order|ranks",
        help="Run the program as lanewise run --same-bits does (default: as it is).",
    ),
]
NoOutput = Annotated[
    bool, typer.Option("--no-output", help="Compare reductions only, not what the program prints.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print what was found as one JSON object.")]


def register(app: typer.Typer, name: str = "same-bits") -> None:
    """Add the command `same-bits` to `app`, which is `lanewise check`, or another of its names."""
    settings = {"allow_interspersed_args": False, "help_option_names": ["-h", "--help"]}
    app.command(
        name,
        context_settings=settings,
        short_help="Find the reduction that first differs between runs.",
    )(check_same_bits)


@dataclass(frozen=True)
class Planned:
    """A run that is to be made."""

    name: str
    ranks: int
    line: tuple[str, ...]
    family: str
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Compared:
    """A run with the one it is compared with, what differs first, and where that is called."""

    run: Run
    reference: Run
    difference: Difference | None
    source: str
    output_differs: bool
    not_compared: int = 0

    @property
    def in_part(self) -> bool:
        """Tell whether something could not be compared."""
        return bool(self.not_compared or self.run.between_groups() or self.run.unseen())

    @property
    def same(self) -> bool:
        """Tell whether nothing differs."""
        return self.difference is None and not self.output_differs


def check_same_bits(
    line: Line = None,
    ranks: RankCounts = "",
    also: Also = None,
    same_bits: Level = "",
    no_output: NoOutput = False,
    as_json: AsJson = False,
) -> None:
    """$ lanewise check same-bits --ranks 2,3,4 -- mpirun -n N ./app

    Run a program in several ways, and say which reduction first differs.

    The program runs twice in the same way, on each number of ranks, and with other algorithms of
    its MPI.  Its output is compared, and the result of every reduction in the order of the calls.
    With --same-bits order, only runs on the same number of ranks are compared.  Ends with status 1
    if anything differs.
    """
    words = list(line or [])
    if not words:
        raise RequestError(f"no program; name a launcher and a program: -- mpirun -n {RANKS} ./app")
    if same_bits not in ("", *tuned.SAME_BITS):
        raise RequestError(f"--same-bits {same_bits}: use {' or '.join(tuned.SAME_BITS)}")
    lines = [words, *(words_of(text) for text in also or [])]
    counts = counts_of(ranks or DEFAULT_RANKS)
    planned: list[Planned] = []
    for each in lines:
        own = plan(each, counts, first=each is words)
        if ranks and max(counts) > max(one.ranks for one in own):
            raise RequestError(
                f"--ranks {ranks}: without a launcher {each[0]} is one rank; launch it: "
                f"mpirun -n {RANKS} {each[0]}"
            )
        planned += own
    for family in dict.fromkeys(one.family for one in planned):
        for sentence in cautions(tuned.build_of(family, os.environ)):
            sys.stderr.write(f"lanewise check same-bits: {sentence}\n")
    runs = []
    with repeated_stdin() as stdin, Foreground() as foreground:
        for one in planned:
            foreground.require_undisturbed(f"the run '{one.name}'")
            with tempfile.TemporaryDirectory(prefix="lanewise-results-") as folder:
                runs.append(made(one, same_bits, Path(folder), foreground, stdin()))
    found = compared(runs, level=same_bits, with_output=not no_output)
    typer.echo(json.dumps(as_object(found)) if as_json else text_of(found))
    if not all(one.same for one in found):
        raise typer.Exit(1)


def words_of(text: str) -> list[str]:
    """Return the words of a line of --also; RequestError where it has none."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise RequestError(f"--also '{text}': {str(error).lower()}; quote it whole") from None
    if not words:
        raise RequestError(f"--also '{text}' names no program; write a line as after --")
    return words


def counts_of(text: str) -> list[int]:
    """Return the numbers of ranks; RequestError where one is none."""
    try:
        counts = [int(word) for word in text.split(",")]
    except ValueError:
        counts = [0]
    if min(counts) < 1:
        raise RequestError(f"--ranks {text}: write numbers above 0, such as {DEFAULT_RANKS}")
    return counts


def plan(line: Sequence[str], counts: Sequence[int], *, first: bool) -> list[Planned]:
    """Return the runs of a launch line; the first line of all is run twice alike."""
    launcher = tuned.launcher_of(line[0], os.environ)
    family = tuned.family_of(
        line,
        launcher,
        os.environ,
        "name a program that is linked with an MPI, or launch it with mpirun",
    )
    if launcher is None:
        counts, lines = [1], [tuple(line)]
    elif any(BRACED_RANKS in word for word in line):
        lines = [tuple(word.replace(BRACED_RANKS, str(count)) for word in line) for count in counts]
    elif RANKS in line:
        lines = [tuple(str(count) if word == RANKS else word for word in line) for count in counts]
    else:
        raise RequestError(
            f"nothing in {shlex.join(line)} is {RANKS}; write {RANKS} for the number of ranks: "
            f"{line[0]} -n {RANKS} ./app"
        )
    title = "" if first else f"{Path(line[0]).name}, "
    runs = [
        Planned(f"{title}{count} {'rank' if count == 1 else 'ranks'}", count, words, family)
        for count, words in zip(counts, lines, strict=True)
    ]
    if first:
        runs.insert(1, Planned("the same again", counts[0], lines[0], family))
    runs += [
        Planned(f"{title}{name}", counts[0], lines[0], family, variables)
        for name, variables in ALGORITHMS[family].items()
        if counts[0] > 1
    ]
    return runs


def made(planned: Planned, level: str, folder: Path, foreground: Foreground, stdin: int) -> Run:
    """Make a run, and return what it gave; RunError where the program fails."""
    from lanewise.bits.compare import Run
    from lanewise.bits.records import results_in

    launcher = tuned.launcher_of(planned.line[0], os.environ)
    library = tuned.build_of(planned.family, os.environ).library(tuned.LIBRARY)
    options = tuned.Options(None, same_bits=level)
    variables = tuned.variables_for(library, options, os.environ)
    variables |= {RESULTS: str(folder), roll_call.EVERY_RANK: "1"}
    command = tuned.launch_line(planned.line, launcher, variables)
    environment = {**os.environ, **tuned.root_variables(launcher), **planned.variables}
    printed = folder / "stdout"
    with printed.open("wb") as stdout:
        status = foreground.run(command, environment, stdin, stdout.fileno())
    foreground.require_undisturbed(f"the run '{planned.name}'")
    if status != 0:
        raise RunError(
            f"{shlex.join(planned.line)} ended with status {status}; what it says is above",
            printed.read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL_LINES:],
        )
    output = hashlib.sha256(printed.read_bytes()).hexdigest()
    results = results_in(folder)
    if planned.ranks > 1 and results[0].world == 1:
        raise RunError(
            f"{shlex.join(planned.line)} started a program of one rank {planned.ranks} times; "
            "launch it with the MPI that it was built for"
        )
    return Run(planned.name, planned.ranks, output, results)


def compared(runs: Sequence[Run], *, level: str, with_output: bool) -> list[Compared]:
    """Compare each run with the first, or with the first on as many ranks."""
    from lanewise.bits.compare import first_difference, not_compared

    found = []
    for run in runs:
        alike = [one for one in runs if level != "order" or one.ranks == run.ranks]
        reference = alike[0]
        difference = first_difference(reference, run)
        differs = with_output and run.output != reference.output
        skipped = not_compared(reference, run)
        found.append(Compared(run, reference, difference, source_of(difference), differs, skipped))
    return found


def source_of(difference: Difference | None) -> str:
    """Return the place of a call in its source, such as gas.c:120, or else its function."""
    from lanewise.profile.sources import names_in

    if difference is None:
        return ""
    call = difference.here or difference.there
    site: CallSite | None = call.site if call else None
    if site is None:
        return ""
    # A call returns to the instruction behind it, which may belong to the next line.
    names = [*names_in(site.object, [max(0, site.offset - 1)]), {}][0]
    place = names.get("source") or names.get("function") or site.symbol
    return " in ".join(filter(None, (place, names.get("inlined_into"))))


def text_of(found: Sequence[Compared]) -> str:
    """Return what was found as a table, with a sentence for each run that differs."""
    rows = [("run", "ranks", "output", "reductions", "")]
    for one in found:
        count = len(one.run.results[0].reductions)
        verdict = f"{'same as' if one.same else 'differs from'} {one.reference.name}"
        verdict = "" if one.run is one.reference else verdict
        rows.append((one.run.name, str(one.run.ranks), one.run.output[:8], str(count), verdict))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:<{widths[2]}}  "
        f"{row[3]:>{widths[3]}}  {row[4]}".rstrip()
        for row in rows
    ]
    lines += [sentence for one in found for sentence in sentences_on(one)]
    lines += sentences_on_all(found)
    same = sum(one.same for one in found)
    skipped = any(one.in_part for one in found)
    lines.append(
        f"{same} of {len(found)} runs have the same bits as what they are compared with"
        f"{', in what could be compared' if skipped else ''}"
    )
    return "\n".join(lines)


def sentences_on(one: Compared) -> list[str]:
    """Say what differs in a run, and what could not be compared."""
    from lanewise.bits.compare import sentence_of

    name, lines = one.run.name, []
    if one.difference is not None:
        lines.append(f"{name}: {sentence_of(one.difference, one.source)}")
    elif one.output_differs and one.in_part:
        lines.append(f"{name}: the output differs, though all reductions that could be compared "
                     "are the same")  # fmt: skip
    elif one.output_differs:
        lines.append(f"{name}: the output differs, though all reductions are the same: "
                     "what differs comes from elsewhere")  # fmt: skip
    if one.not_compared:
        reason = (
            "the result could not be read"
            if one.run.world == one.reference.world
            else "not over all ranks, or rank 0 has another part of the result, or none, or it "
            "could not be read"
        )
        lines.append(
            f"{name}: {counted(one.not_compared)} not compared with {one.reference.name}: {reason}"
        )
    return lines


def sentences_on_all(found: Sequence[Compared]) -> list[str]:
    """Say what is not compared in any run, and in what order the rest is."""
    lines = []
    if unseen := max(one.run.unseen() for one in found):
        lines.append(f"{counted(unseen)} not looked at: never found complete")
    if between := max(one.run.between_groups() for one in found):
        lines.append(f"{counted(between)} not looked at: between two groups of ranks")
    if any(one.run.has_several_threads() for one in found):
        lines.append("several threads of a rank call reductions, and their order may differ from "
                     "run to run, so different calls may have been compared")  # fmt: skip
    return lines


def counted(reductions: int) -> str:
    """Return a number of reductions in words."""
    return "1 reduction was" if reductions == 1 else f"{reductions} reductions were"


def as_object(found: Sequence[Compared]) -> dict[str, Any]:
    """Return what was found as an object for JSON."""
    return {
        "same": all(one.same for one in found),
        "runs": [
            {
                "name": one.run.name,
                "ranks": one.run.ranks,
                "output": one.run.output,
                "reductions": len(one.run.results[0].reductions),
                "unseen": one.run.unseen(),
                "between_groups": one.run.between_groups(),
                "not_compared": one.not_compared,
                "several_threads": one.run.has_several_threads(),
                "compared_with": one.reference.name,
                "output_differs": one.output_differs,
                "first_difference": difference_object(one),
            }
            for one in found
        ],
    }


def difference_object(one: Compared) -> dict[str, Any] | None:
    """Return the first reduction that differs as an object for JSON."""
    difference = one.difference
    if difference is None:
        return None
    call = difference.here or difference.there
    return {
        "index": difference.index,
        "rank": difference.rank,
        "call": call.what() if call else "",
        "source": one.source,
        "bits": difference.is_of_bits,
    }
