# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise.rdma`: real verbs programs, started from Python, with faults and with a cut cable."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from compiling import compiled

from free_ports import free_ports
from lanewise import rdma
from lanewise.errors import LanewiseError, RequestError, RunError

PERFTEST_PORT = 18515
ELEVENTH_SEND = """
[[fault]]
completion = "send"
status = "IBV_WC_RETRY_EXC_ERR"
after = 10
times = 1
"""
LIMIT_S = 60.0
MUCH_BYTES = 1 << 20


pytestmark = pytest.mark.skipif(
    shutil.which("ibv_rc_pingpong") is None, reason="no ibv_rc_pingpong; install ibverbs-utils"
)


@pytest.fixture(scope="module")
def two_hosts() -> Iterator[rdma.Hosts]:
    with rdma.testbed("two-port") as hosts:
        yield hosts


@dataclass(frozen=True)
class Pingpong:
    """Both ends of ibv_rc_pingpong; other tests have ports of their own."""

    port: int

    @property
    def server(self) -> list[str]:
        return ["ibv_rc_pingpong", "-g", "0", "-p", str(self.port)]

    @property
    def client(self) -> list[str]:
        return [*self.server, "127.0.0.1"]


@pytest.fixture
def pingpong() -> Pingpong:
    (port,) = free_ports(1)
    return Pingpong(port)


def wait_until_port_sends(hosts: rdma.Hosts, port: int) -> None:
    """Wait until the program on the first host has sent data from one of its ports."""
    deadline_s = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline_s:
        devices = hosts.status("a1")
        sent = [one["ports"][port]["counters"]["bytes_sent"] for one in devices]
        if sum(sent) > MUCH_BYTES:
            return
    pytest.fail(f"port {port + 1} has sent nothing")


def test_an_outcome_counts_what_occurred_and_has_nothing_left(
    two_hosts: rdma.Hosts, pingpong: Pingpong
) -> None:
    with rdma.start(pingpong.server, hosts=two_hosts, at="a1", ports=["lan0"]) as server:
        server.wait_until_it_can_be_called()
        words = [*pingpong.server, "-n", "30", "10.1.0.1"]
        client = rdma.run(words, hosts=two_hosts, at="a2", ports=["lan0"], timeout_s=LIMIT_S)
    assert client.occurred["completion"] == {"receive": 30, "send": 30}
    assert client.occurred["call"]["ibv_reg_mr"] == 1
    assert client.left == {}


def test_a_server_that_takes_its_time_is_waited_for(two_hosts: rdma.Hosts, tmp_path: Path) -> None:
    program = compiled("connecting", tmp_path, "rdmacm")
    with rdma.start([program, "slow"], hosts=two_hosts, at="a1", ports=["lan0"]) as server:
        server.wait_until_it_can_be_called()
        assert server.stdout == "listens\n"


def test_an_outcome_names_what_a_program_did_not_destroy_after_a_fault(pingpong: Pingpong) -> None:
    with rdma.start(pingpong.server) as server:
        server.wait_until_listening(pingpong.port)
        client = rdma.run(pingpong.client, faults=ELEVENTH_SEND, timeout_s=LIMIT_S)
    assert client.left == dict.fromkeys(("ibv_context", "ibv_cq", "ibv_mr", "ibv_pd", "ibv_qp"), 1)


def test_a_program_runs_on_the_device_and_its_words_come_back() -> None:
    found = rdma.run(["ibv_devinfo"], timeout_s=LIMIT_S)

    assert (found.status, found.stderr) == (0, "")
    assert "lanewise0" in found.stdout
    assert found.faults == found.protection == ()


def test_a_server_is_waited_for_and_shown_while_it_runs(pingpong: Pingpong) -> None:
    with rdma.start(pingpong.server) as server:
        server.wait_until_listening(pingpong.port)
        shown = rdma.status()
        client = rdma.run(pingpong.client, timeout_s=LIMIT_S)
        ended = server.wait(LIMIT_S)

    assert "ibv_rc_pingpong" in [device["program"] for device in shown]
    assert (client.status, ended.status) == (0, 0)
    assert "1000 iters" in client.stdout


