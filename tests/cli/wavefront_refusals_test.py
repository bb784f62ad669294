# SPDX-License-Identifier: BSD-3-Clause
"""What `lanewise wavefront` refuses: it says so in one line, and leaves stores as they are."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from lanewise.launch.native import find_program

Lanewise = Callable[..., "subprocess.CompletedProcess[str]"]


def contents(folder: Path) -> dict[str, bytes]:
    """Return what is in each file of a store."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


TWO_FAR = ["--rows", 64, "--cols", 64, "--kernel", "sor-fourth-order", "--layout", "row-major"]
BAD = [
    (["run", "none", "--iterations", 1], ["none", "create"]),
    (["run", "s", "--iterations", 0], ["0 iterations"]),
    (["run", "s", "--iterations", 4, "--memory", "1MiB"], ["1MiB", "--memory 13MiB"]),
    (["run", "s", "--iterations", 4, "--memory", "much"], ["much"]),
    (["run", "s", "--iterations", 4, "--kernel", "sorr"], ["sorr", "sor"]),
    (["run", "s", "--iterations", 4, "--kernel", "sor"], ["sor", "1 coefficient", "5"]),
    (["run", "s", "--iterations", 4, "--tolerance", -1], ["tolerance", "-1"]),
    (["run", "s", "--iterations", 4, "--directions", "fast-sweping"], ["mean fast-sweeping?"]),
    (["run", "s", "--iterations", 4, "--directions", "symmetric,west"], ['"west"', "up-left"]),
    (["run", "s", "--iterations", 4, "--borders", "neuman"], ["did you mean neumann?"]),
    (["run", "s", "--iterations", 4, "--borders", "left=periodic"], ["both or neither"]),
    (["run", "s", "--iterations", 4, "--until", "residual=1"], ["residual=1", "residual<1e-8"]),
    (["run", "s", "--iterations", 4, "--until", "wave<1"], ["wave", "residual, norm"]),
    (["run", "s", "--iterations", 4, "--until", "sum<1", "--every", 0], ["--every 0"]),
    (["run", "s", "--iterations", 4, "--io", "carrier"], ["carrier", "io_uring"]),
    (["run", "s"], ["--iterations"]),
    (["run", "s", "--iterations", 4, "--every", 2], ["--every changes nothing without"]),
    (["plan", "s", "--iterations", 4, "--every", 2], ["--every changes nothing without"]),
    (["resume", "s"], ["s", "no run"]),
    (["create", "s", "--rows", 8, "--cols", 8], ["s", "not empty"]),
    (["create", "t", "--rows", 0, "--cols", 8], ["0 x 8"]),
    (["create", "", "--rows", 8, "--cols", 8], ["no name"]),
    (["create", "t", "--rows", 8, "--cols", 8, "--disk", ""], ["no name"]),
    (["create", "t", "--rows", 8, "--cols", 8, "--data", 2**32 - 1], ["not within 0 to 64"]),
    (["create", "t", "--rows", 8, "--cols", 8, "--data", 2**32 + 1], ["not within 0 to 64"]),
    (["create", "t", "--rows", 8, "--cols", 8, "--coefficients", -2], ["--coefficients -2"]),
    (["create", "t", "--rows", 8, "--cols", 8, "--row-coefficients", -1], ["0 to 64"]),
    (["create", "t", "--rows", 8, "--cols", 8, "--column-coefficients", 2**32], ["0 to 64"]),
    (["plan", "--rows", 8, "--cols", 8, "--iterations", 1, "--data", -1], ["--data -1 is not"]),
    (["create", "t", "--rows", 8, "--cols", 8, "--disk", "/proc/none"], ["/proc/none"]),
    (["export", "s", "data", "s/data.a.0"], ["a file of the store itself"]),
    (["export", "s", "data", "s/manifest.json"], ["a file of the store itself"]),
    (["create", "t", "--rows", 8, "--cols", 8, "--strip-rows", 2**62], ["rows are too large"]),
    (["convert", "s", "t", "--layout", "block", "--strip-rows", 2**62], ["rows are too large"]),
    (["create", "t", "--rows", 2**40, "--cols", 2**40], ["more bytes than a disk can have"]),
    (["create", "t", "--rows", 8, "--cols", 8, "--element", "f8"], ["f8", "f32"]),
    (["create", "t", "--rows", 8, "--cols", 8, "--layout", "tiled"], ["tiled", "skewed"]),
    (["create", "t", "--rows", 8, "--cols", 8, "--layout", "skewd"], ["did you mean skewed?"]),
    (["create", "t", "--rows", 8, "--cols", 8, "--strip-rows", 12], ["12", "8"]),
    (["import", "s", "dada", "wrong.npy"], ["dada", "data"]),
    (["import", "s", "data", "none.npy"], ["none.npy"]),
    (["import", "s", "data", "wrong.npy"], ["(3,4)", "(64,64)"]),
    (["import", "s", "data", "complex.npy"], ["complex128", "float64", "astype"]),
    (["import", "s", "data", "wrong_single.npy"], ["(3, 4) float32", "(64, 64) float64"]),
    (["import", "s", "data", "classic.nc"], ["classic.nc", "nccopy -k netCDF-4"]),
    (["import", "s", "data", "cut.npy"], ["cut.npy", "ends within its values"]),
    (["import", "s", "data", "s"], ["s is a folder"]),
    (["import", "s", "data", "short.raw"], ["short.raw", "less"]),
    (["import", "s", "data", "long.raw"], ["long.raw", "more"]),
    (["export", "s", "dada", "x.npy"], ["dada"]),
    (["convert", "s", "t", "--layout", "tiled"], ["tiled", "frontier"]),
    (["convert", "s", "s", "--layout", "block"], ["s", "not empty"]),
    (["plan", "--rows", 64, "--cols", 64, "--iterations", 1, "--memory", "1K"], ["--memory"]),
    (
        ["plan", *TWO_FAR, "--iterations", 1, "--strip-rows", 1],
        ["2 rows", "strips of 1", "--strip-rows 2"],
    ),
    (["split", "s", "a", "b", "--kernel", "sorr"], ["sorr", "sor9"]),
    (["split", "s", *(f"p{n}" for n in range(40))], ["64 rows", "40 parts"]),
    (["resum", "s"], ["resum", "resume"]),
    (["create", "--nonsense"], ["--nonsense"]),
]


