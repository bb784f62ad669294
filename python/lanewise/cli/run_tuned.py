# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise run`: a program as it is, on the algorithms that `lanewise tune` chose.

With --profile it says who was late, with or without a tuning file.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lanewise.cli import drop_output
from lanewise.cli.numbers import positive_count
from lanewise.errors import LanewiseError, RequestError, RunError
from lanewise.files.whole import require_apart, require_place, require_places
from lanewise.launch import roll_call, tuned
from lanewise.launch.foreground import become, in_foreground
from lanewise.launch.native import cautions

if TYPE_CHECKING:
    from lanewise.tuning.interleaved import Interleaved

Line = Annotated[
    list[str] | None,
    typer.Argument(metavar="-- LAUNCHER ...", help="Launch line of the program, unchanged."),
]
Tuning = Annotated[
    Path | None,
    typer.Option(
        "--tuning",
        metavar="FILE",
        help="Tuning file of lanewise tune (default: tuning.json; with --profile or "
        "--same-bits none).",
    ),
]
Platform = Annotated[
    Path | None,
    typer.Option(
        "--platform", metavar="FILE", help="Platform file, for rules whose algorithm needs one."
    ),
]
Report = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="FILE",
        help="File for a report of how many calls followed a rule (.json).",
    ),
]
ProfileFile = Annotated[
    Path | None,
    typer.Option(
        "--profile",
        metavar="FILE",
        help="File for a profile of which ranks were late in collective calls (.json).",
    ),
]
SameBits = Annotated[
    str,
    typer.Option(
        "--same-bits",
        metavar="order|ranks",
        help="Make reductions reproducible: order fixes the order of operands; ranks also makes "
        "sums and products independent of the number of ranks.",
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Refuse to run if the tuning file cannot be used.")
]
Mpi = Annotated[
    str,
    typer.Option(
        "--mpi",
        metavar="|".join(tuned.MPIS),
        help="MPI of the program (default: found from the program).",
    ),
]
Rounds = Annotated[
    str,
    typer.Option(
        "--interleaved",
        metavar="N",
        help="Run the program N times plain and N times tuned, interleaved, and compare the times.",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="File to which the times of --interleaved are written (.json).",
    ),
]
PrintCommand = Annotated[
    bool, typer.Option("--print-command", help="Print the launch line and stop.")
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print the comparison of --interleaved as one JSON object.")
]

# As in tuned/environment.hpp.
PROFILE_CALLS_MAX = 2**30


def register(app: typer.Typer) -> None:
    """Add the command `run` to `app`."""
    settings = {"allow_interspersed_args": False, "help_option_names": ["-h", "--help"]}
    app.command("run", context_settings=settings)(run_tuned)


def run_tuned(
    line: Line = None,
    tuning: Tuning = None,
    platform: Platform = None,
    report: Report = None,
    profile: ProfileFile = None,
    same_bits: SameBits = "",
    strict: Strict = False,
    mpi: Mpi = "",
    interleaved_rounds: Rounds = "",
    output: Output = None,
    print_command: PrintCommand = False,
    as_json: AsJson = False,
) -> None:
    """$ lanewise run --tuning tuning.json -- mpirun -n 4 ./app

    Run a program tuned or reproducibly, or find late ranks.

    Works with programs in C, C++, Fortran and Python.  Calls without a rule in the tuning file are
    left to the MPI.  The exit status is the program's, except where a rank lacks what --same-bits
    needs.  With --interleaved 6 the program runs six times plain and six times tuned, and the times
    are compared.  With --profile a table says how long the ranks waited in collective calls, for
    which ranks, and where these were called.  With --same-bits order the results of reductions
    depend only on the numbers and on how many ranks there are; with --same-bits ranks, sums and
    products do not depend on how many ranks there are.  `lanewise check same-bits` finds the
    reduction that differs between runs.
    """
    words = list(line or [])
    rounds = positive_count("--interleaved", interleaved_rounds) if interleaved_rounds else 0
    if not words:
        raise RequestError("no program; name a launcher and a program: -- mpirun -n 4 ./app")
    require_one_of("--mpi", mpi, tuned.MPIS)
    require_one_of("--same-bits", same_bits, tuned.SAME_BITS)
    refuse_combinations(
        {"--interleaved": rounds, "-o": output, "--profile": profile, "--report": report},
        ruled=tuning is not None,
    )
    require_places(output)
    if tuning is None and profile is None and not same_bits:
        tuning = Path("tuning.json")
    require_profile_calls(profile, os.environ.get("LANEWISE_PROFILE_CALLS", ""))
    require_apart({"--report": report, "--profile": profile, "-o": output}, tuning, platform)
    options = tuned.Options(
        existing(tuning, "tune") if tuning else None,
        new_file("--report", report),
        strict,
        existing(platform, "model fit") if platform else None,
        new_regular_file("--profile", profile),
        same_bits,
    )
    launcher = tuned.launcher_of(words[0], os.environ)
    family = mpi or tuned.family_of(words, launcher, os.environ)
    build = tuned.build_of(family, os.environ)
    library = build.library(tuned.LIBRARY)
    variables = tuned.variables_for(library, options, os.environ)
    if print_command:
        vouched = {**variables, roll_call.EVERY_RANK: "1"} if launcher else variables
        typer.echo(shlex.join(tuned.launch_line(words, launcher, vouched)))
        return
    fault = tuned.fault_in(variables, os.environ)
    as_it_is = bool(fault) and not same_bits
    if as_it_is and rounds:
        raise RequestError(f"{fault}; without its rules plain and tuned would be the same")
    sys.stderr.write("".join(f"lanewise run: {sentence}\n" for sentence in cautions(build)))
    served = without_rules(options, fault) if fault else options
    variables = tuned.variables_for(library, served, os.environ)
    require_program(words[0])
    remove_former(options.report, options.profile)
    environment = {**os.environ, **tuned.root_variables(launcher)}
    if rounds == 0 and profile is None and (as_it_is or launcher is None):
        instead = words if as_it_is else tuned.launch_line(words, launcher, variables)
        become(instead[0], instead, environment)
    with roll_call.RollCall() as ranks:
        reporting = ranks.variables() if launcher else {}
        command = tuned.launch_line(words, launcher, {**variables, **reporting})
        outcome, status = None, 0
        if rounds:
            outcome = interleaved_runs(
                words, command, rounds, environment, served.tuning and tuning
            )
        else:
            status = in_foreground(command, environment)
            say_of_report(served, status)
            show_profile(served.profile, shlex.join(words))
    if same_bits and launcher and status == 0:
        require_every_rank(ranks, words, library)
    if outcome is not None:
        show(outcome, output, as_json=as_json)
    raise typer.Exit(status)


def without_rules(options: tuned.Options, fault: str) -> tuned.Options:
    """Return the options without the tuning file that has a fault, and say so.

    RequestError where the run is strict.
    """
    if options.strict:
        raise RequestError(fault)
    left = "no rule is followed" if options.same_bits else "the MPI's own algorithms are used"
    without = ", and there is no report" if options.report else ""
    sys.stderr.write(f"lanewise run: {fault}; {left}{without}\n")
    return replace(options, tuning=None, report=None)


def refuse_combinations(given: Mapping[str, object], *, ruled: bool) -> None:
    """Raise RequestError for options that do not go together; `ruled`: --tuning was given."""
    if given["-o"] and not given["--interleaved"]:
        raise RequestError("-o keeps the times of --interleaved; add --interleaved 6")
    if given["--profile"] and given["--interleaved"]:
        raise RequestError("--profile is of one run; leave out --interleaved")
    if given["--profile"] and given["--report"] and not ruled:
        raise RequestError("--report counts the calls that follow a tuning file; add --tuning FILE")


def require_one_of(option: str, word: str, choices: Sequence[str]) -> None:
    """Raise RequestError for a value of an option that is none of the choices."""
    if word and word not in choices:
        raise RequestError(f"{option} {word}: use {' or '.join(choices)}")


def require_every_rank(ranks: roll_call.RollCall, line: list[str], library: Path) -> None:
    """Raise RunError where ranks were without the library, so that none had the same bits.

    Where no rank has reported at all, nobody knows whether the program calls MPI: a line says so.
    """
    if ranks.incomplete:
        raise RunError(
            f"not every rank has reported that it has loaded {library}, so --same-bits was not in "
            f"force; put it where every host finds it, or set {roll_call.EVERY_RANK}=1 if ranks "
            "cannot connect to this host"
        )
    if not ranks.heard and not is_confirmed(line):
        sys.stderr.write(
            f"lanewise run: no rank has reported that it has loaded {library}; if the program "
            "calls MPI on several ranks, --same-bits was not in force\n"
        )


def is_confirmed(line: list[str]) -> bool:
    """Tell whether the user confirms that every rank has the library."""
    if os.environ.get(roll_call.EVERY_RANK, "0") not in ("", "0"):
        return True
    return bool(re.search(rf"\b{roll_call.EVERY_RANK}[= ]1\b", " ".join(line)))


def interleaved_runs(
    plain: list[str],
    with_rules: list[str],
    rounds: int,
    environment: Mapping[str, str],
    tuning: Path | None,
) -> Interleaved:
    """Run the program plain and tuned, interleaved, and return the times."""
    from lanewise.tuning import interleaved

    commands = {interleaved.PLAIN: plain, interleaved.TUNED: with_rules}
    seconds = interleaved.run_interleaved(commands, rounds, environment)
    return interleaved.Interleaved(
        shlex.join(plain),
        tuning.name if tuning else "",
        seconds[interleaved.PLAIN],
        seconds[interleaved.TUNED],
    )


def show(outcome: Interleaved, output: Path | None, *, as_json: bool) -> None:
    """Print the times of interleaved runs, and keep them."""
    from lanewise.tuning import interleaved

    typer.echo(json.dumps(interleaved.as_object(outcome)) if as_json else outcome.text())
    if output is not None:
        interleaved.write(outcome, output)


def existing(path: Path, maker: str) -> Path:
    """Return the absolute path of a file; RequestError naming its maker where it is not there."""
    if path.exists() and not path.is_file():
        raise RequestError(f"{path} is not a regular file, which every rank can read; name one")
    if not path.exists():
        raise RequestError(f"{path} does not exist; make it with: lanewise {maker} -o {path}")
    return path.resolve()


def new_file(option: str, path: Path | None) -> Path | None:
    """Return the absolute path of a file to be written; a link is followed."""
    if path is None:
        return None
    try:
        require_place(path)
    except RequestError as error:
        raise RequestError(f"{option} {error}") from None
    return path.absolute() if path.exists() and not path.is_file() else path.resolve()


def new_regular_file(option: str, path: Path | None) -> Path | None:
    """Return the absolute path of a file that is written and then read again.

    RequestError for a device or a pipe.
    """
    found = new_file(option, path)
    if found is not None and found.exists() and not found.is_file():
        raise RequestError(f"{option} {path}: the table is read from it; name a file")
    return found


def remove_former(*files: Path | None) -> None:
    """Remove what an earlier run left in these files.

    What is no regular file, such as a device or a pipe, is left as it is.
    """
    for file in files:
        if file is not None and file.is_file():
            file.unlink()


def require_program(name: str) -> None:
    """Raise RequestError where what is to be started is no program."""
    if shutil.which(name) is None:
        raise RequestError(f"{name} could not be started: no such program; check its name and PATH")


def require_profile_calls(profile: Path | None, text: str) -> None:
    """Raise RequestError where LANEWISE_PROFILE_CALLS is `text`, with which there is no profile."""
    if profile is None or not text:
        return
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(PROFILE_CALLS_MAX))
    if not is_number or not 0 < int(text) <= PROFILE_CALLS_MAX:
        raise RequestError(
            f"LANEWISE_PROFILE_CALLS={text}: write a whole number of calls from 1 to "
            f"{PROFILE_CALLS_MAX}, such as 4000000"
        )


