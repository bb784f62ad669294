# SPDX-License-Identifier: BSD-3-Clause
"""The native programs that fit and predict: run them, and let their complaints be ours."""

from __future__ import annotations

import os
import subprocess

from lanewise.errors import RequestError, RunError
from lanewise.launch.native import find_program

FIT = "lanewise-fit"
PREDICT = "lanewise-predict"


def ask(*arguments: str, name: str = FIT) -> str:
    """Run a native program and return what it prints; raises its complaint as an error of ours."""
    program = find_program(name, os.environ)
    done = subprocess.run([str(program), *arguments], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return done.stdout
    said = done.stderr.strip().splitlines()
    sentence = said[-1] if said else f"{name} ended with status {done.returncode}"
    kind = RequestError if done.returncode == 2 else RunError
    raise kind(sentence.removeprefix(f"{name}: "))
