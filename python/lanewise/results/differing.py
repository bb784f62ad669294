# SPDX-License-Identifier: BSD-3-Clause
"""Conditions that differ between two runs, which may be all that a comparison finds.  Pure."""

from __future__ import annotations

from lanewise.results.records import Context

SHOWN = 48  # characters of a condition
OF_BUFFERS = {
    "caches": "caches of buffers", "offset_bytes": "offsets of buffers",
    "turns": "numbers of buffers", "pages": "pages of buffers",
}  # fmt: skip


def differing(left: Context, right: Context) -> list[str]:
    """Return a sentence for each condition that differs; none where one run was imported."""
    if left.imported or right.imported:
        return []
    return [
        f"{name} differ: {one[:SHOWN]} and {other[:SHOWN]}"
        for (name, one), other in zip(told(left).items(), told(right).values(), strict=True)
        if one != other
    ]


def told(context: Context) -> dict[str, str]:
    """Return the conditions of a run in words, by a name in the plural."""
    hosts = [str(place.get("host")) for place in context.placement]
    numbers = {host: str(number) for number, host in enumerate(dict.fromkeys(hosts))}
    return {
        "hosts": ", ".join(sorted(set(hosts))) or "unknown",
        "placements": " ".join(numbers[host] for host in hosts) or "unknown",
        "MPIs": context.library,
        "transports": context.transport_name or "unknown",
        "kernels": context.kernel,
        "numbers of cores": str(context.cores),
        "methods": context.method,
        "starts": context.start,
        "pipelines": str(context.pipeline_length),
        **{name: str(context.buffers.get(key)) for key, name in OF_BUFFERS.items()},
    }