@pytest.mark.parametrize("kind", ["text", "file"])
def test_a_program_meets_the_faults_of_its_script(
    kind: str, pingpong: Pingpong, tmp_path: Path
) -> None:
    path = tmp_path / "faults.toml"
    path.write_text(ELEVENTH_SEND, encoding="utf-8")

    with rdma.start(pingpong.server) as server:
        server.wait_until_listening(pingpong.port)
        faults = ELEVENTH_SEND if kind == "text" else path
        client = rdma.run(pingpong.client, faults=faults, timeout_s=LIMIT_S)
        still_waiting = server.running

    assert client.status == 1
    assert "transport retry counter exceeded" in client.stderr
    assert [(one["occurrence"], one["what"]) for one in client.faults] == [
        (11, "IBV_WC_RETRY_EXC_ERR")
    ]
    assert still_waiting
    assert not server.running
    assert server.stop().status < 0


def test_the_faults_of_an_outcome_happen_again(pingpong: Pingpong) -> None:
    with rdma.start(pingpong.server) as server:
        server.wait_until_listening(pingpong.port)
        first = rdma.run(pingpong.client, faults=ELEVENTH_SEND, timeout_s=LIMIT_S)
    with rdma.start(pingpong.server) as server:
        server.wait_until_listening(pingpong.port)
        again = rdma.run(pingpong.client, replay=first.faults, timeout_s=LIMIT_S)

    assert (again.status, again.faults) == (1, first.faults)
    with pytest.raises(RequestError, match="takes the place"):
        rdma.start(pingpong.server, faults=ELEVENTH_SEND, replay=first.faults)
    with pytest.raises(RequestError, match="replay:1: one of call"):
        rdma.start(pingpong.server, replay=[{"fault": 1}])


def test_a_program_that_does_not_end_is_stopped(pingpong: Pingpong) -> None:
    with rdma.start(pingpong.server) as server:
        with pytest.raises(RunError, match=r"not ended after 0\.2 s"):
            server.wait(0.2)

        assert not server.running


def test_one_that_ends_is_not_waited_for() -> None:
    with (
        rdma.start(["ibv_devinfo", "-d", "none"]) as program,
        pytest.raises(RunError, match="ended with status") as raised,
    ):
        program.wait_until_listening(PERFTEST_PORT, LIMIT_S)

    assert raised.value.details


@pytest.mark.skipif(shutil.which("ibv_devinfo") is None, reason="no ibv_devinfo")
def test_infiniband_ports_have_the_lids_of_their_mask() -> None:
    found = rdma.run(["ibv_devinfo"], link_layer="infiniband", lmc=2, timeout_s=LIMIT_S)

    assert re.search(r"port_lmc:\s+0x02", found.stdout), found


@pytest.mark.parametrize("lmc", [-1, 8, 2.0, "2"])
def test_a_mask_that_no_lid_has_is_refused_by_its_name(lmc: Any) -> None:
    with pytest.raises(RequestError, match=r"^lmc is a whole number from 0 to 7$"):
        rdma.start(["ibv_devinfo"], link_layer="infiniband", lmc=lmc)
    with pytest.raises(RequestError, match=r'^lmc is of InfiniBand ports; add link_layer="infinib'):
        rdma.start(["ibv_devinfo"], lmc=2)


@pytest.mark.parametrize("faults", ["# none\n", " [[fault]]", "[[fault]] # [[", " \n", "", " "])
def test_a_text_with_lines_or_a_table_is_a_script(faults: str) -> None:
    with pytest.raises(RequestError, match=r"^faults:\d"):
        rdma.start(["ibv_devinfo"], faults=faults)


