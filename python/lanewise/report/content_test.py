# SPDX-License-Identifier: BSD-3-Clause
"""What the page says: labels, warnings, verdict, tables and the data of its figures."""

import json
import sys
from bisect import bisect_left
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lanewise.errors import RequestError
from lanewise.report.cautions import page_cautions
from lanewise.report.distribution import (
    LEAST_DRAWN_S,
    MOST_DRAWN_S,
    SAMPLES_DRAWN_MAX,
    histogram_of,
    rounded,
)
from lanewise.report.figures import figures_of
from lanewise.report.labels import labels_of, mpi_name, names_of
from lanewise.report.tables import clock_rows, command_of, context_rows, glance_of, point_rows
from lanewise.report.verdict import title_of, verdict_of
from lanewise.report.write import write_report
from lanewise.results import specimen
from lanewise.results.read import Samples, load
from lanewise.results.records import Context, parse_record

MPICH = {
    "launcher": "mpich",
    "mpi": {"family": "mpich", "library": "MPICH Version:\t4.0.2\nx", "standard": "4.0"},
}


def run_of(path: Path, *points: dict[str, Any], **context: Any) -> Samples:
    end = {"record": "end", "points": len(points), "elapsed_s": 1.0}
    return load(specimen.write(path, [specimen.context_record(**context), *points, end]))


def point(operation: str = "scatter", message_bytes: int = 8, **changes: Any) -> dict[str, Any]:
    return specimen.point_record(operation, message_bytes, [1e-6] * 20, **changes)


def test_a_library_is_named_with_its_version() -> None:
    assert mpi_name({"family": "openmpi", "library": "Open MPI v4.1.4, x"}) == "Open MPI 4.1.4"
    assert mpi_name(MPICH["mpi"]) == "MPICH 4.0.2"  # type: ignore[arg-type]
    assert mpi_name({}) == "an unnamed MPI"


def test_labels_hold_only_what_differs(tmp_path: Path) -> None:
    runs = [run_of(tmp_path / "a"), run_of(tmp_path / "b", **MPICH)]

    assert labels_of(runs) == ["openmpi", "mpich"]


def test_labels_name_the_method_where_the_launcher_is_the_same(tmp_path: Path) -> None:
    runs = [run_of(tmp_path / name, method=name) for name in ("max", "root")]

    assert labels_of(runs) == ["max", "root"]


def test_labels_name_the_arguments_of_the_launcher_where_all_else_is_the_same(
    tmp_path: Path,
) -> None:
    runs = [run_of(tmp_path / "a"), run_of(tmp_path / "b", launcher_args="--bind-to core")]

    assert labels_of(runs) == ["no launcher arguments", "--bind-to core"]


def test_of_many_hosts_a_label_names_the_first_and_the_last(tmp_path: Path) -> None:
    names = [[f"cn{rack}{at:03d}.cluster.example.org" for at in range(64)] for rack in range(2)]
    placements = [
        [{"rank": rank, "host": host} for rank, host in enumerate(hosts)] for hosts in names
    ]

    labels = labels_of(
        [
            run_of(tmp_path / f"{index}", ranks=64, placement=placement)
            for index, placement in enumerate(placements)
        ]
    )

    assert labels == [f"64 hosts ({hosts[0]} … {hosts[-1]})" for hosts in names]


def test_runs_that_are_alike_are_called_by_their_file(tmp_path: Path) -> None:
    runs = [run_of(tmp_path / f"{name}.jsonl") for name in ("monday", "tuesday")]

    assert labels_of(runs) == ["monday", "tuesday"]


def test_runs_in_files_of_one_name_are_called_by_their_folders(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("old/samples.jsonl", "new/samples.jsonl", "b.jsonl")]
    for path in paths:
        path.parent.mkdir(exist_ok=True)

    assert labels_of([run_of(path) for path in paths]) == ["old/samples", "new/samples", "b"]
    assert names_of(paths) == ["old/samples.jsonl", "new/samples.jsonl", "b.jsonl"]


def test_files_that_differ_in_their_suffix_are_called_with_it(tmp_path: Path) -> None:
    runs = [run_of(tmp_path / name) for name in ("a.jsonl", "a.txt")]

    assert labels_of(runs) == ["a.jsonl", "a.txt"]


