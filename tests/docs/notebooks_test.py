# SPDX-License-Identifier: BSD-3-Clause
"""Every notebook runs from its first cell to its last, and was stored with its outputs."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from lanewise.launch.native import find_builds

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
SIZE_BYTES_MAX = 250_000
CELL_LIMIT_S = 300
# Those that launch ranks of an MPI.
LAUNCH = ("measuring", "tuning")
# Those that run programs of others.
PROGRAMS = {"rdma": ("ibv_rc_pingpong", "ib_write_bw")}


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def often(path: Path) -> list[pytest.MarkDecorator]:
    """Mark the notebooks of which pages and the README show the commands as well."""
    return [pytest.mark.thorough] if path.stem in LAUNCH else []


def why_not(name: str) -> str:
    """Return why a notebook cannot run on this machine, empty where it can."""
    if name in LAUNCH and not any(one.mpi != "smpi" for one in find_builds(os.environ)):
        return "there is no native build for a real MPI; make build"
    missing = [one for one in PROGRAMS.get(name, ()) if shutil.which(one) is None]
    return f"no {missing[0]}; install ibverbs-utils and perftest" if missing else ""


@pytest.mark.parametrize(
    "path", [pytest.param(path, id=path.stem, marks=often(path)) for path in NOTEBOOKS]
)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if why_not(path.stem):
        pytest.skip(why_not(path.stem))
    # The kernel is the Python of the test, whatever kernels are installed for others.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = read(path)

    NotebookClient(
        notebook, timeout=CELL_LIMIT_S, startup_timeout=CELL_LIMIT_S, kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()  # fmt: skip

    assert [one for one in tmp_path.iterdir() if one.name != "ipython"] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_notebook_is_stored_with_its_outputs_and_is_small(path: Path) -> None:
    cells = [cell for cell in read(path).cells if cell.cell_type == "code"]

    outputs = [output for cell in cells for output in cell.outputs]
    kinds = [output.output_type for output in outputs]
    assert "error" not in kinds
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert pictures, "it draws nothing"
    assert path.stat().st_size < SIZE_BYTES_MAX
