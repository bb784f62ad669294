# SPDX-License-Identifier: BSD-3-Clause
"""lanewise model fit on a simulated cluster: measured, fitted, written, read again and asked."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lanewise import Measurement, Platform, fit, read, read_platform
from lanewise.errors import RequestError
from lanewise.launch.native import find_program
from lanewise.model.program import FIT
from lanewise.results import specimen

Command = Callable[..., "subprocess.CompletedProcess[str]"]

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "schema" / "platform.schema.json").read_text(encoding="utf-8")
)
SIZES = "0,1,1K,32K"
# Tests of one worker, which read one file.
OF_ONE_FILE = pytest.mark.xdist_group("fit")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Name the file that holds the measurement of `pairs`, for all tests of this module."""
    return tmp_path_factory.mktemp("kept") / "pairs.jsonl"


@pytest.fixture
def pairs(lanewise: Command, smpi: str, kept: Path) -> Path:
    """Give samples of pairs of a simulated cluster, which are measured once."""
    if not kept.exists():
        done = lanewise(
            "measure", "pairs", "-n", 3, "--launcher", smpi, "--repetitions", "3",
            "--sizes", SIZES, "-o", kept,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    return kept


def without_time(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key != "created"}


def test_measures_what_the_models_need_and_goes_on_where_it_was_stopped(
    lanewise: Command, smpi: str, tmp_path: Path
) -> None:
    words = ["model", "fit", "--measure", "-n", 3, "--launcher", smpi, "-o", "platform.json"]

    done = lanewise(*words)
    assert done.returncode == 0, done.stderr
    files = {path.name: path.read_text() for path in (tmp_path / "samples").iterdir()}
    again = lanewise(*words)

    platform = json.loads((tmp_path / "platform.json").read_text())
    Draft202012Validator(SCHEMA).validate(platform)
    assert set(platform["models"]) == {"hockney", "loggp", "plogp", "lmo", "piecewise"}
    assert done.stdout.splitlines()[1].startswith("# model")
    assert again.returncode == 0, again.stderr
    assert set(files) >= {"pairs.jsonl", "triplets.jsonl", "trains.jsonl", "sends.jsonl"}
    for name, text in files.items():
        points = [line for line in text.splitlines() if '"record":"point"' in line]
        kept = (tmp_path / "samples" / name).read_text()
        assert all(point in kept for point in points)


@pytest.mark.parametrize("operation", ["trains", "sends", "receives"])
@pytest.mark.one_mpi
def test_a_real_mpi_has_times_of_what_loggp_and_plogp_need(
    lanewise: Command, real_mpi: str, tmp_path: Path, operation: str
) -> None:
    done = lanewise(
        "measure", operation, "-n", 2, "--launcher", real_mpi, "--repetitions", "20",
        "--sizes", "0,64K", "--launches", 1, "-o", "s.jsonl",
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    frame = read(tmp_path / "s.jsonl")
    assert list(frame["message_bytes"]) == [0, 65536]
    assert (frame["median_s"] > 0).all()
    assert (frame["reply_bytes"] == 0).all()


@OF_ONE_FILE
def test_says_what_is_lacking_and_the_command_that_measures_it(
    lanewise: Command, pairs: Path
) -> None:
    done = lanewise("model", "fit", pairs)

    assert done.returncode == 0, done.stderr
    assert "not fitted: lmo: no triplets" in done.stdout
    assert "lanewise measure triplets -n 3 --sizes 0,1K,8K,32K --reply 0 --launcher smpi" in (
        done.stdout
    )


@OF_ONE_FILE
def test_a_data_frame_gives_the_platform_that_its_file_gives(pairs: Path) -> None:
    from_file, from_frame = fit(pairs), fit(read(pairs))

    assert without_time(from_file.values) == without_time(from_frame.values)
    assert "hockney" in str(from_frame)


def launched_pairs(path: Path, repetitions: tuple[int, int]) -> Path:
    """Write pairs of two launches, of which the second is four times as slow."""
    points = [
        specimen.point_record(
            "pairs", size, [slower * (1e-6 + size * 1e-9)] * count,
            peer=1, reply_bytes=size, launch=launch,
        )
        for launch, slower, count in ((1, 1.0, repetitions[0]), (2, 4.0, repetitions[1]))
        for size in (0, 1024, 32768)
    ]  # fmt: skip
    placement = [{"rank": rank, "host": "node1", "cpus": "0-3"} for rank in range(2)]
    context = specimen.context_record(
        ranks=2, placement=placement, launches=2, arguments=["pairs", "--sizes", "0,1K,32K"]
    )
    end = {"record": "end", "points": len(points), "elapsed_s": 1.0}
    return specimen.write(path, [context, *points, end])


def test_each_launch_of_a_data_frame_counts_once_as_in_its_file(tmp_path: Path) -> None:
    path = launched_pairs(tmp_path / "pairs.jsonl", repetitions=(30, 10))

    from_file, from_frame = fit(path), fit(read(path))

    link = from_frame.values["models"]["hockney"]["links"][0]
    assert link["latency_s"]["value"] == pytest.approx(1e-6)
    assert without_time(from_file.values) == without_time(from_frame.values)


def test_samples_of_a_data_frame_that_are_of_no_launch_are_refused(tmp_path: Path) -> None:
    frame = read(launched_pairs(tmp_path / "pairs.jsonl", repetitions=(3, 3)))
    frame["samples_s"] = [samples_s[1:] for samples_s in frame["samples_s"]]

    with pytest.raises(RequestError, match="are 6, not the 5 of samples_s; change both"):
        fit(frame)


def test_a_measurement_gives_the_platform_that_its_file_gives(tmp_path: Path) -> None:
    path = launched_pairs(tmp_path / "pairs.jsonl", repetitions=(30, 10))
    measured = Measurement.load(path)

    from_file = fit(path)

    assert without_time(fit(measured).values) == without_time(from_file.values)
    assert without_time(fit(measured["pairs"]).values) == without_time(from_file.values)


class Somewhere(os.PathLike[str]):
    """A path of another library."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __fspath__(self) -> str:
        return str(self.path)


def test_a_file_is_named_by_whatever_leads_to_it(tmp_path: Path) -> None:
    path = launched_pairs(tmp_path / "pairs.jsonl", repetitions=(30, 10))
    from_file = without_time(fit(path).values)

    assert without_time(fit(Somewhere(path)).values) == from_file
    assert without_time(fit([Somewhere(path)]).values) == from_file
    assert without_time(fit([str(path)]).values) == from_file


@pytest.mark.parametrize("samples", [5, None, [5], [None], Platform({}, "")])
def test_what_holds_no_samples_is_refused_with_what_does(samples: Any) -> None:
    with pytest.raises(RequestError, match="give a measurement, a data frame of"):
        fit(samples)


@pytest.mark.parametrize("name", ["file", "operation", "root", "peer", "samples_s", "launches"])
def test_a_data_frame_that_has_lost_a_column_is_refused(tmp_path: Path, name: str) -> None:
    frame = read(launched_pairs(tmp_path / "pairs.jsonl", repetitions=(3, 3)))

    with pytest.raises(RequestError, match=f"has no column {name}; take it as lanewise.read gave"):
        fit(frame.drop(columns=name))


def test_a_data_frame_with_rows_of_an_unknown_file_is_refused(tmp_path: Path) -> None:
    frame = read(launched_pairs(tmp_path / "pairs.jsonl", repetitions=(3, 3)))

    with pytest.raises(RequestError, match="has no context of the file other; take it as lanewise"):
        fit(frame.assign(file="other"))


@OF_ONE_FILE
def test_a_platform_is_saved_read_again_and_asked_for_seconds(pairs: Path, tmp_path: Path) -> None:
    platform = fit(pairs)
    platform.save(tmp_path / "p.json")
    read_again = read_platform(tmp_path / "p.json")

    times_s = [
        read_again.predict("scatter", "binomial", ranks=ranks, message_bytes=1024)
        for ranks in (3, 64, 1024)
    ]

    assert read_again.values == platform.values
    assert 0 < times_s[0] < times_s[1] < times_s[2]
    with pytest.raises(RequestError, match="nonsense"):
        read_again.predict("scatter", "nonsense", message_bytes=8)


@OF_ONE_FILE
def test_refuses_in_one_line_what_it_cannot_fit(
    lanewise: Command, pairs: Path, tmp_path: Path
) -> None:
    (tmp_path / "text").write_text("hello\n")
    for words, sentence in (
        ([], "no samples; measure what the models need with: lanewise model fit --measure"),
        (["missing.jsonl"], "missing.jsonl does not exist"),
        (["text"], "text:1: is not JSON, or only part of it"),
        ([pairs, "-n", 3], "add --measure"),
        ([pairs, "--hosts", "a"], "add --measure"),
        (["--measure", "-n", "many"], "-n many"),
    ):
        done = lanewise("model", "fit", *words)
        assert done.returncode == 2
        assert sentence in done.stderr
        assert done.stderr.count("\n") == 1


def test_tells_who_runs_out_of_memory_to_fit_fewer_files(tmp_path: Path) -> None:
    samples = tmp_path / "samples.jsonl"
    samples.touch()
    os.truncate(samples, 1 << 30)

    done = subprocess.run(
        ["prlimit", f"--as={512 << 20}", find_program(FIT, os.environ), samples],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "lanewise-fit: out of memory; fit fewer files at a time\n"


@OF_ONE_FILE
@pytest.mark.parametrize("name", ["-x.jsonl", "[pairs]"], ids=["an option", "a list"])
def test_samples_may_be_called_like_what_a_command_line_has_otherwise(
    lanewise: Command, pairs: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).write_bytes(pairs.read_bytes())
    monkeypatch.chdir(tmp_path)

    done = lanewise("model", "fit", "-o", "-p.json", "--", name)

    assert done.returncode == 0, done.stderr
    assert read_platform("-p.json").values["ranks"] == fit(name).values["ranks"] == 3
