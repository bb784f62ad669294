# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise wavefront` for real: stores on disk, and runs that are killed."""

from __future__ import annotations

import ctypes
import hashlib
import json
import mmap
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from lanewise import wavefront
from lanewise.cli.wavefront import PROGRAM
from lanewise.launch.native import find_program
from lanewise.wavefront.scratch import file_system_of

Lanewise = Callable[..., "subprocess.CompletedProcess[str]"]

SCHEMA = Path(__file__).parents[2] / "schema" / "wavefront-store.schema.json"

THOROUGH = pytest.mark.thorough
SIDE = 512
ITERATIONS = 12
# Points in time at which a run is killed; make test-all asks for 500.
KILLS = int(os.environ.get("LANEWISE_TEST_KILLS", "10"))


def livermore(data: np.ndarray, coefficients: list[np.ndarray], iterations: int) -> np.ndarray:
    """Sweep anti-diagonal by anti-diagonal, which gives the bits of the sequential loop."""
    zb, zv, zu, zr, zz = coefficients
    d = data.copy()
    rows, columns = d.shape
    for _ in range(iterations):
        for s in range(2, rows + columns - 3):
            i = np.arange(max(1, s - columns + 2), min(rows - 1, s))
            j = s - i
            q = (
                d[i - 1, j] * zb[i, j]
                + d[i, j - 1] * zv[i, j]
                + d[i, j + 1] * zu[i, j]
                + d[i + 1, j] * zr[i, j]
                + zz[i, j]
                - d[i, j]
            )
            d[i, j] += 0.175 * q
    return d


def exported(lanewise: Lanewise, folder: Path, store: str, matrix: str = "data") -> np.ndarray:
    path = folder / f"{store}-{matrix}-{time.monotonic_ns()}.npy"
    done = lanewise("wavefront", "export", store, matrix, path)
    assert done.returncode == 0, done.stderr
    return np.load(path)


def test_a_run_over_disk_gives_the_bits_of_numpy(lanewise: Lanewise, tmp_path: Path) -> None:
    lanewise("wavefront", "create", "demo", "--rows", 100, "--cols", 70)
    names = ("zb", "zv", "zu", "zr", "zz")
    before = exported(lanewise, tmp_path, "demo")
    coefficients = [exported(lanewise, tmp_path, "demo", name) for name in names]

    done = lanewise("wavefront", "run", "demo", "--iterations", 9, "--memory", "20MiB")

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("9 iterations in ")
    after = exported(lanewise, tmp_path, "demo")
    np.testing.assert_array_equal(after, livermore(before, coefficients, 9))


def travel_times(times: np.ndarray, delays: np.ndarray, *, up: bool, left: bool) -> None:
    """Update once by Godunov's upwind difference, in one direction."""
    rows, columns = (range(1, side - 1) for side in times.shape)
    for i in reversed(rows) if up else rows:
        for j in reversed(columns) if left else columns:
            a = min(times[i, j - 1], times[i, j + 1])
            b = min(times[i - 1, j], times[i + 1, j])
            f = delays[i, j]
            arrival = min(a, b) + f
            if np.isfinite([a, b]).all() and abs(a - b) < f:
                arrival = 0.5 * ((a + b) + np.sqrt(2 * f * f - (a - b) * (a - b)))
            times[i, j] = min(times[i, j], arrival)


@pytest.mark.parametrize("within", [("--rtol", "1e-6"), ("--until", "residual<1e-6*first")])
def test_a_share_of_an_infinite_residual_is_no_end(
    lanewise: Lanewise, tmp_path: Path, within: tuple[str, str]
) -> None:
    times = np.full((40, 31), np.inf)
    times[35, 25] = 0.0
    np.save(tmp_path / "times.npy", times)
    kernel = ("--kernel", "eikonal", "--empty")
    lanewise("wavefront", "create", "map", "--rows", 40, "--cols", 31, *kernel)
    lanewise("wavefront", "import", "map", "data", "times.npy")
    np.save(tmp_path / "delays.npy", np.ones((40, 31)))
    lanewise("wavefront", "import", "map", "coefficient0", "delays.npy")

    done = lanewise("wavefront", "run", "map", "--iterations", 100, *within)

    assert done.returncode == 2
    assert "the first residual is not finite" in done.stderr
    assert done.stderr.count("\n") == 1


