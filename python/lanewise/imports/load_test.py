# SPDX-License-Identifier: BSD-3-Clause
"""Text of other benchmarks: what they printed comes out, and nothing that they did not print."""

import math
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lanewise.errors import RequestError
from lanewise.imports.load import UNNAMED, lines_for, load
from lanewise.results import read, specimen
from lanewise.results.cautions import cautions_of
from lanewise.results.compare import compare
from lanewise.results.gate_launches import of_files
from lanewise.results.intervals import launch_interval
from lanewise.results.table import tables

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
        ("imb-4.1.txt", ("IMB 4.1", 4), ("reduce_scatter", 0), 0.06e-6),
        ("netpipe-3.7.2.out", ("NetPIPE", 2), ("pingpong", 1), 8 / 2**20 / 20.349762),
        ("netpipe-3.7.2.txt", ("NetPIPE", 2), ("pingpong", 1), 8 / 2**20 / 20.35),
        ("netpipe-5.out", ("NetPIPE", 2), ("pingpong", 1), 1.31e-6),
        ("nccl-all-gather.txt", ("nccl-tests", 2), ("allgather", 512), 10e-6),
        ("nccl-error-column.txt", ("nccl-tests", 2), ("allreduce", 8), 22.5e-6),
        ("nccl-2.18.3-alltoall.txt", ("nccl-tests 2.18.3", 2), ("alltoall", 512), 10e-6),
        ("reprompi-bcast.txt", ("ReproMPI", 4), ("bcast", 8), 4e-6),
        ("reprompi-window.txt", ("ReproMPI", 4), ("allreduce", 8), 4e-6),
        ("reprompi-summary.txt", ("ReproMPI", 4), ("allreduce", 8), 4.5e-6),
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


