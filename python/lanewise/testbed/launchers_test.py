# SPDX-License-Identifier: BSD-3-Clause
"""Ranks are spread evenly, host files agree with the placement, and counts are found."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from lanewise.errors import RequestError
from lanewise.testbed import launchers, shipped
from lanewise.testbed.layout import make_plan
from lanewise.testbed.plan import Placed, Plan
from lanewise.testbed.read import read

SCHEMA_FILE = Path(__file__).parents[3] / "schema" / "placement.schema.json"
SCHEMA = Draft202012Validator(json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))


def plan_of(name: str) -> Plan:
    source = shipped.find(name)
    return make_plan(read(source.text, source.name, source.where))


HOSTS = [Placed(f"{site}{i}", site, f"10.{k}.0.{i}") for k, site in enumerate("ab") for i in (1, 2)]


@pytest.mark.parametrize(
    ("command", "ranks"),
    [
        (["mpirun", "-n", "8", "app"], 8),
        (["mpirun", "--mca", "x", "y", "-np", "4", "app"], 4),
        (["mpirun", "-n", "2", "a", ":", "-n", "3", "b"], 5),
        (["lanewise", "measure", "scatter", "-n", "6"], 6),
        (["mpirun", "app"], None),
        (["head", "-n", "1000000000", "big.log"], None),
        (["head", "-n", "9" * 5000, "big.log"], None),
        (["app", "-n", "²"], None),
        (["app", "-n", "٣"], None),
        (["sh", "-c", "mpirun -n 4 app"], None),
    ],
)
def test_the_number_of_ranks_is_found_in_a_command(command: list[str], ranks: int | None) -> None:
    assert launchers.rank_count(command) == ranks


@given(st.integers(0, 50), st.integers(1, 4))
def test_ranks_are_spread_evenly_and_in_order(ranks: int, hosts: int) -> None:
    layout = launchers.spread(HOSTS[:hosts], ranks)

    counts = [layout.counts().get(host.name, 0) for host in HOSTS[:hosts]]
    order = [HOSTS.index(host) for host in layout.hosts]
    assert sum(counts) == ranks
    assert max(counts) - min(counts) <= 1
    assert order == sorted(order)


@given(st.integers(1, 50))
def test_host_files_and_placement_agree(ranks: int) -> None:
    layout = launchers.spread(HOSTS, ranks)

    placed = launchers.placement("two", layout)

    SCHEMA.validate(placed)
    entries = placed["ranks"]
    assert isinstance(entries, list)
    assert [entry["rank"] for entry in entries] == list(range(ranks))
    counts = {
        name: sum(1 for entry in entries if entry["host"] == name) for name in layout.counts()
    }
    openmpi = "".join(f"{name} slots={count}\n" for name, count in counts.items())
    hydra = "".join(f"{name}:{count}\n" for name, count in counts.items())
    assert launchers.openmpi_hosts(layout) == openmpi
    assert launchers.hydra_hosts(layout) == hydra


def test_hosts_are_taken_in_the_order_asked_for() -> None:
    plan = plan_of("two-site")

    chosen = launchers.chosen_hosts(plan, ["b1", "a1"])

    assert [host.name for host in chosen] == ["b1", "a1"]
    assert len(launchers.chosen_hosts(plan, [])) == 8


@pytest.mark.parametrize("names", [["a1", "a9"], ["a1", "a1"]])
def test_unknown_hosts_and_hosts_named_twice_are_refused(names: list[str]) -> None:
    with pytest.raises(RequestError, match=r"a9|twice"):
        launchers.chosen_hosts(plan_of("two-site"), names)


def test_every_launcher_is_told_agent_hosts_and_interfaces() -> None:
    told = launchers.environment(
        plan_of("two-port"), Path("/s/agent"), Path("/s/run"), ranks=8, cores=2
    )

    assert told["OMPI_MCA_plm_rsh_agent"] == "/s/agent"
    assert told["OMPI_MCA_btl_tcp_if_include"] == "lan0,lan1"
    assert told["OMPI_MCA_oob_tcp_if_include"] == told["HYDRA_IFACE"] == "lan2"
    assert told["OMPI_MCA_mpi_yield_when_idle"] == "1"
    assert told["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] == "1"
    assert told["PRTE_MCA_plm_ssh_agent"] == "/s/agent"
    assert told["PRTE_MCA_prte_if_include"] == "lan2"
    assert told["HYDRA_LAUNCHER_EXEC"] == "/s/agent"
    assert told["HYDRA_HOST_FILE"] == "/s/run/hydra.hosts"
    assert told["LANEWISE_PLACEMENT"] == "/s/run/placement.json"


def test_every_launcher_takes_more_ranks_than_cores_and_no_host_of_a_batch_system() -> None:
    told = launchers.environment(
        plan_of("two-site"), Path("/s/agent"), Path("/s/run"), ranks=8, cores=2
    )

    assert told["OMPI_MCA_rmaps_base_oversubscribe"] == "1"
    assert told["PRTE_MCA_rmaps_default_mapping_policy"] == ":oversubscribe"
    left_out = {"slurm", "tm", "pbs", "lsf", "gridengine", "flux", "alps"}
    for name in ("OMPI_MCA_ras", "PRTE_MCA_ras"):
        assert told[name].startswith("^")
        assert set(told[name][1:].split(",")) == left_out


MANAGED_FIRST = """[[site]]
name = "a"
hosts = 2
lan = [{ management = true }, {}, {}]
"""


def test_messages_do_not_take_the_management_network_where_it_is_listed_first() -> None:
    plan = make_plan(read(MANAGED_FIRST, "first", "first.toml"))

    told = launchers.environment(plan, Path("/s/agent"), Path("/s/run"), ranks=2, cores=2)

    assert told["FI_TCP_IFACE"] == "lan1"
    assert told["UCX_NET_DEVICES"] == told["OMPI_MCA_btl_tcp_if_include"] == "lan1,lan2"
    assert told["HYDRA_IFACE"] == "lan0"
    assert [host.address for host in plan.hosts] == ["10.1.1.1", "10.1.1.2"]


def test_what_the_user_exported_to_choose_a_transport_is_kept() -> None:
    told = launchers.environment(
        plan_of("two-site"), Path("/s/agent"), Path("/s/run"), ranks=2, cores=2
    )
    exported = {"UCX_TLS": "all", "UCX_NET_DEVICES": told["UCX_NET_DEVICES"], "HYDRA_IFACE": "eth0"}

    variables, kept = launchers.keeping_exported(told, exported)

    assert "UCX_TLS" not in variables
    assert variables["HYDRA_IFACE"] == "lan0"
    assert kept == ["UCX_TLS"]


def test_ranks_that_have_a_core_each_do_not_give_way() -> None:
    told = launchers.environment(
        plan_of("one-switch"), Path("/s/agent"), Path("/s/run"), ranks=2, cores=2
    )

    assert told["OMPI_MCA_mpi_yield_when_idle"] == "0"
