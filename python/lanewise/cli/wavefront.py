# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise wavefront`: sweeps over matrices larger than memory.

The native program has the one parser of options; here its events become progress, and arrays of
Zarr, HDF5 and netCDF, and those that are converted, are moved by Python.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from lanewise.cli.example import ExampleTyper
from lanewise.cli.launching import Quiet
from lanewise.cli.native_options import parameter_of
from lanewise.cli.numbers import counted
from lanewise.cli.shared_options import option, with_options
from lanewise.errors import LanewiseError, RequestError, RunError
from lanewise.files.array_names import ARRAY_SUFFIXES, split_name
from lanewise.launch.describe import describe
from lanewise.launch.native import find_program
from lanewise.launch.run import Event, run

PROGRAM = "lanewise-wavefront"
RUNNING = ("run", "resume")
SHOWN_MOVING = ("import", "export", "convert")
MOVED_BY = "import|export STORE MATRIX FILE [--memory SIZE]"
# What these commands do beyond the native program.
_ARRAYS = """\
FILE may also be an array of Zarr (FILE.zarr), HDF5 (FILE.h5:DATASET) or netCDF (FILE.nc:NAME)."""
NOTES = {"import": _ARRAYS, "export": _ARRAYS}
LOG_PERIOD_S = 10.0
INTERRUPTED = 130
PRINTING = ("export", "info", "kernels", "plan", "verify")
_NEW = "; the new store is incomplete, so remove its folder"
# What an interrupt leaves of these commands.
LEFT = {
    "create": _NEW,
    "convert": _NEW,
    "import": "; the matrix is as it was",
    "export": "; a file that FILE named is as it was; remove FILE.*.part if one is left",
    "split": "; the parts are incomplete, so remove their folders",
    "join": _NEW,
}
MOVING = tuple(LEFT)
COMMANDS = [*MOVING, *RUNNING, "verify", "info", "plan", "kernels"]
HELP = {"-h", "--help"}
QUIET = {"-q", "--quiet"}
EXAMPLES = {
    "create": "$ lanewise wavefront create demo --rows 8192 --cols 8192",
    "import": "$ lanewise wavefront import demo data start.npy",
    "export": "$ lanewise wavefront export demo data result.npy",
    "convert": "$ lanewise wavefront convert demo rows --layout row-major",
    "split": "$ lanewise wavefront split demo part.0 part.1",
    "join": "$ lanewise wavefront join whole part.0 part.1",
    "run": "$ lanewise wavefront run demo --iterations 64 --memory 512MiB",
    "resume": "$ lanewise wavefront resume demo --memory 512MiB",
    "verify": "$ lanewise wavefront verify demo",
    "info": "$ lanewise wavefront info demo",
    "plan": "$ lanewise wavefront plan demo --iterations 64 --memory 512MiB",
    "kernels": "$ lanewise wavefront kernels",
}

Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="COMMAND ...", help="Command with its arguments; COMMAND --help lists its options."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command `wavefront` to `app`."""
    passing_on = {
        "ignore_unknown_options": True,
        "allow_interspersed_args": False,
        "help_option_names": ["-h", "--help"],
    }
    app.command("wavefront", context_settings=passing_on)(wavefront)


def wavefront(words: Words = None) -> None:
    """$ lanewise wavefront run demo --iterations 64 --memory 512MiB

    Sweep over matrices larger than memory.

    The results have the bits of the sequential loop.

    First make a store: lanewise wavefront create demo --rows 8192 --cols 8192.
    COMMAND is one of: create, import, export, convert, split, join, run, resume, verify, info,
    plan, kernels.
    A run that is killed at any moment continues from its last whole pass with `resume`.
    """
    words = list(words or [])
    program = find_program(PROGRAM, os.environ)
    command = words[0] if words else ""
    if command not in COMMANDS:
        near = get_close_matches(command, COMMANDS, n=1)
        remedy = f"did you mean {near[0]}?" if near else f"use one of {', '.join(COMMANDS)}"
        raise RequestError(f"no command '{command}'; {remedy}")
    if HELP & set(words):
        show_help(program, command)
        return
    quiet = command in RUNNING and bool(QUIET & set(words))
    words = [word for word in words if not (quiet and word in QUIET)]
    if command in RUNNING and "--json" not in words:
        run_shown([str(program), *words, "--json"], words, quiet=quiet)
    elif command in ("import", "export") and moved_here(words):
        move_array(command, words)
    elif command in SHOWN_MOVING and sys.stderr.isatty() and not {"--json", "-"} & set(words):
        move_shown([str(program), *words, "--json"])
    else:
        pass_on([str(program), *words])


def show_help(program: Path, command: str) -> None:
    """Print the help of a command as that of every other, from the native program's options."""
    described = next(one for one in describe([str(program)]).subcommands if one.name == command)
    words = [one for one in described.options if one.positional]
    options = [one for one in described.options if not one.positional]
    parameters = [parameter_of(one) for one in (*words, *options)]
    if command in RUNNING:
        parameters.append(option("quiet", Quiet, False))

    def shown(**_values: Any) -> None:
        pass

    note = f"\n\n    {NOTES[command]}" if command in NOTES else ""
    shown.__doc__ = f"{EXAMPLES[command]}\n\n    {described.summary}.{note}\n    "
    app = ExampleTyper(name="wavefront")
    app.callback()(lambda: None)
    app.command(command)(with_options(parameters)(shown))
    typer.main.get_command(app).main(
        args=[command, "--help"], prog_name="lanewise wavefront", standalone_mode=False
    )


