# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise wavefront` on a disk that loses what was not synced, as by a power cut.

A run is recorded, and each point of the record then gives a folder as a cut there may leave it.  It
must open with the bits of a committed iteration, and go on to those of a run that nobody cut.
"""

from __future__ import annotations

import io
import json
import math
import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from power_cut import (
    Recording,
    Survival,
    contents_of,
    everything,
    lost,
    put,
)

from lanewise.cli.wavefront import PROGRAM
from lanewise.errors import RequestError
from lanewise.launch.native import find_program
from lanewise.launch.tuned import build_of

# Points at which the power is cut in each test; make test-all asks for 500.
CUTS = int(os.environ.get("LANEWISE_TEST_POWER_CUTS", "12"))
# The second run that is recorded goes on with what a cut of the first left, and so on.
ROUNDS = 4
SIDE, ITERATIONS, WAVES, RANKS = 96, 12, 3, 3
TIMEOUT_S = 120
MPIRUN = shutil.which("mpirun.openmpi") or "mpirun"


@dataclass(frozen=True)
class Sweep:
    """What is swept and how: words of `create` and `run`.

    `every` are the iterations between snapshots, `disks` those beside the store, `sides` the shape
    in three dimensions.
    """

    create: list[object] = field(default_factory=list)
    run: list[object] = field(default_factory=list)
    sides: str = ""
    every: int = 0
    disks: int = 0


SWEEPS = {
    "by io_uring": Sweep(run=["--io", "io_uring"]),
    "by threads": Sweep(run=["--io", "threads"]),
    "in parallelograms": Sweep(["--tile-columns", 24], ["--directions", "fast-sweeping"]),
    "with snapshots": Sweep(every=2),
    "with periodic borders": Sweep(run=["--borders", "periodic"]),
    "on three disks": Sweep(disks=2),
    "in three dimensions": Sweep(
        ["--kernel", "sor-3d"], ["--directions", "fast-sweeping-3d"], sides="48,12,16"
    ),
}
SWEEPS_ON_RANKS = {
    "whole rows": Sweep(),
    "of the previous iteration": Sweep(["--kernel", "jacobi"]),
    "parallelograms": Sweep(["--tile-columns", 24]),
}
# Each takes a launch of ranks, so these tests share the points.
CUTS_ON_RANKS = math.ceil(CUTS / len(SWEEPS_ON_RANKS))


def native(*words: object, recording: Recording | None = None) -> subprocess.CompletedProcess[str]:
    """Run the native program, recorded or not."""
    try:
        program = find_program(PROGRAM, os.environ)
    except RequestError as error:
        pytest.skip(str(error))
    variables = recording.environment() if recording else {}
    return _run([program, *words], variables)


def _run(line: list[object], variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, line)),
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )


def manifest(store: Path) -> dict[str, Any]:
    return dict(json.loads((store / "manifest.json").read_text()))


def iterations(store: Path) -> int:
    return int(manifest(store)["iterations"])


def exported(store: Path, matrix: str = "data") -> bytes:
    """Return the file that an export of a matrix makes."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "exported.npy"
        done = native("export", store, matrix, file)
        assert done.returncode == 0, done.stderr
        return file.read_bytes()


def snapshots(folder: Path) -> dict[int, bytes]:
    """Return the snapshots of the data in a folder, by iteration."""
    return {int(path.name.split(".")[1]): path.read_bytes() for path in folder.glob("data.*.npy")}


def create(store: Path, sweep: Sweep) -> None:
    shape = ["--shape", sweep.sides] if sweep.sides else ["--rows", SIDE, "--cols", SIDE]
    words = [*shape, "--strip-rows", 8, *sweep.create]
    for number in range(sweep.disks):
        words += ["--disk", store.with_name(f"disk{number}")]
    made = native("create", store, *words)
    assert made.returncode == 0, made.stderr


def uncut(store: Path, sweep: Sweep) -> dict[int, bytes]:
    """Return the data after each iteration of a run that nobody cuts, in a store of its own."""
    whole = store.parent.with_name("whole")
    create(whole / "store", sweep)
    begin = exported(whole / "store")
    done = native("run", whole / "store", "--iterations", ITERATIONS, *sweep.run,
                  "--snapshots", whole, "--every", 1)  # fmt: skip
    if "io_uring is not available" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return {0: begin, **snapshots(whole)}


def points(recording: Recording, count: int, chance: random.Random) -> list[int]:
    """Draw points of a record; the last of them is its end."""
    end = len(recording.records())
    return [*sorted(chance.choices(range(end), k=count - 1)), end]


