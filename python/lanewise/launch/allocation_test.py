# SPDX-License-Identifier: BSD-3-Clause
"""What a batch system says of a job is read as it means it, and refused in one line otherwise."""

import json
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanewise.errors import RequestError
from lanewise.launch.allocation import Host, allocation_in, counts, node_names

SLURM = {
    "SLURM_JOB_ID": "12",
    "SLURM_JOB_NODELIST": "node[1-2]",
    "SLURM_JOB_CPUS_PER_NODE": "32(x2)",
    "SLURM_TASKS_PER_NODE": "32(x2)",
    "SLURM_NTASKS": "64",
}


def test_outside_of_any_batch_system_there_is_no_allocation() -> None:
    assert allocation_in({"PATH": "/bin", "LANEWISE_PLACEMENT": "/own.json"}) is None


def test_a_slurm_job_has_the_cores_of_all_its_hosts() -> None:
    found = allocation_in(SLURM)

    assert found is not None
    assert found.hosts == (Host("node1", 32, 32), Host("node2", 32, 32))
    assert (found.ranks, found.slots, found.cores, found.step) == (64, 64, 64, False)


def test_a_job_with_several_cores_a_task_has_fewer_slots_than_cores() -> None:
    wide = {**SLURM, "SLURM_TASKS_PER_NODE": "8(x2)", "SLURM_NTASKS": "16"}

    found = allocation_in({**wide, "SLURM_CPUS_PER_TASK": "4"})

    assert found is not None
    assert (found.ranks, found.slots, found.cores) == (16, 16, 64)


def test_a_job_that_names_no_number_of_tasks_has_one_for_each_slot() -> None:
    exclusive = {name: text for name, text in SLURM.items() if name != "SLURM_NTASKS"}
    bare = {name: text for name, text in exclusive.items() if name != "SLURM_TASKS_PER_NODE"}

    assert [found.ranks for found in map(allocation_in, (exclusive, bare)) if found] == [64, 64]


def test_a_step_on_some_of_the_hosts_still_has_the_cores_of_the_job() -> None:
    step = {**SLURM, "SLURM_STEP_ID": "0", "SLURM_TASKS_PER_NODE": "1", "SLURM_NTASKS": "1"}

    found = allocation_in(step)

    assert found is not None
    assert (found.step, found.ranks, found.cores) == (True, 1, 64)


def test_hosts_are_found_with_and_without_their_domain() -> None:
    found = allocation_in(SLURM)

    assert found is not None
    assert found.host("node2.cluster.example") == Host("node2", 32, 32)
    assert found.host("node3") is None


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("SLURM_JOB_NODELIST", "node[1-", "'node[1-' is not a name"),
        ("SLURM_JOB_NODELIST", "node[1-9999999999]", "is not a range of at most"),
        ("SLURM_JOB_NODELIST", "n[1-999][1-999][1-999]", "more than 100000 hosts"),
        ("SLURM_JOB_NODELIST", "--wrap", "'--wrap' is not a host name"),
        ("SLURM_JOB_NODELIST", "node1,,node2", "'' is not a name"),
        ("SLURM_JOB_CPUS_PER_NODE", "32(x", "'32(x' is not a count"),
        ("SLURM_JOB_CPUS_PER_NODE", "1(x9999999)", "more than 100000 hosts"),
        ("SLURM_JOB_CPUS_PER_NODE", "32(x3)", "is for 3 hosts, SLURM_JOB_NODELIST names 2"),
        ("SLURM_TASKS_PER_NODE", "none", "'none' is not a count"),
        ("SLURM_NTASKS", "-1", "'-1' is not a positive number"),
        ("SLURM_NTASKS", "\N{SUPERSCRIPT TWO}", "is not a positive number"),
    ],
)
def test_what_slurm_would_not_say_is_refused_by_name(name: str, text: str, said: str) -> None:
    with pytest.raises(RequestError) as refused:
        allocation_in({**SLURM, name: text})

    assert name in str(refused.value)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_half_of_the_variables_of_slurm_are_refused() -> None:
    with pytest.raises(RequestError, match="SLURM_JOB_NODELIST is not"):
        allocation_in({"SLURM_JOB_ID": "12"})


def test_the_node_file_of_pbs_has_a_line_for_each_slot(tmp_path: Path) -> None:
    nodes = tmp_path / "nodes"
    nodes.write_text("a.example\na.example\nb.example\n")

    found = allocation_in({"PBS_JOBID": "7.server", "PBS_NODEFILE": str(nodes)})

    assert found is not None
    assert found.hosts == (Host("a.example", 2, 2), Host("b.example", 1, 1))
    assert (found.ranks, found.hostfile) == (3, str(nodes))


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "names no host"), ("-x\n", "'-x' is not a host name"), (None, "No such")],
)
def test_a_node_file_of_pbs_that_names_no_hosts_is_refused(
    tmp_path: Path, text: str | None, said: str
) -> None:
    nodes = tmp_path / "nodes"
    if text is not None:
        nodes.write_text(text)

    with pytest.raises(RequestError, match=said):
        allocation_in({"PBS_JOBID": "7.server", "PBS_NODEFILE": str(nodes)})


def test_in_a_testbed_its_hosts_are_the_allocation_whatever_job_it_is_raised_in(
    tmp_path: Path,
) -> None:
    path = tmp_path / "placement.json"
    ranks = [{"rank": rank, "host": host} for rank, host in enumerate(["a1", "a1", "b1"])]
    path.write_text(json.dumps({"testbed": "small", "ranks": ranks}))

    found = allocation_in(
        {**SLURM, "LANEWISE_PLACEMENT": str(path), "LANEWISE_TESTBED_RUN": str(tmp_path)}
    )

    assert found is not None
    assert (found.scheduler, found.job, found.ranks) == ("testbed", "small", 3)
    assert found.hosts == (Host("a1", 2, 2), Host("b1", 1, 1))


def short(numbers: list[int]) -> str:
    """Write numbers the way Slurm does."""
    runs = [(number, len(list(run))) for number, run in groupby(numbers)]
    return ",".join(f"{number}(x{times})" if times > 1 else f"{number}" for number, times in runs)


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=50))
def test_counts_are_read_as_they_are_written(numbers: list[int]) -> None:
    assert counts(short(numbers)) == tuple(numbers)


@given(
    st.lists(
        st.tuples(
            st.from_regex(r"[a-z][a-z0-9-]{0,5}", fullmatch=True),
            st.lists(st.tuples(st.integers(0, 900), st.integers(0, 20)), max_size=3),
            st.integers(1, 4),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_node_lists_are_read_as_they_are_written(
    elements: list[tuple[str, list[tuple[int, int]], int]],
) -> None:
    parts, names = [], []
    for prefix, ranges, width in elements:
        texts = [f"{low:0{width}d}-{low + more:0{width}d}" for low, more in ranges]
        parts.append(f"{prefix}[{','.join(texts)}]" if ranges else prefix)
        names += [
            f"{prefix}{number:0{width}d}"
            for low, more in ranges
            for number in range(low, low + more + 1)
        ] or [prefix]

    assert node_names(",".join(parts)) == tuple(names)


def refusal_of(environment: dict[str, str]) -> str:
    """Return why an environment is refused, empty where it is read."""
    try:
        allocation_in(environment)
    except RequestError as error:
        return str(error)
    return ""


@given(st.text(alphabet="[]-,()x019an .\n\0\N{SUPERSCRIPT TWO}", max_size=30))
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    assert all("\n" not in refusal_of({**SLURM, name: text}) for name in SLURM)
