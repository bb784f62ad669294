# SPDX-License-Identifier: BSD-3-Clause
"""The native programs that fit and predict: run them, and let their complaints be ours."""

from __future__ import annotations

import os

from lanewise.launch.native import find_program
from lanewise.launch.run_native import ask_program

FIT = "lanewise-fit"
PREDICT = "lanewise-predict"


def file_word(path: str) -> str:
    """Return a file as a word that is no option, and no list in brackets, for these programs."""
    return f"./{path}" if path.startswith(("-", "[")) else path


def ask(*arguments: str, name: str = FIT) -> str:
    """Run a native program and return what it prints; raises its complaint as an error of ours."""
    return ask_program(find_program(name, os.environ), arguments)