def say_of_report(options: tuned.Options, status: int) -> None:
    """Say on standard error that there is no report, or no rule for the sizes of the program."""
    from lanewise.tuning import unmatched

    report, tuning = options.report, options.tuning
    if report is None:
        return
    if not report.exists():
        tell(
            "lanewise run: there is no report; it is written when a program that has called "
            "MPI_Init calls MPI_Finalize"
        )
        return
    if status != 0 or tuning is None or not report.is_file():
        return
    if sentence := unmatched.sentence(report, tuning):
        tell(f"lanewise run: {sentence}")


def show_profile(profile: Path | None, program: str) -> None:
    """Show the profile of a program that has ended on standard error, if one was asked for.

    The exit status is that of the program, whatever became of its profile.
    """
    from lanewise.profile import read, sources, table

    if profile is None:
        return
    if not profile.is_file():
        tell(
            "lanewise run: there is no profile; it is written when a program that has called "
            "MPI_Init calls MPI_Finalize"
        )
        return
    try:
        sources.add_sources(profile, program)
        lines = table.text_of(read.load(profile))
    except (LanewiseError, OSError, ValueError) as error:
        lines = [f"lanewise run: {profile} cannot be shown: {error}"]
    tell(*lines)


def tell(*lines: str) -> None:
    """Write lines to standard error, where the program may have left nobody who reads them."""
    try:
        sys.stderr.write("".join(f"{line}\n" for line in lines))
    except OSError:
        drop_output(sys.stderr)
