# SPDX-License-Identifier: BSD-3-Clause
"""Runs every suite and ends with one line: N passed, N failed, N skipped.

    .venv/bin/python tests/run.py [--all] [--list] [SUITE...]

It prints a line when a suite starts and one when it ends, then what each failed test printed and
the reason of each skip.  The exit status is 1 if a test failed, a suite did not run to its end, or
nothing ran, and 2 for a suite that does not exist.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO
from xml.etree.ElementTree import ParseError

import junit
import suites
from junit import Outcome, Verdict

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / "build" / "reports"
LINES_SHOWN_MAX = 80
# As compilers and clang-tidy write it, with the colour that it begins.
ERROR = re.compile(r"(?:\b|\x1b\[[0-9;]*m)error: ")
# What suites do not inherit.
OF_CALLER = re.compile(
    r"(COLUMNS|LINES|NO_COLOR|FORCE_COLOR|PYTHONDONTWRITEBYTECODE|PYTEST_ADDOPTS)$"
    r"|LANEWISE_(?!NATIVE$|TEST_|FUZZ_)|GTEST_|SLURM_|FLUX_|PMI2?_|PMIX_(?!MCA_)|OMPI_COMM_WORLD_"
)
HEARTBEAT_S = 120
LAST_LINES = 10  # of a suite that took too long: where it was, below what its end has printed
STOPPED = 124  # the exit status of a suite that took too long
PREPARE_LIMIT_S = 3600  # a whole build on a slow machine


def environment() -> dict[str, str]:
    """Return the environment of every suite.

    Open MPI refuses to start for root, and more ranks than cores, unless told that both are meant;
    its ranks give way while they wait, since several tests share the cores; it does not look for
    adapters of InfiniPath and Omni-Path, which takes a fifth of a second of each of thousands of
    starts, and which no machine for tests has.  hwloc does not look for PCI devices: it would read
    the names of all that exist, which takes a rank under AddressSanitizer a second and half a
    gigabyte.  Python's own bin folder comes first so that tests find `lanewise`.  Python keeps what
    it has compiled, also where it is told not to: tests start the command thousands of times, and
    most of a start would be compiling.  What else would change what commands do or print, such as
    the width of the caller's terminal or a job that it is in, is left out.
    """
    told = {
        "LC_ALL": "C.UTF-8",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_mtl": "^ofi,psm,psm2",
        "HWLOC_COMPONENTS": "-pci,-linuxio",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
    }
    inherited = {name: value for name, value in os.environ.items() if not OF_CALLER.match(name)}
    return {**inherited, **told}


@contextlib.contextmanager
def folder_of_jobs() -> Iterator[Path]:
    """Let jobs of Open MPI 4 keep their files in a folder that stays; yield it.

    The last job that ends removes the folder of all jobs on its host, and one that starts at that
    moment fails: 1 of 240, four at a time. What lies in it keeps it.
    """
    variable = "OMPI_MCA_orte_tmpdir_base"
    with tempfile.TemporaryDirectory(prefix="jobs-", ignore_cleanup_errors=True) as base:
        Path(base).chmod(0o1777)  # for tests that run as another user
        host = socket.gethostname().partition(".")[0]
        folder = Path(base) / f"ompi.{host}.{os.geteuid()}"
        (folder / "kept").mkdir(parents=True)
        before = os.environ.get(variable)
        os.environ[variable] = base
        try:
            yield folder
        finally:
            os.environ.pop(variable)
            if before is not None:
                os.environ[variable] = before


def run_command(command: suites.Command, limit_s: float) -> tuple[int, str]:
    """Run `command` in the root folder; return its exit status and what it printed.

    While it runs, its last line is shown every two minutes, so that a suite that hangs is seen, and
    the test at which it hangs, before its time is up.
    """
    with tempfile.TemporaryFile() as output:
        running = subprocess.Popen(
            [sys.executable, str(ROOT / "tests" / "reaper.py"), *command],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # a terminal would interrupt it, and not its command
        )
        try:
            status, remark = wait(running, limit_s, lambda: printed_to(output))
        except BaseException:
            running.terminate()
            running.wait()
            raise
        return status, printed_to(output) + remark


def wait(
    running: subprocess.Popen[bytes], limit_s: float, printed: Callable[[], str]
) -> tuple[int, str]:
    """Wait for a command, ending it at its limit; return its status and a remark on its end."""
    began_s = time.monotonic()
    while True:
        left_s = limit_s - (time.monotonic() - began_s)
        if left_s <= 0:
            last = printed().splitlines()[-LAST_LINES:]
            running.terminate()
            running.wait()
            stopped = f"\nstopped after {limit_s:g} s; its last lines were:"
            return STOPPED, "\n".join([stopped, *last])
        with contextlib.suppress(subprocess.TimeoutExpired):
            return running.wait(min(left_s, HEARTBEAT_S)), ""
        lines = printed().strip().splitlines()
        elapsed_s = time.monotonic() - began_s
        if lines and elapsed_s < limit_s:
            print(f"      running for {elapsed_s:.0f} s: {lines[-1][-100:]}", flush=True)


def printed_to(output: IO[bytes]) -> str:
    """Return what has been written to `output` so far."""
    size = os.fstat(output.fileno()).st_size
    return os.pread(output.fileno(), size, 0).decode(errors="replace")


def run_suite(suite: suites.Suite) -> list[Outcome]:
    """Run one suite; a suite that breaks down is itself a failed test."""
    report = REPORTS / (suite.name.lower().replace(" ", "-") + ".xml")
    report.unlink(missing_ok=True)
    for step in suite.prepare:
        status, printed = run_command(step, PREPARE_LIMIT_S)
        if status != 0:
            return [Outcome(f"prepare: {' '.join(step)}", Verdict.FAILED, printed)]
    command = [word.replace("{report}", str(report)) for word in suite.run]
    status, printed = run_command(command, suite.limit_s)
    if not suite.reports:
        verdict = Verdict.PASSED if status == 0 else Verdict.FAILED
        return [Outcome(suite.name, verdict, printed)]
    return judge(report, status, printed)


def judge(report: Path, status: int, printed: str) -> list[Outcome]:
    """Return the outcomes in `report`, and one more where it does not explain `status`."""
    try:
        outcomes = junit.read(report)
    except (OSError, ParseError) as error:
        return [Outcome("the suite did not finish", Verdict.FAILED, f"{printed}\n{error}")]
    if not outcomes:
        return [Outcome("the suite ran no test", Verdict.FAILED, printed)]
    if status == STOPPED:
        outcomes.append(Outcome("the suite did not finish", Verdict.FAILED, printed))
    elif status != 0 and not any(outcome.verdict is Verdict.FAILED for outcome in outcomes):
        outcomes.append(Outcome(f"exit status {status}", Verdict.FAILED, printed))
    return outcomes


def count(outcomes: list[Outcome]) -> str:
    """Return the closing line."""
    number = Counter(outcome.verdict for outcome in outcomes)
    return ", ".join(f"{number[verdict]} {verdict.value}" for verdict in Verdict)


def explain(suite: str, outcomes: list[Outcome]) -> None:
    """Print what each failed test of `suite` printed, the end of it where it is long."""
    for outcome in outcomes:
        if outcome.verdict is Verdict.FAILED:
            print(f"\nFAILED {suite}: {outcome.name}")
            lines = with_errors(outcome.text.splitlines())
            print("\n".join("    " + line for line in lines), flush=True)


def with_errors(lines: list[str]) -> list[str]:
    """Return the last lines, after those with errors that were printed long before the end."""
    earlier = [line for line in lines[:-LINES_SHOWN_MAX] if ERROR.search(line)]
    return earlier[:LINES_SHOWN_MAX] + lines[-LINES_SHOWN_MAX:]


def told_skips(suite: str, outcomes: list[Outcome]) -> list[str]:
    """Return a line for each reason why tests of `suite` were skipped."""
    names: dict[str, list[str]] = {}
    for outcome in outcomes:
        if outcome.verdict is Verdict.SKIPPED:
            names.setdefault(outcome.text, []).append(outcome.name)
    return [
        f"skipped {suite}: {reason}: {tests[0]}"
        + (f" and {len(tests) - 1} more" if len(tests) > 1 else "")
        for reason, tests in names.items()
    ]


def wanted(names: list[str], *, everything: bool) -> list[suites.Suite]:
    """Return the suites called `names`, or all of the chosen kind."""
    known = suites.everyday() + (suites.thorough() if everything or names else [])
    unknown = set(names) - {suite.name for suite in known}
    if unknown:
        listed = ", ".join(suite.name for suite in known)
        print(f"no suite called {', '.join(sorted(unknown))}; there are {listed}", file=sys.stderr)
        raise SystemExit(2)
    return [suite for suite in known if not names or suite.name in names]


def run_all(chosen: list[suites.Suite]) -> dict[str, list[Outcome]]:
    """Run suites one after another, telling of each; return their outcomes."""
    found: dict[str, list[Outcome]] = {}
    for index, suite in enumerate(chosen, start=1):
        print(f"[{index}/{len(chosen)}] {suite.name} ...", flush=True)
        began_s = time.monotonic()
        found[suite.name] = run_suite(suite)
        elapsed_s = time.monotonic() - began_s
        print(f"      {count(found[suite.name])} in {elapsed_s:.1f} s", flush=True)
        explain(suite.name, found[suite.name])
    return found


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description="Run the tests of Lanewise.")
    parser.add_argument("suite", nargs="*", help="only these; see --list")
    parser.add_argument("--all", action="store_true", help="also what takes longer than minutes")
    parser.add_argument("--list", action="store_true", help="name the suites and stop")
    arguments = parser.parse_args()
    chosen = wanted(arguments.suite, everything=arguments.all)
    if arguments.list:
        print("\n".join(suite.name for suite in chosen))
        return 0

    # A shell makes background jobs ignore interrupts, and children inherit that: tests that send an
    # interrupt would wait for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # As an interrupt does, so that no suite is left running.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    REPORTS.mkdir(parents=True, exist_ok=True)
    with folder_of_jobs():
        found = run_all(chosen)

    everyone = [outcome for outcomes in found.values() for outcome in outcomes]
    for name, outcomes in found.items():
        for line in told_skips(name, outcomes):
            print(line)
    print(count(everyone))
    ran = any(outcome.verdict is not Verdict.SKIPPED for outcome in everyone)
    failed = any(outcome.verdict is Verdict.FAILED for outcome in everyone)
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
