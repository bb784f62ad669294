# SPDX-License-Identifier: BSD-3-Clause
"""Probes: programs with one end on the software device, and what they should print there.

Each returns why it failed, or an empty string.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from experiments.hca.hosts import CALLER, LISTENER, Hosts
from experiments.hca.pyverbs import TESTS, endings_on
from experiments.stopping import stop

_PASSING_LEAST = 110  # where there are no huge pages either


@dataclass(frozen=True)
class Probe:
    """A program, the file that it needs, and the package that has this file."""

    name: str
    file: str
    package: str
    why_not: Callable[[Hosts], str]


def devinfo(hosts: Hosts) -> str:
    """Show the device: two ports that are active."""
    shown = hosts.run(LISTENER, ["ibv_devinfo", "-v"]).stdout
    return "" if shown.count("PORT_ACTIVE (4)") == 2 and "AUTO_PATH_MIG" in shown else shown


def ucx_info(hosts: Hosts) -> str:
    """Find the transports of UCX on the device."""
    shown = hosts.run(LISTENER, ["ucx_info", "-d"]).stdout
    found = set(re.findall(r"Transport: (\w+)", shown))
    return "" if {"rc_verbs", "ud_verbs"} <= found else shown


def asyncwatch(hosts: Hosts) -> str:
    """Wait for events while a cable is pulled and put back."""
    watching = hosts.start(CALLER, ["stdbuf", "-oL", "ibv_asyncwatch", "-d", "lanewise0"])
    assert watching.stdout is not None
    lines = [watching.stdout.readline()]
    if "async event FD" in lines[0]:
        hosts.pull(CALLER, "lan1")
        lines.append(watching.stdout.readline())
        hosts.plug(CALLER, "lan1")
        lines.append(watching.stdout.readline())
    stop(watching)
    watching.communicate()
    wanted = ("async event FD", "IBV_EVENT_PORT_ERR (10), port 2",
              "IBV_EVENT_PORT_ACTIVE (9), port 2")  # fmt: skip
    heard = len(lines) == len(wanted) and all(map(str.__contains__, lines, wanted))
    return "" if heard else "".join(lines)


def pyverbs(hosts: Hosts) -> str:
    """Run the tests of pyverbs: none may fail, and those that need only verbs must pass."""
    endings, said = endings_on(hosts)
    return "" if passes(endings) else said


def passes(endings: Counter[str]) -> bool:
    """Tell whether the outcomes of the tests of pyverbs are as expected."""
    return not endings["FAIL"] and not endings["ERROR"] and endings["ok"] >= _PASSING_LEAST


PROBES: tuple[Probe, ...] = (
    Probe("ibv_devinfo", "/usr/bin/ibv_devinfo", "ibverbs-utils", devinfo),
    Probe("ibv_asyncwatch", "/usr/bin/ibv_asyncwatch", "ibverbs-utils", asyncwatch),
    Probe("ucx_info", "/usr/bin/ucx_info", "ucx-utils", ucx_info),
    Probe("tests of pyverbs", str(TESTS), "python3-pyverbs", pyverbs),
)
