# SPDX-License-Identifier: BSD-3-Clause
"""Runs of a sweep: once without a fault, to see what occurs, then once with each that is possible.

Each run has two hosts of its own, so that several run at a time and no port is taken twice.  What
a program leaves running on them ends with its run.
"""

from __future__ import annotations

import contextlib
import queue
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

from lanewise.errors import RequestError, RunError
from lanewise.launch.packages import not_found
from lanewise.launch.run import end, kill_session
from lanewise.rdma.hosts import Hosts, testbed
from lanewise.rdma.lab import Lab
from lanewise.rdma.program import Outcome, Program
from lanewise.rdma.sweep.faults import Fault, possible
from lanewise.rdma.sweep.judge import Ending, Ran, Verdict, judged

SERVER_HOST, PROGRAM_HOST = "a1", "a2"
ADDRESS, FOLDER = "{address}", "{folder}"
CHECK_HUNG = 124  # the status of timeout(1)
LEAVING_S = 2.0  # in which a server ends after its program, if it does so at all
CALLABLE_S = 10.0  # in which a server listens, unless a run may take longer
KEPT = 1 << 16  # characters of what a program printed, of its end


@dataclass(frozen=True)
class Asked:
    """What to sweep: the program that meets the faults, its server and its check if it has any.

    In the words of all three, `{address}` is the address of the server, and `{folder}` a folder
    that each run has for itself.
    """

    program: Sequence[str]
    server: Sequence[str] = ()
    check: Sequence[str] = ()
    timeout_s: float = 10.0
    runs_max: int = 200
    jobs: int = 1


@dataclass(frozen=True)
class Judged:
    """A fault, and what the program made of it."""

    fault: Fault
    verdict: Verdict
    program: Outcome


@dataclass(frozen=True)
class Sweep:
    """A sweep that is done: the run without faults, those with one, and how many were left out."""

    without_faults: Outcome
    runs: tuple[Judged, ...]
    left_out: int

    @property
    def findings(self) -> tuple[Judged, ...]:
        """Return the runs that should have ended in another way."""
        return tuple(one for one in self.runs if one.verdict.ending.is_finding)

    @property
    def has_met_faults(self) -> bool:
        """Tell whether any run reached its fault; otherwise nothing was tested."""
        return any(one.verdict.ending is not Ending.NOT_MET for one in self.runs)


def sweep(asked: Asked, on_run: Callable[[int, int], None] = lambda _done, _all: None) -> Sweep:
    """Run the program without faults and then with each; `on_run` is told how many are done.

    Raises RequestError where the program does not succeed without faults, or cannot be run.
    """
    if asked.check and shutil.which(asked.check[0]) is None:
        raise RequestError(not_found(asked.check[0]))
    with _all_hosts(asked.jobs) as hosts:
        clean = _run(hosts[0], asked, None, LEAVING_S)
        _require_success(asked, clean)
        # A server that serves for ever is stopped when its program has ended.
        server_limit_s = None if clean.server_hung else asked.timeout_s
        faults = possible(clean.program.occurred)
        if not faults:
            raise RequestError(
                f"{asked.program[0]} makes no call on the device that can fail; "
                "name a program that uses it"
            )
        chosen = faults[: asked.runs_max]
        free: queue.Queue[Hosts] = queue.Queue()
        for two in hosts:
            free.put(two)

        def run_with(fault: Fault) -> Judged:
            here = free.get()
            try:
                ran = _run(here, asked, fault, server_limit_s)
            finally:
                free.put(here)
            return Judged(fault, judged(ran, clean.program.left), _end_of(ran.program))

        runs = []
        under_way: list[Future[Judged]] = []
        with ThreadPoolExecutor(asked.jobs) as pool:
            try:
                under_way += [pool.submit(run_with, fault) for fault in chosen]
                for done, one in enumerate(under_way, 1):
                    runs.append(one.result())
                    on_run(done, len(chosen))
            except BaseException:
                _give_up(under_way, hosts)
                raise
    return Sweep(clean.program, tuple(runs), len(faults) - len(chosen))


def _give_up(under_way: Sequence[Future[Judged]], hosts: Sequence[Hosts]) -> None:
    """End what runs, which may take long by itself, and begin nothing else."""
    for one in under_way:
        one.cancel()
    while wait(under_way, timeout=0.1).not_done:
        _CHECKS.end()
        for two in hosts:
            with contextlib.suppress(RunError):
                _end_all(two)


