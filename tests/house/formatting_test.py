# SPDX-License-Identifier: BSD-3-Clause
"""Sources are as `make format` leaves them, so that it changes only what a person has written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import tree


def test_native_sources_are_laid_out_by_clang_format() -> None:
    program = Path(sys.executable).with_name("clang-format")
    sources = tree.files(tree.ROOT, *tree.NATIVE)
    line = [program, "--dry-run", "--Werror", "--ferror-limit=1", *sources]

    done = subprocess.run(line, cwd=tree.ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, f"{done.stderr}\nrun make format"


def test_python_sources_are_laid_out_by_ruff() -> None:
    line = [sys.executable, "-m", "ruff", "format", "--check", *tree.files(tree.ROOT, ".py")]

    done = subprocess.run(line, cwd=tree.ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, f"{done.stdout}\nrun make format"