@given(st.sets(st.lists(st.sampled_from("ab"), min_size=1, max_size=3).map("/".join), min_size=1))
def test_no_two_files_have_one_name(paths: set[str]) -> None:
    names = names_of([Path(path) for path in paths])

    assert len(set(names)) == len(paths)
    assert all(path.endswith(name) for path, name in zip(paths, names, strict=True))


def test_runs_that_differ_in_their_buffers_are_called_by_them(tmp_path: Path) -> None:
    cold = {"caches": "cold", "offset_bytes": 0, "turns": 8, "pages": "small"}
    files = [
        specimen.write(tmp_path / f"{name}.jsonl", [specimen.context_record(**buffers)])
        for name, buffers in (("plain", {}), ("cold", {"buffers": cold}))
    ]

    assert labels_of([load(path) for path in files]) == [
        "buffers plain",
        "buffers cold, rotating over 8 sets",
    ]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("cd")), min_size=2, max_size=6))
def test_no_two_labels_are_alike(conditions: list[tuple[str, str]]) -> None:
    record = specimen.context_record()
    known = {key: record[key] for key in record.keys() - {"record", "schema", "version"}}
    context = parse_record(Context, known)
    runs = [
        Samples(Path("x.jsonl"), replace(context, launcher=launcher, method=method))
        for launcher, method in conditions
    ]

    assert len(set(labels_of(runs))) == len(runs)


def warnings_besides_single_launches(runs: list[Samples]) -> list[str]:
    return [one for one in page_cautions(runs) if "within one launch" not in one]


def test_a_good_run_has_no_warning(tmp_path: Path) -> None:
    launches = [point(launch=number) for number in (1, 2, 3)]

    assert page_cautions([run_of(tmp_path / "a", *launches)]) == []


def test_single_launches_are_warned_of_once(tmp_path: Path) -> None:
    runs = [run_of(tmp_path / name, point()) for name in ("a", "b")]

    (warning,) = page_cautions(runs)

    assert warning.startswith("The interval is within one launch")


def test_points_at_a_limit_are_warned_of(tmp_path: Path) -> None:
    run = run_of(tmp_path / "a", point(stopped="maximum"), point("bcast", 64, stopped="time_limit"))

    assert warnings_besides_single_launches([run]) == [
        "1 point used all the repetitions allowed: scatter 8 B.",
        "1 point ran into the time limit: bcast 64 B.",
    ]


def test_why_the_repetitions_ended_is_told_of_each_launch_where_there_were_several(
    tmp_path: Path,
) -> None:
    launches = [point(launch=number, stopped="interval") for number in (1, 2, 3)]
    runs = run_of(tmp_path / "several", *launches), run_of(tmp_path / "single", point())

    (several_curve,), (single_curve,) = (figures_of([run])[0]["curves"] for run in runs)

    assert several_curve["launches"] == [3]
    assert several_curve["stopped_text"] == [
        "each launch stopped once the interval of its own repetitions was narrow enough"
    ]
    assert single_curve["launches"] == [1]
    assert "each launch" not in single_curve["stopped_text"][0]


def test_a_time_that_cannot_be_drawn_is_warned_of(tmp_path: Path) -> None:
    run = run_of(tmp_path / "a", point(median_s=-1e-7, low_s=-1e-7, high_s=1e-7))

    assert sum("without a positive time" in text for text in page_cautions([run])) == 1


def test_what_two_files_share_is_said_once(tmp_path: Path) -> None:
    runs = [run_of(tmp_path / name, point(), cores=2) for name in ("a", "b")]

    assert len(warnings_besides_single_launches(runs)) == 1
    assert warnings_besides_single_launches(runs)[0].startswith("all files: 4 ranks share 2 cores")


def test_a_warning_of_one_file_names_it(tmp_path: Path) -> None:
    runs = [run_of(tmp_path / "a.jsonl"), run_of(tmp_path / "b.jsonl", governor="powersave")]

    assert page_cautions(runs)[0].startswith("b.jsonl: the frequency governor")


def test_a_warning_names_a_file_so_that_it_can_be_told_from_the_others(tmp_path: Path) -> None:
    for folder in ("old", "new"):
        (tmp_path / folder).mkdir()
    runs = [
        run_of(tmp_path / "old" / "samples.jsonl"),
        run_of(tmp_path / "new" / "samples.jsonl", governor="powersave"),
    ]

    assert page_cautions(runs)[0].startswith("new/samples.jsonl: the frequency governor")