class _Checks:
    """The checks that run, which are not on the hosts of their runs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()

    @contextlib.contextmanager
    def running(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        """Know a check meanwhile."""
        with self._lock:
            self._running.add(process)
        try:
            yield
        finally:
            with self._lock:
                self._running.discard(process)

    def end(self) -> None:
        """Kill all that run; whoever waits for them goes on."""
        with self._lock:
            for process in self._running:
                kill_session(process.pid)


_CHECKS = _Checks()


def _end_all(hosts: Hosts) -> None:
    """End all that runs on two hosts, also in sessions of its own, as daemons do."""
    for host in hosts.names:
        hosts.bed.kill(host)


def _end_of(outcome: Outcome) -> Outcome:
    """Return an outcome with the end of what the program printed: of hundreds all are kept."""
    return replace(
        outcome, stdout=outcome.stdout[-KEPT:], stderr=outcome.stderr[-KEPT:], stdout_bytes=b""
    )


@contextlib.contextmanager
def _all_hosts(jobs: int) -> Iterator[list[Hosts]]:
    with contextlib.ExitStack() as up:
        yield [up.enter_context(testbed()) for _ in range(jobs)]


def _require_success(asked: Asked, ran: Ran) -> None:
    name = asked.program[0]
    if ran.hung:
        raise RequestError(f"{name} does not end in {asked.timeout_s:g} s without faults; "
                           "raise --timeout")  # fmt: skip
    if ran.program.status != 0:
        said = (ran.program.stderr or ran.program.stdout).strip().splitlines() or ["nothing"]
        raise RequestError(f"{name} ends with status {ran.program.status} without faults, and says "
                           f"{said[-1]!r}; see that it runs first")  # fmt: skip
    if ran.check_status == CHECK_HUNG:
        raise RequestError(f"the check does not end in {asked.timeout_s:g} s without faults; "
                           "raise --timeout")  # fmt: skip
    if ran.check_status:
        raise RequestError(f"the check ends with status {ran.check_status} without faults; "
                           "see that it passes first")  # fmt: skip
    if not ran.program.occurred:
        raise RequestError(f"{name} uses no RDMA device, or does not end by exit or a return from "
                           "main; name a program that does")  # fmt: skip


def _run(hosts: Hosts, asked: Asked, fault: Fault | None, server_limit_s: float | None) -> Ran:
    """Run both ends; a server has so long to end by itself, and with None it need not."""
    lab = Lab(hosts)
    with tempfile.TemporaryDirectory(prefix="lanewise-sweep-") as folder:
        try:
            return _run_in(folder, lab, asked, fault, server_limit_s)
        finally:
            lab.close()
            _end_all(hosts)


def _run_in(
    folder: str, lab: Lab, asked: Asked, fault: Fault | None, server_limit_s: float | None
) -> Ran:
    def filled(words: Sequence[str]) -> list[str]:
        values = ((ADDRESS, lab.address(SERVER_HOST)), (FOLDER, folder))
        return [word.replace(*values[0]).replace(*values[1]) for word in words]

    server = _called(lab, filled(asked.server), asked.timeout_s) if asked.server else None
    program = lab.start(
        PROGRAM_HOST, filled(asked.program), faults=None if fault is None else fault.script
    )
    outcome, hung = _ended(program, asked.timeout_s)
    served, server_hung = _served(server, outcome, server_limit_s)
    if outcome.status != 0 or hung or not asked.check:
        status = None
    else:
        status = status_of_check(filled(asked.check), outcome.stdout_bytes, asked.timeout_s)
    return Ran(outcome, hung, served, server_hung, status)


def _called(lab: Lab, server: Sequence[str], timeout_s: float) -> Program:
    """Start a server and wait until it can be called; it may fail once."""
    with contextlib.suppress(RunError):
        return _listening(lab, server, timeout_s)
    _end_all(lab.hosts)
    try:
        return _listening(lab, server, timeout_s)
    except RunError as error:
        raise RunError(f"the server {server[0]} failed twice: {error}", error.details) from None


def _listening(lab: Lab, server: Sequence[str], timeout_s: float) -> Program:
    started = lab.start(SERVER_HOST, server)
    try:
        started.wait_until_it_can_be_called(max(CALLABLE_S, timeout_s))
    except BaseException:
        started.stop()
        raise
    return started


def status_of_check(check: Sequence[str], printed: bytes, timeout_s: float) -> int:
    """Return the status of the check, which reads what the program printed."""
    with subprocess.Popen(
        check, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process, _CHECKS.running(process):  # fmt: skip
        try:
            process.communicate(printed, timeout_s)
        except subprocess.TimeoutExpired:
            return CHECK_HUNG
        finally:
            end(process)
    return process.returncode


def _ended(program: Program, timeout_s: float) -> tuple[Outcome, bool]:
    """Wait for the end of a program; return its outcome, and whether it had to be stopped."""
    try:
        return program.wait(timeout_s), False
    except RunError:
        return program.stop(), True


def _served(
    server: Program | None, program: Outcome, limit_s: float | None
) -> tuple[Outcome | None, bool]:
    """Return how the server ended, where it should or did, and whether it had to be stopped."""
    if server is None:
        return None, False
    if program.status == 0 and limit_s is not None:
        return _ended(server, limit_s)
    return (None if server.running else server.stop()), False