@pytest.mark.parametrize(("arguments", "named"), BAD, ids=[" ".join(map(str, a)) for a, _ in BAD])
def test_bad_input_is_refused_in_one_line(
    lanewise: Lanewise, tmp_path: Path, arguments: list[object], named: list[str]
) -> None:
    lanewise("wavefront", "create", "s", "--rows", 64, "--cols", 64)
    np.save(tmp_path / "wrong.npy", np.zeros((3, 4)))
    np.save(tmp_path / "complex.npy", np.zeros((64, 64), "c16"))
    np.save(tmp_path / "wrong_single.npy", np.zeros((3, 4), "f4"))
    np.save(tmp_path / "cut.npy", np.zeros((64, 64), order="F"))
    os.truncate(tmp_path / "cut.npy", 64 * 64 * 8)
    (tmp_path / "classic.nc").write_bytes(b"CDF\x01" + bytes(64))
    (tmp_path / "short.raw").write_bytes(bytes(64 * 64 * 8 - 8))
    (tmp_path / "long.raw").write_bytes(bytes(64 * 64 * 8 + 8))
    before = contents(tmp_path / "s")

    done = lanewise("wavefront", *arguments)

    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("lanewise wavefront: ")
    assert done.stderr.count("\n") == 1
    assert all(word in done.stderr for word in named), done.stderr
    assert contents(tmp_path / "s") == before


def test_a_store_of_a_newer_version_is_refused(lanewise: Lanewise, tmp_path: Path) -> None:
    lanewise("wavefront", "create", "s", "--rows", 64, "--cols", 64)
    path = tmp_path / "s" / "manifest.json"
    path.write_text(path.read_text().replace('"version": 1', '"version": 2'))

    done = lanewise("wavefront", "info", "s")

    assert done.returncode == 1
    assert "version 2 is newer than version 1" in done.stderr


def test_a_shape_that_is_missing_is_asked_for(lanewise: Lanewise, tmp_path: Path) -> None:
    done = lanewise("wavefront", "create", "s")

    assert done.returncode == 2
    assert done.stderr == (
        "lanewise wavefront: --rows and --cols, each from 1 to 2^40, are required; "
        "such as --rows 8192 --cols 8192\n"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("output", "mode", "why"),
    [
        ("/dev/full", "w", "No space left on device; free space there"),
        ("/dev/null", "r", "Bad file descriptor"),
    ],
    ids=["a full disk", "what is open for reading only"],
)
def test_an_output_that_takes_nothing_is_a_failure_with_its_reason(
    lanewise: Lanewise, tmp_path: Path, output: str, mode: str, why: str
) -> None:
    lanewise("wavefront", "create", "s", "--rows", 8, "--cols", 8)

    with Path(output).open(mode) as taken:
        done = subprocess.run(
            [sys.executable, "-m", "lanewise", "wavefront", "info", str(tmp_path / "s")],
            stdout=taken, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip

    assert done.returncode == 1
    assert done.stderr == f"lanewise wavefront: the output cannot be written: {why}\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
def test_a_store_that_the_disk_has_no_room_for_leaves_nothing(tmp_path: Path) -> None:
    create = f"{sys.executable} -m lanewise wavefront create s --rows 512 --cols 512"
    script = f"mount -t tmpfs -o size=64k none {tmp_path} && cd {tmp_path} && {create}; ls"

    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, check=False
    )

    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("lanewise wavefront: cannot reserve 3 MiB for ")
    assert done.stderr.endswith(": No space left on device; free space there\n")
    assert done.stdout == ""


