# SPDX-License-Identifier: BSD-3-Clause
"""The supervisor: the process that owns a testbed.

`python -m lanewise.testbed.supervisor FOLDER DELAY_LINE` makes what FOLDER/testbed.toml describes,
in its own namespaces for processes, mounts and (where it is not root) users.  Inside, it is the
first process, so whatever runs in the testbed ends with it; the network namespaces have names only
on a file system that ends with it, too.  An outer half waits for that, and removes the folder.

With --lifeline it ends when its standard input does: whoever holds the other end keeps it alive.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import selectors
import shlex
import shutil
import signal
import socket
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from lanewise.errors import LanewiseError, RunError
from lanewise.launch.machine import processes
from lanewise.testbed import namespaces
from lanewise.testbed.layout import make_plan
from lanewise.testbed.network import Network
from lanewise.testbed.plan import End, Plan
from lanewise.testbed.read import read
from lanewise.testbed.state import CONTROL, DESCRIPTION, read_info, write_info

# As it is before a user namespace makes it another.
USER_ID = os.geteuid()
# Whoever asks waits 5 s for the answer.
KILL_LIMIT_S = 3.0

ENTER = """#!/bin/sh
# Runs a command in a host of this testbed: enter HOST FOLDER COMMAND...
state={state}
host=$1
folder=$2
shift 2
[ -e "$state/net/$host" ] || {{ echo "there is no host $host in this testbed" >&2; exit 255; }}
cd "$folder" || exit 255
# What /sys tells of interfaces is that of the namespace it was mounted in; UCX looks there.
exec nsenter --net="$state/net/$host" --uts="$state/uts/$host" -- unshare --mount \\
    sh -c 'mount -t sysfs sysfs /sys 2>/dev/null; exec "$@"' sh "$@"
"""

AGENT = """#!/bin/sh
# Stands for ssh: agent [OPTION...] HOST COMMAND...
while [ "${{1#-}}" != "$1" ]; do shift; done
host=$1
shift
exec {state}/enter "$host" / sh -c "$*"
"""


def main(arguments: list[str]) -> int:
    """Run both halves; the outer one is told by a pipe how the inner one has fared."""
    state, program = (Path(one).absolute() for one in arguments[:2])
    lifeline = 0 if "--lifeline" in arguments else None
    # Whoever enters begins in our folder, which must not be one that somebody deletes.
    os.chdir("/")
    allow_open_files()
    try:
        return supervise(state, program, lifeline)
    except Exception as error:
        return report_fault(error)
    finally:
        shutil.rmtree(state, ignore_errors=True)


def allow_open_files() -> None:
    """Raise the limit on open files as far as we may: each namespace takes several."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def supervise(state: Path, program: Path, lifeline: int | None) -> int:
    """Unshare the process namespace, start the inner half in it, and wait for its end."""
    try:
        own_users = unshare_processes()
    except namespaces.NamespaceError as error:
        return report_refusal(error.what, error.number)
    inner = os.fork()
    if inner == 0:
        status = 1
        try:
            status = run_inner_half(state, program, lifeline)
        except Exception:
            traceback.print_exc()
        finally:  # the rest is the outer half's, also where this one fails
            os._exit(status)
    info = read_info(state)
    assert info is not None
    write_info(state, replace(info, supervisor=inner, outer=os.getpid(), own_users=own_users))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: os.kill(inner, signal.SIGKILL))
    _, status = os.waitpid(inner, 0)
    return os.waitstatus_to_exitcode(status)


def unshare_processes() -> bool:
    """Get a process namespace for our children; tell whether that took a user namespace, too."""
    what = "a namespace for processes"
    try:
        namespaces.unshare(namespaces.CLONE_NEWPID, what)
    except namespaces.NamespaceError as error:
        if error.number != errno.EPERM:
            raise
        namespaces.become_root_of_own()
        namespaces.unshare(namespaces.CLONE_NEWPID, what)
        return True
    return False


def run_inner_half(state: Path, program: Path, lifeline: int | None) -> int:
    """Make everything, say so, then serve until the end."""
    try:
        namespaces.die_with_parent(signal.SIGKILL)
        namespaces.unshare(namespaces.CLONE_NEWNS, "a namespace for mounts")
        set_up_mounts(state)
        plan = make_plan(read((state / DESCRIPTION).read_text(encoding="utf-8"), "", DESCRIPTION))
        write_hosts(state, plan)
        if plan.delay_lines:
            os.close(os.open("/dev/net/tun", os.O_RDWR))
        network = Network(state)
        network.make(plan, program)
        control = listen(state / CONTROL)
    except namespaces.NamespaceError as error:
        return report_refusal(error.what, error.number)
    except OSError as error:
        return report_refusal(error.filename or "a step", error.errno or 0)
    except LanewiseError as error:
        return report(str(error))
    except Exception as error:
        return report_fault(error)
    sys.stdout.write('{"ready": true}\n')
    sys.stdout.close()
    serve(network, control, lifeline)
    return 0


