# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise measure` with real ranks: what it prints, keeps, goes on with and shows."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import why_not
from jsonschema import Draft202012Validator
from tuned_job import Compile

from lanewise.launch.choose import choose
from lanewise.launch.native import MEASURE
from lanewise.report.tables import command_of
from lanewise.results.read import load

Lanewise = Callable[..., "subprocess.CompletedProcess[str]"]
SCHEMA = Path(__file__).parents[2] / "schema" / "samples.schema.json"
FEW = ("--sizes", "8,1K", "--repetitions", "10", "--launches", "1", "-o", "s.jsonl")


def test_every_point_is_measured_printed_and_kept(
    lanewise: Lanewise, launcher: str, tmp_path: Path
) -> None:
    done = lanewise("measure", "scatter", "gather", "-n", 4, "--launcher", launcher, *FEW)

    assert done.returncode == 0, done.stderr
    samples = load(tmp_path / "s.jsonl")
    measured = [(point.operation, point.message_bytes) for point in samples.points]
    assert measured == [("scatter", 8), ("scatter", 1024), ("gather", 8), ("gather", 1024)]
    assert [line.split()[0] for line in done.stdout.splitlines() if line[:1].isdigit()] == [
        "8", "1024", "8", "1024",
    ]  # fmt: skip
    assert (samples.context.ranks, samples.context.launcher) == (4, launcher)
    assert samples.warnings == []


@pytest.mark.one_mpi
def test_a_file_may_have_a_name_that_is_not_utf8(
    lanewise: Lanewise, launcher: str, tmp_path: Path
) -> None:
    name = os.fsdecode(b"s\xff.jsonl")

    done = lanewise("measure", "bcast", "-n", 2, "--launcher", launcher, *FEW[:-1], name)

    assert done.returncode == 0, done.stderr
    assert len(load(tmp_path / name).points) == 2


def test_only_rank_0_needs_the_folder_of_the_output(real_mpi: str, tmp_path: Path) -> None:
    (tmp_path / "here/kept").mkdir(parents=True)
    (tmp_path / "there").mkdir()
    choice = choose(real_mpi, os.environ)
    program = [str(choice.build.program(MEASURE)), "barrier", "--repetitions", "5",
               "-o", "kept/s.jsonl"]  # fmt: skip
    line = [choice.executable, "-n", "1", "-wdir", str(tmp_path / "here"), *program, ":",
            "-n", "1", "-wdir", str(tmp_path / "there"), *program]  # fmt: skip

    done = [subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)
            for _ in range(2)]  # fmt: skip

    assert done[0].returncode == 0, done[0].stderr
    assert load(tmp_path / "here/kept/s.jsonl").context.ranks == 2
    assert done[1].returncode != 0
    assert (done[1].stdout + done[1].stderr).count("kept/s.jsonl exists; add --resume") == 1


@pytest.mark.one_mpi
def test_what_is_written_follows_the_schema_and_holds_just_so_many_samples(
    lanewise: Lanewise, launcher: str, tmp_path: Path
) -> None:
    done = lanewise("measure", "bcast", "-n", 2, "--launcher", launcher, *FEW)

    assert done.returncode == 0, done.stderr
    validator = Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    records = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text("utf-8").splitlines()]
    assert {"context", "point", "end"} <= {record["record"] for record in records}
    for record in records:
        validator.validate(record)
    points = load(tmp_path / "s.jsonl").points
    assert [(point.repetitions, len(point.samples_s)) for point in points] == [(10, 10)] * 2


def test_pairs_and_triplets_and_clock_follow_the_schema(lanewise: Lanewise, tmp_path: Path) -> None:
    validator = Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    for subject in ("pairs", "triplets", "clock"):
        sizes = (
            () if subject == "clock" else ("--sizes", "8", "--repetitions", "10", "--launches", "1")
        )
        done = lanewise("measure", subject, "-n", 3, *sizes, "-o", f"{subject}.jsonl")

        assert done.returncode == 0, done.stderr
        text = (tmp_path / f"{subject}.jsonl").read_text(encoding="utf-8")
        records = [json.loads(line) for line in text.splitlines()]
        assert len(records) > 2, records
        for record in records:
            validator.validate(record)