def test_an_interrupted_run_is_warned_of(tmp_path: Path) -> None:
    lines = [specimen.context_record(), point()]

    cautions = page_cautions([load(specimen.write(tmp_path / "a.jsonl", lines))])

    assert "interrupted after 1 point;" in cautions[0]


def test_a_warning_that_begins_with_a_file_has_its_name_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    specimen.write(tmp_path / "a.jsonl", [specimen.context_record(), point()])

    cautions = page_cautions([load(Path("a.jsonl"))])

    assert cautions[0].startswith("a.jsonl: the run was interrupted")


def test_the_verdict_says_machine_library_ranks_and_time(tmp_path: Path) -> None:
    text = " ".join(verdict_of([run_of(tmp_path / "a", point(), point("bcast"))], 0))

    for words in ("2 points", "4 ranks", "node1", "Open MPI 4.1.4", "21 November 2026 at 10:00"):
        assert words in text
    assert "Nothing in the files speaks against the numbers" in text


def test_an_instant_outside_of_the_calendar_is_not_told(tmp_path: Path) -> None:
    run = run_of(tmp_path / "a", point(), started="0001-01-01T00:00:00+14:00")

    assert "at a time that was not recorded" in verdict_of([run], 0)[0]


def test_the_title_names_operations_and_host(tmp_path: Path) -> None:
    assert title_of([run_of(tmp_path / "a", point(), point("bcast"))]) == (
        "Scatter and bcast on node1"
    )


def test_a_run_has_one_label_and_colour_in_all_figures(tmp_path: Path) -> None:
    runs = [
        run_of(tmp_path / "monday.jsonl", point("scatter")),
        run_of(tmp_path / "tuesday.jsonl", point("scatter"), point("gather")),
        run_of(tmp_path / "wednesday.jsonl", point("pairs", peer=1, reply_bytes=8)),
    ]

    scatter, gather, pairs = figures_of(runs)

    drawn = [
        [(one["label"], one["run"]) for one in figure["curves"]] for figure in (scatter, gather)
    ]
    assert drawn == [[("monday", 0), ("tuesday", 1)], [("tuesday", 1)]]
    assert pairs["title"] == "pairs, 8 B there and back · wednesday"


def test_points_are_drawn_in_order_of_size(tmp_path: Path) -> None:
    run = run_of(tmp_path / "a", point(message_bytes=64), point(message_bytes=0))

    assert figures_of([run])[0]["curves"][0]["bytes"] == [0, 64]


def test_a_missing_interval_is_null_and_not_nan(tmp_path: Path) -> None:
    figures = figures_of([run_of(tmp_path / "a", point(low_s=None, high_s=None))])

    assert figures[0]["curves"][0]["low_s"] == [None]
    json.dumps(figures, allow_nan=False)


def test_only_so_many_samples_are_drawn(tmp_path: Path) -> None:
    samples = [1e-6] * (3 * SAMPLES_DRAWN_MAX)
    run = run_of(tmp_path / "a", specimen.point_record("scatter", 8, samples))

    curve = figures_of([run])[0]["curves"][0]

    assert len(curve["samples_s"][0]) == SAMPLES_DRAWN_MAX
    assert curve["repetitions"] == [3 * SAMPLES_DRAWN_MAX]


def test_the_samples_that_are_drawn_are_not_of_a_rhythm(tmp_path: Path) -> None:
    samples = [1e-6, 2e-6] * SAMPLES_DRAWN_MAX
    run = run_of(tmp_path / "a", specimen.point_record("scatter", 8, samples))

    curve = figures_of([run])[0]["curves"][0]

    (drawn,), (numbers,), (histogram,) = (
        curve[key] for key in ("samples_s", "numbers", "histograms")
    )
    assert set(drawn) == {1e-6, 2e-6}
    assert drawn == [samples[number - 1] for number in numbers]
    assert numbers == sorted(set(numbers)) and numbers[-1] > SAMPLES_DRAWN_MAX
    assert histogram["counts"][0] == histogram["counts"][-1] == SAMPLES_DRAWN_MAX


