# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise.measure` with real ranks: launched by it, and those of a running job."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import numpy as np
import pytest
from tuned_job import Job

import lanewise
from lanewise.errors import RequestError, RunError
from lanewise.results.read import load

IN_JOB = """
import json
import lanewise

found = lanewise.measure("scatter", "allreduce", "barrier", sizes="2:1K:x8", repetitions=12,
                         root=1, output="samples.jsonl")
from mpi4py import MPI
everywhere = MPI.COMM_WORLD.gather(found.median_s.tolist())
if MPI.COMM_WORLD.rank == 0:
    print(json.dumps({"ranks": found.ranks, "medians": everywhere,
                      "family": found.context.mpi["family"]}))
"""


def test_ranks_are_launched_and_every_repetition_comes_back(launcher: str, tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"

    found = lanewise.measure(
        "scatter", "barrier", ranks=3, sizes=[8, 1024], repetitions=10, launches=2,
        launcher=launcher, output=path,
    )  # fmt: skip

    assert (found.ranks, found.launches) == (3, 2)
    assert found.operations == ("scatter", "barrier")
    assert found["scatter"].message_bytes.tolist() == [8, 1024]
    assert [one.shape for one in found.samples_s] == [(20,)] * 3
    assert found.launch_medians_s.shape == (3, 2)
    assert np.all(found.low_s <= found.median_s)
    assert [point.median_s for point in load(path).points] == found.median_s.tolist()


def test_options_mean_what_they_mean_on_the_command_line(smpi: str) -> None:
    found = lanewise.measure(
        "bcast", ranks=2, sizes="8:32:x2", launcher=smpi, method="root", repetitions=(5, 7),
        time_limit=1.5, error="1%",
    )  # fmt: skip

    stopping = found.context.stopping
    assert found.message_bytes.tolist() == [8, 16, 32]
    assert found.context.method == "root"
    assert (stopping["repetitions_min"], stopping["repetitions_max"]) == (5, 7)
    assert (stopping["time_limit_s"], stopping["error"]) == (1.5, 0.01)


@pytest.mark.one_mpi
@pytest.mark.parametrize("name", ["measure", "tune"])
def test_each_option_of_the_command_is_a_keyword_or_named_as_none(real_mpi: str, name: str) -> None:
    docs = Path(__file__).parents[2] / "docs"
    page = (docs / "reference" / f"lanewise-{name}.md").read_text(encoding="utf-8")
    (table, *_) = page.split("## lanewise tune export")
    longest = re.findall(r"^\| `(?:-\w, )?--([\w-]+)", table, re.M)
    guide = (docs / "python.md").read_text(encoding="utf-8")
    told = re.search(rf"^\| `lanewise {name}` \| (.*) \|$", guide, re.M)
    assert told is not None

    known = set(inspect.signature(getattr(lanewise, name)).parameters)
    with pytest.raises(TypeError, match="known are") as raised:
        getattr(lanewise, name)("bcast", ranks=2, launcher=real_mpi, nothing_like_it=1)
    known |= set(str(raised.value).partition("known are ")[2].split(", "))
    renamed = {"launcher_args": "launcher_arguments", "budget": "budget_s"}
    keywords = {one: one.replace("-", "_") for one in longest}
    missing = {one for one, key in keywords.items() if renamed.get(key, key) not in known}

    assert {"sizes", "smpi-rate"} <= set(longest)
    assert missing == set(re.findall(r"`--([\w-]+)`", told[1]))


@pytest.mark.one_mpi
def test_what_cannot_be_measured_is_refused_before_a_rank_starts(real_mpi: str) -> None:
    with pytest.raises(RequestError, match="did you mean scatter"):
        lanewise.measure("scater", ranks=2, launcher=real_mpi)
    with pytest.raises(TypeError, match="did you mean method"):
        lanewise.measure("scatter", ranks=2, launcher=real_mpi, metod="root")
    with pytest.raises(RequestError, match="root 2 is outside"):
        lanewise.measure("scatter", ranks=2, launcher=real_mpi, root=2)
    for nothing in ("", [], ()):
        with pytest.raises(RequestError, match="sizes is empty"):
            lanewise.measure("scatter", ranks=2, launcher=real_mpi, sizes=nothing)
    with pytest.raises(RequestError, match="ranks=0"):
        lanewise.measure("scatter", ranks=0, launcher=real_mpi)


def test_a_rank_that_dies_is_an_error_that_says_what_is_kept(
    user_library: Path, tmp_path: Path
) -> None:
    path = tmp_path / "samples.jsonl"

    with pytest.raises(RunError, match=r"launch 1 of 1; what was measured is kept in .*jsonl"):
        lanewise.measure(
            ranks=2,
            operation=f"{user_library}:dying",
            sizes=[8, 1024],
            repetitions=100,
            launches=1,
            launcher="openmpi",
            output=path,
        )


def test_the_ranks_of_a_running_job_measure_and_all_get_the_same(
    real_mpi: str, job: Job, tmp_path: Path
) -> None:
    done = job(real_mpi, 3, IN_JOB)

    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert (seen["ranks"], seen["family"]) == (3, real_mpi)
    assert seen["medians"] == [seen["medians"][0]] * 3
    samples = load(tmp_path / "samples.jsonl")
    assert samples.warnings == []
    sizes = [(point.operation, point.message_bytes, point.root) for point in samples.points]
    assert sizes == [
        ("scatter", 2, 1), ("scatter", 16, 1), ("scatter", 128, 1), ("scatter", 1024, 1),
        ("allreduce", 16, 1), ("allreduce", 128, 1), ("allreduce", 1024, 1), ("barrier", 0, 1),
    ]  # fmt: skip
    assert [point.median_s for point in samples.points] == seen["medians"][0]


HALF = """
import json
from mpi4py import MPI
import lanewise

world = MPI.COMM_WORLD
half = world.Split(world.rank % 2)
found = lanewise.measure("bcast", comm=half, sizes=8, repetitions=10, method="root", buffers="cold")
told = world.gather([found.ranks, found.message_bytes.tolist(), found.context.method,
                     found.context.buffers["caches"], found.launches, len(found.samples_s[0])])
if world.rank == 0:
    print(json.dumps(told))
"""


@pytest.mark.one_mpi
def test_a_communicator_of_some_ranks_is_measured_with_options(real_mpi: str, job: Job) -> None:
    done = job(real_mpi, 4, HALF)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[2, [8], "root", "cold", 1, 10]] * 4


