# SPDX-License-Identifier: BSD-3-Clause
"""Native programs that an experiment compiles where it runs, from one file beside its Python.

Those that need parts of Lanewise are declared in CMakeLists.txt instead.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from lanewise.errors import RunError
from lanewise.launch.packages import not_found
from lanewise.launch.tuned import build_of

LINES_SHOWN = 5
INCLUDE = Path(__file__).parents[1] / "include"


def compiled(compiler: str, source: Path, program: Path, *options: str) -> Path:
    """Compile a file and return the program; `options` come last, so that libraries may be there.

    Raises RunError where there is no such compiler, or where it fails.
    """
    line = [compiler, "-o", str(program), str(source), *options]
    try:
        done = subprocess.run(line, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise RunError(not_found(compiler)) from None
    if done.returncode != 0:
        raise RunError(
            f"{source.name} could not be compiled", done.stderr.splitlines()[-LINES_SHOWN:]
        )
    return program


def compiled_with_lanewise(mpi: str, source: Path, program: Path, *options: str) -> Path:
    """Compile a program that calls Lanewise, against the native build for an MPI."""
    library = build_of(mpi, os.environ).libraries
    links = (f"-L{library}", f"-Wl,-rpath,{library}", "-llanewise", "-lm")
    return compiled(f"mpicc.{mpi}", source, program, "-O2", f"-I{INCLUDE}", *options, *links)
