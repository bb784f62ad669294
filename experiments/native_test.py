# SPDX-License-Identifier: BSD-3-Clause
"""Programs that an experiment compiles."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from experiments.native import compiled
from lanewise.errors import RunError


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Write a program that needs a library and a definition."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler; install build-essential")
    path = tmp_path / "root.c"
    path.write_text("#include <math.h>\nint main(int count, char **words) {\n"
                    "    (void)words;\n    return (int)sqrt(SQUARE * count * count);\n}\n",
                    encoding="ascii")  # fmt: skip
    return path


def test_a_program_is_compiled_with_its_options_and_libraries(source: Path) -> None:
    program = compiled("cc", source, source.with_name("root"), "-DSQUARE=9", "-lm")
    assert subprocess.run([program], check=False).returncode == 3


def test_what_the_compiler_says_last_is_told(source: Path) -> None:
    with pytest.raises(RunError, match=r"^root\.c could not be compiled") as failed:
        compiled("cc", source, source.with_name("root"))
    assert any("SQUARE" in line for line in failed.value.details)


def test_a_compiler_that_is_missing_is_named(source: Path) -> None:
    with pytest.raises(RunError, match=r"^no program 'mpicc\.nowhere'; "):
        compiled("mpicc.nowhere", source, source.with_name("root"))