def test_the_ranks_are_launched_five_times_into_one_file(
    lanewise: Lanewise, tmp_path: Path
) -> None:
    done = lanewise(
        "measure", "bcast", "gather", "-n", 2, "--sizes", 8, "--repetitions", 10, "-o", "s.jsonl"
    )

    assert done.returncode == 0, done.stderr
    samples = load(tmp_path / "s.jsonl")
    assert sorted((one.launch, one.operation) for one in samples.launch_points) == [
        (launch, name) for launch in range(1, 6) for name in ("bcast", "gather")
    ]
    assert samples.context.launches == 5
    assert samples.warnings == []
    rows = [line.split() for line in done.stdout.splitlines() if line[:1].isdigit()]
    for row, point in zip(rows, samples.points, strict=True):
        shown_us = [float(word) for word in row[1:4]]
        times_us = [1e6 * value for value in (point.median_s, point.low_s, point.high_s)]
        assert shown_us == pytest.approx(times_us, abs=0.01)
        assert int(row[4]) == 50


def test_launches_take_the_points_in_orders_of_their_own_that_follow_the_seed(
    lanewise: Lanewise, tmp_path: Path
) -> None:
    orders = []
    for name in ("first.jsonl", "second.jsonl"):
        done = lanewise(
            "measure", "bcast", "-n", 2, "--sizes", "1:128:x2", "--repetitions", 10,
            "--launches", 3, "--seed", 5, "-o", name,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        samples = load(tmp_path / name)
        assert samples.context.seed == 5
        points = [(one.launch, one.message_bytes) for one in samples.launch_points]
        orders.append([tuple(size for at, size in points if at == one) for one in (1, 2, 3)])

    # Points with the same number of repetitions end in the order of their last batch.
    assert len(set(orders[0])) == 3
    assert orders[0] == orders[1]


def test_a_run_that_stopped_in_the_second_launch_goes_on_there(
    lanewise: Lanewise, tmp_path: Path
) -> None:
    command = (
        "measure", "scatter", "-n", 2, "--sizes", "1:8:x2", "--repetitions", 10, "--launches", 3,
    )  # fmt: skip
    lanewise(*command, "-o", "s.jsonl")
    path = tmp_path / "s.jsonl"
    kept = "".join(path.read_text().splitlines(keepends=True)[:7])
    path.write_text(kept)
    assert "after 2 points of launch 2 of 3" in load(path).warnings[0]

    done = lanewise(*command, "-o", "s.jsonl", "--resume")

    assert done.returncode == 0, done.stderr
    samples = load(path)
    assert path.read_text().startswith(kept)
    assert sorted((one.launch, one.message_bytes) for one in samples.launch_points) == [
        (launch, size) for launch in range(1, 4) for size in (1, 2, 4, 8)
    ]
    assert samples.warnings == []
    assert [line.split()[0] for line in done.stdout.splitlines() if line[:1].isdigit()] == [
        "1", "2", "4", "8",
    ]  # fmt: skip


def test_several_launches_of_what_decides_its_own_sizes_are_refused(lanewise: Lanewise) -> None:
    done = lanewise("measure", "bcast", "-n", 2, "--adaptive", "10%", "--launches", 3)

    assert done.returncode == 2
    assert "--adaptive is measured in one launch; leave out --launches 3" in done.stderr


@pytest.mark.one_mpi
def test_pairs_measures_each_pair_once(lanewise: Lanewise, launcher: str, tmp_path: Path) -> None:
    lanewise("measure", "pairs", "-n", 4, "--launcher", launcher, *FEW)

    points = [point for point in load(tmp_path / "s.jsonl").points if point.message_bytes == 8]
    assert [(point.root, point.peer) for point in points] == [
        (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3),
    ]  # fmt: skip


def test_resume_measures_what_is_missing_and_nothing_else(
    lanewise: Lanewise, tmp_path: Path
) -> None:
    command = (
        "measure", "scatter", "-n", 2, "--sizes", "1:1K:x2", "--repetitions", 10, "--launches", 1,
    )  # fmt: skip
    lanewise(*command, "-o", "s.jsonl")
    path = tmp_path / "s.jsonl"
    kept = "".join(path.read_text().splitlines(keepends=True)[:5])
    path.write_text(kept + '{"record": "point", "operat')

    done = lanewise(*command, "-o", "s.jsonl", "--resume")

    assert done.returncode == 0, done.stderr
    samples = load(path)
    assert path.read_text().startswith(kept)
    assert [point.message_bytes for point in samples.points] == [2**power for power in range(11)]
    assert samples.warnings == []
    assert json.loads(path.read_text().splitlines()[-1])["points"] == 11


POLLING = ("polling", "--intervals", "10us:1ms:3", "--work", "1ms")


@pytest.mark.parametrize(("subject", "kept_lines"), [(POLLING, 4), (("post-work-wait",), 11)])
def test_resume_keeps_what_was_measured_of_the_cost_of_messages(
    subject: tuple[str, ...], kept_lines: int, lanewise: Lanewise, tmp_path: Path
) -> None:
    command = ("measure", *subject, "-n", 2, "--sizes", "8,64", "--repetitions", 2)
    lanewise(*command, "-o", "s.jsonl")
    path = tmp_path / "s.jsonl"
    whole = path.read_text().splitlines(keepends=True)
    path.write_text("".join(whole[: kept_lines + 1]))

    done = lanewise(*command, "-o", "s.jsonl", "--resume")

    assert done.returncode == 0, done.stderr
    resumed = path.read_text().splitlines(keepends=True)
    assert resumed[:kept_lines] == whole[:kept_lines]
    assert len(resumed) == len(whole)
    assert done.stderr.splitlines()[-1] == f"{len(whole) - 2} points in s.jsonl"


def test_resume_of_polling_refuses_another_amount_of_work(
    lanewise: Lanewise, tmp_path: Path
) -> None:
    command = ("measure", "polling", "--intervals", "1ms:1ms:1", "-n", 2, "--sizes", "8",
               "--repetitions", 2, "-o", "s.jsonl")  # fmt: skip
    lanewise(*command, "--work", "1ms")
    whole = (tmp_path / "s.jsonl").read_text()

    done = lanewise(*command, "--work", "2ms", "--resume")

    assert done.returncode == 2
    assert "was measured with work_s 0.001, not 0.002; name another file" in done.stderr
    assert (tmp_path / "s.jsonl").read_text() == whole


def test_the_end_of_a_file_counts_the_points_of_all_launches(
    lanewise: Lanewise, tmp_path: Path
) -> None:
    command = ("measure", "scatter", "-n", 2, "--sizes", "1,8", "--repetitions", 10)

    lanewise(*command, "--launches", 3, "-o", "s.jsonl")
    measured = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    lanewise(*command, "--launches", 3, "-o", "s.jsonl", "--resume")
    resumed = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]

    for records in (measured, resumed):
        assert [record["record"] for record in records] == ["context", *["point"] * 6, "end"]
        assert records[-1]["points"] == 6


