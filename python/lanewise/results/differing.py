# SPDX-License-Identifier: BSD-3-Clause
"""Conditions that differ between two runs, which may be all that a comparison finds.  Pure."""

from __future__ import annotations

from lanewise.results.records import PLAIN_BUFFERS, Context

UNKNOWN = "unknown"
SHOWN = 48  # characters of a condition, from where it differs
# Plurals of what a context has under these names.
OF_CONTEXT = {
    "transport_name": "transports",
    "governor": "governors", "clocksource": "clock sources", "method": "methods",
    "start": "starts", "clock": "clocks", "pipeline_length": "pipelines", "window": "windows",
    "order": "orders", "reply": "replies", "weights": "weights", "work_s": "times of work",
}  # fmt: skip
# Of the keys of its stopping rule; how many batches are made follows from these.
OF_STOPPING = {
    "rule": "stopping rules", "confidence": "confidence levels", "error": "errors asked for",
    "repetitions_min": "least numbers of repetitions",
    "repetitions_max": "largest numbers of repetitions",
    "warmup_repetitions": "numbers of warm-up repetitions", "time_limit_s": "time limits",
}  # fmt: skip
# Of the keys of its buffers.
OF_BUFFERS = {
    "caches": "caches of buffers", "offset_bytes": "offsets of buffers",
    "turns": "numbers of rotating sets", "pages": "pages of buffers",
}  # fmt: skip


def differing(left: Context, right: Context, *told: str) -> list[str]:
    """Return a sentence for each condition that differs; none where one run was imported.

    A condition that one of the runs does not record is left out, and so are those already `told`.
    """
    if left.imported or right.imported:
        return []
    pairs = zip(conditions_of(left).items(), conditions_of(right).values(), strict=True)
    return [
        f"{name} differ: {' and '.join(around_what_differs(one, other))}"
        for (name, one), other in pairs
        if one != other and UNKNOWN not in (one, other) and name not in told
    ]


def around_what_differs(one: str, other: str) -> tuple[str, str]:
    """Return two long texts without most of what they begin with alike, and short ones whole."""
    if max(len(one), len(other)) <= SHOWN:
        return one, other
    pairs = enumerate(zip(one, other, strict=False))
    alike = next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
    start = max(0, alike - SHOWN // 2)
    before = "..." if start else ""

    def part(text: str) -> str:
        after = "..." if len(text) > start + SHOWN else ""
        return f"{before}{text[start : start + SHOWN].strip()}{after}"

    return part(one), part(other)


def conditions_of(context: Context) -> dict[str, str]:
    """Return the conditions of a run in words, by names in the plural; UNKNOWN where none are."""
    hosts = [str(place.get("host")) for place in context.placement]
    numbers = {host: str(number) for number, host in enumerate(dict.fromkeys(hosts))}
    affinities = [str(place.get("cpus", UNKNOWN)) for place in context.placement]
    return {
        "hosts": ", ".join(sorted(set(hosts))) or UNKNOWN,
        "placements": " ".join(numbers[host] for host in hosts) or UNKNOWN,
        "affinities": UNKNOWN if UNKNOWN in affinities else " ".join(affinities) or UNKNOWN,
        "numbers of cores": str(context.cores or UNKNOWN),
        "kernels": context.kernel or UNKNOWN,
        "MPIs": mpi_of(context) or UNKNOWN,
        "launcher arguments": (
            UNKNOWN if context.launcher_args is None else context.launcher_args or "none"
        ),
        **{name: str(getattr(context, key)) for key, name in OF_CONTEXT.items()},
        **{name: str(context.stopping.get(key, UNKNOWN)) for key, name in OF_STOPPING.items()},
        **{
            name: str(context.buffers.get(key, PLAIN_BUFFERS[key]))
            for key, name in OF_BUFFERS.items()
        },
    }


def mpi_of(context: Context) -> str:
    """Return all that an MPI says of itself, by which two builds of one version differ."""
    return " ".join(f"{context.mpi.get('library', '')} {context.mpi.get('device', '')}".split())