def cuts(recording: Recording, count: int, chance: random.Random) -> Iterator[int]:
    """Leave in the folder what a cut leaves of it, at each point of a round of `count` cuts."""
    _, end = next(recording.disks(points(recording, 1, chance)))
    recorded = dict(end.after_cut(everything, chance))
    assert recorded == contents_of(recording.root), "something was written past the recorder"
    for point, disk in recording.disks(points(recording, math.ceil(count / ROUNDS), chance)):
        put(recording.root, disk.after_cut(Survival.draw, chance))
        yield point


@dataclass(frozen=True)
class Run:
    """A run of one program, and the snapshots that it writes."""

    sweep: Sweep
    store: Path
    shots: Path

    def go_on(self, recording: Recording | None = None) -> None:
        """Begin the run, or go on with it where it has been noted."""
        words = ["--snapshots", self.shots] if self.sweep.every else []
        if manifest(self.store)["run"]:
            line = ["resume", self.store, *words]
        else:
            words += ["--every", self.sweep.every] if self.sweep.every else []
            line = ["run", self.store, "--iterations", ITERATIONS, "--waves", WAVES,
                    *self.sweep.run, *words]  # fmt: skip
        done = native(*line, recording=recording)
        assert done.returncode == 0, done.stderr

    def expect_end(self, expected: Mapping[int, bytes]) -> None:
        """Expect the data of the last iteration, and all snapshots."""
        assert iterations(self.store) == ITERATIONS
        assert exported(self.store) == expected[ITERATIONS]
        every = self.sweep.every or ITERATIONS + 1
        wanted = range(every, ITERATIONS + 1, every)
        assert snapshots(self.shots) == {k: expected[k] for k in wanted}


def cases(sweeps: Mapping[str, Sweep], daily: set[str]) -> list[Any]:
    """Return sweeps as cases of a test, of which some run every day."""
    return [
        pytest.param(sweep, id=name, marks=[] if name in daily else [pytest.mark.thorough])
        for name, sweep in sweeps.items()
    ]


@pytest.mark.parametrize(
    "sweep", cases(SWEEPS, {"by io_uring", "in parallelograms", "on three disks"})
)
def test_a_run_whose_power_is_cut_goes_on_to_the_same_bits(
    recorder: Path, tmp_path: Path, sweep: Sweep
) -> None:
    chance, root = random.Random(0), tmp_path / "disk"
    run = Run(sweep, root / "store", root / "shots")
    run.shots.mkdir(parents=True)
    create(run.store, sweep)
    expected = uncut(run.store, sweep)

    for round_ in range(ROUNDS):
        least, begun, unfinished = iterations(run.store), contents_of(root), []
        recording = Recording(root, recorder, tmp_path / f"log.{round_}")
        run.go_on(recording)
        for point in cuts(recording, CUTS, chance):
            assert least <= iterations(run.store), point
            assert exported(run.store) == expected[iterations(run.store)], point
            if iterations(run.store) < ITERATIONS:
                unfinished.append(contents_of(root))
            run.go_on()
            run.expect_end(expected)
        put(root, iter(chance.choice(unfinished or [begun]).items()))


# What a pass syncs: without any of these syncs a cut may damage the store.
SYNCED = {
    "strips": r"store/data\.[ab]\.0",
    "checksums": r"store/data\.[ab]\.sums\.next",
    "the manifest": r"store/manifest\.json\.next",
    "the store's folder": "store",
    "the folder of another disk": "disk0",
    "strips on another disk": r"disk0/data\.[ab]\.1",
}


@pytest.mark.parametrize("unsynced", SYNCED.values(), ids=SYNCED.keys())
def test_a_sync_that_is_left_out_is_noticed(recorder: Path, tmp_path: Path, unsynced: str) -> None:
    chance, root = random.Random(0), tmp_path / "disk"
    run = Run(Sweep(disks=1), root / "store", root)
    root.mkdir()
    create(run.store, run.sweep)
    expected = uncut(run.store, run.sweep)
    recording = Recording(root, recorder, tmp_path / "log")
    run.go_on(recording)

    for _, disk in recording.disks(points(recording, 200, chance), unsynced):
        put(root, disk.after_cut(Survival.draw, chance))
        try:
            is_sound = exported(run.store) == expected[iterations(run.store)]
        except (AssertionError, ValueError):  # the export fails, or the manifest is torn
            is_sound = False
        if not is_sound:
            return
    pytest.fail("no cut did any harm")


