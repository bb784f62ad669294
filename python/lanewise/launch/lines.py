# SPDX-License-Identifier: BSD-3-Clause
"""The lines of a process that runs, from both of its streams, as they come.

What it started may outlive it with its streams, and leave its session too: whoever waits for the
end of a stream waits for such a process.  So reading ends a moment after the process itself.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import math
import os
import selectors
import subprocess
import threading
import time
from collections.abc import Generator, Iterator
from typing import IO, cast

# What the process wrote is in the pipes when it ends, so this is only for who still writes.
LAST_WORDS_S = 1.0
READ_BYTES = 1 << 16
PIPE_BYTES_MAX = 1 << 20  # sixteen pages, which have up to 64 KiB


class Lines:
    """Cuts what a stream says into lines, as a text stream of Python does."""

    def __init__(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._decoder = io.IncrementalNewlineDecoder(decoder, translate=True)
        self._begun: list[str] = []

    def take(self, said: bytes) -> list[str]:
        """Return the lines that `said` completes; nothing said is the end of the stream."""
        first, *more = self._decoder.decode(said, final=not said).split("\n")
        self._begun.append(first)
        if not more and said:
            return []
        whole = ["".join(self._begun), *more]
        self._begun = [whole.pop()]
        return whole if said else [*whole, *filter(None, self._begun)]


def lines_of(process: subprocess.Popen[str]) -> Generator[tuple[IO[str], str]]:
    """Yield each line with its stream until both streams end, or soon after the process does."""
    begun = {stream: Lines() for stream in (process.stdout, process.stderr) if stream is not None}
    deadline_s = math.inf
    with selectors.DefaultSelector() as selector, descriptor_at_end_of(process) as at_end:
        selector.register(at_end, selectors.EVENT_READ)
        for stream in begun:
            selector.register(stream, selectors.EVENT_READ)
        while begun and time.monotonic() < deadline_s:
            left_s = deadline_s - time.monotonic()
            for key, _ in selector.select(None if left_s == math.inf else max(left_s, 0.0)):
                if key.fd == at_end:
                    selector.unregister(at_end)
                    deadline_s = time.monotonic() + LAST_WORDS_S
                    continue
                stream = cast("IO[str]", key.fileobj)
                said = os.read(key.fd, READ_BYTES)
                for text in begun[stream].take(said):
                    yield stream, text
                if not said:
                    selector.unregister(stream)
                    del begun[stream]
    for stream, lines in begun.items():
        rest = rest_of(stream)
        for text in [*(lines.take(rest) if rest else []), *lines.take(b"")]:
            yield stream, text


def rest_of(stream: IO[str]) -> bytes:
    """Return what is in a pipe now."""
    os.set_blocking(stream.fileno(), False)
    with contextlib.suppress(BlockingIOError):
        return os.read(stream.fileno(), PIPE_BYTES_MAX)
    return b""


@contextlib.contextmanager
def descriptor_at_end_of(process: subprocess.Popen[str]) -> Iterator[int]:
    """Give a descriptor that can be read when the process ends, which is not reaped by it.

    Kernels before 5.3 have no descriptor of a process, so a thread waits for it.
    """
    ours, theirs = os.pipe()

    def wait() -> None:
        # It is no child any more where somebody else has reaped it.
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        os.close(theirs)

    threading.Thread(target=wait, daemon=True).start()
    try:
        yield ours
    finally:
        os.close(ours)