@pytest.mark.parametrize("name", ["runs[[1]].toml", "missing.toml"])
def test_a_text_of_one_line_is_a_file_of_faults(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(RequestError, match=re.escape(f"{name} cannot be read (No such file")):
        rdma.start(["ibv_devinfo"], faults=name)


def test_what_cannot_be_is_refused_with_nothing_started() -> None:
    server = ["ibv_rc_pingpong"]
    with pytest.raises(RequestError, match="no program"):
        rdma.start([])
    with pytest.raises(RequestError, match=r"say program=\['ibv_devinfo', '-v'\]"):
        rdma.start("ibv_devinfo -v")
    with pytest.raises(RequestError, match=r"ports='lo' is no list; say ports=\['lo'\]"):
        rdma.start(server, ports="lo")
    with pytest.raises(RequestError, match=r"devices='lo' is no list"):
        rdma.start(server, devices="lo")
    with pytest.raises(RequestError, match="ibv_rc_pinpong"):
        rdma.start(["ibv_rc_pinpong"])
    with pytest.raises(RequestError, match="an argument cannot contain a NUL character"):
        rdma.start([*server, "127.0.0.1\0"])
    with pytest.raises(
        RequestError, match=r"an argument cannot contain '\\ud800', which cannot be"
    ):
        rdma.start([*server, "\ud800"])
    with pytest.raises(RequestError, match="an argument cannot contain a NUL character"):
        rdma.start(server, pcap="a\0b")
    with pytest.raises(RequestError, match="no such interface"):
        rdma.start(server, ports=("eth77",))
    with pytest.raises(RequestError, match="did you mean ibv_reg_mr"):
        rdma.start(server, faults='[[fault]]\ncall = "ibv_reg_mrs"\n')
    with pytest.raises(RequestError, match=r"faults:2: .*did you mean ibv_reg_mr"):
        rdma.start(server, faults='[[ fault ]]\ncall = "ibv_reg_mrs"')
    with pytest.raises(RequestError, match=r"faults:1: there is no \[\[fault\]\]"):
        rdma.start(server, faults="")
    with pytest.raises(RequestError, match=r"seed 1\.0: use a whole number from 0 to 2\^64 - 1"):
        rdma.start(server, faults=ELEVENTH_SEND, seed=1.0)  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="go together"):
        rdma.start(server, at="a1")
    with pytest.raises(RequestError, match="backwards"):
        rdma.start(server, protection=rdma.Protection(policy="backwards"))
    with pytest.raises(RequestError, match=r"missing\.json does not exist"):
        rdma.start(server, protection=rdma.Protection(path_file=Path("missing.json")))
    with pytest.raises(RequestError, match="--report missing/report cannot be written"):
        rdma.start(server, protection=rdma.Protection(report=Path("missing/report")))


@pytest.mark.skipif(shutil.which("ib_write_bw") is None, reason="no ib_write_bw; install perftest")
def test_a_protected_transfer_outlives_a_cut_cable(two_hosts: rdma.Hosts, tmp_path: Path) -> None:
    words = ("ib_write_bw", "-x", "0", "-D", "4")
    report = tmp_path / "report.jsonl"

    def start(*more: str, at: str) -> rdma.Program:
        return rdma.start(
            [*words, *more], ports=("lan0", "lan1"), protection=rdma.Protection(report=report),
            hosts=two_hosts, at=at,
        )  # fmt: skip

    with start(at="a2") as server:
        server.wait_until_listening(PERFTEST_PORT)
        with start("10.1.0.2", at="a1") as client:
            wait_until_port_sends(two_hosts, 0)
            two_hosts.cut("a1.lan0")
            wait_until_port_sends(two_hosts, 1)
            # perftest says goodbye over TCP, which nothing protects.
            two_hosts.mend("a1.lan0")
            outcomes = client.wait(LIMIT_S), server.wait(LIMIT_S)

    assert [one.status for one in outcomes] == [0, 0]
    assert all(one.migrations >= 1 for one in outcomes)
    events = [event["event"] for event in outcomes[0].protection[0]["events"]]
    assert events[:2] == ["port_down", "migrated"]
    reported = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    assert reported == [one for outcome in outcomes for one in outcome.protection]


def test_a_host_or_an_interface_that_is_not_there_is_refused(two_hosts: rdma.Hosts) -> None:
    with pytest.raises(RequestError, match="there is no 'b7' in the testbed; there are a1, a2"):
        rdma.start(["ibv_devinfo"], ports=("lan0",), hosts=two_hosts, at="b7")
    with pytest.raises(RequestError, match="--ports eth77: no such interface; use lo, lan0, lan1"):
        rdma.start(["ibv_devinfo"], ports=("eth77",), hosts=two_hosts, at="a1")
    with pytest.raises(RequestError, match=r"a1\.lan0"):
        two_hosts.cut("lan0")
    with pytest.raises(LanewiseError, match="lan9"):
        two_hosts.cut("a1.lan9")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"link_layer": "infinband"}, "--link-layer infinband: use ethernet or infiniband"),
        ({"congestion": "off"}, "--congestion off: use dcqcn or none"),
        ({"ports": ("lan0", "lan1", "lo")}, "name 1 or 2 different interfaces"),
        ({"pcap": "/missing/packets.pcap"}, "/missing cannot be written; name another file"),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else "",
)
def test_a_device_that_cannot_be_is_refused_on_a_host(
    two_hosts: rdma.Hosts, asked: dict[str, Any], said: str
) -> None:
    options = {"ports": ("lan0",), **asked}
    with pytest.raises(RequestError, match=said):
        rdma.run(["ibv_devinfo"], hosts=two_hosts, at="a1", **options)