def test_resuming_a_finished_file_measures_nothing(lanewise: Lanewise, tmp_path: Path) -> None:
    command = ("measure", "scatter", "-n", 2, *FEW)
    lanewise(*command)
    points = load(tmp_path / "s.jsonl").points

    done = lanewise(*command, "--resume")

    assert done.returncode == 0, done.stderr
    samples = load(tmp_path / "s.jsonl")
    assert samples.points == points
    assert done.stderr.splitlines()[-1] == f"{len(samples.launch_points)} points in s.jsonl"


def test_resuming_under_other_conditions_is_refused_without_a_remedy_that_cannot_work(
    lanewise: Lanewise, tmp_path: Path
) -> None:
    command = ("measure", "scatter", "--sizes", "8", "--repetitions", 10, "--launches", 2)
    lanewise(*command, "-n", 2, "-o", "s.jsonl")
    kept = (tmp_path / "s.jsonl").read_bytes()

    done = lanewise(*command, "-n", 3, "-o", "s.jsonl", "--resume")

    assert done.returncode == 2
    assert done.stderr == (
        "lanewise measure: s.jsonl was measured with ranks 2, not 3; name another file or the same "
        "conditions\n"
    )
    assert (tmp_path / "s.jsonl").read_bytes() == kept


@pytest.mark.one_mpi
def test_the_printed_command_measures_when_typed(
    lanewise: Lanewise, launcher: str, tmp_path: Path
) -> None:
    command = ("measure", "bcast", "-n", 2, "--launcher", launcher, *FEW)
    printed = lanewise(*command, "--print-command")
    assert printed.returncode == 0, printed.stderr
    assert not (tmp_path / "s.jsonl").exists()

    done = subprocess.run(
        printed.stdout, shell=True, cwd=tmp_path, check=False, capture_output=True, timeout=60
    )

    assert done.returncode == 0, done.stderr
    assert len(load(tmp_path / "s.jsonl").points) == 2


