# SPDX-License-Identifier: BSD-3-Clause
"""Result files as a data frame: nothing is lost on the way."""

from pathlib import Path

import numpy as np
import pytest

import lanewise
from lanewise.results import specimen


def test_the_frame_has_a_row_a_point_with_its_raw_samples(tmp_path: Path) -> None:
    path = specimen.write(tmp_path / "samples.jsonl", specimen.records(sizes_bytes=[8, 16]))

    frame = lanewise.read(path)

    assert list(frame["message_bytes"]) == [8, 16]
    assert [len(values) for values in frame["samples_s"]] == [40, 40]
    assert np.median(frame["samples_s"][0]) == frame["median_s"][0]


def test_the_frame_joins_files_and_keeps_their_contexts(tmp_path: Path) -> None:
    first = specimen.write(tmp_path / "a.jsonl", specimen.records(sizes_bytes=[8]))
    changed = specimen.records(sizes_bytes=[8], context={"launcher": "mpich", "ranks": 2})
    second = specimen.write(tmp_path / "b.jsonl", changed)

    frame = lanewise.read(first, second)

    assert list(frame["launcher"]) == ["openmpi", "mpich"]
    assert frame.attrs["contexts"][str(second)]["ranks"] == 2


def test_reading_a_run_that_was_interrupted_warns(tmp_path: Path) -> None:
    path = specimen.write(tmp_path / "samples.jsonl", specimen.records(sizes_bytes=[8, 16])[:-2])

    with pytest.warns(UserWarning, match="the run was interrupted after 1 point") as told:
        lanewise.read(path)

    assert told[0].filename == __file__


def test_sizes_up_to_64_bits_survive_the_frame(tmp_path: Path) -> None:
    point = specimen.point_record("scatter", 2**62 + 1, [1e-6])
    path = specimen.write(tmp_path / "large.jsonl", [specimen.context_record(), point])

    assert int(lanewise.read(path)["message_bytes"][0]) == 2**62 + 1


@pytest.mark.parametrize(("rule", "number"), [("median", "median"), ("student", "mean")])
def test_the_frame_says_what_the_intervals_are_of_and_how_rows_were_measured(
    rule: str, number: str, tmp_path: Path
) -> None:
    stopping = {**specimen.context_record()["stopping"], "rule": rule, "confidence": 0.9}
    context = {"stopping": stopping, "transport": "openmpi-tcp"}
    path = specimen.write(tmp_path / "a.jsonl", specimen.records(sizes_bytes=[8], context=context))

    frame = lanewise.read(path)

    told = frame[["number", "confidence", "transport", "mpi"]].to_numpy().tolist()
    assert told == [[number, 0.9, "openmpi-tcp", "Open MPI v4.1.4"]]
