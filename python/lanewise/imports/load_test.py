# SPDX-License-Identifier: BSD-3-Clause
"""Text of other benchmarks: what they printed comes out, and nothing that they did not print."""

import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lanewise.errors import RequestError
from lanewise.imports.load import lines_for, load
from lanewise.results import read, specimen
from lanewise.results.compare import compare

SPECIMENS = Path(__file__).parents[3] / "tests" / "cli" / "imports"
FILES = sorted(SPECIMENS.glob("*-*.*"))
OSU = "# OSU MPI Latency Test v7.4\n# Size       Avg Latency(us)\n"


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize(
    ("name", "run", "point", "mean_s"),
    [
        ("osu-7.4-latency.txt", ("OSU 7.4", 2), ("pingpong", 8), 4.12e-6),
        ("osu-7.4-bw.txt", ("OSU 7.4", 2), ("streaming", 1000), 2e-6),
        ("osu-5.9-bcast-full.txt", ("OSU 5.9", 0), ("bcast", 1), 1.25e-6),
        ("imb-2021.txt", ("IMB 2021.7", 4), ("reduce_scatter", 4), 0.6e-6),
        ("netpipe-3.7.2.out", ("NetPIPE", 2), ("pingpong", 1), 8 / 2**20 / 20.349762),
        ("netpipe-3.7.2.txt", ("NetPIPE", 2), ("pingpong", 1), 8 / 2**20 / 20.35),
        ("nccl-all-gather.txt", ("nccl-tests", 2), ("allgather", 512), 10e-6),
        ("reprompi-bcast.txt", ("ReproMPI", 4), ("bcast", 8), 4e-6),
    ],
)
def test_the_first_row_is_a_point_by_our_definitions(
    name: str, run: tuple[str, int], point: tuple[str, int], mean_s: float
) -> None:
    samples = load(SPECIMENS / name)

    first = samples.points[0]
    assert (samples.context.tool, samples.context.ranks) == run
    assert (first.operation, first.message_bytes) == point
    assert first.mean_s == pytest.approx(mean_s)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_only_points_with_samples_have_an_interval(path: Path) -> None:
    points = load(path).points

    assert points
    assert all(math.isnan(one.low_s) == (not one.samples_s) for one in points)


def test_minimum_and_maximum_are_kept() -> None:
    first = load(SPECIMENS / "osu-5.9-bcast-full.txt").points[0]

    assert (first.min_s, first.max_s) == pytest.approx((1.02e-6, 1.48e-6))
    assert first.repetitions == 1000


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_what_import_writes_is_read_back_as_the_same_points(path: Path, tmp_path: Path) -> None:
    samples = load(path)

    again = read.load(
        written(tmp_path / "s.jsonl", "".join(f"{line}\n" for line in lines_for(samples)))
    )

    assert again.context == samples.context
    assert list(map(repr, again.points)) == list(
        map(repr, sorted(samples.points, key=lambda one: (one.operation, one.message_bytes)))
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(st.integers(0, 2**40), st.integers(1, 10**9), min_size=1, max_size=8),
)
def test_every_number_that_osu_prints_comes_back(tmp_path: Path, rows: dict[int, int]) -> None:
    text = OSU + "".join(
        f"{size:<10}{hundredths / 100:>18.2f}\n" for size, hundredths in rows.items()
    )

    points = load(written(tmp_path / "osu.txt", text)).points

    found = {one.message_bytes: f"{one.mean_s * 1e6:.2f}" for one in points}
    assert found == {size: f"{hundredths / 100:.2f}" for size, hundredths in rows.items()}


@pytest.mark.parametrize(
    ("text", "where", "why"),
    [
        (OSU + "8 abc\n", ":3:", "'abc', not a number"),
        (OSU + "8 1.0 2.0\n", ":3:", "3 columns where the headings name 2"),
        (OSU + "8 nan\n", ":3:", "'nan', not a number"),
        (OSU + "8 1.\x000\n", ":3:", "NUL byte"),
        (OSU + "8 " + "1" * 70000 + "\n", ":3:", "more than 65536 bytes"),
        (OSU, "osu.txt", "has no row"),
        ("8 1.0\n", "osu.txt", "neither a file of lanewise measure nor"),
    ],
)
def test_damaged_text_is_one_line_with_its_place(
    text: str, where: str, why: str, tmp_path: Path
) -> None:
    with pytest.raises(RequestError) as caught:
        load(written(tmp_path / "osu.txt", text))

    assert where in str(caught.value)
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_last_line_without_its_end_is_left_out_and_named(tmp_path: Path) -> None:
    samples = load(written(tmp_path / "osu.txt", OSU + "8 1.00\n16 1.2"))

    assert [one.message_bytes for one in samples.points] == [8]
    assert "line 4 is left out, since its end is missing" in samples.context.imported["notes"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(FILES), st.integers(0, 4000), st.binary(max_size=4))
def test_no_damage_ends_in_a_traceback(
    tmp_path: Path, path: Path, place: int, noise: bytes
) -> None:
    text = path.read_bytes()

    try:
        load(written(tmp_path / "x.txt", text[:place] + noise + text[place + 2 :]))
    except RequestError as error:
        assert "\n" not in str(error)


def test_compare_says_that_one_side_has_no_interval_and_prints_the_ratio(tmp_path: Path) -> None:
    lines = specimen.records(["bcast"], [1, 1024])
    ours = read.load(specimen.write(tmp_path / "s.jsonl", lines))

    found = compare(ours, load(SPECIMENS / "osu-5.9-bcast-full.txt"))

    assert all(one.ratio > 0 and math.isnan(one.low) for one in found.ratios)
    assert found.numbers == ("median", "average")
    assert any("no interval" in note for note in found.notes)
    assert "B: the file does not name its ranks; taken to be 4" in found.notes