@pytest.mark.parametrize(
    ("version", "block_bytes"),
    [
        ("Intel (R) MPI Benchmark Suite V3.2", 16),
        ("Intel (R) MPI Benchmarks 4.1", 16),
        ("Intel (R) MPI Benchmarks 2018 Update 1", 16),
        ("Intel(R) MPI Benchmarks 2019 Update 6", 64),
        ("Intel(R) MPI Benchmarks 2021.7", 64),
    ],
)
def test_imb_counts_the_vector_of_all_ranks_in_reduce_scatter_until_2018(
    version: str, block_bytes: int, tmp_path: Path
) -> None:
    text = (SPECIMENS / "imb-4.1.txt").read_text()

    points = load(
        written(tmp_path / "imb.txt", text.replace("Intel (R) MPI Benchmarks 4.1", version))
    ).points

    assert [one.message_bytes for one in points] == [0, block_bytes // 4, block_bytes]


@pytest.mark.parametrize(
    "reason",
    [
        'time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over; use "-time X"',
        'out-of-mem.; needed X=   4.000 GB; use flag "-mem X" or MAX_MEM_USAGE>=X',
        "int-overflow.; The production rank*size caused int overflow for given sample",
    ],
)
def test_a_size_that_imb_gave_up_is_left_out_and_told(reason: str, tmp_path: Path) -> None:
    text = (SPECIMENS / "imb-2021.txt").read_text()
    row = "         1024         1000         2.50         2.70         2.60\n"
    assert row in text

    samples = load(written(tmp_path / "imb.txt", text.replace(row, f"         1024 {reason}\n")), 4)

    assert [one.message_bytes for one in samples.points] == [4, 64]
    why = reason.partition(".")[0]
    assert f"sizes that IMB gave up are left out ({why})" in samples.context.imported["notes"]


def test_points_of_ranks_that_a_text_does_not_name_are_left_out_with_the_remedy(
    tmp_path: Path,
) -> None:
    collective = OSU.replace("Latency", "Broadcast Latency", 1) + "8 2.0\n"
    path = written(tmp_path / "osu.txt", OSU + "8 1.0\n" + collective)

    without, named = load(path), load(path, 2)

    assert [one.operation for one in without.points] == ["pingpong"]
    assert without.context.imported["notes"] == [UNNAMED]
    assert "lanewise import -n N" in UNNAMED
    assert [one.operation for one in named.points] == ["pingpong", "bcast"]
    assert named.context.imported["notes"] == []


def test_osu_counts_the_vector_of_all_ranks_in_reduce_scatter(tmp_path: Path) -> None:
    text = OSU.replace("Latency", "Reduce_scatter Latency", 1) + "16 1.0\n18 2.0\n64 3.0\n"

    samples = load(written(tmp_path / "osu.txt", text), 4)

    assert [one.message_bytes for one in samples.points] == [4, 16]
    assert samples.context.imported["notes"] == [
        "sizes of reduce_scatter that 4 ranks do not share evenly are left out"
    ]


@pytest.mark.parametrize(
    ("program", "point"),
    [
        ("all_reduce", ("allreduce", 1024)),
        ("broadcast", ("bcast", 1024)),
        ("reduce", ("reduce", 1024)),
        ("sendrecv", ("sendrecv", 1024)),
        ("reduce_scatter", ("reduce_scatter_block", 512)),
        ("alltoall", ("alltoall", 512)),
        ("gather", ("gather", 512)),
        ("scatter", ("scatter", 512)),
    ],
)
def test_sizes_of_nccl_tests_are_divided_by_the_ranks_where_each_has_a_block(
    program: str, point: tuple[str, int], tmp_path: Path
) -> None:
    text = (SPECIMENS / "nccl-all-gather.txt").read_text()

    first = load(written(tmp_path / "x.txt", text.replace("all_gather", program))).points[0]

    assert (first.operation, first.message_bytes) == point


def test_the_tests_of_rccl_are_read_as_those_of_nccl(tmp_path: Path) -> None:
    text = (SPECIMENS / "nccl-error-column.txt").read_text()
    text = text.replace("nThread 1 nGpus 2", "nThreads: 1 nGpus: 2 nRanks: 1")

    samples = load(written(tmp_path / "rccl.txt", f"# rccl-tests version 2.18.3\n{text}"))

    assert samples.context.tool == "nccl-tests 2.18.3"
    assert samples.context.ranks == 2


def test_netpipe_5_tells_the_time_of_small_messages_and_the_rate_of_large_ones_best() -> None:
    points = load(SPECIMENS / "netpipe-5.out").points

    assert [one.message_bytes for one in points] == [1, 8, 1024, 1048576]
    assert [one.mean_s for one in points] == pytest.approx(
        [1.31e-6, 1.32e-6, 8 * 1024e-9 / 3.389, 8 * 1048576e-9 / 91.779], rel=1e-9
    )


def test_repetitions_of_repro_mpi_that_do_not_keep_to_their_window_are_left_out() -> None:
    samples = load(SPECIMENS / "reprompi-window.txt")

    assert [one.repetitions for one in samples.points] == [7, 7]
    assert max(samples.points[0].samples_s) == pytest.approx(7e-6)
    assert samples.context.imported["notes"] == [
        "repetitions that began late or ran past their window are left out"
    ]


def test_a_summary_of_repro_mpi_gives_its_medians_and_sizes_in_bytes() -> None:
    point = load(SPECIMENS / "reprompi-summary.txt").points[1]

    assert point.message_bytes == 1000
    assert (point.median_s, point.mean_s) == pytest.approx((14e-6, 14.5e-6))
    assert (point.min_s, point.max_s) == pytest.approx((13e-6, 19e-6))
    assert point.repetitions == 9


def test_a_summary_of_repro_mpi_without_medians_gives_its_means(tmp_path: Path) -> None:
    text = "test count total_nrep valid_nrep mean_sec\nMPI_Bcast 8 10 10 0.000002\n"

    samples = load(written(tmp_path / "x.txt", text), 4)

    assert samples.points[0].centre_s == pytest.approx(2e-6)
    assert samples.context.imported["number"] == "average"


def test_several_runs_are_named_in_the_report_and_one_asks_for_more(tmp_path: Path) -> None:
    once = load(written(tmp_path / "once.txt", OSU + "8 1.00\n"))
    twice = load(written(tmp_path / "twice.txt", OSU + "8 1.00\n" + OSU + "8 1.02\n"))

    said = [text for text in cautions_of(once) if "append several runs" in text]

    assert len(said) == 1
    assert not any("append" in text or "too few" in text for text in cautions_of(twice))
    assert next(tables(twice.points, twice.context)) == "# OSU 7.4: pingpong, 2 ranks, 2 launches"
    assert next(tables(once.points, once.context)) == "# OSU 7.4: pingpong, 2 ranks"


def test_minimum_and_maximum_are_kept() -> None:
    first = load(SPECIMENS / "osu-5.9-bcast-full.txt").points[0]

    assert (first.min_s, first.max_s) == pytest.approx((1.02e-6, 1.48e-6))
    assert first.repetitions == 1000


@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_what_import_writes_is_read_back_as_the_same_points(
    path: Path, runs: int, tmp_path: Path
) -> None:
    samples = load(written(tmp_path / path.name, runs * path.read_bytes()))

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
        ("", "osu.txt", "has no whole line"),
        ("\x7fELF\x02\x01" + "\x00" * 40 + "\n", "osu.txt", "neither a file of lanewise measure"),
        (OSU.encode("utf-16"), "osu.txt", "neither a file of lanewise measure nor"),
        (
            OSU + "8 1.0\n" + (SPECIMENS / "imb-2021.txt").read_text(),
            "osu.txt",
            "holds text of OSU and IMB",
        ),
        (
            OSU.replace("Latency", "Reduce_scatter Latency", 1) + "8 1.0\n",
            "osu.txt",
            "read: reduce_scatter is left out: its sizes count the whole vector",
        ),
        (
            (SPECIMENS / "nccl-all-gather.txt").read_text().replace("  Rank", "  rank"),
            "osu.txt",
            "read: allgather is left out: its sizes are divided by the ranks",
        ),
        ("8 1.0\n", "osu.txt", "neither a file of lanewise measure nor"),
        ("9" * 400 + " 1.0 0.00000001\n", "osu.txt", "neither a file of lanewise measure nor"),
        (
            "  0: \x1b[0;32m      1  B\x1b[0m     20000 times -->    6.1 Mbps  in  1.3 usecs\n",
            ":1:",
            "NetPIPE 5 rounds sizes on the terminal; name the file that it writes (np.out)",
        ),
        (
            "        8     0.048     0.044     0.054    1.32\n"
            "       16     0.192     0.176     0.216    1.32\n",
            ":2:",
            "16 bytes at 0.192 Gbps do not take 1.32 us; run it on two ranks",
        ),
        (
            "        8     0.048     0.044     0.054    1.32\n"
            "       16     0.097     0.088     0.108    1.32    1.20 GFlops\n",
            ":2:",
            "run it without --workload and --integrity",
        ),
        (
            (SPECIMENS / "reprompi-bcast.txt").read_text().replace(" test ", " process test "),
            ":14:",
            "not a row of the columns test nrep count runtime_sec; run mpibenchmark without -v",
        ),
    ],
)
def test_damaged_text_is_one_line_with_its_place(
    text: str | bytes, where: str, why: str, tmp_path: Path
) -> None:
    with pytest.raises(RequestError) as caught:
        load(written(tmp_path / "osu.txt", text))

    assert where in str(caught.value)
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_last_line_without_its_end_is_left_out_and_named(tmp_path: Path) -> None:
    samples = load(written(tmp_path / "osu.txt", OSU + "8 1.00\n16 1.2"))

    assert [one.message_bytes for one in samples.points] == [8]
    assert samples.context.imported["notes"] == [
        "line 4 is left out, since its end is missing; let the tool write the file again"
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_lines_that_end_as_on_windows_are_read_as_the_same_points(
    path: Path, tmp_path: Path
) -> None:
    copied = written(tmp_path / path.name, path.read_bytes().replace(b"\n", b"\r\n"))

    assert list(map(repr, load(copied).points)) == list(map(repr, load(path).points))


def test_a_pipe_is_refused_since_it_can_be_read_once_only(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(RequestError, match="is a pipe, and can be read only once; write the text"):
        load(tmp_path / "pipe")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_runs_of_a_tool_after_each_other_in_one_text_are_launches(
    path: Path, tmp_path: Path
) -> None:
    samples = load(written(tmp_path / path.name, 3 * path.read_bytes()))

    assert samples.context.ranks == load(path).context.ranks
    assert {one.launch_count for one in samples.points} == {3}
    assert [one.message_bytes for one in samples.points] == [
        one.message_bytes for one in load(path).points
    ]
    assert [one.launch for one in samples.launch_points].count(2) == len(samples.points)


def test_the_interval_of_several_runs_is_of_their_printed_means(tmp_path: Path) -> None:
    runs = (OSU + f"8 {time_us:.2f}\n" for time_us in (1.0, 4.0, 2.0))

    (point,) = load(written(tmp_path / "osu.txt", "".join(runs))).points

    assert point.mean_s == pytest.approx(2e-6)
    assert math.isnan(point.median_s)
    assert (point.low_s, point.high_s) == pytest.approx(launch_interval((1e-6, 4e-6, 2e-6))[1:])


def test_two_tests_of_repro_mpi_in_texts_of_their_own_are_both_of_the_first_launch(
    tmp_path: Path,
) -> None:
    text = (SPECIMENS / "reprompi-bcast.txt").read_text()

    samples = load(written(tmp_path / "x.txt", text + text.replace("MPI_Bcast", "MPI_Reduce")))

    assert [(one.operation, one.launch) for one in samples.launch_points] == [
        ("bcast", 1),
        ("reduce", 1),
    ]


def test_of_a_size_that_one_run_has_twice_the_last_row_is_taken_and_that_is_said(
    tmp_path: Path,
) -> None:
    samples = load(written(tmp_path / "osu.txt", OSU + "8 1.00\n8 3.00\n"))

    assert [one.mean_s for one in samples.points] == pytest.approx([3e-6])
    assert samples.context.imported["notes"] == [
        "of rows of the same size in one run, the last is taken"
    ]


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


def test_runs_in_one_text_give_a_comparison_its_intervals_and_the_gate_its_launches(
    tmp_path: Path,
) -> None:
    sides = []
    for name, slower in (("a", 1.0), ("b", 1.5)):
        runs = (OSU + f"8 {slower * (1 + launch / 100):.3f}\n" for launch in range(6))
        sides.append(load(written(tmp_path / f"{name}.txt", "".join(runs))))

    found = compare(sides[0], sides[1])
    launches, _ = of_files(sides[0], sides[1])

    assert found.ratios[0].low < 1.5 < found.ratios[0].high < 1.6
    assert found.numbers == ("average", "average")
    assert found.notes == []
    assert launches.times_s.shape == (12, 1)


def test_runs_that_print_the_same_digits_give_a_ratio_without_an_interval(tmp_path: Path) -> None:
    first, second = (
        load(written(tmp_path / f"{time_us}.txt", 5 * (OSU + f"8 {time_us}\n64 {time_us}0\n")))
        for time_us in ("0.21", "0.22")
    )

    found = compare(first, second)
    same = compare(first, first)

    assert [one.ratio for one in found.ratios] == pytest.approx([22 / 21, 22 / 21])
    assert all(math.isnan(value) for one in found.ratios for value in (one.low, one.p_value))
    assert any("2 of 2 ratios are of launches that all have the same" in one for one in found.notes)
    assert [one.low for one in same.ratios] == pytest.approx([1.0, 1.0])
    assert [one.p_value for one in same.ratios] == pytest.approx([1.0, 1.0])


def test_the_gate_asks_for_more_runs_of_a_tool_that_ran_once(tmp_path: Path) -> None:
    once = load(written(tmp_path / "osu.txt", OSU + "8 1.00\n"))

    with pytest.raises(RequestError, match=r"append the text of 10 runs of OSU 7\.4"):
        of_files(once, once)