def test_a_folder_that_the_system_does_not_look_up_is_refused(
    native: Lanewise, tmp_path: Path
) -> None:
    done = native("create", tmp_path / ("a" * 300), "--rows", 8, "--cols", 8)

    assert done.returncode == 2
    assert "cannot make the folder" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_name_that_is_not_utf_8_is_told_in_one_line(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "lanewise", "wavefront", "info", b"caf\xe9"]

    done = subprocess.run(line, cwd=tmp_path, capture_output=True, check=False)

    assert done.returncode == 2
    assert done.stderr.startswith(b"lanewise wavefront: caf")
    assert done.stderr.count(b"\n") == 1


def test_a_part_is_not_split_again(native: Lanewise, tmp_path: Path) -> None:
    whole, one, two = (tmp_path / name for name in ("s", "p0", "p1"))
    native("create", whole, "--rows", 64, "--cols", 64)
    native("split", whole, one, two)

    done = native("split", one, tmp_path / "a", tmp_path / "b")

    assert done.returncode == 2
    assert "is itself a part of a store; join the parts first" in done.stderr
    assert not (tmp_path / "a").exists()


def test_a_store_is_made_nowhere_in_a_working_folder_that_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    script = f"mkdir {gone} && cd {gone} && rmdir {gone} && exec {sys.executable} -m lanewise "
    script += "wavefront create t --rows 4 --cols 4"

    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("lanewise wavefront: cannot make the folder t: No such file")


def test_a_reader_that_has_seen_enough_ends_an_export_without_a_word(
    lanewise: Lanewise, tmp_path: Path
) -> None:
    lanewise("wavefront", "create", "s", "--rows", 2000, "--cols", 2000)
    script = f"{sys.executable} -m lanewise wavefront export s data - | head -c 1 | wc -c"

    done = subprocess.run(
        ["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert (done.stdout.strip(), done.stderr) == ("1", "")


def test_a_run_without_standard_output_does_not_print_into_the_store(
    lanewise: Lanewise, tmp_path: Path
) -> None:
    lanewise("wavefront", "create", "s", "--rows", 64, "--cols", 64)
    program = find_program("lanewise-wavefront", os.environ)

    done = subprocess.run(
        ["sh", "-c", f"{program} run s --iterations 8 --json >&-"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 1
    assert "the output cannot be written: Bad file descriptor" in done.stderr
    assert (tmp_path / "s" / "lock").read_bytes() == b""


@pytest.mark.parametrize("output", ["/dev/stdout", "link"])
def test_an_export_does_not_go_into_a_file_of_its_store_that_is_open(
    lanewise: Lanewise, tmp_path: Path, output: str
) -> None:
    lanewise("wavefront", "create", "s", "--rows", 64, "--cols", 64)
    (tmp_path / "link").symlink_to("/dev/fd/1")
    program = find_program("lanewise-wavefront", os.environ)
    before = contents(tmp_path / "s")

    with (tmp_path / "s" / "data.a.0").open("ab") as strips:
        done = subprocess.run(
            [program, "export", "s", "data", output],
            cwd=tmp_path, stdout=strips, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip

    said = f"lanewise-wavefront: {output} is a file of the store itself; name another\n"
    assert (done.returncode, done.stderr) == (2, said)
    assert contents(tmp_path / "s") == before


def test_a_store_that_is_not_filled_is_named_so_where_it_is_verified(
    lanewise: Lanewise, tmp_path: Path
) -> None:
    words = ["wavefront", "create", "s", "--rows", 8, "--cols", 8, "--data", 2, "--empty"]
    assert lanewise(*words).returncode == 0

    verified = lanewise("wavefront", "verify", "s")

    assert verified.stdout == "every strip of s is sound; data0, data1 not filled\n"


def test_a_run_that_checks_ends_at_the_first_value_that_is_not_finite(
    native: Lanewise, tmp_path: Path
) -> None:
    store, file = tmp_path / "s", tmp_path / "data.npy"
    native("create", store, "--rows", 40, "--cols", 30)
    values = np.zeros((40, 30))
    values[20, 10] = np.inf
    np.save(file, values)
    assert native("import", store, "data", file).returncode == 0

    done = native("run", store, "--iterations", 2, "--check-finite")

    assert done.returncode == 1
    assert "is not finite at row" in done.stderr
    assert native("resume", store).returncode == 0
