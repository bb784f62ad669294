# SPDX-License-Identifier: BSD-3-Clause
"""Sweeps over the parts of a store on MPI ranks: the same bits, on two hosts, also when killed."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from lanewise.errors import RequestError
from lanewise.launch.native import find_program
from lanewise.launch.tuned import build_of

Lanewise = Callable[..., "subprocess.CompletedProcess[str]"]

THOROUGH = pytest.mark.thorough
SIDE, ITERATIONS, WAVES, KILLS = 384, 40, 4, 8
RANKS = (1, 2, 3, 4)
# Far longer than any of these runs takes.
MPIRUN_LIMIT_S = 60
# An mpirun ends a second after one of its ranks was killed, or it waits for ever.
KILLED_LIMIT_S = 15
# Two hosts, one at each end of a link: what ranks say to each other crosses it.
TWO_HOSTS = """[[site]]
name = "a"
hosts = 1
lan = { rate = "10 Gbit/s" }

[[site]]
name = "b"
hosts = 1
lan = { rate = "10 Gbit/s" }

[[link]]
between = ["a", "b"]
rate = "1 Gbit/s"
delay = "1 ms"
"""
MPIRUN = shutil.which("mpirun.openmpi") or "mpirun"
LAUNCH = [MPIRUN, "--oversubscribe", "--bind-to", "none", "-n"]


def program(name: str) -> str:
    try:
        return str(find_program(name, os.environ))
    except RequestError as error:
        pytest.skip(str(error))


def wavefront(*words: object) -> subprocess.CompletedProcess[str]:
    line = [program("lanewise-wavefront"), *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def sums(store: Path) -> str:
    """Return the checksum of the data's checksums: equal for equal bits."""
    return str(json.loads((store / "manifest.json").read_text())["matrices"][0]["sums"])


def iterations(part: Path) -> int:
    return int(json.loads((part / "manifest.json").read_text())["iterations"])


# Says that it serves one thread only, whatever the MPI offers.
ONE_THREAD = """
#include <mpi.h>
int MPI_Init_thread(int *count, char ***words, int required, int *provided) {
    const int status = PMPI_Init_thread(count, words, required, provided);
    *provided = MPI_THREAD_SINGLE;
    return status;
}
int MPI_Query_thread(int *provided) {
    *provided = MPI_THREAD_SINGLE;
    return MPI_SUCCESS;
}
"""


def on_ranks(folder: Path, ranks: int, *words: object) -> list[str]:
    try:
        ranked = str(build_of("openmpi", os.environ).program("lanewise-wavefront-ranks"))
    except RequestError as error:
        pytest.skip(str(error))
    # Open MPI's launcher wants to be told twice before root may use it.
    allowed = ["OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"]
    return ["env", *allowed, *LAUNCH, str(ranks), ranked, str(folder / "part.%r"), *map(str, words)]


def parts_of(folder: Path, ranks: int) -> list[Path]:
    return [folder / f"part.{rank}" for rank in range(ranks)]


def noted(parts: list[Path]) -> bool:
    """Tell whether all ranks have noted a run; one that not all have has not begun."""
    return all(json.loads((part / "manifest.json").read_text())["run"] for part in parts)


def next_words(parts: list[Path]) -> list[object]:
    """Return how to go on."""
    return ["--resume"] if noted(parts) else ["--iterations", ITERATIONS, "--waves", WAVES]


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """Make a store, and beside it what a run without ranks leaves."""
    for name in ("whole", "expected"):
        done = wavefront("create", tmp_path / name, "--rows", SIDE, "--cols", SIDE,
                         "--strip-rows", 16)  # fmt: skip
        assert done.returncode == 0, done.stderr
    done = wavefront("run", tmp_path / "expected", "--iterations", ITERATIONS)
    assert done.returncode == 0, done.stderr
    return tmp_path / "whole"


def in_tiles(store: Path, columns: int) -> Path:
    """Return the same store cut into tiles; none: itself."""
    if columns == 0:
        return store
    cut = store.with_suffix(".tiles")
    done = wavefront("convert", store, cut, "--layout", "skewed", "--tile-columns", columns)
    assert done.returncode == 0, done.stderr
    return cut