def report_refusal(what: str, number: int) -> int:
    """Say which right is missing."""
    return report(namespaces.explain(what, number, USER_ID), refused=True)


def report_fault(error: Exception) -> int:
    """Say what nobody has foreseen: the log does not outlive us."""
    sentence = f"a fault of Lanewise in the testbed's supervisor, {type(error).__name__}: {error}"
    return report(sentence, details=traceback.format_exc().splitlines())


def report(sentence: str, **more: object) -> int:
    """Tell whoever started the supervisor why there will be no testbed."""
    sys.stdout.write(json.dumps({"error": sentence, **more}) + "\n")
    sys.stdout.flush()
    return 1


def set_up_mounts(state: Path) -> None:
    """Mount what the testbed has of its own: processes, shared memory, names of namespaces."""
    namespaces.keep_mounts_private()
    namespaces.mount("proc", Path("/proc"))
    namespaces.mount("tmpfs", Path("/dev/shm"), "mode=1777")
    for kind in ("net", "uts"):
        folder = state / kind
        folder.mkdir()
        namespaces.mount("tmpfs", folder)


def write_hosts(state: Path, plan: Plan) -> None:
    """Write the programs that enter a host, and give the hosts names that resolve."""
    for name, text in (("enter", ENTER), ("agent", AGENT)):
        path = state / name
        path.write_text(text.format(state=shlex.quote(str(state))), encoding="utf-8")
        path.chmod(0o755)
    known = "127.0.0.1 localhost\n"
    names = "".join(f"{host.address} {host.name}\n" for host in plan.hosts)
    (state / "hosts").write_text(known + names, encoding="utf-8")
    namespaces.bind(state / "hosts", Path("/etc/hosts"))


def listen(path: Path) -> socket.socket:
    """Listen for requests: each is one packet of JSON, and so is its answer."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(str(path))
    listening.listen()
    return listening


def serve(network: Network, control: socket.socket, lifeline: int | None) -> None:
    """Answer requests, and reap orphans, until the lifeline is cut or a delay line dies."""
    waker, wakened = socket.socketpair()
    wakened.settimeout(0)
    signal.set_wakeup_fd(wakened.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    selector = selectors.DefaultSelector()
    selector.register(control, selectors.EVENT_READ)
    selector.register(waker, selectors.EVENT_READ)
    if lifeline is not None:
        selector.register(lifeline, selectors.EVENT_READ)
    delay_lines = {process.pid for process in network.lines.values()}
    while True:
        for key, _ in selector.select():
            if key.fileobj is control:
                answer(network, control)
            elif key.fileobj is waker:
                waker.recv(4096)
                if reap(delay_lines):
                    return
            elif not os.read(key.fd, 4096):
                return


def reap(delay_lines: set[int]) -> bool:
    """Wait for children that have ended; tell whether one was a delay line.

    Without each of them the testbed is of no use.
    """
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG)[0]) != 0:
            if ended in delay_lines:
                return True
    return False


def answer(network: Network, control: socket.socket) -> None:
    """Answer one request."""
    client, _ = control.accept()
    with client:
        client.settimeout(1.0)
        with suppress(OSError):
            client.send(json.dumps(reply_to(network, client.recv(65536))).encode())


def reply_to(network: Network, request: bytes) -> dict[str, object]:
    """Do what a request asks for: kill a host, or plug a cable of it in or out."""
    try:
        values = json.loads(request)
        if "kill" in values:
            return {"killed": kill_host(network, str(values["kill"]))}
        interface = End(str(values["host"]), str(values["interface"]))
        network.plug(interface, up=bool(values["up"]))
    except (ValueError, KeyError, RunError) as error:
        return {"error": str(error)}
    return {"ok": True}


def kill_host(network: Network, host: str) -> int:
    """Kill the processes in a host's network namespace; return how many there were.

    Those that start others meanwhile leave some behind, so it is done until none is left.
    """
    try:
        number = network.netns(host).stat().st_ino
    except OSError:
        raise RunError(f"there is no host {host}") from None
    killed: set[int] = set()
    end_s = time.monotonic() + KILL_LIMIT_S
    while left := processes_in(number):
        is_late = time.monotonic() > end_s
        if is_late and not killed.isdisjoint(left):
            raise RunError(f"some of the processes on {host} did not end when killed")
        # Others enter the host again and again; it has lost all that it had.
        if is_late and killed:
            break
        for process in left:
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)
        killed.update(left)
        time.sleep(0.01)
    return len(killed)


def processes_in(netns: int) -> list[int]:
    """Return the processes in a network namespace but this one; none of them has ended."""
    found = []
    for folder in processes():
        with suppress(OSError):
            if (folder / "ns/net").stat().st_ino == netns and int(folder.name) != os.getpid():
                found.append(int(folder.name))
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
