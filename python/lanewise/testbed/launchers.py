# SPDX-License-Identifier: BSD-3-Clause
"""What the launchers of MPI must be told to spread ranks over the hosts of a testbed.

All of it is environment and files, so that it reaches a launcher however deep in a script it is
called: Open MPI and PRRTE read parameters from OMPI_MCA_* and PRTE_MCA_*, MPICH's Hydra reads
HYDRA_*.  Both start their daemons through a stand-in for ssh that enters a host.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from lanewise.errors import RequestError
from lanewise.testbed.plan import Placed, Plan

_RANK_OPTIONS = ("-n", "-np", "--np", "--n", "-c", "--ranks")
# Options of other programs are called so, too, such as that of head; more ranks find no room here.
_RANKS = re.compile(r"[0-9]{1,5}")
# A testbed may be raised inside of a job, whose hosts are not those of the testbed.
NO_BATCH_SYSTEM = "^slurm,tm,pbs,lsf,gridengine,flux,alps"
# Variables that choose how messages travel, or over which interfaces; a user may know better.
TRANSPORT = (
    "OMPI_MCA_pml",
    "OMPI_MCA_btl",
    "OMPI_MCA_btl_tcp_if_include",
    "FI_PROVIDER",
    "FI_TCP_IFACE",
    "UCX_NET_DEVICES",
    "UCX_TLS",
)
_AS_ROOT = ("OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT")


@dataclass(frozen=True)
class RankLayout:
    """The ranks of one launch, each with its host, in order."""

    hosts: tuple[Placed, ...]

    def counts(self) -> dict[str, int]:
        """Return how many ranks each host has, in the order of their first ranks."""
        return dict(Counter(host.name for host in self.hosts))


def rank_count(command: Sequence[str]) -> int | None:
    """Return the number of ranks that a command line asks for, None where it does not say.

    Contexts of a launcher, separated by a colon, add up.
    """
    values = [
        int(value)
        for option, value in pairwise(command)
        if option in _RANK_OPTIONS and _RANKS.fullmatch(value)
    ]
    if not values:
        return None
    return sum(values) if ":" in command else values[0]


def chosen_hosts(plan: Plan, names: Sequence[str]) -> list[Placed]:
    """Return the hosts of these names in this order, all where there are no names."""
    known = {host.name: host for host in plan.hosts}
    for name in names:
        if name not in known:
            raise RequestError(f"there is no host '{name}'; there are {', '.join(known)}")
    if len(set(names)) != len(names):
        raise RequestError("a host is named twice; give each once, ranks are spread over them")
    return [known[name] for name in names] or list(plan.hosts)


def spread(hosts: Sequence[Placed], ranks: int) -> RankLayout:
    """Spread ranks over hosts evenly: neighbours share a host, the first hosts have one more."""
    each, more = divmod(ranks, len(hosts))
    numbered = enumerate(hosts)
    return RankLayout(tuple(host for i, host in numbered for _ in range(each + (i < more))))


def placement(testbed_name: str, layout: RankLayout) -> dict[str, object]:
    """Return which host and site each rank is on, as LANEWISE_PLACEMENT has it."""
    hosts = {host.name: host for host in layout.hosts}
    return {
        "schema": "lanewise-placement",
        "version": 1,
        "testbed": testbed_name,
        "hosts": [
            {"host": host.name, "site": host.site, "address": host.address}
            for host in hosts.values()
        ],
        "ranks": [
            {"rank": rank, "host": host.name, "site": host.site}
            for rank, host in enumerate(layout.hosts)
        ],
    }


def openmpi_hosts(layout: RankLayout) -> str:
    """Return a host file for Open MPI."""
    return "".join(f"{name} slots={count}\n" for name, count in layout.counts().items())


def hydra_hosts(layout: RankLayout) -> str:
    """Return a host file for MPICH's Hydra."""
    return "".join(f"{name}:{count}\n" for name, count in layout.counts().items())


def shared_interfaces(plan: Plan) -> list[str]:
    """Return the interfaces with an address that every host has, but the one for management."""
    devices = [
        {each.end.device for each in plan.addresses if each.end.namespace == host.name}
        for host in plan.hosts
    ]
    return sorted(set.intersection(*devices) - ({plan.launcher_device} if plan.managed else set()))


def environment(
    plan: Plan, agent: Path, folder: Path, *, ranks: int, cores: int
) -> Mapping[str, str]:
    """Return the variables that make Open MPI, PRRTE and MPICH use the testbed.

    `folder` has the files `openmpi.hosts`, `hydra.hosts` and `placement.json`.  Hosts share this
    machine's cores: no rank is bound to one, and ranks that wait give way where they are many.
    Those of `TRANSPORT` are what a user who exported none gets; see `keeping_exported`.
    """
    interfaces = shared_interfaces(plan)
    openmpi = {
        "plm": "rsh",
        "ras": NO_BATCH_SYSTEM,
        "plm_rsh_agent": str(agent),
        "plm_rsh_no_tree_spawn": "1",
        "orte_default_hostfile": str(folder / "openmpi.hosts"),
        "orte_tmpdir_base": str(folder),
        "hwloc_base_binding_policy": "none",
        "rmaps_base_oversubscribe": "1",
        "oob_tcp_if_include": plan.launcher_device,
        "pml": "ob1",
        "btl": "self,vader,tcp",
        "btl_tcp_if_include": ",".join(interfaces),
        "mpi_yield_when_idle": "1" if ranks > cores else "0",
    }
    prrte = {
        "plm": "ssh",
        "ras": NO_BATCH_SYSTEM,
        "plm_ssh_agent": str(agent),
        "plm_ssh_no_tree_spawn": "1",
        "prte_default_hostfile": str(folder / "openmpi.hosts"),
        "prte_tmpdir_base": str(folder),
        "hwloc_default_binding_policy": "none",
        "rmaps_default_mapping_policy": ":oversubscribe",
        "prte_if_include": plan.launcher_device,
    }
    mpich = {
        "HYDRA_RMK": "user",
        "HYDRA_LAUNCHER": "ssh",
        "HYDRA_LAUNCHER_EXEC": str(agent),
        "HYDRA_HOST_FILE": str(folder / "hydra.hosts"),
        "HYDRA_IFACE": plan.launcher_device,
        "FI_PROVIDER": "tcp",
        "FI_TCP_IFACE": interfaces[0],
        "UCX_NET_DEVICES": ",".join(interfaces),
        # Hosts here share memory, which UCX would take for the way between them.
        "UCX_TLS": "tcp,self",
    }
    return {
        "LANEWISE_PLACEMENT": str(folder / "placement.json"),
        **{name + more: "1" for name in _AS_ROOT for more in ("", "_CONFIRM")},
        **{f"OMPI_MCA_{key}": value for key, value in openmpi.items()},
        **{f"PRTE_MCA_{key}": value for key, value in prrte.items()},
        **mpich,
    }


def keeping_exported(
    variables: Mapping[str, str], exported: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Return `variables` without those of `TRANSPORT` that the user exported, and their names.

    Only those are named whose value differs from ours.
    """
    kept = {key: exported[key] for key in TRANSPORT if key in exported}
    left = {key: value for key, value in variables.items() if key not in kept}
    return left, [key for key, value in kept.items() if variables.get(key) != value]