REFUSED = """
import json
from mpi4py import MPI
import lanewise

def told(*operations, **options):
    try:
        lanewise.measure(*operations, **options)
    except (lanewise.errors.LanewiseError, TypeError) as error:
        return f"{type(error).__name__}: {error}"

world = MPI.COMM_WORLD
mine = [
    told("scater"), told("scatter", metod="root"), told("scatter", ranks=3),
    told("scatter", launches=5), told("scatter", launcher="mpich"), told("pairs"),
    told("scatter", validate=True), told("scatter", root=2), told("scatterv", weights="1,2,3"),
    told("scatter", output="nowhere/samples.jsonl"),
    told("scatter", comm=world.Split(world.rank).Create_intercomm(0, world, 1 - world.rank)),
]
everywhere = world.gather(mine)
if world.rank == 0:
    print(json.dumps(everywhere))
"""


def test_what_cannot_be_measured_in_a_job_is_an_error_on_all_ranks(job: Job) -> None:
    done = job("openmpi", 2, REFUSED)

    assert done.returncode == 0, done.stderr
    first, second = json.loads(done.stdout)
    assert first == second
    words = (
        "did you mean scatter", "TypeError: unknown option 'metod'", "the running job has 2",
        "a running job is one launch", "launcher describes a launch", "pairs cannot be measured",
        "validate is not possible", "root 2 is outside", "weights", "make the folder",
        "comm is an intercommunicator; merge its groups",
    )  # fmt: skip
    for sentence, word in zip(first, words, strict=True):
        assert word in sentence


FAILED = """
import json
from mpi4py import MPI
import lanewise
from lanewise.measurement import in_job, library

def told(**options):
    try:
        lanewise.measure("bcast", sizes=8, repetitions=10, **options)
    except (lanewise.errors.LanewiseError, OSError) as error:
        return f"{type(error).__name__}: {error}"

def missing(*_arguments):
    raise OSError("no such library")

world = MPI.COMM_WORLD
load, in_job.write_whole = library.load, missing
mine = [told(output="samples.jsonl")]
if world.rank == 1:
    library.load = missing
mine.append(told())
library.load = load
everywhere = world.gather([*mine, told()])
if world.rank == 0:
    print(json.dumps(everywhere))
"""


def test_what_fails_on_one_rank_leaves_no_other_waiting(job: Job) -> None:
    done = job("openmpi", 2, FAILED)

    assert done.returncode == 0, done.stderr
    first, second = json.loads(done.stdout)
    unwritten = "RunError: the first rank failed: OSError: no such library"
    assert first == [unwritten, "RunError: rank 1 cannot take part: no such library", None]
    assert second == [unwritten, "OSError: no such library", None]


def test_an_mpi4py_of_another_mpi_is_told_from_one_rank(job: Job) -> None:
    done = job("mpich", 2, "import os; os.environ['MPI4PY_MPIABI'] = 'openmpi'\n" + IN_JOB)

    assert done.returncode != 0
    assert "the job has 2 ranks, and mpi4py sees one" in done.stderr
