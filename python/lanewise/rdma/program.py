# SPDX-License-Identifier: BSD-3-Clause
"""Verbs programs as they are, on the software RDMA device, with faults and with protection.

A program writes into files, so that one that prints much never waits for whoever started it.
"""

from __future__ import annotations

import json
import operator
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from lanewise.errors import RequestError, RunError
from lanewise.files import paths
from lanewise.hca import faults as fault_scripts
from lanewise.hca import replay as replays
from lanewise.hca.device import CONGESTION, LID_MASK_BITS_MAX, Device, check, variables_for
from lanewise.hca.protect import Protection
from lanewise.hca.protect import check as check_protection
from lanewise.hca.protect import variables_for as protecting_variables
from lanewise.interrupts import deferred_interrupts
from lanewise.launch.packages import not_found
from lanewise.launch.run import end
from lanewise.launch.words import listed, refuse_unusable
from lanewise.rdma.hosts import Hosts

TCP_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
LISTENING = "0A"  # in these
# What listens by the connection manager, in /proc/net/unix (src/verbs/port/services.cpp): a number
# at an address. Whoever only may call has the one that is called any.
SERVICE = re.compile(r"@lanewise-hca/service/[0-9a-f]+/")
AGAIN_S = 0.02


@dataclass(frozen=True)
class Outcome:
    """How a program ended.

    `status` is its exit status, negative if a signal ended it.  `stdout` and `stderr` are text, in
    which U+FFFD stands for what is not UTF-8; `stdout_bytes` is what was printed.  `faults` are
    those that it met, in order, and `protection` is what path protection did in each of its
    processes: the objects that `lanewise rdma run --fault-log` and `lanewise rdma protect --report`
    write.  `occurred` counts how often each call, completion, packet and connection occurred, under
    these names and those of a fault script, and `left` counts the objects that were not destroyed,
    such as {"ibv_mr": 1}.  Both cover the processes that ended by `exit` or by a return from
    `main`.
    """

    status: int
    stdout: str
    stderr: str
    faults: tuple[dict[str, Any], ...] = ()
    protection: tuple[dict[str, Any], ...] = ()
    occurred: dict[str, dict[str, int]] = field(default_factory=dict)
    left: dict[str, int] = field(default_factory=dict)
    stdout_bytes: bytes = b""

    @property
    def migrations(self) -> int:
        """Return how many times queue pairs of the program moved to another path."""
        return sum(int(process["migrations"]) for process in self.protection)


