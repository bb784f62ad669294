# SPDX-License-Identifier: BSD-3-Clause
"""Hosts are read as each MPI writes them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanewise.errors import RequestError
from lanewise.launch.hosts import Named, hostfile_hosts, hosts_in, read_hostfile, spread


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b", [Named("a"), Named("b")]),
        ("a:4, b:2", [Named("a", 4), Named("b", 2)]),
        ("node[1-2,4]:8,login", [Named(f"node{i}", 8) for i in (1, 2, 4)] + [Named("login")]),
        ("fe80::1", [Named("fe80::1")]),
        ("", []),
    ],
)
def test_hosts_on_the_command_line(text: str, expected: list[Named]) -> None:
    assert list(hosts_in(text)) == expected


def test_a_list_that_names_no_host_is_refused() -> None:
    with pytest.raises(RequestError, match=r"^--hosts ' , ' names no host; write node1:4,node2:4$"):
        hosts_in(" , ")


@pytest.mark.parametrize("text", ["a:0", "a:x", "a:", "-a", "node[1-", "node[2-1]"])
def test_hosts_that_nobody_can_mean_are_refused(text: str) -> None:
    with pytest.raises(RequestError, match=r"^--hosts"):
        hosts_in(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a slots=4 max_slots=8\n# b\nb slots=2 # big\n", [Named("a", 4), Named("b", 2)]),
        ("a:4\nb:2 binding=core\n", [Named("a", 4), Named("b", 2)]),
        ("a\na\nb\nb\n", [Named("a", 2), Named("b", 2)]),
        ("a\n\nb\n", [Named("a"), Named("b")]),
        ("node[1-2]\n", [Named("node1"), Named("node2")]),
    ],
)
def test_host_files_of_every_launcher(text: str, expected: list[Named]) -> None:
    assert list(hostfile_hosts(text, "nodes")) == expected


def test_a_mistake_in_a_host_file_is_named_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"^nodes:2: slots 'many'"):
        hostfile_hosts("a slots=4\nb slots=many\n", "nodes")
    with pytest.raises(RequestError, match="names no host"):
        hostfile_hosts("# none\n", "nodes")
    with pytest.raises(RequestError, match=r"^host file .* cannot be read \(No such file"):
        read_hostfile(str(tmp_path / "nodes"))
    with pytest.raises(RequestError, match=r"^host file /dev/zero cannot be read \(it has more"):
        read_hostfile("/dev/zero")


@given(st.text(max_size=40))
def test_any_host_file_is_read_or_refused_in_one_line(text: str) -> None:
    try:
        found = hostfile_hosts(text, "nodes")
    except RequestError as error:
        assert "\n" not in str(error)
    else:
        assert all(one.slots is None or one.slots > 0 for one in found)


@given(st.integers(1, 500), st.integers(1, 40))
def test_spread_ranks_are_all_there_and_differ_by_one_at_most(ranks: int, hosts: int) -> None:
    words = spread([f"h{index}" for index in range(hosts)], ranks)

    slots = [int(word.partition(":")[2]) for word in words]
    assert sum(slots) == max(ranks, hosts)
    assert max(slots) - min(slots) <= 1
