# SPDX-License-Identifier: BSD-3-Clause
"""The examples in the head comments of the public headers are C that compiles."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

HEADERS = Path(__file__).parents[2] / "include" / "lanewise"

# What an example uses and does not declare.
AROUND = {
    "collectives.h": "MPI_Comm comm, const double *send, double *receive",
    "measure.h": "MPI_Comm comm, const uint64_t *sizes_bytes, size_t count",
    "model.h": "void",
    "paths.h": "struct ibv_context *context, struct ibv_qp *qp",
    "sum.h": "const double *values, const double *mine, size_t count",
    "wavefront.h": "void",
    "wavefront_ranks.h": "MPI_Comm comm, const char *my_folder, lw_wavefront_row_fn my_row",
}
BEFORE = {
    "measure.h": (
        "#include <stdio.h>\n"
        "int My_Scatter(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, int, MPI_Comm);"
    ),
}


def example_of(header: Path) -> str:
    """Return the indented lines of the head comment."""
    head = header.read_text(encoding="utf-8").split("#ifndef", 1)[0]
    return "\n".join(re.findall(r"^ \* {5}(\S.*)$", head, re.MULTILINE))


@pytest.mark.parametrize("name", sorted(AROUND))
def test_the_example_of_a_header_compiles(name: str, tmp_path: Path) -> None:
    compiler = shutil.which("mpicc.openmpi") or shutil.which("mpicc")
    if compiler is None:
        pytest.skip("no mpicc; install libopenmpi-dev")
    source = tmp_path / "example.c"
    source.write_text(
        f"#include <lanewise/{name}>\n{BEFORE.get(name, '')}\n"
        f"void example({AROUND[name]});\n"
        f"void example({AROUND[name]}) {{\n{example_of(HEADERS / name)}\n}}\n",
        encoding="utf-8",
    )
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-but-set-variable"]
    line = [compiler, "-std=c11", "-fsyntax-only", *warnings, f"-I{HEADERS.parent}", str(source)]

    done = subprocess.run(line, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


def test_every_header_with_an_example_is_compiled() -> None:
    assert {path.name for path in HEADERS.glob("*.h") if example_of(path)} == set(AROUND)
