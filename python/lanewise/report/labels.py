# SPDX-License-Identifier: BSD-3-Clause
"""Labels: the shortest words that tell several curves of one operation apart.

A legend that repeats what all curves share says nothing, so a label holds only
the conditions that differ between the curves, in the order a reader asks for
them, and the file where the conditions are all the same.  Of its path there is
as much as no other file has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from lanewise.results.read import Samples
from lanewise.results.records import Context

HOSTS_NAMED_MAX = 3
_FAMILIES = {"openmpi": "Open MPI", "mpich": "MPICH", "smpi": "SimGrid SMPI"}


def mpi_name(mpi: dict[str, str]) -> str:
    """Name an MPI library with its version, `Open MPI 4.1.4`, from a context's `mpi` entry."""
    library = mpi.get("library", "")
    family = _FAMILIES.get(mpi.get("family", ""), mpi.get("family", "") or "an unnamed MPI")
    version = re.search(r"\d+\.\d+(\.\d+)?\S*", library)
    return f"{family} {version.group().rstrip(',')}" if version else family


def hosts_of(context: Context) -> list[str]:
    """Return the hosts of a run, each once, in the order of their first rank."""
    return list(dict.fromkeys(str(place.get("host", "?")) for place in context.placement))


def hosts_name(hosts: Sequence[str]) -> str:
    """Name hosts, of many of them the first and the last."""
    if len(hosts) <= HOSTS_NAMED_MAX:
        return ", ".join(hosts)
    return f"{len(hosts)} hosts ({hosts[0]} … {hosts[-1]})"


def buffers_name(context: Context) -> str:
    """Say in what the buffers of a run are not plain."""
    buffers = context.buffers
    found = []
    if buffers["caches"] == "cold":
        found.append("cold")
    if buffers["offset_bytes"]:
        found.append(f"{buffers['offset_bytes']} bytes into a page")
    if buffers["turns"] > 1:
        found.append(f"rotating over {buffers['turns']} sets")
    if buffers["pages"] == "huge":
        found.append("on huge pages")
    return f"buffers {', '.join(found) or 'plain'}"


def _tool_name(context: Context) -> str:
    return context.transport_name


def _ranks_name(context: Context) -> str:
    return f"{context.ranks} ranks" if context.ranks else ""


_CONDITIONS: tuple[Callable[[Context], str], ...] = (
    _tool_name,
    lambda context: mpi_name(context.mpi),
    _ranks_name,
    lambda context: hosts_name(hosts_of(context)),
    lambda context: context.method,
    lambda context: f"{context.start} start",
    lambda context: f"{context.clock} clock",
    lambda context: (
        "isolated" if context.pipeline_length == 1 else f"pipeline of {context.pipeline_length}"
    ),
    lambda context: f"root {context.root}",
    buffers_name,
    lambda context: context.launcher_args or "no launcher arguments",
)


def names_of(paths: Sequence[Path]) -> list[str]:
    """Return the shortest ending of each path that no other path has, `old/samples.jsonl`."""
    distinct = set(paths)

    def is_its_own(path: Path, count: int) -> bool:
        return sum(one.parts[-count:] == path.parts[-count:] for one in distinct) == 1

    counts = [
        next((n for n in range(1, len(path.parts)) if is_its_own(path, n)), len(path.parts))
        for path in paths
    ]
    return [str(Path(*path.parts[-count:])) for path, count in zip(paths, counts, strict=True)]


def labels_of(runs: Sequence[Samples]) -> list[str]:
    """Return one label for each run, no two alike.

    One run alone is called by its transport or launcher, or by its MPI where it names neither.
    """
    if len(runs) < 2:
        return [run.context.transport_name or mpi_name(run.context.mpi) for run in runs]
    words: list[list[str]] = [[] for _ in runs]
    for condition in _CONDITIONS:
        values = [_told(condition, run.context) for run in runs]
        if len(set(values)) == 1 or _adds_nothing(words, values):
            continue
        for kept, value in zip(words, values, strict=True):
            kept.append(value)
    return _apart([" · ".join(filter(None, kept)) for kept in words], runs)


def _told(condition: Callable[[Context], str], context: Context) -> str:
    """Return the words of a condition, none where it is one that no other tool prints."""
    told = not context.imported or condition in (_tool_name, _ranks_name)
    return condition(context) if told else ""


def _adds_nothing(words: list[list[str]], values: list[str]) -> bool:
    before = len({tuple(kept) for kept in words})
    after = len({(*kept, value) for kept, value in zip(words, values, strict=True)})
    return after == before


def _apart(labels: list[str], runs: Sequence[Samples]) -> list[str]:
    """Add the name of the file, then a number, to the labels that are alike."""
    names = names_of([run.path for run in runs])
    stems = [name.removesuffix(Path(name).suffix) for name in names]
    shown = stems if len(set(stems)) == len(set(names)) else names
    named = [
        f"{label} · {name}".removeprefix(" · ") if labels.count(label) > 1 else label
        for label, name in zip(labels, shown, strict=True)
    ]
    return [
        f"{label} ({named[: index + 1].count(label)})" if named.count(label) > 1 else label
        for index, label in enumerate(named)
    ]