def test_the_srun_line_is_printed_where_srun_is_not_installed(
    lanewise: Lanewise, tmp_path: Path
) -> None:
    done = lanewise("measure", "bcast", "-n", 4, "--launcher", "srun", "--print-command", *FEW)

    words = shlex.split(done.stdout)
    assert Path(words[0]).name == "srun"
    assert {"--ntasks=4", "--mpi=pmix", "--launcher=srun"} <= set(words)


def test_further_arguments_of_the_launcher_are_recorded_and_repeated(
    lanewise: Lanewise, tmp_path: Path
) -> None:
    options = ("-n", 2, "--launcher", "openmpi", *FEW)

    done = lanewise("measure", "bcast", *options, "--launcher-args", "--bind-to none")

    assert done.returncode == 0, done.stderr
    samples = load(tmp_path / "s.jsonl")
    assert samples.context.launcher_args == "--bind-to none"
    assert "--launcher-args=--bind-to none" in shlex.split(command_of(samples))
    resumed = lanewise("measure", "bcast", *options, "--resume")
    assert resumed.returncode == 2
    assert 'was measured with launcher_args "--bind-to none", not ""' in resumed.stderr


def test_a_user_operation_is_measured_by_its_own_name(
    lanewise: Lanewise, user_library: Path, tmp_path: Path
) -> None:
    operation = f"{user_library}:rendezvous"

    done = lanewise("measure", "--operation", operation, "-n", 2, "--launcher", "openmpi", *FEW)

    assert done.returncode == 0, done.stderr
    assert {point.operation for point in load(tmp_path / "s.jsonl").points} == {"rendezvous"}


def pages() -> str:
    """Return the largest pages that this host has."""
    switch = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    return "huge" if switch.is_file() and "[never]" not in switch.read_text() else "small"


ALONE = {
    "pairs", "triplets", "trains", "sends", "receives", "clock", "polling", "post-work-wait",
}  # fmt: skip
ONE_SIDED = {"put", "get", "accumulate", "fetch", "swap"}


def is_one_sided(name: str) -> bool:
    """Tell whether an operation needs a window."""
    return bool(ONE_SIDED & set(name.split("_")))