class Program:
    """A program that runs, until it ends or a `with` that it was started for does."""

    def __init__(
        self,
        line: Sequence[str],
        variables: Mapping[str, str],
        folder: Path,
        enter: Sequence[str] = (),
        report: Path | None = None,
    ) -> None:
        """Start `line`; `enter` makes a line one that runs on the host of the program.

        What path protection did is appended to `report`, where there is one, when the program ends.
        """
        self._folder = folder
        self._report = report
        self._outcome: Outcome | None = None
        self._enter = enter
        with self._file("stdout").open("wb") as out, self._file("stderr").open("wb") as err:
            try:
                self._process = subprocess.Popen(
                    line, env=dict(variables), stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                    start_new_session=True, text=True,
                )  # fmt: skip
            except OSError as error:
                raise RunError(f"{line[0]} could not be started: {error.strerror}") from None

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def running(self) -> bool:
        """Tell whether it has not ended."""
        return self._process.poll() is None

    @property
    def stdout(self) -> str:
        """Return what it has printed so far."""
        return self._text("stdout")

    def wait(self, timeout_s: float | None = None) -> Outcome:
        """Wait for its end and return how it ended.

        Raises RunError if it has not ended after `timeout_s` seconds, and stops it.
        """
        if self._outcome is None:
            try:
                self._process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                said = self._text("stderr").strip().splitlines()
                self.stop()
                raise RunError(f"the program had not ended after {timeout_s:g} s", said) from None
        return self.stop()

    def stop(self) -> Outcome:
        """End it if it runs, and return how it ended."""
        if self._outcome is None:
            end(self._process)
            census = _added_up(self._records("census.jsonl"))
            self._outcome = Outcome(
                status=self._process.returncode,
                stdout=self._text("stdout"),
                stderr=self._text("stderr"),
                faults=self._records("faults.jsonl"),
                protection=self._records("protection.jsonl"),
                left=census.pop("left", {}),
                occurred=census,
                stdout_bytes=self._file("stdout").read_bytes(),
            )
            try:
                self._pass_report_on()
            finally:
                shutil.rmtree(self._folder, ignore_errors=True)
        return self._outcome

    def _pass_report_on(self) -> None:
        made = self._file("protection.jsonl")
        if self._report is None or not made.is_file():
            return
        try:
            with self._report.open("ab") as file:
                file.write(made.read_bytes())
        except OSError as error:
            raise RunError(f"{self._report} could not be written: {error.strerror}") from None

    def wait_until_listening(self, port: int, timeout_s: float = 10.0) -> None:
        """Wait until something listens on a TCP port where the program runs.

        Raises RunError where nothing does after `timeout_s` seconds, or the program ends before.
        """
        self._await(lambda: port in self._tcp_ports(), f"on port {port}", timeout_s)

    def wait_until_it_can_be_called(self, timeout_s: float = 10.0) -> None:
        """Wait until something listens where it runs, on TCP or by the connection manager.

        On a host of a testbed that is the program, where it is alone there.  Raises RunError where
        nothing does after `timeout_s` seconds, or the program ends before.
        """
        self._await(
            lambda: bool(self._tcp_ports() or SERVICE.search(self._read("/proc/net/unix"))),
            "on TCP or by the connection manager", timeout_s,
        )  # fmt: skip

    def _await(self, listens: Callable[[], bool], where: str, timeout_s: float) -> None:
        deadline_s = time.monotonic() + timeout_s
        while not listens():
            if not self.running:
                said = self._text("stderr").strip().splitlines()
                raise RunError(f"the program ended with status {self._process.returncode}", said)
            if time.monotonic() > deadline_s:
                raise RunError(f"nothing listens {where} after {timeout_s:g} s")
            time.sleep(AGAIN_S)

    def _tcp_ports(self) -> set[int]:
        rows = [line.split()[1:4] for line in self._read(*TCP_TABLES).splitlines()]
        return {int(row[0].rpartition(":")[2], 16) for row in rows if row[2] == LISTENING}

    def _read(self, *tables: str) -> str:
        words = [*self._enter, "cat", *tables]
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout

    def _file(self, name: str) -> Path:
        return self._folder / name

    def _text(self, name: str) -> str:
        if self._outcome is not None:
            return str(getattr(self._outcome, name))
        return self._file(name).read_text(encoding="utf-8", errors="replace")

    def _records(self, name: str) -> tuple[dict[str, Any], ...]:
        path = self._file(name)
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        return tuple(json.loads(line) for line in lines)


def _added_up(lines: Sequence[Mapping[str, Mapping[str, int]]]) -> dict[str, dict[str, int]]:
    """Return the census of a program: that of its processes and libraries together."""
    found: dict[str, dict[str, int]] = {}
    for line in lines:
        for place, counts in line.items():
            sums = found.setdefault(place, {})
            for name, count in counts.items():
                sums[name] = sums.get(name, 0) + count
    return found


def start(  # noqa: PLR0913
    program: Sequence[str],
    *,
    ports: Sequence[str] = ("lo",),
    devices: Sequence[str] = (),
    faults: str | Path | None = None,
    seed: int = 1,
    replay: str | Path | Sequence[Mapping[str, Any]] = (),
    protection: Protection | None = None,
    hosts: Hosts | None = None,
    at: str = "",
    link_layer: str = "ethernet",
    congestion: str = CONGESTION[0],
    pcap: str = "",
    lmc: int = 0,
) -> Program:
    """Start a verbs program on the software RDMA device, whose ports are these interfaces.

    With `devices` there are several devices with one port each, on these interfaces, instead.
    `faults` are the faults to inject, as TOML text or as a file (see the guide to the RDMA lab);
    `seed`, from 0 to 2^64 - 1, decides which faults of a given probability happen.  `replay`
    repeats the faults of an earlier run: the `faults` of its outcome, or the file of its log.  With
    a `protection`, queue pairs have alternate paths, and move there when a port dies.  With
    `hosts`, those of `testbed`, the program runs on the host `at`.  With `congestion="none"` the
    device ignores the marks of a congested network.  Ports of the `link_layer` "infiniband" have
    2^`lmc` LIDs.  Packets are written to the capture file `pcap`.

    Raises RequestError if the device, the faults or the program are invalid; nothing is started.
    """
    words = listed("program", program)
    refuse_unusable([*words, pcap])
    if not words:
        raise RequestError("no program; name one, such as ibv_devinfo")
    if (hosts is None) == bool(at):
        raise RequestError("hosts= and at= go together: the testbed, and a host of it")
    with deferred_interrupts() as release:
        folder = Path(tempfile.mkdtemp(prefix="lanewise-rdma-"))
        try:
            script = _fault_script(faults, seed, replay)
            device = Device(
                interfaces=listed("ports", ports), devices=listed("devices", devices),
                link_layer=link_layer, congestion=congestion, pcap=pcap, faults=script,
                lid_mask_bits=_lid_mask_bits(lmc, link_layer),
                fault_log=str(folder / "faults.jsonl") if script else "",
                census=str(folder / "census.jsonl"),
            )  # fmt: skip
            environment = dict(os.environ)
            check(device, _interfaces(hosts, at))
            environment |= variables_for(device, environment)
            if protection is not None:
                environment |= _protecting(protection, folder, environment)
            found = shutil.which(words[0])
            if found is None:
                raise RequestError(not_found(words[0]))
            line, variables, enter = _on_host([found, *words[1:]], environment, hosts, at)
            started = Program(line, variables, folder, enter, _report_of(protection))
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        try:
            release()
        except BaseException:
            started.stop()
            raise
        return started


