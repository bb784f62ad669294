# SPDX-License-Identifier: BSD-3-Clause
"""A shell for each page, which runs the page's commands one after the other in a new folder.

Variables, background jobs and files of a command are there for the next one, as they are for a
reader.  `lanewise` is the one of this clone.  $ROOT is the clone and $BUILD the folder that
holds bin/ and lib/ of the native programs.
"""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 300
ENDED = 2

# A reader who is not root needs none of the first two, and has not set the others.
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
NOT_SET = ("OMPI_MCA_rmaps_base_oversubscribe", "PRTE_MCA_rmaps_default_mapping_policy")


class PageShell:
    """A bash that is told one command at a time; it ends, with its jobs, when it is closed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # Sockets of testbeds lie in this folder, and their names must be short.
        self._testbeds = Path(tempfile.mkdtemp(prefix="lwd", dir="/tmp"))
        self._environment = self._variables()
        self._outputs = 0
        self._told, writing = os.pipe()
        self._shell = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(writing,),
            start_new_session=True,
        )
        self._writing = writing

    def _variables(self) -> dict[str, str]:
        programs = self.folder.with_name(f"{self.folder.name}.bin")
        programs.mkdir()
        python = shlex.quote(sys.executable)
        for name, words in {"lanewise": f"{python} -m lanewise", "python": python}.items():
            (programs / name).write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding="utf-8")
            (programs / name).chmod(0o755)
        inherited = {name: value for name, value in os.environ.items() if name not in NOT_SET}
        build = os.environ.get("LANEWISE_NATIVE", str(ROOT / "build" / "release"))
        return {
            **inherited,
            **AS_ROOT,
            "ROOT": str(ROOT),
            "BUILD": build,
            "LANEWISE_TESTBEDS": str(self._testbeds),
            "PYTHONPATH": f"{ROOT / 'python'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
            "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        }

    def run(self, command: str) -> tuple[int, str]:
        """Run a command in the shell; return its status and what it printed."""
        if self._shell.poll() is not None:
            return ENDED, "the shell of this page has ended, at an earlier command"
        assert self._shell.stdin is not None
        # A job in the background goes on writing to the file of the command that began it.
        output = self.folder.with_name(f"{self.folder.name}.output-{self._outputs}")
        self._outputs += 1
        script = (
            f"{{ {command}\n}} </dev/null >{shlex.quote(str(output))} 2>&1 {self._writing}>&-\n"
            f"echo $? >&{self._writing}\n"
        )
        self._shell.stdin.write(script.encode())
        self._shell.stdin.flush()
        status = self._status()
        printed = output.read_text(encoding="utf-8", errors="replace")
        if status is None:
            self._kill()
            return ENDED, f"{printed}\nstopped: it ended the shell, or took more than {LIMIT_S} s"
        return status, printed

    def _status(self) -> int | None:
        """Wait for the status of a command; None where the shell ended or time is up."""
        deadline_s = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline_s:
            if select.select([self._told], [], [], 0.5)[0]:
                return int(os.read(self._told, 16))
            if self._shell.poll() is not None:
                return None
        return None

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._shell.pid, signal.SIGKILL)
        self._shell.wait()

    def close(self) -> None:
        """Take down the testbeds that are still up and end all jobs."""
        self._kill()
        if any(self._testbeds.iterdir()):
            down = [sys.executable, "-m", "lanewise", "testbed", "down", "--all"]
            subprocess.run(down, env=self._environment, capture_output=True, check=False)
        os.close(self._told)
        os.close(self._writing)
        shutil.rmtree(self._testbeds)
        shutil.rmtree(self.folder)  # stores of matrices are large