TIMES_S = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), st.floats(min_value=-1e3, max_value=1e6)
)


@given(st.lists(TIMES_S, min_size=1, max_size=50))
@example([1e308, -1e308] * 10)
@example([sys.float_info.max])
def test_a_histogram_counts_every_sample_in_a_bin_that_holds_it(samples_s: list[float]) -> None:
    histogram = histogram_of(samples_s)
    assert histogram is not None

    low, width, counts = (histogram[key] for key in ("low", "width", "counts"))
    values = sorted(rounded(sample, 5) for sample in samples_s)
    if histogram["logarithmic"]:
        values = np.log10(values).tolist()
    slack = 1e-9 * width

    assert sum(counts) == len(samples_s)
    assert low == values[0]
    assert low + width * len(counts) == pytest.approx(values[-1], rel=1e-9, abs=slack)
    for bins in range(1, len(counts)):
        edge = low + bins * width
        below = sum(counts[:bins])
        assert bisect_left(values, edge - slack) <= below <= bisect_left(values, edge + slack)


@given(TIMES_S)
def test_a_time_is_drawn_where_it_is_unless_it_is_next_to_nothing_or_endless(time_s: float) -> None:
    drawn = rounded(time_s, 5)

    if LEAST_DRAWN_S <= abs(time_s) <= MOST_DRAWN_S:
        assert drawn == pytest.approx(time_s, rel=1e-4, abs=0)
    else:
        assert drawn in (0, MOST_DRAWN_S, -MOST_DRAWN_S)


def test_samples_that_are_alike_are_one_bin_without_width() -> None:
    assert histogram_of([1e-6] * 20) == {
        "low": 1e-6, "width": 0.0, "counts": [20], "logarithmic": False,
    }  # fmt: skip
    assert histogram_of([]) is None


def test_a_figure_begins_with_the_widest_interval(tmp_path: Path) -> None:
    run = run_of(
        tmp_path / "a", point(message_bytes=8), point(message_bytes=16, low_s=5e-7, high_s=2e-6)
    )

    assert figures_of([run])[0]["first"] == [0, 1]


def test_a_pair_has_a_cell_each_way(tmp_path: Path) -> None:
    run = run_of(tmp_path / "a", point("pairs", root=1, peer=2, reply_bytes=8), ranks=3)

    figure = figures_of([run])[0]

    assert figure["names"] == ["rank 1", "rank 2"]
    assert figure["cells"]["point"] == [[None, 0], [0, None]]
    assert figure["title"] == "pairs, 8 B there and back"


@pytest.mark.parametrize(
    ("operation", "ranks", "told"),
    [
        ("pairs", {"peer": 1}, "rank 0 to rank 1"),
        ("triplets", {"peer": 1, "second_peer": 2}, "rank 0 to rank 1 and rank 2"),
    ],
)
def test_only_ranks_that_occur_are_named_however_many_a_damaged_file_claims(
    tmp_path: Path, operation: str, ranks: dict[str, int], told: str
) -> None:
    run = run_of(tmp_path / "a", point(operation, root=0, reply_bytes=8, **ranks))
    run.context = replace(run.context, ranks=3 * 10**9)

    assert figures_of([run])[0]["curves"][0]["point_text"] == [told]


def test_each_size_of_the_reply_has_a_figure_of_its_own(tmp_path: Path) -> None:
    points = [point("pairs", root=0, peer=1, reply_bytes=size) for size in (0, 8)]

    titles = [figure["title"] for figure in figures_of([run_of(tmp_path / "a", *points)])]

    assert titles == ["pairs, 8 B there, 0 B back", "pairs, 8 B there and back"]


def test_triplets_are_listed(tmp_path: Path) -> None:
    run = run_of(tmp_path / "a", point("triplets", root=1, peer=0, second_peer=2, reply_bytes=0))

    figure = figures_of([run])[0]

    assert figure["kind"] == "list"
    assert point_rows(figure)[0].point == "rank 1 to rank 0 and rank 2"


def test_the_rate_of_a_pingpong_is_its_size_over_its_time(tmp_path: Path) -> None:
    figure = figures_of([run_of(tmp_path / "a", point("pingpong", 1000))])[0]

    assert point_rows(figure)[0].rate == "1.00 GB/s"