def test_fast_sweeping_comes_to_rest_around_walls_of_infinity(
    lanewise: Lanewise, tmp_path: Path
) -> None:
    times = np.full((40, 31), np.inf)
    times[35, 25] = 0.0
    delays = np.ones((40, 31))
    delays[20, :28] = np.inf
    np.save(tmp_path / "times.npy", times)
    np.save(tmp_path / "delays.npy", delays)
    kernel = ("--kernel", "eikonal", "--empty")
    lanewise("wavefront", "create", "map", "--rows", 40, "--cols", 31, *kernel)
    lanewise("wavefront", "import", "map", "data", "times.npy")
    lanewise("wavefront", "import", "map", "coefficient0", "delays.npy")
    run = ("--iterations", 100, "--tolerance", 0, "--directions", "fast-sweeping")

    done = lanewise("wavefront", "run", "map", *run)

    assert done.returncode == 0, done.stderr
    assert "converged" in done.stdout
    for k in range(100):
        travel_times(times, delays, up=k % 4 in {2, 3}, left=k % 4 in {1, 2})
    found = exported(lanewise, tmp_path, "map")
    np.testing.assert_array_equal(found, times)
    assert np.isfinite(found[1, 1]) and np.isinf(found[20, 5]) and np.isinf(found[0]).all()


@pytest.mark.parametrize(("kind", "dtype"), [("i32", "<i4"), ("i64", "<i8"), ("f16", "<f2")])
def test_alignments_are_scored_in_the_element_that_is_asked_for(
    lanewise: Lanewise, tmp_path: Path, kind: str, dtype: str
) -> None:
    scores = np.random.default_rng(2).integers(-4, 4, (50, 37)).astype(dtype)
    np.save(tmp_path / "zeros.npy", np.zeros((50, 37), dtype))
    np.save(tmp_path / "scores.npy", scores)
    kernel = ("--kernel", "smith-waterman", "--parameter", 3, "--element", kind, "--empty")
    lanewise("wavefront", "create", "t", "--rows", 50, "--cols", 37, *kernel)
    lanewise("wavefront", "import", "t", "data", "zeros.npy")
    lanewise("wavefront", "import", "t", "coefficient0", "scores.npy")

    done = lanewise("wavefront", "run", "t", "--iterations", 1, "--until", "max<1")

    assert done.returncode == 0, done.stderr
    table = np.zeros((50, 37), dtype)
    for i in range(1, 49):
        for j in range(1, 36):
            pair = table[i - 1, j - 1] + scores[i, j]
            table[i, j] = max(0, pair, table[i - 1, j] - 3, table[i, j - 1] - 3)
    found = exported(lanewise, tmp_path, "t")
    assert found.dtype == np.dtype(dtype)
    assert table.max() > 10
    np.testing.assert_array_equal(found, table)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--kernel", "sor", "--parameter", 1.5), "sor works on f16, f32 and f64, not i32"),
        (("--kernel", "smith-waterman", "--parameter", 2.5), "takes a whole number"),
        (("--layout", "skewed"), "the skewed layout holds f32 or f64, not i32"),
    ],
)
def test_what_whole_numbers_are_not_for_is_refused_in_one_line(
    lanewise: Lanewise, tmp_path: Path, words: tuple[object, ...], sentence: str
) -> None:
    done = lanewise("wavefront", "create", "s", "--shape", "8,8", "--element", "i32", *words)

    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "s").exists()


TILES_OF_TWO_ROWS = ("--layout", "row-major", "--tile-columns", 16, "--strip-rows", 2)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("sor", "--element", "c64"), "sor works on f16, f32 and f64, not c64"),
        (("sor", "--data", 2), "sor needs 1 data and 1 coefficient matrices"),
        (("sor", "--row-coefficients", 1), "sor needs 1 data and 1 coefficient matrices"),
        (("sor-3d",), "sor-3d goes over three dimensions"),
        (("sor-fourth-order", *TILES_OF_TWO_ROWS), "--strip-rows 3 or more"),
    ],
)
def test_a_store_that_its_kernel_cannot_sweep_is_not_created(
    lanewise: Lanewise, tmp_path: Path, words: tuple[object, ...], sentence: str
) -> None:
    done = lanewise("wavefront", "create", "s", "--shape", "32,32", "--kernel", *words)

    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "s").exists()


def test_a_coefficient_by_row_goes_in_and_comes_out(lanewise: Lanewise, tmp_path: Path) -> None:
    values = np.arange(50, dtype="<i4")
    np.save(tmp_path / "letters.npy", values)
    words = ("--element", "i32", "--row-coefficients", 1, "--column-coefficients", 2)
    lanewise("wavefront", "create", "s", "--shape", "50,37", *words)

    done = lanewise("wavefront", "import", "s", "row0", "letters.npy")

    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(exported(lanewise, tmp_path, "s", "row0"), values.reshape(-1, 1))
    assert exported(lanewise, tmp_path, "s", "column1").shape == (1, 37)
    assert len(list((tmp_path / "s").glob("row0.*"))) == 1, "the former values are removed"
    assert "  row0           by row       filled" in lanewise("wavefront", "info", "s").stdout
    manifest = json.loads((tmp_path / "s" / "manifest.json").read_text())
    jsonschema.validate(manifest, json.loads(SCHEMA.read_text()))
    lanewise("wavefront", "convert", "s", "t", "--layout", "block")
    np.testing.assert_array_equal(exported(lanewise, tmp_path, "t", "row0"), values.reshape(-1, 1))
    refused = lanewise("wavefront", "split", "s", "part.0", "part.1")
    assert "s has coefficients by row or column, which parts have not" in refused.stderr


