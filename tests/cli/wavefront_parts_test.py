# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise.wavefront.split` and `join`: parts for the ranks of a job, from Python."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from lanewise import wavefront
from lanewise.errors import RequestError, RunError

pytestmark = pytest.mark.usefixtures("sweeps_built")

Native = Callable[..., "subprocess.CompletedProcess[str]"]
ROWS, COLUMNS, PARTS = 90, 45, 3
VALUES = np.random.default_rng(5).random((2, ROWS, COLUMNS))
SHAPE = {"coefficients": 1, "strip_rows": 8, "names": ("u", "f")}


def filled(store: wavefront.Store) -> wavefront.Store:
    store.write("u", VALUES[0])
    store.write("f", VALUES[1])
    return store


@pytest.fixture
def whole(tmp_path: Path) -> wavefront.Store:
    return filled(wavefront.Store.create(tmp_path / "whole", ROWS, COLUMNS, **SHAPE))


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    """Return the names of folders for parts, none of which is there."""
    return [tmp_path / f"part.{rank}" for rank in range(PARTS)]


def stop(_share: float, _elapsed_s: float) -> None:
    raise ValueError("no more")


def test_parts_are_joined_to_the_store_that_was_split(
    whole: wavefront.Store, parts: list[Path], tmp_path: Path
) -> None:
    shares: dict[str, list[float]] = {"split": [], "join": []}
    wavefront.run(whole, "sor", 3)

    wavefront.split(whole, parts, on_progress=lambda share, _s: shares["split"].append(share))
    with wavefront.join(
        parts, tmp_path / "joined", on_progress=lambda share, _s: shares["join"].append(share)
    ) as joined:
        assert (joined.iterations, joined.names, joined.strip_rows) == (3, whole.names, 8)
        np.testing.assert_array_equal(joined["u"], whole["u"])
        np.testing.assert_array_equal(joined["f"], VALUES[1])
    for given in shares.values():
        assert given == sorted(given)
        assert given[-1] == 1.0


def test_a_store_in_memory_is_split_and_open_parts_are_joined(
    parts: list[Path], tmp_path: Path
) -> None:
    with filled(wavefront.Store.in_memory(ROWS, COLUMNS, **SHAPE)) as whole:
        wavefront.split(whole, parts)
    opened = [wavefront.Store.open(part, mode="r") for part in parts]

    with wavefront.join(opened, tmp_path / "joined") as joined:
        np.testing.assert_array_equal(joined["u"], VALUES[0])
    for part in opened:
        part.close()


def test_parts_are_those_of_the_command(
    whole: wavefront.Store, native: Native, parts: list[Path], tmp_path: Path
) -> None:
    wavefront.split(whole, parts, radius=2)

    joined = native("join", tmp_path / "joined", *parts)
    assert joined.returncode == 0, joined.stderr
    for rank, part in enumerate(parts):
        noted = json.loads((part / "manifest.json").read_text())["part"]
        assert (noted["rank"], noted["ranks"], noted["halo_rows"]) == (rank, PARTS, 2)
    with wavefront.Store.open(parts[1]) as middle:
        np.testing.assert_array_equal(middle["u"], VALUES[0, 28:62])


@pytest.mark.parametrize(("kernel", "rows"), [("sor", 1), ("sor-fourth-order", 2)])
def test_a_halo_has_the_rows_that_the_kernel_of_the_store_reads(
    native: Native, parts: list[Path], tmp_path: Path, kernel: str, rows: int
) -> None:
    made = native("create", tmp_path / "s", "--rows", ROWS, "--cols", COLUMNS, "--kernel", kernel)
    assert made.returncode == 0, made.stderr

    wavefront.split(tmp_path / "s", parts)

    with wavefront.Store.open(parts[0]) as first:
        assert first.shape == (ROWS // PARTS + rows, COLUMNS)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("part.0", "give a list, with one entry for each rank, instead of 'part.0'"),
        ([], "the list of parts is empty"),
        ([f"part.{rank}" for rank in range(46)], "90 rows are too few for 46 parts"),
        (["part.0", "part.0"], "part.0"),
        (["whole"], "is not empty"),
    ],
)
def test_a_split_that_cannot_be_leaves_nothing(
    whole: wavefront.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: object, why: str
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(RequestError, match=why):
        wavefront.split(whole, given)  # type: ignore[arg-type]

    assert [entry.name for entry in tmp_path.iterdir()] == ["whole"]
    np.testing.assert_array_equal(whole["u"], VALUES[0])


def test_a_join_of_parts_that_do_not_belong_together_leaves_nothing(
    whole: wavefront.Store, parts: list[Path], tmp_path: Path
) -> None:
    wavefront.split(whole, parts)
    target = tmp_path / "joined"

    for given, why in (
        (parts[::-1], "is not part 0 of 3; name all parts in their order"),
        (parts[:2], "is not part 0 of 2"),
        ([tmp_path / "whole", *parts[1:]], "is not part 0 of 3"),
        ([], "the list of parts is empty"),
        (parts[0], "give a list"),
    ):
        with pytest.raises(RequestError, match=why):
            wavefront.join(given, target)
        assert not target.exists()
    with pytest.raises(RequestError, match="is not empty"):
        wavefront.join(parts, tmp_path / "whole")
    np.testing.assert_array_equal(whole["u"], VALUES[0])


def test_what_progress_raises_ends_a_split_and_a_join_and_leaves_nothing(
    whole: wavefront.Store, parts: list[Path], tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="no more"):
        wavefront.split(whole, parts, on_progress=stop)
    assert not any(part.exists() for part in parts)

    wavefront.split(whole, parts)
    with pytest.raises(ValueError, match="no more"):
        wavefront.join(parts, tmp_path / "joined", on_progress=stop)
    assert not (tmp_path / "joined").exists()


def test_a_damaged_part_is_named_and_not_joined(
    whole: wavefront.Store, parts: list[Path], tmp_path: Path
) -> None:
    wavefront.split(whole, parts)
    strips = max(parts[1].rglob("*"), key=lambda path: path.stat().st_size if path.is_file() else 0)
    strips.write_bytes(bytes(strips.stat().st_size))

    with pytest.raises(RunError, match=r"part\.1.*the checksum is wrong"):
        wavefront.join(parts, tmp_path / "joined")

    assert not (tmp_path / "joined").exists()


def test_a_closed_store_is_neither_split_nor_joined(
    whole: wavefront.Store, parts: list[Path], tmp_path: Path
) -> None:
    wavefront.split(whole, parts)
    whole.close()

    with pytest.raises(RequestError, match="the store is closed"):
        wavefront.split(whole, [tmp_path / "a", tmp_path / "b"])
    with pytest.raises(RequestError, match="the store is closed"):
        wavefront.join([whole, *parts[1:]], tmp_path / "joined")