def move_array(command: str, words: list[str]) -> None:
    """Import or export an array in a file of a library, with a bar in a terminal."""
    from lanewise.wavefront.arrays import export_array, import_array
    from lanewise.wavefront.progress import ProgressBar

    store, matrix, name, memory = array_arguments(words)
    move = import_array if command == "import" else export_array
    with ProgressBar(command) as bar:
        move(store, matrix, name, memory=memory, on_progress=bar)


def move_shown(line: list[str]) -> None:
    """Import, export or convert by the native program, with a bar."""
    from lanewise.wavefront.progress import ProgressBar

    last: Event = {}

    def take(event: Event) -> None:
        last.clear()
        last.update(event)
        if event["event"] == "progress":
            bar(event["bytes_done"] / max(event["bytes_wanted"], 1), event["elapsed_s"])

    try:
        with ProgressBar(line[1]) as bar:
            outcome = run(line, {}, take)
    except KeyboardInterrupt:
        sys.stderr.write(f"lanewise wavefront: stopped{LEFT[line[1]]}\n")
        raise typer.Exit(INTERRUPTED) from None
    if outcome.status != 0:
        raise complaint(list(outcome.output), outcome.status)
    sys.stderr.writelines(f"{text}\n" for text in outcome.output)
    if last.get("event") == "convert":
        sys.stdout.write(converted(last) + "\n")


def converted(end: Event) -> str:
    """Return the line that closes a conversion."""
    moved_mib, elapsed_s = end["bytes"] / 2**20, max(end["elapsed_s"], 1e-9)
    return (
        f"{end['from']} to {end['to']}: {moved_mib:.0f} MiB in {elapsed_s:.2f} s, "
        f"{moved_mib / elapsed_s:.0f} MiB/s"
    )


def array_arguments(words: list[str]) -> tuple[str, str, str, str]:
    """Return store, matrix, array and memory, which may be empty; RequestError for other words."""
    memory = ""
    rest = [part for word in words[1:] for part in split_option(word)]
    if "--memory" in rest[:-1]:
        at = rest.index("--memory")
        memory = rest[at + 1]
        rest = rest[:at] + rest[at + 2 :]
    if len(rest) != 3 or any(word.startswith("-") for word in rest):
        raise RequestError(
            f"files of Zarr, HDF5 and netCDF take only --memory; say: lanewise wavefront {MOVED_BY}"
        )
    return rest[0], rest[1], rest[2], memory


def split_option(word: str) -> list[str]:
    """Return `--name=value` as two words, any other as it is."""
    return word.split("=", 1) if word.startswith("--") else [word]


def moved_here(words: list[str]) -> bool:
    """Return whether Python moves the array: it is in a library's file, or is converted."""
    if array_name(words):
        return True
    if words[0] == "export" or "--json" in words or not any(w.endswith(".npy") for w in words):
        return False
    from lanewise.wavefront.arrays import is_converted

    try:
        store, _matrix, name, _memory = array_arguments(words)
    except RequestError:
        return False  # the native program has more options
    return is_converted(store, name)


def array_name(words: list[str]) -> str:
    """Return the word that names an array of Zarr, HDF5 or netCDF, empty where none does."""
    return next((word for word in words if split_name(word)[0].endswith(ARRAY_SUFFIXES)), "")


def pass_on(line: list[str]) -> None:
    """Run the native program as it stands; raise its complaint as our own."""
    try:
        done = subprocess.run(
            line, stderr=subprocess.PIPE, text=True, errors="replace", check=False
        )
    except KeyboardInterrupt:
        left = "" if "-" in line[2:] else LEFT.get(line[1], "")
        sys.stderr.write(f"lanewise wavefront: stopped{left}\n")
        raise typer.Exit(INTERRUPTED) from None
    if done.returncode == -signal.SIGPIPE:
        if line[1] in PRINTING:
            raise typer.Exit(0)  # whoever read the output has seen enough
        raise RunError("stopped, because nobody reads its output any more")
    if done.returncode != 0:
        raise complaint(done.stderr.splitlines(), done.returncode)
    sys.stderr.write(done.stderr)