def test_a_damaged_coefficient_by_column_is_named(lanewise: Lanewise, tmp_path: Path) -> None:
    lanewise("wavefront", "create", "s", "--shape", "9,9", "--column-coefficients", 1)
    (path,) = (tmp_path / "s").glob("column0.*.values")
    content = bytearray(path.read_bytes())
    content[5] ^= 1
    path.write_bytes(content)

    done = lanewise("wavefront", "verify", "s")

    assert done.returncode == 1
    assert "1 strip is damaged; restore it from a copy" in done.stderr
    assert f"s/{path.name} is damaged" in done.stderr


def test_a_run_ends_by_a_measure_and_writes_snapshots(native: Lanewise, tmp_path: Path) -> None:
    store, folder = tmp_path / "s", tmp_path / "snapshots"
    folder.mkdir()
    native("create", store, "--rows", 60, "--cols", 50, "--kernel", "sor", "--parameter", 1.2)
    until = ("--until", "residual<0.001*first", "--every", 5, "--snapshots", folder)

    done = native("run", store, "--iterations", 1000, *until, "--json")

    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    asked = [event for event in events if event["event"] == "measure"]
    assert events[-1]["converged"]
    assert [event["iterations"] for event in asked] == [5 * (k + 1) for k in range(len(asked))]
    assert 1 < len(asked) < 200
    names = sorted(path.name for path in folder.iterdir())
    assert names == [f"data.{event['iterations']:06}.npy" for event in asked]
    native("export", store, "data", tmp_path / "last.npy")
    np.testing.assert_array_equal(np.load(folder / names[-1]), np.load(tmp_path / "last.npy"))
    jsonschema.validate(
        json.loads((store / "manifest.json").read_text()),
        json.loads(SCHEMA.read_text(encoding="utf-8")),
    )


def test_a_parameter_without_a_kernel_is_that_of_the_default_kernel(
    native: Lanewise, tmp_path: Path
) -> None:
    named, unnamed = tmp_path / "named", tmp_path / "unnamed"
    native("create", named, "--rows", 64, "--cols", 64)
    native("create", unnamed, "--rows", 64, "--cols", 64, "--parameter", 0.5)

    native("run", named, "--iterations", 9, "--kernel", "livermore23", "--parameter", 0.5)
    native("run", unnamed, "--iterations", 9)

    for store in (named, unnamed):
        native("export", store, "data", f"{store}.npy")
    assert (tmp_path / "named.npy").read_bytes() == (tmp_path / "unnamed.npy").read_bytes()


def test_a_snapshot_that_cannot_be_written_leaves_nothing(native: Lanewise, tmp_path: Path) -> None:
    store, folder = tmp_path / "s", tmp_path / "snapshots"
    (folder / "data.000002.npy").mkdir(parents=True)
    native("create", store, "--rows", 60, "--cols", 50, "--kernel", "sor")

    done = native("run", store, "--iterations", 4, "--every", 2, "--snapshots", folder)

    assert done.returncode == 1
    assert "data.000002.npy: Is a directory" in done.stderr
    assert [path.name for path in folder.iterdir()] == ["data.000002.npy"]