def run(program: Sequence[str], *, timeout_s: float | None = None, **options: Any) -> Outcome:
    """Run a verbs program on the software RDMA device to its end; `options` are those of `start`.

    Raises what `start` raises, and RunError if it has not ended after `timeout_s` seconds.  A
    program that fails raises no error: look at its status.  An interrupt ends it.
    """
    with deferred_interrupts() as release, start(program, **options) as started:
        release()
        return started.wait(timeout_s)


def _lid_mask_bits(lmc: int, link_layer: str) -> int:
    """Return how many LIDs ports have, as the device takes it; RequestError for what cannot be."""
    try:
        bits = operator.index(lmc)
    except TypeError:
        bits = -1
    if not 0 <= bits <= LID_MASK_BITS_MAX:
        raise RequestError(f"lmc is a whole number from 0 to {LID_MASK_BITS_MAX}")
    if bits and link_layer == "ethernet":
        raise RequestError('lmc is of InfiniBand ports; add link_layer="infiniband"')
    return bits


def _interfaces(hosts: Hosts | None, at: str) -> list[str]:
    """Return the interfaces where the program is to run; RequestError where there is no host."""
    if hosts is None:
        return [name for _, name in socket.if_nameindex()]
    return hosts.interfaces(at)


def _on_host(
    line: Sequence[str], environment: Mapping[str, str], hosts: Hosts | None, at: str
) -> tuple[Sequence[str], Mapping[str, str], Sequence[str]]:
    """Return the line and the environment with which it runs there, and what enters the host."""
    if hosts is None:
        return line, environment, ()
    # The libraries are for the program, not for what enters the host.
    own = {key: value for key, value in environment.items() if os.environ.get(key) != value}
    words = ["env", *(f"{key}={value}" for key, value in own.items()), *line]
    return hosts.bed.line(at, words), os.environ, hosts.bed.line(at, [])


def _fault_script(
    faults: str | Path | None, seed: int, replay: str | Path | Sequence[Mapping[str, Any]]
) -> str:
    seed = fault_scripts.checked_seed(seed, "seed")
    if faults is not None and replay:
        raise RequestError("replay= takes the place of faults=; give one of them")
    if faults is not None:
        rules, where = _faults(faults)
        return fault_scripts.script(rules, seed, where)
    if not replay:
        return ""
    if isinstance(replay, str | Path):
        return replays.script(replays.read_file(Path(replay)), str(replay))
    return replays.script(replays.read_noted(replay), "replay")


def _faults(faults: str | Path) -> tuple[tuple[fault_scripts.Fault, ...], str]:
    """Return the rules, and what they are called in what is said of them."""
    # A script has a table for each fault; an empty one is refused for having none.
    if isinstance(faults, str) and (
        not faults.strip() or "\n" in faults or faults.strip().startswith("[[")
    ):
        return fault_scripts.read(faults, "faults"), "faults"
    return fault_scripts.read_file(Path(faults)), str(faults)


def _protecting(
    protection: Protection, folder: Path, environment: Mapping[str, str]
) -> dict[str, str]:
    check_protection(protection)
    if protection.path_file is not None:
        paths.load(Path(protection.path_file))
    # The outcome has what it says as well.
    report = folder / "protection.jsonl"
    return protecting_variables(replace(protection, report=report), environment)


def _report_of(protection: Protection | None) -> Path | None:
    if protection is None or protection.report is None:
        return None
    return Path(protection.report).absolute()