def complaint(lines: list[str], status: int) -> LanewiseError:
    """Return the last line of the native program as an error; what stands before is shown."""
    for text in lines[:-1]:
        sys.stderr.write(text + "\n")
    sentence = lines[-1].removeprefix(f"{PROGRAM}: ") if lines else f"ended with status {status}"
    return RequestError(sentence) if status == 2 else RunError(sentence)


def run_shown(line: list[str], words: list[str], *, quiet: bool) -> None:
    """Run with progress on standard error and one line about the whole on standard output."""
    shown = RunProgress() if quiet else BarProgress() if sys.stderr.isatty() else LogProgress()
    try:
        with shown:
            outcome = run(line, {}, shown.take)
    except KeyboardInterrupt:
        store = next((word for word in words[1:] if not word.startswith("-")), "STORE")
        sys.stderr.write(f"stopped; continue with: lanewise wavefront resume {store}\n")
        raise typer.Exit(INTERRUPTED) from None
    if outcome.status != 0:
        raise complaint(list(outcome.output), outcome.status)
    sys.stderr.writelines(f"{text}\n" for text in outcome.output)
    if shown.end is not None:
        sys.stdout.write(summary(shown.end) + "\n")


def summary(end: Event) -> str:
    """Return the line that closes a run."""
    if not end["iterations"]:
        return "nothing left to do"
    moved_mb = (end["read_bytes"] + end["written_bytes"]) / 1e6
    words = [
        f"{counted(end['iterations'], 'iteration')} in {end['elapsed_s']:.2f} s",
        f"{end['cells_per_s'] / 1e6:.0f} Mcells/s",
        f"{counted(end['passes'], 'pass')} of {counted(end['waves'], 'wave')}",
        f"disk {moved_mb / end['elapsed_s']:.0f} MB/s",
        f"{end['peak_memory_bytes'] / 2**20:.0f} MiB of memory",
    ]
    return ", ".join(words + (["converged"] if end["converged"] else []))


class RunProgress:
    """Keeps the event that ends a run, and shows nothing."""

    def __init__(self) -> None:
        self.end: Event | None = None

    def __enter__(self) -> RunProgress:
        return self

    def __exit__(self, *_exception: object) -> None:
        pass

    def take(self, event: Event) -> None:
        """Take an event of the native program."""
        if event["event"] == "end":
            self.end = event


class LogProgress(RunProgress):
    """Progress as plain lines, for a log."""

    def __init__(self) -> None:
        super().__init__()
        self.last_s = time.monotonic()

    def take(self, event: Event) -> None:
        """Take an event, and write now and then how far the run is."""
        super().take(event)
        if event["event"] == "progress" and time.monotonic() - self.last_s >= LOG_PERIOD_S:
            self.last_s = time.monotonic()
            sys.stderr.write(described(event) + "\n")
            sys.stderr.flush()


class BarProgress(RunProgress):
    """Progress as a bar, for a terminal."""

    def __init__(self) -> None:
        super().__init__()
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        self.bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self.task: TaskID | None = None

    def __enter__(self) -> RunProgress:
        self.bar.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.bar.stop()

    def take(self, event: Event) -> None:
        """Take an event, and move the bar."""
        super().take(event)
        if event["event"] != "progress":
            return
        if self.task is None:
            self.task = self.bar.add_task("", total=1.0)
        self.bar.update(self.task, completed=share_done(event), description=described(event))


def share_done(event: Event) -> float:
    """Return how much of the run's work a progress event reports, from 0 to 1."""
    passed = event["waves"] * event["rows_done"] / event["rows"]
    return float((event["iterations_done"] + passed) / event["iterations_wanted"])


def described(event: Event) -> str:
    """Return a progress event as text: iterations, cells/s, disk rate, time left."""
    share, elapsed_s = share_done(event), max(event["elapsed_s"], 1e-9)
    cells = share * event["iterations_wanted"] * event["rows"] * event["columns"]
    left_s = elapsed_s * (1 - share) / share if share else 0.0
    return (
        f"{share * event['iterations_wanted']:.0f}/{event['iterations_wanted']} iterations, "
        f"{cells / elapsed_s / 1e6:.0f} Mcells/s, {disk_rate(event) / 1e6:.0f} MB/s, "
        f"{left_s:.0f} s left"
    )


def disk_rate(event: Event) -> float:
    """Return bytes read and written in a second, on average since the run began."""
    waves = max(event["waves"], 1)
    passes_before = event["iterations_done"] / waves
    share = max(event["rows_done"] / event["rows"], 1e-9)
    in_pass = event["pass_read_bytes"] + event["pass_written_bytes"]
    return float(in_pass / share * (passes_before + share) / max(event["elapsed_s"], 1e-9))
