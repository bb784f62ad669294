# SPDX-License-Identifier: BSD-3-Clause
"""Show a testbed as text or JSON: what it will be, and what its links have carried."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from lanewise.errors import RunError
from lanewise.testbed.bed import Bed
from lanewise.testbed.describe import Nic, Testbed
from lanewise.testbed.impairments import texts
from lanewise.testbed.layout import make_plan, router
from lanewise.testbed.plan import DelayLine
from lanewise.toml.quantities import rate_text, time_text


def description(testbed: Testbed) -> str:
    """Return sites, hosts and links, a line each."""
    lines = []
    for site in testbed.sites:
        lines.append(f"site {site.name}")
        for k, lan in enumerate(site.lans):
            latency = f", {time_text(lan.latency_ns)}" if lan.latency_ns else ""
            use = ", management" if lan.management else ""
            lines.append(f"  lan{k}  {lan.subnet}  {_nic(lan.nic)}{latency}{use}")
        for host in site.hosts:
            wan = f"  wan {_nic(host.wan_nic)}" if host.wan_nic else ""
            lans = ", ".join(map(_nic, host.lan_nics))
            lines.append(f"  {host.name}  lan {lans}{wan}")
    lines += [f"link {link.name}  {', '.join(texts(link.settings))}" for link in testbed.links]
    return "\n".join(lines) + "\n"


def _nic(nic: Nic) -> str:
    return rate_text(nic.rate_bits_per_s) if nic.rate_bits_per_s else "unlimited"


def plan_json(testbed: Testbed) -> str:
    """Return the plan as one line of JSON."""
    return json.dumps({"name": testbed.name, "plan": asdict(make_plan(testbed))}) + "\n"


def state_of(bed: Bed) -> dict[str, Any]:
    """Return a testbed that is up, with what its links say of themselves."""
    plan = bed.plan()
    return {
        "name": bed.info.name,
        "file": bed.info.where,
        "shared": bed.info.shared,
        "hosts": [asdict(host) for host in plan.hosts],
        "links": [link for line in plan.delay_lines for link in _links(bed, line)],
    }


def _links(bed: Bed, line: DelayLine) -> list[dict[str, Any]]:
    """Return what the links of a delay line say of themselves, and what they connect."""
    try:
        links = bed.ask(f"{line.name}.line", {"status": True})["links"]
    except RunError:
        return []  # it goes down at this moment
    ends = {wire.name: [_end(end.namespace) for end in wire.ends] for wire in line.wires}
    return [{**link, "ends": ends[link["name"]]} for link in links]


def _end(namespace: str) -> str:
    return namespace.removeprefix(router(""))


def state_text(state: dict[str, Any]) -> str:
    """Return the state of a testbed as lines."""
    kind = "" if state["shared"] else ", for one run"
    hosts = [f"{host['name']} ({host['address']})" for host in state["hosts"]]
    lines = [f"{state['name']}{kind}: {', '.join(hosts)}"]
    for link in state["links"]:
        values = link["settings"]
        what = ", ".join(texts(values))
        lines.append(f"  {link['name']}  {'up' if values['up'] else 'CUT'}  {what}")
        one, other = link["ends"]
        ways = (f"{one} to {other}", f"{other} to {one}")
        for way, counted in zip(ways, link["directions"], strict=True):
            dropped = counted["dropped_by_queue"] + counted["dropped_by_cut"]
            lines.append(
                f"    {way}: {counted['delivered_bytes'] / 1e6:.1f} MB delivered, "
                f"{dropped} dropped, {counted['lost']} lost"
            )
    return "\n".join(lines) + "\n"
