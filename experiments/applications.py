# SPDX-License-Identifier: BSD-3-Clause
"""Applications: programs under MPI that several experiments run, and what says that a run was good.

The integer sort (examples/integer_sort.c, as the NAS kernel IS) checks the order of its keys, the
Fourier transform (examples/fourier_transform.c, as FT) its energy, SSOR (examples/ssor.c, as LU)
its error, and HPCC its residuals.  What they and LAMMPS end with is the same in every run.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from experiments.workspace import failing_as_run
from lanewise.errors import RunError
from lanewise.launch.native import find_builds
from lanewise.suite.application import input_file


@dataclass(frozen=True)
class Application:
    """A program, and the function that reads the time and result of a good run, else None."""

    name: str
    words: tuple[str, ...]
    judge: Callable[[str, Path], tuple[float, str] | None]
    needs: str = ""
    prepare: Callable[[Path], None] | None = None

    def available(self) -> bool:
        """Tell whether it is installed."""
        return not self.needs or shutil.which(self.needs) is not None


def integer_sort(mpi: str, log2_keys: int, iterations: int) -> Application:
    """Return the sort of so many keys, built for an MPI."""
    words = (_example(mpi, "integer_sort"), str(log2_keys), str(iterations))
    return Application("integer sort", words, _sorted)


def fourier_transform(mpi: str, log2_sides: tuple[int, int, int], iterations: int) -> Application:
    """Return the transforms of a box with these sides, built for an MPI."""
    sides = map(str, log2_sides)
    words = (_example(mpi, "fourier_transform"), *sides, str(iterations))
    return Application("Fourier transform", words, _transformed)


def ssor(mpi: str, side: int, iterations: int) -> Application:
    """Return sweeps over a cube of this side, built for an MPI."""
    return Application("SSOR", (_example(mpi, "ssor"), str(side), str(iterations)), _relaxed)


def _example(mpi: str, name: str) -> str:
    with failing_as_run():
        programs = [
            build.programs / name for build in find_builds(os.environ) if build.mpi == mpi
        ]  # fmt: skip
    found = next((path for path in programs if path.is_file()), None)
    if found is None:
        raise RunError(f"{name} is not built for {mpi}; build it with: make build MPI={mpi}")
    return str(found)


def _seconds(text: str) -> float | None:
    found = re.search(r"^verified, ([0-9.]+) s$", text, re.MULTILINE)
    return float(found[1]) if found else None


def _sorted(text: str, _: Path) -> tuple[float, str] | None:
    seconds = _seconds(text)
    return None if seconds is None else (seconds, "")


def _transformed(text: str, _: Path) -> tuple[float, str] | None:
    return _with_result(text, r"^checksum (.+)$")


def _relaxed(text: str, _: Path) -> tuple[float, str] | None:
    return _with_result(text, r"fingerprint ([0-9a-f]+)$")


def _with_result(text: str, pattern: str) -> tuple[float, str] | None:
    seconds = _seconds(text)
    result = re.search(pattern, text, re.MULTILINE)
    return None if seconds is None or result is None else (seconds, result[1])


def lammps(steps: int, ranks: int = 2) -> Application:
    """Return a Lennard-Jones liquid that runs for so many steps, larger for more ranks."""
    with failing_as_run():
        script = str(input_file())
    settings = ("-var", "ranks", str(ranks), "-var", "cells", "12", "-var", "steps", str(steps))
    words = ("lmp", "-in", script, "-log", "none", *settings)
    return Application("LAMMPS", words, _melted, "lmp")


def _melted(text: str, _: Path) -> tuple[float, str] | None:
    took = re.search(r"^Loop time of ([0-9.]+) on", text, re.MULTILINE)
    if took is None:
        return None
    return float(took[1]), text[: took.start()].strip().splitlines()[-1]


def hpcc(order: int, ranks: int = 2) -> Application:
    """Return the HPC Challenge on a matrix of this order; an even number of ranks."""
    return Application(
        "HPCC",
        ("hpcc",),
        _challenged,
        "hpcc",
        lambda folder: _write_challenge(folder, order, ranks),
    )


def _write_challenge(folder: Path, order: int, ranks: int) -> None:
    (folder / "hpccoutf.txt").unlink(missing_ok=True)
    values = ("HPL.out file", "8 device", "1 sizes", f"{order} Ns", "1 blockings", "80 NBs",
              "0 PMAP", "1 grids", "2 Ps" if ranks >= 8 else "1 Ps",
              f"{ranks // (2 if ranks >= 8 else 1)} Qs", "16.0 threshold", "1", "2 PFACTs", "1",
              "4 NBMINs", "1", "2 NDIVs", "1", "1 RFACTs", "1", "1 BCASTs", "1", "1 DEPTHs",
              "2 SWAP", "64", "0 L1", "0 U", "1 equilibration", "8 alignment", "separator",
              "0 PTRANS sizes", "1200", "0 PTRANS blockings", "40")  # fmt: skip
    lines = ["What HPCC is to do", "for Lanewise", *values]
    (folder / "hpccinf.txt").write_text("\n".join(lines) + "\n", encoding="ascii")


# It reports whole seconds only.
def _challenged(_: str, folder: Path) -> tuple[float, str] | None:
    try:
        text = (folder / "hpccoutf.txt").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    moments = [int(word) for word in re.findall(r"Current time \(([0-9]+)\)", text)]
    if "Success=1" not in text or "FAILED" in text or len(moments) < 2:
        return None
    return float(moments[-1] - moments[0]), ""
