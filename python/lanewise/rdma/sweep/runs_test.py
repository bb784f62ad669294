# SPDX-License-Identifier: BSD-3-Clause
"""What a check of a sweep is told, and what is left of one that hangs."""

from __future__ import annotations

import sys
from pathlib import Path

from lanewise.rdma.sweep.runs import CHECK_HUNG, status_of_check

# Keeps what it reads, starts a process, and waits without end.
HANGS = """
import subprocess, sys
open(sys.argv[1], "wb").write(sys.stdin.buffer.read())
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open(sys.argv[2], "w").write(str(child.pid))
child.wait()
"""


def test_a_check_reads_the_bytes_that_were_printed_and_leaves_no_process(tmp_path: Path) -> None:
    printed = b"a\r\n\xff\x00"
    read, child = tmp_path / "read", tmp_path / "child"
    words = [sys.executable, "-c", HANGS, str(read), str(child)]

    status = status_of_check(words, printed, 10.0)

    assert status == CHECK_HUNG
    assert read.read_bytes() == printed
    state = Path(f"/proc/{child.read_text()}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"


def test_a_check_that_reads_nothing_tells_by_its_status() -> None:
    assert status_of_check(["false"], b"x" * (1 << 20), 10.0) == 1
    assert status_of_check(["true"], b"x" * (1 << 20), 10.0) == 0