def wait_for_commit(running: subprocess.Popen[bytes], parts: list[Path]) -> None:
    """Return when a part has committed more iterations than it had, or the run has ended."""
    before = max(iterations(part) for part in parts)
    while running.poll() is None and max(iterations(part) for part in parts) == before:
        time.sleep(0.001)


def kills(line: Callable[[], Sequence[str]], parts: list[Path], chance: random.Random) -> int:
    """Start ranks again and again, kill one each time, and count the runs that this ended.

    Every other run is killed at any time from its start, and the others once a pass has been
    committed: those are under way, however fast the machine is.
    """
    killed = 0
    for run in range(KILLS):
        running = subprocess.Popen(
            line(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        if run % 2 == 0:
            wait_for_commit(running, parts)
        else:
            time.sleep(chance.uniform(0.1, 1.0))
        killed += is_killed(running, chance)
    return killed


def is_killed(running: subprocess.Popen[bytes], chance: random.Random) -> bool:
    """Kill one of the ranks, and tell whether that ended the run.

    An mpirun that does not end then is killed too.
    """
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
    sent = False
    if running.poll() is None and (found := children.read_text().split()):
        with contextlib.suppress(ProcessLookupError):  # a rank may end by itself meanwhile
            os.kill(int(chance.choice(found)), signal.SIGKILL)
            sent = True
    try:
        status = running.wait(timeout=KILLED_LIMIT_S if sent else MPIRUN_LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        status = running.wait()
    assert sent or status == 0, "a run that nobody killed failed"
    return status != 0


@pytest.mark.parametrize("tile_columns", [0, 48], ids=["whole rows", "parallelograms"])
def test_ranks_that_are_killed_go_on_to_the_same_bits(whole: Path, tile_columns: int) -> None:
    ranks, folder, chance = 3, whole.parent, random.Random(5)
    parts = parts_of(folder, ranks)
    assert wavefront("split", in_tiles(whole, tile_columns), *parts).returncode == 0
    killed = kills(lambda: on_ranks(folder, ranks, *next_words(parts)), parts, chance)

    line = on_ranks(folder, ranks, *next_words(parts))
    done = subprocess.run(line, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert killed > 0
    assert {iterations(part) for part in parts} == {ITERATIONS}
    joined = wavefront("join", folder / "joined", *parts)
    assert joined.returncode == 0, joined.stderr
    assert sums(folder / "joined") == sums(in_tiles(folder / "expected", tile_columns))


def interrupt(store: Path, wanted: int) -> None:
    """Make a store look as if a run had been killed before it had gone so far."""
    manifest = json.loads((store / "manifest.json").read_text())
    manifest["run"]["iterations_wanted"] = wanted
    manifest.pop("checksum")
    (store / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize("borders", ["fixed", "top=neumann,columns=neumann"])
def test_a_run_that_was_killed_goes_on_in_parts_and_whole_again(
    tmp_path: Path, borders: str
) -> None:
    for name in ("whole", "expected"):
        made = wavefront("create", tmp_path / name, "--rows", 90, "--cols", 60,
                         "--kernel", "sor", "--layout", "row-major",
                         "--strip-rows", 8)  # fmt: skip
        assert made.returncode == 0, made.stderr
    run = ["--parameter", 1.2, "--borders", borders]
    assert wavefront("run", tmp_path / "expected", *run, "--iterations", 12).returncode == 0
    assert wavefront("run", tmp_path / "whole", *run, "--iterations", 4).returncode == 0
    interrupt(tmp_path / "whole", 8)
    parts = parts_of(tmp_path, 3)
    assert wavefront("split", tmp_path / "whole", *parts).returncode == 0
    resume = on_ranks(tmp_path, 3, "--resume")
    done = subprocess.run(resume, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {iterations(part) for part in parts} == {8}
    for part in parts:
        interrupt(part, 12)

    converted = wavefront("convert", parts[0], tmp_path / "converted", "--layout", "block")
    joined = wavefront("join", tmp_path / "joined", *parts)
    resumed = wavefront("resume", tmp_path / "joined")

    assert converted.returncode == 2
    assert "resume it first: mpirun -n 3" in converted.stderr
    assert not (tmp_path / "converted").exists()
    assert joined.returncode == 0, joined.stderr
    assert resumed.returncode == 0, resumed.stderr
    assert iterations(tmp_path / "joined") == 12
    assert sums(tmp_path / "joined") == sums(tmp_path / "expected")


def test_parts_in_different_runs_are_not_joined(whole: Path) -> None:
    parts = parts_of(whole.parent, 2)
    assert wavefront("split", whole, *parts).returncode == 0
    line = on_ranks(whole.parent, 2, "--iterations", 4)
    assert subprocess.run(line, capture_output=True, check=False).returncode == 0
    interrupt(parts[0], 20)

    joined = wavefront("join", whole.parent / "joined", *parts)

    assert joined.returncode == 2
    assert "start the run again" in joined.stderr
    assert not (whole.parent / "joined").exists()


def test_a_run_that_pauses_is_not_resumed_in_parts(whole: Path, tmp_path: Path) -> None:
    run = ["--iterations", 4, "--until", "norm<0", "--every", 2]
    assert wavefront("run", whole, *run).returncode == 0
    interrupt(whole, 8)
    assert wavefront("split", whole, *parts_of(tmp_path, 2)).returncode == 0

    line = on_ranks(tmp_path, 2, "--resume")
    done = subprocess.run(line, capture_output=True, text=True, check=False)

    assert done.returncode != 0
    assert "pauses between iterations; join the parts and resume it there" in done.stderr


def test_every_r_in_the_name_of_a_part_is_the_rank(whole: Path, tmp_path: Path) -> None:
    parts = [tmp_path / f"disk{rank}" / f"part.{rank}" for rank in range(2)]
    for part in parts:
        part.parent.mkdir()
    assert wavefront("split", whole, *parts).returncode == 0
    line = on_ranks(tmp_path, 2, "--iterations", 1)
    line[line.index(str(tmp_path / "part.%r"))] = str(tmp_path / "disk%r" / "part.%r")

    done = subprocess.run(line, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert [iterations(part) for part in parts] == [1, 1]


def spoil(file: Path) -> None:
    with file.open("r+b") as bytes_of:
        bytes_of.seek(-1, os.SEEK_END)
        last = bytes_of.read(1)
        bytes_of.seek(-1, os.SEEK_END)
        bytes_of.write(bytes([last[0] ^ 1]))


def test_what_cannot_be_split_or_joined_leaves_nothing(whole: Path) -> None:
    parts, joined = parts_of(whole.parent, 2), whole.parent / "joined"
    last_strip = whole / "data.a.0"
    spoil(last_strip)

    split = wavefront("split", whole, *parts)

    assert split.returncode == 1 and "checksum" in split.stderr
    assert not any(part.exists() for part in parts)
    spoil(last_strip)
    assert wavefront("split", whole, *parts).returncode == 0
    spoil(parts[1] / "data.a.0")
    assert wavefront("join", joined, *parts).returncode == 1
    assert not joined.exists()


@pytest.mark.parametrize(
    "shape", [("--cols", SIDE + 8), ("--cols", SIDE, "--name", "other", "--name", "weights")]
)
def test_parts_of_different_stores_are_neither_run_nor_joined(
    whole: Path, shape: Sequence[object]
) -> None:
    parts, others = parts_of(whole.parent, 2), [whole.parent / "x.0", whole.parent / "x.1"]
    other, kernel = whole.parent / "other", ("--kernel", "sor")
    assert wavefront("create", other, "--rows", SIDE, *shape, *kernel).returncode == 0
    assert wavefront("split", whole, *parts).returncode == 0
    assert wavefront("split", other, *others).returncode == 0
    shutil.rmtree(parts[1])
    others[1].rename(parts[1])

    joined = wavefront("join", whole.parent / "joined", *parts)
    line = on_ranks(whole.parent, 2, "--iterations", 1)
    done = subprocess.run(line, capture_output=True, text=True, check=False)

    assert joined.returncode == 2
    assert "parts of different stores" in joined.stderr
    assert not (whole.parent / "joined").exists()
    assert done.returncode != 0
    assert "parts are of different stores" in done.stderr


def test_parts_in_tiles_and_parts_in_whole_rows_are_not_run_together(whole: Path) -> None:
    parts, others = parts_of(whole.parent, 2), [whole.parent / "x.0", whole.parent / "x.1"]
    assert wavefront("split", whole, *parts).returncode == 0
    assert wavefront("split", in_tiles(whole, 48), *others).returncode == 0
    shutil.rmtree(parts[1])
    others[1].rename(parts[1])

    line = on_ranks(whole.parent, 2, "--iterations", 1)
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=MPIRUN_LIMIT_S)

    assert done.returncode != 0
    assert "parts are of different stores" in done.stderr


def test_parts_of_which_some_are_a_pass_ahead_go_back(whole: Path) -> None:
    parts = parts_of(whole.parent, 2)
    assert wavefront("split", in_tiles(whole, 48), *parts).returncode == 0
    run = on_ranks(whole.parent, 2, "--iterations", ITERATIONS, "--waves", ITERATIONS // 2)
    assert subprocess.run(run, capture_output=True, check=False).returncode == 0
    # As if rank 1 had been killed when rank 0 had just noted the last pass.
    shutil.copy(parts[1] / "manifest.former.json", parts[1] / "manifest.json")
    assert [iterations(part) for part in parts] == [ITERATIONS, ITERATIONS // 2]

    done = subprocess.run(on_ranks(whole.parent, 2, "--resume"), capture_output=True, check=False)

    assert done.returncode == 0, done.stderr
    joined = wavefront("join", whole.parent / "joined", *parts)
    assert joined.returncode == 0, joined.stderr
    expected = in_tiles(whole.parent / "expected", 48)
    assert sums(whole.parent / "joined") == sums(expected)


@pytest.fixture
def two_hosts(
    lanewise: Lanewise, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Raise a testbed of two hosts called `pair`; skip where this machine lets nobody."""
    with tempfile.TemporaryDirectory(prefix="lwt", dir="/tmp") as beds:
        monkeypatch.setenv("LANEWISE_TESTBEDS", beds)
        (tmp_path / "pair.toml").write_text(TWO_HOSTS)
        raised = lanewise("testbed", "up", "pair.toml")
        if raised.returncode == 2 or "is refused" in raised.stderr:
            pytest.skip(raised.stderr.strip())
        assert raised.returncode == 0, raised.stderr
        yield
        assert lanewise("testbed", "down", "pair").returncode == 0


@pytest.mark.parametrize(
    ("sweep", "tile_columns"),
    [
        pytest.param(["livermore23"], 0, id="livermore23", marks=THOROUGH),
        pytest.param(["sor-fourth-order"], 0, id="two cells far"),
        pytest.param(
            ["jacobi", "--tolerance", 0.08], 0, id="jacobi until it rests", marks=THOROUGH
        ),
        pytest.param(["sor9"], 16, id="parallelograms", marks=THOROUGH),
        pytest.param(["jacobi", "--tolerance", 0.08], 40, id="parallelograms until it rests"),
    ],
)
@pytest.mark.usefixtures("two_hosts")
def test_ranks_on_two_hosts_leave_the_bits_of_one_program(
    lanewise: Lanewise, tmp_path: Path, sweep: list[object], tile_columns: int
) -> None:
    kernel, tolerance = sweep[0], sweep[1:]
    run = ["--kernel", kernel, "--iterations", 200, "--waves", 7, *tolerance]
    for name in ("whole", "expected"):
        made = wavefront("create", tmp_path / name, "--rows", 60, "--cols", 90,
                         "--kernel", kernel, "--strip-rows", 8,
                         "--tile-columns", tile_columns)  # fmt: skip
        assert made.returncode == 0, made.stderr
    assert wavefront("run", tmp_path / "expected", *run).returncode == 0
    assert iterations(tmp_path / "expected") < 200 or not tolerance
    ranked = str(build_of("openmpi", os.environ).program("lanewise-wavefront-ranks"))

    for ranks in RANKS:
        folder = tmp_path / str(ranks)
        parts = parts_of(folder, ranks)
        folder.mkdir()
        cut = wavefront("split", tmp_path / "whole", *parts, "--kernel", kernel)
        assert cut.returncode == 0, cut.stderr
        done = lanewise("testbed", "run", "pair", "--", "mpirun.openmpi", "-n", ranks,
                        ranked, folder / "part.%r", *run)  # fmt: skip
        assert done.returncode == 0, done.stderr
        joined = wavefront("join", folder / "joined", *parts)
        assert joined.returncode == 0, joined.stderr
        assert iterations(folder / "joined") == iterations(tmp_path / "expected")
        assert sums(folder / "joined") == sums(tmp_path / "expected")


def test_a_run_with_a_tolerance_that_is_killed_rests_where_one_program_does(
    tmp_path: Path,
) -> None:
    ranks, chance = 3, random.Random(7)
    for name in ("whole", "expected"):
        made = wavefront("create", tmp_path / name, "--rows", 500, "--cols", 400,
                         "--kernel", "jacobi", "--strip-rows", 8)  # fmt: skip
        assert made.returncode == 0, made.stderr
    run = ["--iterations", 400, "--waves", 5, "--tolerance", 0.1, "--kernel", "jacobi"]
    assert wavefront("run", tmp_path / "expected", *run).returncode == 0
    parts = parts_of(tmp_path, ranks)
    assert wavefront("split", tmp_path / "whole", *parts).returncode == 0

    def line() -> list[str]:
        return on_ranks(tmp_path, ranks, *(next_words(parts) if noted(parts) else run))

    killed = kills(line, parts, chance)
    done = subprocess.run(line(), capture_output=True, check=False)

    assert done.returncode == 0, done.stderr
    assert killed > 0
    joined = wavefront("join", tmp_path / "joined", *parts)
    assert joined.returncode == 0, joined.stderr
    assert iterations(tmp_path / "joined") == iterations(tmp_path / "expected") < 400
    assert sums(tmp_path / "joined") == sums(tmp_path / "expected")


def gray_scott(u: np.ndarray, v: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Do what examples/gray_scott_ranks.cpp does, in the order of its operations."""
    feed, kill = 0.035, 0.065

    def spread(c: np.ndarray) -> np.ndarray:
        return c[:-2, 1:-1] + c[1:-1, :-2] + c[1:-1, 2:] + c[2:, 1:-1] - 4 * c[1:-1, 1:-1]

    for _ in range(steps):
        a, b = u[1:-1, 1:-1], v[1:-1, 1:-1]
        reaction = a * b * b
        next_u = a + 0.16 * spread(u) - reaction + feed * (1 - a)
        next_v = b + 0.08 * spread(v) + reaction - (feed + kill) * b
        u[1:-1, 1:-1], v[1:-1, 1:-1] = next_u, next_v
    return u, v


def test_an_update_of_two_matrices_on_ranks_that_are_killed_goes_on_to_the_same_bits(
    tmp_path: Path,
) -> None:
    ranks, steps, chance = 3, 120, random.Random(11)
    fields = [np.random.default_rng(seed).random((600, 500)) for seed in (1, 2)]
    made = wavefront("create", tmp_path / "whole", "--shape", "600,500", "--data", 2,
                     "--strip-rows", 16, "--empty")  # fmt: skip
    assert made.returncode == 0, made.stderr
    for matrix, values in enumerate(fields):
        np.save(tmp_path / "field.npy", values)
        wavefront("import", tmp_path / "whole", f"data{matrix}", tmp_path / "field.npy")
    parts = parts_of(tmp_path, ranks)
    assert wavefront("split", tmp_path / "whole", *parts).returncode == 0
    program_line = on_ranks(tmp_path, ranks)[:-2]
    program_line += [str(build_of("openmpi", os.environ).program("gray_scott_ranks"))]
    line = [*program_line, str(tmp_path / "part."), str(steps)]

    killed = kills(lambda: line, parts, chance)
    done = subprocess.run(line, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert killed > 0
    joined = wavefront("join", tmp_path / "joined", *parts)
    assert joined.returncode == 0, joined.stderr
    for matrix, expected in enumerate(gray_scott(*fields, steps)):
        wavefront("export", tmp_path / "joined", f"data{matrix}", tmp_path / "found.npy")
        np.testing.assert_array_equal(np.load(tmp_path / "found.npy"), expected)


def test_ranks_leave_the_borders_that_one_program_does(tmp_path: Path) -> None:
    for name in ("whole", "expected"):
        made = wavefront("create", tmp_path / name, "--shape", "30,12,14", "--kernel", "sor-3d",
                         "--strip-rows", 3)  # fmt: skip
        assert made.returncode == 0, made.stderr
    run = ["--iterations", 20, "--waves", 4, "--borders", "neumann,lines=periodic"]
    assert wavefront("run", tmp_path / "expected", *run).returncode == 0
    parts = parts_of(tmp_path, 3)
    assert wavefront("split", tmp_path / "whole", *parts).returncode == 0

    line = on_ranks(tmp_path, 3, *run)
    done = subprocess.run(line, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert wavefront("join", tmp_path / "joined", *parts).returncode == 0
    assert sums(tmp_path / "joined") == sums(tmp_path / "expected")
    refused = wavefront("plan", parts[0], "--iterations", 4, "--borders", "periodic")
    assert refused.returncode == 2
    assert "not periodic" in refused.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--radius", 9], "--radius 9 is not within 1 to 8"),
        (["--radius", 2, "--kernel", "sor"], "leave --kernel out"),
    ],
)
def test_a_stencil_radius_that_cannot_be_is_refused_by_split(
    whole: Path, words: list[object], sentence: str
) -> None:
    done = wavefront("split", whole, *parts_of(whole.parent, 2), *words)

    assert done.returncode == 2
    assert sentence in done.stderr


def test_a_part_by_itself_and_a_wrong_number_of_ranks_are_refused(whole: Path) -> None:
    parts = parts_of(whole.parent, 2)
    assert wavefront("split", whole, *parts).returncode == 0

    alone = wavefront("run", parts[0], "--iterations", 1)
    assert alone.returncode == 2
    assert "part 0 of 2" in alone.stderr

    line = on_ranks(whole.parent, 1, "--iterations", 1)
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "is not part 0 of 1" in done.stderr


def test_an_mpi_that_serves_one_thread_only_is_refused_and_the_parts_stay(tmp_path: Path) -> None:
    compiler = shutil.which("mpicc.openmpi")
    if compiler is None:
        pytest.skip("no MPI compiler; install libopenmpi-dev")
    library = tmp_path / "one_thread.so"
    (tmp_path / "one_thread.c").write_text(ONE_THREAD)
    line = [compiler, "-shared", "-fPIC", tmp_path / "one_thread.c", "-o", library]
    subprocess.run(line, check=True)
    wavefront("create", tmp_path / "whole", "--rows", 64, "--cols", 64)
    wavefront("split", tmp_path / "whole", tmp_path / "part.0", tmp_path / "part.1")
    before = [sums(tmp_path / f"part.{rank}") for rank in range(2)]
    words = on_ranks(tmp_path, 2, "--iterations", 2)

    done = subprocess.run(
        [*words[:1], f"LD_PRELOAD={library}", *words[1:]],
        capture_output=True, text=True, check=False, timeout=MPIRUN_LIMIT_S,
    )  # fmt: skip

    assert done.returncode != 0
    assert "this MPI serves one thread only" in done.stderr
    assert [sums(tmp_path / f"part.{rank}") for rank in range(2)] == before