def test_the_glance_has_smallest_familiar_and_largest_sizes(tmp_path: Path) -> None:
    points = [point(message_bytes=size) for size in (1, 2, 8, 4096, 65536, 300000)]

    glance = glance_of(figures_of([run_of(tmp_path / "a", *points)]))

    assert glance.sizes == ["1 B", "8 B", "64 KiB", "292.97 KiB"]
    assert glance.rows == [("scatter", "openmpi", ["1.00 µs"] * 4)]


def test_a_clock_without_known_truth_says_so(tmp_path: Path) -> None:
    check = {
        "record": "clock", "residual_s": 1e-7, "uncertainty_s": 2e-7, "span_s": 10.0,
        "error_s": None,
    }  # fmt: skip

    rows = clock_rows([run_of(tmp_path / "a.jsonl", check)])

    assert rows == [("a.jsonl", "10.0 s", "100 ns", "200 ns", "not known")]


def test_every_key_of_a_context_has_a_row(tmp_path: Path) -> None:
    rows = dict(context_rows([run_of(tmp_path / "a")]))

    assert rows["mpi: library"] == ["Open MPI v4.1.4, package: Debian"]
    assert rows["stopping: error"] == ["0.025"]
    assert "rank 3: node1, cores 0-3" in rows["placement"][0]


def test_the_command_to_measure_again_is_that_of_the_launcher(tmp_path: Path) -> None:
    arguments = ["scatter", "--sizes", "8", "--ranks=4", "--events", "-o", "/old/x.jsonl"]

    path = tmp_path / "a.jsonl"
    command = command_of(run_of(path, arguments=arguments))

    assert command == f"lanewise measure scatter --sizes 8 -n 4 --launcher openmpi -o {path}"
    over_tcp = run_of(path, arguments=arguments, transport="openmpi-tcp")
    assert command_of(over_tcp).endswith(f" -n 4 --transport openmpi-tcp -o {path}")
    bound = run_of(
        path,
        arguments=[*arguments, "--launcher-args=--bind-to%20core"],
        launcher_args="--bind-to core",
    )
    assert command_of(bound).endswith(
        f" --launcher openmpi '--launcher-args=--bind-to core' -o {path}"
    )


def test_the_command_to_write_the_page_again_has_its_files_as_they_were_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = [Path("old/samples.jsonl"), Path("new/samples.jsonl")]
    for path in files:
        path.parent.mkdir()
        specimen.write(path, specimen.records())

    page = write_report(files, Path("new/page.html")).path.read_text(encoding="utf-8")

    assert "lanewise report old/samples.jsonl new/samples.jsonl -o new/page.html" in page
    assert '<th class="name">old/samples.jsonl</th><th class="name">new/samples.jsonl</th>' in page


def test_a_page_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    samples = specimen.write(tmp_path / "a.jsonl", specimen.records())

    with pytest.raises(RequestError, match="make the folder"):
        write_report([samples], tmp_path / "missing" / "report.html")

    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_a_page_in_the_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    samples = specimen.write(tmp_path / "a.jsonl", specimen.records())
    (tmp_path / "report.html").mkdir()

    with pytest.raises(RequestError, match="name a file in it"):
        write_report([samples], tmp_path / "report.html")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "report.html"]


def test_half_the_points_are_known_within_the_median_half_width(tmp_path: Path) -> None:
    points = [point(message_bytes=size, low_s=0.9e-6, high_s=1.1e-6) for size in (8, 16)]

    text = " ".join(verdict_of([run_of(tmp_path / "a", *points)], 0))

    assert "Half of the points are known within ±10 %" in text


def test_nothing_is_known_within_per_cents_of_a_time_that_is_not_positive(tmp_path: Path) -> None:
    negative = [
        point(message_bytes=size, median_s=-1e-7, low_s=-2e-7, high_s=1e-7) for size in (1, 2)
    ]
    positive = [point(message_bytes=size, low_s=0.9e-6, high_s=1.1e-6) for size in (8, 16)]

    of_all = " ".join(verdict_of([run_of(tmp_path / "a", *negative, *positive)], 1))
    of_negative = " ".join(verdict_of([run_of(tmp_path / "b", *negative)], 1))

    assert "Half of those with an interval and a positive time are known within ±10 %" in of_all
    assert "known within" not in of_negative
