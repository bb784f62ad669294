# SPDX-License-Identifier: BSD-3-Clause
"""What an examination says of the native programs that are used here."""

from __future__ import annotations

import json
from pathlib import Path

from lanewise import __version__
from lanewise.launch.examine import examine
from lanewise.launch.native import MANIFEST, MEASURE


def advice_on(folder: Path, **values: str) -> str:
    """Return the advice on the one build of a machine, whose manifest has `values`."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / MEASURE).touch()
    manifest = {
        "mpi": "openmpi", "mpi_version": "Open MPI 4.1.4", "build_type": "Release",
        "version": __version__, "bin": "bin", "lib": "lib", **values,
    }  # fmt: skip
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    machine = {"PATH": str(folder / "none"), "LANEWISE_NATIVE": str(folder)}
    return "\n".join(one for one in examine(machine).advice if str(folder) in one)


def test_libraries_that_cannot_be_preloaded_are_named_with_what_cuts_their_path(
    tmp_path: Path,
) -> None:
    assert advice_on(tmp_path / "build") == ""

    advice = advice_on(tmp_path / "my programs")

    assert "/my programs/lib cannot be preloaded: LD_PRELOAD cuts it at a space;" in advice
