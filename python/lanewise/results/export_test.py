# SPDX-License-Identifier: BSD-3-Clause
"""Exported tables say what the file says, and a failed export leaves nothing behind."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lanewise
from lanewise.errors import RequestError
from lanewise.results import specimen
from lanewise.results.export import json_of, repetitions, summary, write_csv, write_parquet
from lanewise.results.frame import launch_frame_of
from lanewise.results.read import load


@pytest.fixture
def frame(tmp_path: Path) -> pd.DataFrame:
    lines = specimen.records(operations=("scatter", "bcast"), sizes_bytes=[8, 16])
    return lanewise.read(specimen.write(tmp_path / "samples.jsonl", lines))


def test_csv_has_a_line_a_point(frame: pd.DataFrame, tmp_path: Path) -> None:
    write_csv(summary(frame), str(tmp_path / "out.csv"))

    back = pd.read_csv(tmp_path / "out.csv")
    assert list(back["operation"]) == ["scatter", "scatter", "bcast", "bcast"]
    assert np.allclose(back["median_s"], frame["median_s"], rtol=1e-8)


def test_raw_csv_has_a_line_a_repetition_in_order(frame: pd.DataFrame, tmp_path: Path) -> None:
    lines = specimen.records(operations=("scatter", "bcast"), sizes_bytes=[8, 16])
    loaded = load(specimen.write(tmp_path / "samples.jsonl", lines))
    write_csv(repetitions(launch_frame_of([loaded])), str(tmp_path / "out.csv"))

    back = pd.read_csv(tmp_path / "out.csv")
    assert list(back.columns[-4:]) == ["repetition", "sample_s", "transport", "mpi"]
    assert list(back["repetition"][:41]) == [*range(40), 0]
    assert np.allclose(back["sample_s"][:40], frame["samples_s"][0], rtol=1e-8)


def test_repetitions_have_no_row_of_loops_and_of_points_without_repetitions(
    tmp_path: Path,
) -> None:
    points = [
        specimen.point_record("bcast", 8, [1e-6, 2e-6]),
        specimen.point_record("bcast", 8, [7e-6, 8e-6], definition="osu"),
        {**specimen.point_record("bcast", 16, [3e-6]), "samples_s": []},
    ]
    path = specimen.write(tmp_path / "samples.jsonl", [specimen.context_record(), *points])

    found = repetitions(launch_frame_of([load(path)]))

    assert found[["message_bytes", "repetition", "sample_s"]].to_numpy().tolist() == [
        [8, 0, 1e-6],
        [8, 1, 2e-6],
    ]


def test_parquet_keeps_every_repetition(frame: pd.DataFrame, tmp_path: Path) -> None:
    write_parquet(frame, str(tmp_path / "out.parquet"))

    back = pd.read_parquet(tmp_path / "out.parquet")
    assert np.array_equal(back["samples_s"][3], frame["samples_s"][3])


def test_csv_goes_to_standard_output(
    frame: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    write_csv(summary(frame), "-")

    assert capsys.readouterr().out.startswith("file,launcher,ranks,method,operation,")


def test_a_file_whose_name_is_not_text_is_exported(tmp_path: Path) -> None:
    name = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.jsonl")
    path = specimen.write(Path(name), specimen.records(sizes_bytes=[8]))
    found = lanewise.read(path)
    raw = repetitions(launch_frame_of([load(path)]))

    write_csv(summary(found), str(tmp_path / "out.csv"))
    write_csv(raw, str(tmp_path / "raw.csv"))
    write_parquet(found, str(tmp_path / "out.parquet"))

    for csv in ("out.csv", "raw.csv"):
        assert (tmp_path / csv).read_bytes().splitlines()[1].startswith(os.fsencode(path))
    assert json.loads(json_of(summary(found)))["points"][0]["file"] == name
    assert pd.read_parquet(tmp_path / "out.parquet")["file"][0] == f"{tmp_path}/?.jsonl"


def test_what_is_no_text_in_samples_is_exported_with_a_replacement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = specimen.records(operations=("\ud800x",), sizes_bytes=[8])
    frame = lanewise.read(specimen.write(tmp_path / "samples.jsonl", lines))
    write_csv(summary(frame), str(tmp_path / "out.csv"))
    write_csv(summary(frame), "-")
    write_parquet(frame, str(tmp_path / "out.parquet"))

    assert list(pd.read_csv(tmp_path / "out.csv")["operation"]) == ["?x"]
    assert ",?x," in capsys.readouterr().out
    assert list(pd.read_parquet(tmp_path / "out.parquet")["operation"]) == ["?x"]
    assert json.loads(json_of(summary(frame)))["points"][0]["operation"] == "\ud800x"


def test_parquet_does_not_go_to_standard_output(frame: pd.DataFrame) -> None:
    with pytest.raises(RequestError, match="binary"):
        write_parquet(frame, "-")


def test_a_folder_that_is_not_there_is_refused(frame: pd.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="cannot be written: No such file"):
        write_csv(frame, str(tmp_path / "none" / "out.csv"))


def test_a_failed_export_leaves_the_old_file_and_no_part(
    frame: pd.DataFrame, tmp_path: Path
) -> None:
    target = tmp_path / "out.parquet"
    target.write_text("old")
    before = set(tmp_path.iterdir())
    frame["samples_s"] = pd.Series([object()] * len(frame), dtype=object)

    with pytest.raises(Exception, match="object"):
        write_parquet(frame, str(target))

    assert target.read_text() == "old"
    assert set(tmp_path.iterdir()) == before


def test_json_has_all_digits_of_a_number(frame: pd.DataFrame) -> None:
    points = json.loads(json_of(summary(frame)))["points"]

    assert [one["median_s"] for one in points] == frame["median_s"].tolist()
    assert list(points[0]) == [*summary(frame).columns]


def test_json_has_null_where_there_is_no_number(tmp_path: Path) -> None:
    point = specimen.point_record("scatter", 8, [1e-6, 2e-6], low_s=None, high_s=None)
    path = specimen.write(tmp_path / "samples.jsonl", [specimen.context_record(), point])

    (found,) = json.loads(json_of(summary(lanewise.read(path))))["points"]

    assert (found["low_s"], found["peer"], found["root"]) == (None, None, 0)