def test_what_a_command_has_done_survives_a_power_cut_behind_it(
    recorder: Path, tmp_path: Path
) -> None:
    chance, root = random.Random(0), tmp_path / "disk"
    root.mkdir()
    store = root / "new" / "folders" / "store"
    matrices = {name: np.full((SIDE, SIDE), value) for name, value in (("u", 1.0), ("f", 0.25))}
    for name, matrix in matrices.items():
        np.save(tmp_path / f"{name}.npy", matrix)
    commands: dict[str, list[object]] = {
        "create": ["create", f"{store}/", "--rows", SIDE, "--cols", SIDE, "--kernel", "sor",
                   "--name", "u", "--name", "f", "--empty"],
        "u": ["import", store, "u", tmp_path / "u.npy"],
        "f": ["import", store, "f", tmp_path / "f.npy"],
        "run": ["run", store, "--iterations", ITERATIONS],
    }  # fmt: skip
    recording, ends = Recording(root, recorder, tmp_path / "log"), {}
    for name, words in commands.items():
        acted = native(*words, recording=recording)
        assert acted.returncode == 0, acted.stderr
        ends[name] = len(recording.records())
    result = exported(store, "u")

    for point, disk in recording.disks([*points(recording, CUTS, chance), *ends.values()]):
        put(root, disk.after_cut(lost, chance))
        done = {name for name, end in ends.items() if end <= point}
        if "create" in done:
            assert native("verify", store).returncode == 0, point
        if "f" in done:
            assert np.array_equal(np.load(io.BytesIO(exported(store, "f"))), matrices["f"]), point
        if "run" in done:
            assert exported(store, "u") == result, point


@dataclass(frozen=True)
class Parts:
    """The parts of a store in one folder, one for each rank."""

    root: Path

    def folders(self) -> list[Path]:
        return [self.root / f"part.{rank}" for rank in range(RANKS)]

    def go_on(self, recording: Recording | None = None) -> subprocess.CompletedProcess[str]:
        """Let the ranks begin the run, or go on with it where all have noted it."""
        try:
            program = build_of("openmpi", os.environ).program("lanewise-wavefront-ranks")
        except RequestError as error:
            pytest.skip(str(error))
        resumes = all(manifest(part)["run"] for part in self.folders())
        words = ["--resume"] if resumes else ["--iterations", ITERATIONS, "--waves", WAVES]
        variables = recording.environment() if recording else {}
        given = [word for name in variables for word in ("-x", f"{name}={variables[name]}")]
        line = [MPIRUN, "--oversubscribe", "--bind-to", "none", "-n", RANKS, *given,
                program, self.root / "part.%r", *words]  # fmt: skip
        # Open MPI's launcher wants to be told twice before root may use it.
        return _run(line, {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})

    def expect_bits(self, expected: Mapping[int, bytes]) -> None:
        """Expect of the rows of each part, without those of its neighbours, what was committed."""
        for rank, part in enumerate(self.folders()):
            first, end = rank * SIDE // RANKS, (rank + 1) * SIDE // RANKS
            whole = np.load(io.BytesIO(expected[iterations(part)]))
            own = np.load(io.BytesIO(exported(part)))[1 if rank else 0 :][: end - first]
            assert own.tobytes() == whole[first:end].tobytes(), (rank, iterations(part))

    def joined(self) -> bytes:
        target = self.root.with_name("joined") / "store"
        shutil.rmtree(target.parent, ignore_errors=True)
        target.parent.mkdir()
        done = native("join", target, *self.folders())
        assert done.returncode == 0, done.stderr
        return exported(target)


@pytest.mark.parametrize("sweep", cases(SWEEPS_ON_RANKS, {"whole rows"}))
def test_ranks_whose_power_is_cut_go_on_to_the_same_bits(
    recorder: Path, tmp_path: Path, sweep: Sweep
) -> None:
    chance, root = random.Random(0), tmp_path / "disk"
    root.mkdir()
    create(tmp_path / "made" / "store", sweep)
    expected = uncut(tmp_path / "made" / "store", sweep)
    parts = Parts(root)
    assert native("split", tmp_path / "made" / "store", *parts.folders()).returncode == 0

    for round_ in range(ROUNDS):
        begun, unfinished = contents_of(root), []
        recording = Recording(root, recorder, tmp_path / f"log.{round_}")
        done = parts.go_on(recording)
        assert done.returncode == 0, done.stderr
        for point in cuts(recording, CUTS_ON_RANKS, chance):
            parts.expect_bits(expected)
            if any(iterations(part) < ITERATIONS for part in parts.folders()):
                unfinished.append(contents_of(root))
            done = parts.go_on()
            assert done.returncode == 0, (point, done.stderr)
            assert parts.joined() == expected[ITERATIONS], point
        put(root, iter(chance.choice(unfinished or [begun]).items()))