def test_a_run_that_is_resumed_writes_its_snapshots_where_it_did(
    native: Lanewise, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, folder, other = tmp_path / "s", tmp_path / "snapshots", tmp_path / "other"
    in_the_way = folder / "data.000002.npy"
    in_the_way.mkdir(parents=True)
    other.mkdir()
    native("create", store, "--rows", 60, "--cols", 50, "--kernel", "sor")
    monkeypatch.chdir(tmp_path)
    run = ("--iterations", 6, "--every", 2, "--snapshots", "snapshots")
    assert native("run", store, *run).returncode == 1
    jsonschema.validate(
        json.loads((store / "manifest.json").read_text()),
        json.loads(SCHEMA.read_text(encoding="utf-8")),
    )
    in_the_way.rmdir()
    (folder / "data.000004.npy").mkdir()
    monkeypatch.chdir(other)

    assert native("resume", store).returncode == 1
    done = native("resume", store, "--snapshots", other)

    assert done.returncode == 0, done.stderr
    assert in_the_way.is_file()
    assert {path.name for path in other.iterdir()} == {"data.000004.npy", "data.000006.npy"}
    other.rename(tmp_path / "away")
    assert native("resume", store).returncode == 0, "a run that has ended needs no folder"


def test_a_folder_of_snapshots_that_is_gone_is_missed_by_resume(
    native: Lanewise, tmp_path: Path
) -> None:
    store, folder = tmp_path / "s", tmp_path / "snapshots"
    (folder / "data.000002.npy").mkdir(parents=True)
    native("create", store, "--rows", 60, "--cols", 50, "--kernel", "sor")
    run = ("--iterations", 6, "--every", 2, "--snapshots", folder)
    assert native("run", store, *run).returncode == 1
    folder.rename(tmp_path / "elsewhere")

    done = native("resume", store)

    assert done.returncode == 2
    assert f"{folder} is not a folder for snapshots" in done.stderr
    assert "--snapshots" in done.stderr


@pytest.mark.parametrize("command", ["run", "resume"])
@pytest.mark.parametrize("option", [("--snapshots", "later"), ("--snapshots=later",)], ids=str)
def test_a_folder_of_snapshots_is_missed_before_the_run(
    lanewise: Lanewise, tmp_path: Path, command: str, option: tuple[str, ...]
) -> None:
    lanewise("wavefront", "create", "s", "--rows", 60, "--cols", 50, "--kernel", "sor")

    for _ in range(2):
        words = ("--iterations", 4, "--every", 2) if command == "run" else ()
        done = lanewise("wavefront", command, "s", *words, *option)

        assert done.returncode == 2
        assert "later is not a folder for snapshots; make it, or name another" in done.stderr
        (tmp_path / "later").write_text("")
    assert json.loads((tmp_path / "s" / "manifest.json").read_text())["iterations"] == 0


def test_what_is_imported_comes_out_again(lanewise: Lanewise, tmp_path: Path) -> None:
    values = np.random.default_rng(1).random((50, 33))
    np.save(tmp_path / "values.npy", values)
    (tmp_path / "values.raw").write_bytes(values.tobytes())
    lanewise("wavefront", "create", "s", "--rows", 50, "--cols", 33, "--empty")

    for matrix, name in (("data", "values.npy"), ("zb", "values.raw")):
        done = lanewise("wavefront", "import", "s", matrix, name)

        assert done.returncode == 0, done.stderr
        np.testing.assert_array_equal(exported(lanewise, tmp_path, "s", matrix), values)


@pytest.mark.parametrize(
    ("shape", "dtype", "order"),
    [((50, 33), "<f4", "C"), ((50, 33), "<f8", "F"), ((20, 6, 7), ">f4", "F")],
)
def test_a_file_of_other_bytes_widths_or_order_is_converted(
    lanewise: Lanewise, tmp_path: Path, shape: tuple[int, ...], dtype: str, order: str
) -> None:
    values = np.random.default_rng(1).random(shape).astype(dtype)
    np.save(tmp_path / "values.npy", np.asarray(values, order=order))  # type: ignore[call-overload]
    wavefront.Store.create(tmp_path / "s", shape).close()

    done = lanewise("wavefront", "import", "s", "data0", "values.npy", "--memory", "256MiB")

    assert done.returncode == 0, done.stderr
    with wavefront.Store.open(tmp_path / "s") as store:
        np.testing.assert_array_equal(store, values)


AT_ONCE = ("avx512", "avx2", "portable")


@pytest.mark.parametrize(
    ("create", "run", "told"),
    [
        ((), (), AT_ONCE),
        ((), ("--directions", "fast-sweeping"), AT_ONCE),
        ((), ("--borders", "neumann"), ("scalar",)),
        (("--layout", "row-major"), (), ("scalar",)),
        (("--tile-columns", 32), ("--directions", "symmetric"), ("scalar",)),
    ],
)
def test_a_run_says_whether_eight_rows_went_at_once(
    native: Lanewise,
    tmp_path: Path,
    create: tuple[str | int, ...],
    run: tuple[str, ...],
    told: tuple[str, ...],
) -> None:
    store = tmp_path / "s"
    native("create", store, "--rows", 48, "--cols", 64, "--kernel", "sor", *create)

    done = native("run", store, "--iterations", 4, *run, "--json")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["simd"] in told


@pytest.mark.parametrize("layout", ["row-major", "skewed", "block", "frontier"])
def test_a_store_runs_to_the_same_bits_in_every_layout(
    lanewise: Lanewise, tmp_path: Path, layout: str
) -> None:
    lanewise("wavefront", "create", "s", "--rows", 90, "--cols", 50, "--strip-rows", 16)
    done = lanewise("wavefront", "convert", "s", "t", "--layout", layout, "--strip-rows", 24)
    assert done.returncode == 0, done.stderr
    assert f"skewed to {layout}" in done.stdout

    for store in ("s", "t"):
        assert lanewise("wavefront", "run", store, "--iterations", 6).returncode == 0

    np.testing.assert_array_equal(
        exported(lanewise, tmp_path, "t"), exported(lanewise, tmp_path, "s")
    )
    back = lanewise("wavefront", "convert", "t", "u", "--layout", "skewed", "--strip-rows", 16)
    assert back.returncode == 0, back.stderr
    assert digest(tmp_path / "u") == digest(tmp_path / "s")
    assert json.loads((tmp_path / "u" / "manifest.json").read_text())["iterations"] == 6


@pytest.mark.parametrize(("kernel", "mebibytes"), [("livermore23", 18), ("jacobi", 15)])
def test_rows_in_tiles_are_swept_in_parallelograms_to_the_same_bits(
    native: Lanewise, tmp_path: Path, kernel: str, mebibytes: int
) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    shape = ["--rows", 150, "--cols", 3000, "--kernel", kernel]
    native("create", whole, *shape, "--strip-rows", 8)
    cutting = ["--layout", "row-major", "--tile-columns", 64]
    assert native("convert", whole, cut, *cutting).returncode == 0
    run = ["--kernel", kernel, "--iterations", 20, "--waves", 10, "--memory", f"{mebibytes}MiB"]

    plan = json.loads(native("plan", cut, *run, "--json").stdout)
    done = native("run", cut, *run, "--json")
    native("run", whole, "--kernel", kernel, "--iterations", 20)

    assert plan["parallelograms"] > 3
    end = json.loads(done.stdout.splitlines()[-1])
    assert end["peak_memory_bytes"] <= mebibytes << 20
    assert end["read_bytes"] + end["written_bytes"] == plan["read_bytes"] + plan["written_bytes"]
    for store in (whole, cut):
        assert native("export", store, "data", tmp_path / f"{store.name}.raw").returncode == 0
    assert (tmp_path / "cut.raw").read_bytes() == (tmp_path / "whole.raw").read_bytes()
    assert native("verify", cut).returncode == 0


def digest(folder: Path) -> str:
    """Return a hash of the data that the manifest names."""
    entry = json.loads((folder / "manifest.json").read_text())["matrices"][0]
    return hashlib.sha256(
        (folder / f"{entry['name']}.{entry['generation']}.0").read_bytes()
    ).hexdigest()


@pytest.mark.parametrize(
    ("tile_columns", "order"),
    [
        pytest.param(0, ["--directions", "down-right"], id="whole rows", marks=THOROUGH),
        pytest.param(128, ["--directions", "down-right"], id="parallelograms", marks=THOROUGH),
        pytest.param(0, ["--directions", "fast-sweeping,up-left"], id="whole rows that turn"),
        pytest.param(128, ["--directions", "symmetric"], id="parallelograms that turn"),
        pytest.param(
            0,
            ["--borders", "neumann", "--directions", "fast-sweeping"],
            id="mirrored borders",
            marks=THOROUGH,
        ),
        pytest.param(0, ["--borders", "periodic"], id="periodic borders"),
    ],
)
def test_a_run_killed_at_any_moment_resumes_to_the_same_bits(
    native: Lanewise, tmp_path: Path, tile_columns: int, order: list[str]
) -> None:
    store, whole = tmp_path / "store", tmp_path / "whole"
    shape = ["--rows", SIDE, "--cols", SIDE, "--strip-rows", 8, "--tile-columns", tile_columns]
    for folder in (store, whole):
        native("create", folder, *shape)
    run = ["run", "--iterations", ITERATIONS, "--waves", 3, "--memory", "32MiB"]
    run += order
    began_s = time.monotonic()
    assert native(run[0], whole, *run[1:]).returncode == 0
    took_s = time.monotonic() - began_s
    expected = digest(whole)
    program = str(find_program(PROGRAM, os.environ))
    chance = random.Random(0)

    killed = resumed = 0
    for _ in range(4 * KILLS):
        if killed == KILLS:
            break
        # Every round begins anew where the former one came to its end.
        manifest = json.loads((store / "manifest.json").read_text())
        if manifest["iterations"] >= ITERATIONS:
            assert digest(store) == expected
            subprocess.run(["rm", "-r", str(store)], check=True)
            native("create", store, *shape)
            manifest = json.loads((store / "manifest.json").read_text())
        line = ["resume", store] if manifest["run"] else ["run", store, *run[1:]]
        resumed += line[0] == "resume"
        running = subprocess.Popen([program, *map(str, line)], stdout=subprocess.DEVNULL)
        time.sleep(chance.random() * took_s)
        running.send_signal(signal.SIGKILL)
        status = running.wait()
        assert status in {0, -signal.SIGKILL}
        killed += status != 0
        # Runs are quicker than the first where the machine has become less busy.
        took_s *= 1.0 if status != 0 else 0.8
        assert native("verify", store).returncode == 0

    last = json.loads((store / "manifest.json").read_text())
    done = native("resume", store) if last["run"] else native("run", store, *run[1:])
    assert done.returncode == 0, done.stderr
    assert killed == KILLS
    assert resumed >= KILLS // 5, "kills that came before the first commit show nothing"
    assert digest(store) == expected


def test_readers_beside_a_run_see_a_sound_generation(
    native: Lanewise, lanewise: Lanewise, tmp_path: Path
) -> None:
    store = tmp_path / "s"
    native("create", store, "--rows", 1024, "--cols", 512, "--strip-rows", 8)
    program = str(find_program(PROGRAM, os.environ))
    line = [program, "run", str(store), "--iterations", "100000", "--waves", "1", "--threads", "1"]
    running = subprocess.Popen(line, stdout=subprocess.DEVNULL)
    try:
        for i in range(8):
            target = tmp_path / f"copy{i}"
            parts = [tmp_path / f"part{i}.{rank}" for rank in range(2)]
            for read in (
                ["verify", store],
                ["export", store, "data", tmp_path / "data.npy"],
                ["convert", store, target, "--layout", "row-major"],
                ["split", store, *parts],
            ):
                done = native(*read)
                assert done.returncode == 0, (read[0], done.stderr)
            # Each takes a start of Python.
            for name in (f"data{i}.h5", f"data{i}.zarr") if i < 2 else ():
                done = lanewise("wavefront", "export", store, "data", name)
                assert done.returncode == 0, done.stderr
            # One iteration for all matrices, whatever the run did meanwhile.
            assert native("verify", target).returncode == 0
        assert running.poll() is None, "the run ended before it was read"
    finally:
        running.kill()
        running.wait()
    assert json.loads((store / "manifest.json").read_text())["iterations"] > 2
    assert native("verify", store).returncode == 0


def test_memory_stays_within_the_budget(native: Lanewise, tmp_path: Path) -> None:
    store, budget_bytes = tmp_path / "store", 64 << 20
    native("create", store, "--rows", 2048, "--cols", 2048)

    done = native("run", store, "--iterations", 16, "--memory", budget_bytes, "--json")

    end = json.loads(done.stdout.splitlines()[-1])
    assert end["peak_memory_bytes"] <= budget_bytes
    assert end["planned_memory_bytes"] <= budget_bytes


def cached_bytes(path: Path) -> int:
    """Return how much of a file the page cache holds."""
    size = path.stat().st_size
    pages = (size + mmap.PAGESIZE - 1) // mmap.PAGESIZE
    with path.open("r+b") as file, mmap.mmap(file.fileno(), size) as mapped:
        held = (ctypes.c_ubyte * pages)()
        start = ctypes.addressof(ctypes.c_char.from_buffer(mapped))
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.mincore(ctypes.c_void_p(start), ctypes.c_size_t(size), held) == 0
        return mmap.PAGESIZE * sum(page & 1 for page in held)


def test_a_run_leaves_the_page_cache_alone(native: Lanewise, tmp_path: Path) -> None:
    store = tmp_path / "store"
    try:
        os.close(os.open(tmp_path / "probe", os.O_CREAT | os.O_RDWR | os.O_DIRECT))
    except OSError:
        pytest.skip("this file system lets nobody past the page cache")
    if file_system_of(tmp_path) == "tmpfs":
        pytest.skip("a file of a tmpfs is in the page cache and nowhere else")
    native("create", store, "--rows", 1024, "--cols", 1024)

    assert native("run", store, "--iterations", 8, "--waves", 4).returncode == 0
    assert native("verify", store).returncode == 0

    files = [path for path in store.iterdir() if path.suffix == ".0"]
    assert sum(path.stat().st_size for path in files) > 48 << 20
    assert sum(cached_bytes(path) for path in files) == 0


# A file system without O_DIRECT, mounted for the words behind it alone.
ON_RAMFS = 'mount -t ramfs none "$0" && cd "$0" && '


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a file system")
@pytest.mark.parametrize("words", [[], ["--json"]])
def test_strips_that_go_through_the_page_cache_are_told(
    lanewise: Lanewise, tmp_path: Path, words: list[str]
) -> None:
    lanewise("wavefront", "create", "s", "--rows", 64, "--cols", 64)
    (tmp_path / "ramfs").mkdir()
    sweep = f"{sys.executable} -m lanewise wavefront run s --iterations 2 {' '.join(words)}"
    script = f"{ON_RAMFS} cp -r ../s s && {sweep}"

    told = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, str(tmp_path / "ramfs")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    direct = lanewise("wavefront", "run", "s", "--iterations", 2, *words)

    assert told.returncode == direct.returncode == 0, told.stderr
    assert told.stderr == (
        "the file system of s takes no direct I/O; "
        "strips went through the page cache, which is not in the budget\n"
    )
    assert direct.stderr == ""
    if words:
        assert json.loads(told.stdout.splitlines()[-1])["io"].endswith(", page cache")
        assert json.loads(direct.stdout.splitlines()[-1])["io"] in ("io_uring", "threads")


def peak_memory_bytes(*line: object) -> int:
    """Run a program to its good end and return its peak memory."""
    running = subprocess.Popen([*map(str, line)])
    status = Path(f"/proc/{running.pid}/status")
    peak_kibibytes = 0
    # What the system sums up for a child counts its parent's memory, too.
    while running.poll() is None:
        found = re.search(r"VmHWM:\s*(\d+)", status.read_text())
        peak_kibibytes = int(found[1]) if found else peak_kibibytes
        time.sleep(0.002)
    assert running.returncode == 0
    assert peak_kibibytes > 0, "it ended before anyone looked"
    return peak_kibibytes * 1024


@pytest.mark.parametrize("name", ["m.npy", "m.raw", "m.zarr", "m.h5:m"])
def test_what_comes_and_goes_streams_through_little_memory(
    native: Lanewise, tmp_path: Path, name: str
) -> None:
    side, matrix_bytes = 6144, 8 * 6144 * 6144
    full, empty = tmp_path / "full", tmp_path / "empty"
    shape = ["--rows", side, "--cols", side, "--data", 1, "--coefficients", 0, "--name", "m"]
    assert native("create", full, *shape).returncode == 0
    assert native("create", empty, *shape, "--empty").returncode == 0
    by_python = name.endswith((".zarr", ":m"))
    if by_python:
        pytest.importorskip("zarr" if "zarr" in name else "h5py")
    line = [sys.executable, "-m", "lanewise", "wavefront"] if by_python else [
        find_program(PROGRAM, os.environ)
    ]  # fmt: skip

    # Python with its libraries is larger than the native program; neither holds the matrix.
    budget_bytes = (136 if by_python else 20) << 20
    budget = ["--memory", f"{budget_bytes >> 20}MiB"]
    assert budget_bytes < matrix_bytes / 2

    exporting = peak_memory_bytes(*line, "export", full, "m", tmp_path / name, *budget)
    importing = peak_memory_bytes(*line, "import", empty, "m", tmp_path / name, *budget)

    assert exporting <= budget_bytes
    assert importing <= budget_bytes
    assert digest(empty) == digest(full)


def test_chunks_that_are_too_large_for_the_budget_are_refused_with_the_least_that_does(
    native: Lanewise, tmp_path: Path
) -> None:
    h5py = pytest.importorskip("h5py")
    side, store, name = 1024, tmp_path / "store", tmp_path / "m.h5"
    shape = ["--rows", side, "--cols", side, "--data", 1, "--coefficients", 0, "--name", "m"]
    native("create", store, *shape, "--empty")
    with h5py.File(name, "w") as file:
        file.create_dataset("m", (side, side), "f8", chunks=(side, side))
    line = [sys.executable, "-m", "lanewise", "wavefront", "import", store, "m", name]

    done = subprocess.run(
        [*map(str, line), "--memory=64MiB"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    found = re.search(r"too small to move strips of this store; give it --memory (\d+)MiB or more",
                      done.stderr)  # fmt: skip
    assert found
    least = int(found[1])
    assert peak_memory_bytes(*line, "--memory", f"{least + 1}MiB") <= least << 20


@pytest.mark.parametrize("command", ["export", "import"])
def test_a_budget_that_no_strip_fits_into_is_refused_with_the_least(
    native: Lanewise, tmp_path: Path, command: str
) -> None:
    store = tmp_path / "store"
    native("create", store, "--rows", 64, "--cols", 64, "--data", 1, "--coefficients", 0)

    done = native(command, store, "data", tmp_path / "m.npy", "--memory", "1MiB")

    assert done.returncode == 2
    assert "too small to move strips of this store; give it --memory 13MiB or more" in done.stderr
    assert not (tmp_path / "m.npy").exists()


def test_bytes_moved_are_56_a_cell_and_pass(native: Lanewise, tmp_path: Path) -> None:
    store = tmp_path / "store"
    native("create", store, "--rows", 1024, "--cols", 1024, "--layout", "row-major")

    done = native("run", store, "--iterations", 12, "--waves", 4, "--json")

    end = json.loads(done.stdout.splitlines()[-1])
    assert end["read_bytes"] + end["written_bytes"] == 56 * 1024 * 1024 * 12 // 4


def test_a_full_disk_leaves_the_data_intact(native: Lanewise, tmp_path: Path) -> None:
    store = tmp_path / "store"
    native("create", store, "--rows", 512, "--cols", 512)
    before = digest(store)
    program = str(find_program(PROGRAM, os.environ))

    def limit_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    line = [program, "run", str(store), "--iterations", "4"]
    done = subprocess.run(line, preexec_fn=limit_files, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "data.b.0" in done.stderr
    assert digest(store) == before
    assert native("verify", store).returncode == 0


def test_a_flipped_bit_is_found_and_named(lanewise: Lanewise, tmp_path: Path) -> None:
    lanewise("wavefront", "create", "s", "--rows", 64, "--cols", 64, "--strip-rows", 8)
    path = tmp_path / "s" / "zu.a.0"
    content = bytearray(path.read_bytes())
    content[5 * len(content) // 8 + 100] ^= 1
    path.write_bytes(content)

    for command in (["verify", "s"], ["run", "s", "--iterations", 1]):
        done = lanewise("wavefront", *command)

        assert done.returncode == 1
        assert "strip 5 (rows from 40) of zu" in done.stderr


def test_the_manifest_keeps_to_its_schema(native: Lanewise, tmp_path: Path) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    store = tmp_path / "store"
    native("create", store, "--rows", 64, "--cols", 64, "--empty")
    jsonschema.validate(json.loads((store / "manifest.json").read_text()), schema)
    native("create", tmp_path / "full", "--rows", 64, "--cols", 64)

    native("run", tmp_path / "full", "--iterations", 3)

    jsonschema.validate(json.loads((tmp_path / "full" / "manifest.json").read_text()), schema)

    native("run", tmp_path / "full", "--iterations", 3, "--directions", "symmetric,down-left")

    turning = json.loads((tmp_path / "full" / "manifest.json").read_text())
    jsonschema.validate(turning, schema)
    assert turning["run"]["course"]["directions"] == "down-right,up-left,down-left"
    assert turning["run"]["course"]["first_iteration"] == 3

    native("run", tmp_path / "full", "--iterations", 3, "--borders", "neumann,rows=periodic")

    bordered = json.loads((tmp_path / "full" / "manifest.json").read_text())
    jsonschema.validate(bordered, schema)
    words = "top=periodic,bottom=periodic,left=neumann,right=neumann"
    assert bordered["run"]["borders"] == words


@pytest.mark.parametrize(
    ("order", "passes"),
    [
        (["--directions", "up-right"], 1),
        (["--directions", "symmetric"], 7),
        (["--directions", "fast-sweeping"], 4),
        (["--borders", "neumann"], 1),
        (["--borders", "periodic"], 7),
    ],
)
def test_a_plan_predicts_the_bytes_that_a_run_moves(
    native: Lanewise, tmp_path: Path, order: list[str], passes: int
) -> None:
    store, options = tmp_path / "store", ["--iterations", 7, "--memory", "64MiB", "--json"]
    options += order
    native("create", store, "--rows", 300, "--cols", 200)

    plan = json.loads(native("plan", store, *options).stdout)
    end = json.loads(native("run", store, *options).stdout.splitlines()[-1])

    assert plan["passes"] == end["passes"] == passes
    assert plan["read_bytes"] == end["read_bytes"]
    assert plan["written_bytes"] == end["written_bytes"]


def test_a_run_uses_the_kernel_that_the_store_was_made_for(
    lanewise: Lanewise, tmp_path: Path
) -> None:
    shape = ("--rows", 64, "--cols", 48, "--kernel", "sor", "--parameter", "1.5")
    lanewise("wavefront", "create", "s", *shape)
    lanewise("wavefront", "create", "named", *shape)

    done = lanewise("wavefront", "run", "s", "--iterations", 3)
    named = lanewise(
        "wavefront", "run", "named", "--kernel", "sor", "--parameter", "1.5", "--iterations", 3
    )

    assert (done.returncode, named.returncode) == (0, 0), done.stderr + named.stderr
    kept = [json.loads((tmp_path / name / "manifest.json").read_text()) for name in ("s", "named")]
    assert kept[0]["kernel"] == {"name": "sor", "parameters": [1.5]}
    assert kept[0]["matrices"] == kept[1]["matrices"]
    schema = json.loads((SCHEMA).read_text())
    jsonschema.validate(kept[0], schema)


def test_copies_of_a_store_know_its_kernel(lanewise: Lanewise, tmp_path: Path) -> None:
    lanewise("wavefront", "create", "s", "--rows", 64, "--cols", 48, "--kernel", "sor")
    for words in (
        ("convert", "s", "rows", "--layout", "row-major"),
        ("split", "s", "p0", "p1"),
        ("join", "whole", "p0", "p1"),
    ):
        done = lanewise("wavefront", *words)
        assert done.returncode == 0, done.stderr

    for name in ("rows", "p0", "p1", "whole"):
        manifest = json.loads((tmp_path / name / "manifest.json").read_text())
        assert manifest["kernel"] == {"name": "sor", "parameters": []}


@pytest.mark.parametrize("option", ["-q", "--quiet"])
def test_a_quiet_run_prints_its_result_alone(
    option: str, lanewise: Lanewise, tmp_path: Path
) -> None:
    lanewise("wavefront", "create", "s", "--rows", 64, "--cols", 48)

    done = lanewise("wavefront", "run", "s", "--iterations", 1, option)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("1 iteration in ")
    assert "1 pass of 1 wave," in done.stdout


def test_a_matrix_is_exported_to_a_pipe_and_the_pipe_stays_one(
    lanewise: Lanewise, tmp_path: Path
) -> None:
    lanewise("wavefront", "create", "s", "--rows", 8, "--cols", 8)
    os.mkfifo(tmp_path / "pipe")
    reading = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)

    done = lanewise("wavefront", "export", "s", "data", tmp_path / "pipe")
    got = os.read(reading, 8 * 8 * 8)
    os.close(reading)

    assert done.returncode == 0, done.stderr
    assert len(got) == 8 * 8 * 8
    assert (tmp_path / "pipe").is_fifo()


def test_the_list_of_kernels_fits_80_columns(native: Lanewise) -> None:
    done = native("kernels")

    assert done.returncode == 0
    assert "omega=1.5" in done.stdout
    lines = done.stdout.splitlines()
    assert [line for line in lines if len(line) > 80 or line != line.rstrip()] == []
