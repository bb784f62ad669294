# SPDX-License-Identifier: BSD-3-Clause
"""The roll call of a job: ranks that have liblanewise_tuned.so say so, and ask whether all have.

A rank without the library would take messages of the others for its own, so the ranks cannot ask
each other.  They report to this process before they initialize MPI, and ask when it is initialized:
by then every rank has been there.  All ranks of a job get the same answer.
"""

from __future__ import annotations

import asyncio
import fcntl
import resource
import secrets
import socket
import struct
import threading
from dataclasses import dataclass, field
from types import TracebackType

VARIABLE = "LANEWISE_ROLL_CALL"
# Instead of a roll call, where whoever starts the program knows that all ranks have the library.
EVERY_RANK = "LANEWISE_EVERY_RANK"
# Some MPIs let a rank out of MPI_Init before all others are in it.
GRACE_S = 1.0
POLL_S = 0.01
SIOCGIFADDR = 0x8915
WORDS_TO_REPORT = 3
# Ranks that may wait to be heard: asyncio asks the kernel to hold a hundred and turn away the rest.
BACKLOG = 4096
# Every rank of a job keeps a connection open until it has its answer.
CONNECTIONS_MAX = 1 << 16


@dataclass
class Job:
    """The ranks of a job that reported, and what those who asked were told."""

    present: set[int] = field(default_factory=set)
    everybody: bool | None = None
    told: bool = False


class RollCall:
    """A server for the ranks of a job, as long as the context lasts."""

    def __init__(self) -> None:
        """Listen on a port of any number, on all interfaces."""
        # Whether a job has asked of which not all ranks had reported.
        self.incomplete = False
        self._token = secrets.token_hex(8)
        self._jobs: dict[str, Job] = {}
        self._limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._socket = socket.create_server(("", 0))
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> RollCall:
        """Begin to answer."""
        resource.setrlimit(resource.RLIMIT_NOFILE, raised(self._limits))
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Answer nobody any more."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._socket.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, self._limits)

    @property
    def heard(self) -> bool:
        """Tell whether any rank has reported."""
        return bool(self._jobs)

    def variables(self) -> dict[str, str]:
        """Return the environment variable that tells the ranks where to report."""
        port = self._socket.getsockname()[1]
        # Not commas, at which srun splits the values of variables.
        places = "/".join(f"{address}:{port}" for address in addresses())
        return {VARIABLE: f"{self._token}@{places}"}

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(asyncio.start_server(self._answer, sock=self._socket))
        self._socket.listen(BACKLOG)
        self._loop.run_forever()
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            words = (await reader.readline()).decode("ascii", "replace").split()
            if len(words) == WORDS_TO_REPORT and words[0] == self._token and words[2].isdecimal():
                job = self._report(words[1], int(words[2]))
                writer.write(b"here\n")
                asked = (await reader.readline()).decode("ascii", "replace").split()
                if len(asked) == len(("all", "ranks")) and asked[1].isdecimal():
                    writer.write(f"{await self._decide(job, int(asked[1]))}\n".encode())
            await writer.drain()
        except (OSError, ValueError):
            pass  # a rank that ends, or a stranger
        finally:
            writer.close()

    def _report(self, name: str, rank: int) -> Job:
        """Note a rank; one that was there before belongs to the next program of the job."""
        job = self._jobs.setdefault(name, Job())
        if rank in job.present:
            job = self._jobs[name] = Job()
        job.present.add(rank)
        return job

    async def _decide(self, job: Job, ranks: int) -> str:
        """Return the answer for a job of so many ranks: the first one who asks settles it."""
        deadline_s = self._loop.time() + GRACE_S
        present = 0
        while job.everybody is None:
            present = sum(rank < ranks for rank in job.present)
            if present == ranks or self._loop.time() > deadline_s:
                job.everybody = present == ranks
                self.incomplete |= not job.everybody
            else:
                await asyncio.sleep(POLL_S)
        if job.everybody:
            return "yes"
        if job.told:
            return "no"
        job.told = True
        return f"no {present} tell"


def raised(limits: tuple[int, int]) -> tuple[int, int]:
    """Return limits of open files that let a large job connect, as far as the hard one allows.

    No more than that: some programs try to close every descriptor that they might have.
    """
    soft, hard = limits
    if soft == resource.RLIM_INFINITY or soft >= CONNECTIONS_MAX:
        return limits
    most = CONNECTIONS_MAX if hard == resource.RLIM_INFINITY else min(CONNECTIONS_MAX, hard)
    return max(soft, most), hard


def addresses() -> list[str]:
    """Return the IPv4 addresses of this host, that of the host itself first."""
    found = ["127.0.0.1"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            try:
                reply = fcntl.ioctl(one.fileno(), SIOCGIFADDR, request)
            except OSError:
                continue  # an interface without an address
            address = socket.inet_ntoa(reply[20:24])
            if address not in found:
                found.append(address)
    return found