def in_buffers(lanewise: Lanewise, launcher: str, names: list[str], buffers: str) -> None:
    """Measure these operations in such buffers, each delivery checked."""
    done = lanewise(
        "measure", *names, "-n", 2, "--launcher", launcher, "--sizes", "4K", "--repetitions", 2,
        "--warmup", 1, "--window", 4, "--validate", "-o", "s.jsonl", "--buffers", buffers,
        "--launches", 1,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.one_mpi
def test_every_operation_is_validated_in_buffers_of_every_kind(
    lanewise: Lanewise, launcher: str, tmp_path: Path
) -> None:
    listed = lanewise("measure", "--list", "--launcher", launcher).stdout.splitlines()
    names = [name for name in listed if " needs " not in name and name not in ALONE]
    if launcher == "mpich":
        # MPICH 4.0 over UCX moves the start of a window back to a multiple of 64 bytes.
        names = [name for name in names if not is_one_sided(name)]
    # Simulated ranks have no caches to be cold.
    caches = "warm" if launcher == "smpi" else "cold"

    in_buffers(lanewise, launcher, names, f"{caches},unaligned,rotating=2,{pages()}")

    samples = load(tmp_path / "s.jsonl")
    assert {point.operation for point in samples.points} == set(names)
    assert samples.context.buffers == {
        "caches": caches, "offset_bytes": 4, "turns": 2, "pages": pages(),
    }  # fmt: skip


@pytest.mark.parametrize("sizes", [("--sizes", "64,8K"), ("--sizes", "64,8K", "--adaptive", "0.5")])
def test_wrong_data_is_told_before_it_is_measured(
    sizes: tuple[str, ...], lanewise: Lanewise, compiled: Compile, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = compiled("openmpi", "mpicc", "-shared -fPIC wrong_bcast.c")
    monkeypatch.setenv("LD_PRELOAD", str(wrong))

    done = lanewise(
        "measure", "bcast", "-n", 2, "--launcher", "openmpi", *sizes, "--validate",
        "--launches", 1, "--repetitions", 2,
    )  # fmt: skip

    assert done.returncode == 1
    assert "bcast of 64 bytes delivered wrong data on rank 1, first at element 0" in done.stderr


def test_windows_are_validated_in_cold_rotating_buffers(lanewise: Lanewise, tmp_path: Path) -> None:
    if why_not("mpich"):
        pytest.skip(why_not("mpich"))
    listed = lanewise("measure", "--list", "--launcher", "mpich").stdout.splitlines()
    names = [name for name in listed if is_one_sided(name)]

    in_buffers(lanewise, "mpich", names, f"cold,rotating=2,{pages()}")

    assert {point.operation for point in load(tmp_path / "s.jsonl").points} == set(names)


def test_the_list_names_operations_that_can_be_measured(lanewise: Lanewise, launcher: str) -> None:
    done = lanewise("measure", "--list", "--launcher", launcher)

    assert {"scatter", "ibcast", "pingpong"} <= set(done.stdout.split())


def test_a_terminal_gets_a_bar_with_time_left(lanewise: Lanewise, tmp_path: Path) -> None:
    script = "python -m lanewise measure scatter -n 2 --sizes 1:64:x2 --launches 2"
    environment = {**os.environ, "COLUMNS": "100", "TERM": "xterm"}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"

    shown = subprocess.run(
        ["script", "--quiet", "--return", "--command", script, "/dev/null"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=True, timeout=60,
        stdin=subprocess.DEVNULL,
    ).stdout  # fmt: skip

    assert "14/14" in shown
    assert "launch 2 of 2: scatter" in shown
    assert "left" in shown
    assert "Median Latency(us)" in shown


def test_no_color_is_obeyed_on_a_terminal(lanewise: Lanewise, tmp_path: Path) -> None:
    environment = {**os.environ, "NO_COLOR": "1", "TERM": "xterm"}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"

    shown = subprocess.run(
        ["script", "--quiet", "--return", "--command",
         "python -m lanewise measure scatter -n 2 --sizes 8 --launches 1", "/dev/null"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=True, timeout=60,
        stdin=subprocess.DEVNULL,
    ).stdout  # fmt: skip

    assert "\x1b[3" not in shown
    assert "\x1b[9" not in shown


def test_results_are_printed_as_one_json_object(lanewise: Lanewise) -> None:
    done = lanewise(
        "measure",
        "bcast",
        "-n",
        2,
        "--sizes",
        "8,64",
        "--repetitions",
        10,
        "--launches",
        2,
        "--json",
    )

    points = json.loads(done.stdout)["records"]
    assert [(one["operation"], one["launch"], one["message_bytes"]) for one in points] == [
        ("bcast", launch, size) for launch in (1, 2) for size in (8, 64)
    ]


def test_a_transport_is_added_to_the_launch_line(lanewise: Lanewise, tmp_path: Path) -> None:
    described = tmp_path / "mine.toml"
    described.write_text(
        'schema = "lanewise-transport"\nversion = 1\nmpi = "openmpi"\n'
        'arguments = ["--mca", "btl", "self,tcp"]\n[environment]\nUCX_TLS = "tcp"\n'
    )

    done = lanewise("measure", "bcast", "-n", 2, "--transport", described, "--print-command")

    assert "--mca btl self,tcp" in done.stdout
    assert "-x UCX_TLS=tcp" in done.stdout


def test_points_are_measured_over_the_transport_asked_for(lanewise: Lanewise) -> None:
    done = lanewise(
        "measure", "bcast", "-n", 2, "--sizes", 8, "--repetitions", 10, "--launches", 1,
        "--transport", "openmpi-tcp",
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "\n8 " in done.stdout


def test_a_transport_beside_a_launcher_is_refused(lanewise: Lanewise) -> None:
    done = lanewise("measure", "bcast", "--transport", "openmpi-tcp", "--launcher", "mpich")

    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "names its launcher; leave the launcher out" in done.stderr
