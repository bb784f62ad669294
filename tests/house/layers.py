# SPDX-License-Identifier: BSD-3-Clause
"""Who may include whom, who may see MPI, and which files and folders depend on each other.

The tables are the design; the code below them only reads them.  A part may always use itself and
the public headers.  A part that is not in its table is an offence.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import tree

# A native part, and the parts whose headers it may include; then folders that may include more.
NATIVE_PARTS: dict[str, set[str]] = {
    "base": set(),
    "options": {"base"},
    "model": {"base"},
    "measure": {"base", "options"},
    "collectives": {"base", "model", "options", "sums"},
    "collectives/tuned": {"measure"},
    "verbs": {"base"},
    "paths": {"base"},
    "wavefront": {"base", "options"},
    "tune": {"base", "options", "model", "measure", "collectives"},
    "testbed": {"base"},
    "testing": {"base"},
    "sums": set(),
}
# What tests share; any test may include it.
NATIVE_TESTING = "testing"
# These stand on top and may include every part.
NATIVE_TOPS = {"tools"}

# The experiments use all of the product, and the product uses nothing of them.
EXPERIMENTS = "experiments"
# The one module that loads them, in a clone; its test does, too.
EXPERIMENTS_DOOR = Path("python/lanewise/cli/reproduce.py")

# Modules of the experiments that tests use: hosts of a testbed, and an experiment that is tested by
# running it.  Whoever changes one of them changes what these tests do.
BORROWED_BY_TESTS: dict[str, set[str]] = {
    "tests/cli": {
        "peers_agree.experiment",
        "testbed_accuracy.experiment",
        "wavefront.watched",
    },
    "tests/hca": {
        "hca.clients",
        "hca.connections",
        "hca.fuzz",
        "hca.hosts",
        "hca.lossy",
        "hca.many",
        "hca.probes",
        "hca.replay",
        "hca.speed",
        "hca.sweep",
        "hca.ucx",
        "stopping",
    },
    "tests/house": {"experiment", "published", "registry", "results", "run", "show"},
    "tests/paths": {"hca.clients", "hca.hosts", "migration.two_ports", "stopping"},
    "tests/reproduce": {"multilane.simulated", "multilane.simulated_sites", "workspace"},
}

# Folders whose files may include this header, or one that does.
MPI_HEADER = "mpi.h"
MPI_FOLDERS = (
    "experiments",
    "include/lanewise",
    "src/measure",
    "src/collectives/execute",
    "src/collectives/tuned",
    "src/wavefront/ranks",
    "src/sums/mpi",
    "src/testing",
    "src/tune",
    "src/tools",
)

# Files that compute and ask the machine nothing: no file, clock, socket, thread or host.  Tests of
# them may, and so may what uses them.
PURE = (
    "src/options/*",
    "src/model/fit/*",
    "src/model/lanes/*",
    "src/model/models/*",
    "src/model/schedule/*",
    "src/model/simulation/*",
    "src/model/platform/lane_network.*",
    "src/model/platform/platform.*",
    "src/model/platform/signature.*",
    "src/model/samples/experiments.*",
    "src/collectives/all*/*",
    "src/collectives/barrier/*",
    "src/collectives/bcast/*",
    "src/collectives/checker/*",
    "src/collectives/gather/*",
    "src/collectives/lanes/*",
    "src/collectives/neighbor/*",
    "src/collectives/profile/*",
    "src/collectives/reduce*/*",
    "src/collectives/report/*",
    "src/collectives/sca*/*",
    "src/collectives/tuned/watch.*",
    "src/measure/repetition.*",
    "src/paths/alternate.*",
    "src/paths/path_machine.*",
    "src/paths/carried/agreement.*",
    "src/paths/carried/send_log.*",
    "src/sums/*",
    "src/verbs/cm/machine/*",
    "src/verbs/cm/message/*",
    "src/verbs/faults/plan.*",
    "src/verbs/proto/congestion/*",
    "src/verbs/proto/connection/*",
    "src/verbs/proto/device/*",
    "src/verbs/proto/memory/memory_table.*",
    "src/verbs/proto/memory/place.*",
    "src/verbs/proto/queue_pair/*",
    "src/verbs/proto/queues/*",
    "src/verbs/proto/requester/*",
    "src/verbs/proto/responder/*",
    "src/verbs/proto/wire/*",
    "src/wavefront/layout/*",
    "src/wavefront/plan/*",
)
# The headers that these may not include, however indirectly.  <cstdio> and <cstdlib> are not among
# them, and neither is <arpa/inet.h>: they also have what formats numbers and reads addresses.
IMPURE_HEADERS = (
    *("linux/*", "net/*", "netinet/*", "netpacket/*", "sys/*"),
    *("dirent.h", "dlfcn.h", "fcntl.h", "ifaddrs.h", "liburing.h", "link.h", "netdb.h", "poll.h"),
    *("pthread.h", "sched.h", "semaphore.h", "setjmp.h", "signal.h", "spawn.h", "threads.h"),
    *("time.h", "ucontext.h", "unistd.h"),
    *("barrier", "chrono", "condition_variable", "csetjmp", "csignal", "ctime", "filesystem"),
    *("fstream", "future", "iostream", "latch", "mutex", "semaphore", "shared_mutex", "stop_token"),
    *("syncstream", "thread"),
    *("src/base/background_thread.hpp", "src/base/clock.hpp", "src/base/control_groups.hpp"),
    *("src/base/descriptor.hpp", "src/base/file.hpp", "src/base/host.hpp"),
    *("src/base/json_lines.hpp", "src/base/launcher.hpp", "src/base/use_mark.hpp"),
)
# What these may not name, as the headers that have it are permitted.
_IMPURE_NAMES = re.compile(
    r"\b(?:(?:secure_)?getenv|(?:p|f|fre)open|v?f?printf|random_device|std::(?:f?puts|system))\b"
)

# A Python package, and the packages that it may import.
PYTHON_PARTS: dict[str, set[str]] = {
    "errors": set(),
    "interrupts": set(),
    "files": {"errors"},
    "results": {"errors", "files"},
    "toml": {"errors"},
    "launch": {"errors", "interrupts", "toml"},
    "hca": {"errors", "launch", "toml"},
    "model": {"errors", "files", "results", "launch"},
    "tuning": {"errors", "files", "launch", "results"},
    "plots": {"errors", "files", "results"},
    "profile": {"errors", "files", "results"},
    "bits": {"errors"},
    "sums": {"errors", "launch"},
    "report": {"errors", "files", "profile", "results", "tuning"},
    "testbed": {"errors", "interrupts", "toml", "launch"},
    "suite": {"errors", "files", "toml", "results", "launch", "hca", "report", "testbed"},
    "imports": {"errors", "results", "suite"},
    "measurement": {"errors", "files", "launch", "plots", "results", "suite", "tuning"},
    "rdma": {"errors", "files", "hca", "interrupts", "launch", "testbed"},
    "wavefront": {"errors", "files", "interrupts", "launch"},
}
# ARCHITECTURE.md says below its table who may use these.
SAID_ONCE = {"errors", "interrupts"}
PYTHON_TOPS = {"cli", "__init__", "__main__"}


# Inside a part, or inside a folder of one: each of its folders, and the folders beside it that it
# may include.  "" are the files that lie in it directly.  What is not listed here must merely be
# free of circles.
INNER_LAYERS: dict[str, dict[str, set[str]]] = {
    "model": {
        "schedule": set(),
        "simulation": {"schedule"},
        "samples": set(),
        "models": {"simulation", "samples"},
        "lanes": set(),
        "platform": {"models", "samples", "simulation", "lanes"},
        "fit": {"platform", "samples", "simulation"},
    },
    "measure": {
        "harness": set(),
        "clock_sync": {"harness"},
        "benchmarks": {"harness"},
        "operations": {"benchmarks", "harness"},
        "definitions": {"harness"},
        "": {"clock_sync", "definitions", "harness"},
        "start": {""},
        "timing": {""},
        "availability": {"", "harness"},
        "session": {"", "availability", "definitions", "harness"},
    },
    "collectives": {
        "": set(),
        "lanes": {""},
        "alltoall": {""},
        "barrier": {""},
        "bcast": {"", "lanes"},
        "gather": {"", "lanes"},
        "scatter": {"", "lanes"},
        "reduce": {""},
        "reduce_scatter": {"", "reduce", "scatter"},
        "neighbor": {""},
        "scan": {""},
        "allgather": {"", "lanes"},
        "allreduce": {"", "bcast", "lanes", "reduce", "reduce_scatter"},
        "checker": {""},
        "report": {"", "checker"},
        "api": {""},
        "profile": {""},
        "execute": {""},
        "tuned": {"", "execute", "profile"},
    },
    "paths": {"": set(), "carried": {""}, "preload": {"", "carried"}},
    "sums": {"": set(), "mpi": {""}},
    "verbs": {
        "proto": set(),
        "port": {"proto"},
        "faults": {"proto"},
        "abi": {"faults", "port", "proto"},
        "cm": {"abi", "faults", "port", "proto"},
    },
    "verbs/cm": {
        "message": set(),
        "machine": {"message"},
        "fuzz": {"message", "machine"},
        "abi": {"message", "machine"},
        "rsocket": set(),
    },
    "verbs/proto": {
        "wire": set(),
        "memory": {"wire"},
        "queues": {"wire", "memory"},
        "congestion": {"wire"},
        "connection": {"wire", "memory", "queues"},
        "requester": {"wire", "queues", "connection"},
        "responder": {"wire", "memory", "queues", "connection"},
        "queue_pair": {"wire", "queues", "congestion", "connection", "requester", "responder"},
        "device": {"wire", "memory", "queues", "connection", "queue_pair"},
    },
    "wavefront": {
        "": set(),
        "layout": set(),
        "plan": {"layout"},
        "kernel": {"", "layout"},
        "store": {"", "layout", "plan"},
        "run": {"", "kernel", "layout", "plan", "store"},
        "ranks": {"", "api", "kernel", "plan", "run", "store"},
        "commands": {"layout", "plan", "run", "store"},
        "api": {"run", "store"},
    },
}

_INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')

# A row of ARCHITECTURE.md: what a part may use is in the last cell, each name in backquotes.
_ROW = re.compile(r"\| `(?P<place>src|python/lanewise)/(?P<part>\w+)/` \|.*\|(?P<cell>[^|]*)\|$")
_PART_NAME = re.compile(r"`(\w+)`")
# What it says below its rows of SAID_ONCE.
_SAID_ONCE = re.compile(
    r"^Every Python package may also use `errors`, and (?P<others>.*) also `interrupts`\.$"
)

Graph = dict[str, set[str]]


@dataclass(frozen=True)
class Include:
    """An include: the line, the name, and whether it stands in quotes."""

    line: int
    name: str
    quoted: bool


def includes(text: str) -> list[Include]:
    """Return the include directives of `text`."""
    matches = ((n, _INCLUDE.match(line)) for n, line in enumerate(text.splitlines(), start=1))
    return [Include(number, match[2], match[1] == '"') for number, match in matches if match]


def native_offences(root: Path) -> list[str]:
    """Return each include in src/, include/ and experiments/ that the tables above forbid."""
    found = []
    all_includes = _all_includes(root)
    bring_mpi = _bringing(root, all_includes, (MPI_HEADER,))
    for path, its_includes in all_includes.items():
        for include in its_includes:
            reason = _native_reason(root, path, include, bring_mpi)
            if reason:
                found.append(f"{path}:{include.line}: {reason}")
    return found


def purity_offences(root: Path) -> list[str]:
    """Return each line by which a file of PURE asks the machine: an include or a name."""
    all_includes = _all_includes(root)
    impure = _bringing(root, all_includes, IMPURE_HEADERS)
    found = []
    for path, its_includes in all_includes.items():
        if _is_test(path) or not any(path.match(pattern) for pattern in PURE):
            continue
        asking = [
            (include.line, include.name)
            for include in its_includes
            if _header(root, path, include) in impure
        ]
        for number, line in enumerate(tree.lines(root, path), start=1):
            asking += [(number, name) for name in _IMPURE_NAMES.findall(line)]
        found += [
            f"{path}:{line}: {name} asks the machine, and this file is to be pure"
            for line, name in asking
        ]
    return found


def _all_includes(root: Path) -> dict[Path, list[Include]]:
    return {
        path: includes((root / path).read_text(encoding="utf-8"))
        for path in tree.files(root, *tree.NATIVE)
        if path.parts[0] in ("src", "include", EXPERIMENTS)
    }


def _bringing(
    root: Path, all_includes: Mapping[Path, Sequence[Include]], patterns: Sequence[str]
) -> set[Path]:
    """Return the headers that match a pattern, and the files that include one, also indirectly."""
    targets = {
        path: {header for include in its if (header := _header(root, path, include))}
        for path, its in all_includes.items()
    }
    found = {
        header
        for header in set[Path]().union(*targets.values())
        if any(header.match(pattern) for pattern in patterns)
    }
    while more := {path for path, headers in targets.items() if headers & found} - found:
        found |= more
    return found


def _header(root: Path, path: Path, include: Include) -> Path | None:
    """Return the file that an include names: ours relative to `root`, another as it is named."""
    if include.quoted:
        return _included(root, path, include.name)
    ours = Path("include", include.name)
    return ours if include.name.startswith("lanewise/") else Path(include.name)


def _native_reason(root: Path, path: Path, include: Include, bring_mpi: set[Path]) -> str:
    brings_mpi = _header(root, path, include) in bring_mpi
    if brings_mpi and not path.as_posix().startswith(MPI_FOLDERS):
        return f"{include.name} brings MPI, which only {', '.join(MPI_FOLDERS)} may see"
    if not include.quoted or path.parts[0] == EXPERIMENTS:
        return _experiment_reason(root, path, include.name.split("/"))
    if path.parts[0] == "include":
        return f'a public header says <lanewise/...>, not "{include.name}"'
    other = _part_of(root, path, include.name)
    if other is None:
        return f'"{include.name}" is neither below src/ nor beside the file'
    if other == NATIVE_TESTING and path.stem.endswith("_test"):
        return ""
    return _part_reason(path.parent.relative_to("src"), other)


def _part_reason(folder: Path, other: str) -> str:
    part = folder.parts[0] if folder.parts else ""
    if part in NATIVE_TOPS or part == other:
        return ""
    if part not in NATIVE_PARTS:
        return f"the part '{part}' is not in the table of layers"
    places = (folder, *folder.parents)
    if not any(other in NATIVE_PARTS.get(place.as_posix(), ()) for place in places):
        return f"{folder} may not include {other}"
    return ""


def _part_of(root: Path, path: Path, name: str) -> str | None:
    """Return the part of src/ that a quoted include names, from src/ or from beside the file."""
    target = _included(root, path, name)
    return target.parts[1] if target else None


def _included(root: Path, path: Path, name: str) -> Path | None:
    """Return the file below src/ that a quoted include names, relative to `root`."""
    for base in (root / "src", (root / path).parent):
        target = (base / name).resolve()
        if target.is_file() and target.is_relative_to((root / "src").resolve()):
            return target.relative_to(root.resolve())
    return None


def inner_offences(root: Path, layers: Mapping[str, Mapping[str, set[str]]]) -> list[str]:
    """Return each include between folders of one part that the table for that part forbids."""
    found = []
    for path, line, target in _quoted_includes(root):
        if _is_test(path) or "testing" in target.parts:
            continue
        for part, allowed in layers.items():
            reason = _inner_reason(part, allowed, path, target)
            if reason:
                found.append(f"{path}:{line}: {reason}")
    return found


def _is_test(path: Path) -> bool:
    return path.stem.endswith(("_test", "_bench")) or "testing" in path.parts


def _inner_reason(part: str, allowed: Mapping[str, set[str]], path: Path, target: Path) -> str:
    inside = Path("src", part)
    if not (path.is_relative_to(inside) and target.is_relative_to(inside)):
        return ""
    here, there = _folder_in(inside, path), _folder_in(inside, target)
    if here == there:
        return ""
    if here not in allowed:
        return f"the folder '{here}' is not in the table of {part}"
    if there not in allowed[here]:
        return f"in {part}, '{here}' may not include '{there}'"
    return ""


def unused_permissions(root: Path, inner: Mapping[str, Mapping[str, set[str]]]) -> list[str]:
    """Return each permission of the tables above, and of `inner`, that nothing uses."""
    tables = [
        ("src", NATIVE_PARTS, _uses_of_parts(root)),
        ("python/lanewise", PYTHON_PARTS, _uses_of_packages(root)),
        (EXPERIMENTS, BORROWED_BY_TESTS, _uses_of_experiments(root)),
        *((f"src/{part}", allowed, _uses_inside(root, part)) for part, allowed in inner.items()),
    ]
    return [
        f"{place}: nothing of '{user}' uses '{permitted}'"
        for place, table, uses in tables
        for user, all_permitted in table.items()
        for permitted in sorted(all_permitted)
        if (user, permitted) not in uses
    ]


def cell_offences(root: Path) -> list[str]:
    """Return each row of ARCHITECTURE.md that says otherwise than the tables what a part may use.

    What many Python packages may use is said once, below the rows.
    """
    found = []
    for row in tree.lines(root, Path("ARCHITECTURE.md")):
        match = _ROW.match(row)
        if not match or (permitted := _permitted_in(match["place"], match["part"])) is None:
            continue
        said = set(_PART_NAME.findall(match["cell"]))
        if said != permitted:
            found.append(f"{match['place']}/{match['part']}/: say {sorted(permitted)} in its row")
    return found


def row_offences(root: Path) -> list[str]:
    """Return each part of the tables that has no row in ARCHITECTURE.md."""
    matches = (_ROW.match(row) for row in tree.lines(root, Path("ARCHITECTURE.md")))
    rows = {(match["place"], match["part"]) for match in matches if match}
    parts = [("src", part.split("/")[0]) for part in [*NATIVE_PARTS, *sorted(NATIVE_TOPS)]]
    parts += [("python/lanewise", part) for part in PYTHON_PARTS if part not in SAID_ONCE]
    return [f"{place}/{part}/: give it a row" for place, part in parts if (place, part) not in rows]


def said_once_offences(root: Path) -> list[str]:
    """Return what ARCHITECTURE.md says otherwise than the table of who may use SAID_ONCE."""
    found = [
        f"{part} may not use errors, and ARCHITECTURE.md says that every package may"
        for part, permitted in PYTHON_PARTS.items()
        if part not in SAID_ONCE and "errors" not in permitted
    ]
    of_interrupts = {part for part, permitted in PYTHON_PARTS.items() if "interrupts" in permitted}
    matches = (_SAID_ONCE.match(line) for line in tree.lines(root, Path("ARCHITECTURE.md")))
    said = [set(_PART_NAME.findall(match["others"])) for match in matches if match]
    if said != [of_interrupts]:
        found.append(f"say once that {sorted(of_interrupts)} also use interrupts")
    return found


def _permitted_in(place: str, part: str) -> set[str] | None:
    """Return what the tables permit a part or package; None for one that may use everything."""
    table = NATIVE_PARTS if place == "src" else PYTHON_PARTS
    if part not in table:
        return None
    folders = [name for name in table if name == part or name.startswith(f"{part}/")]
    return set().union(*(table[name] for name in folders)) - SAID_ONCE


def _uses_of_parts(root: Path) -> set[tuple[str, str]]:
    """Return (part or folder of one, part that a file in it includes)."""
    return {
        (place.as_posix(), target.parts[1])
        for path, _, target in _quoted_includes(root)
        for place in path.relative_to("src").parents
    }


def _uses_inside(root: Path, part: str) -> set[tuple[str, str]]:
    inside = Path("src", part)
    return {
        (_folder_in(inside, path), _folder_in(inside, target))
        for path, _, target in _quoted_includes(root)
        if path.is_relative_to(inside) and target.is_relative_to(inside) and not _is_test(path)
    }


def _uses_of_packages(root: Path) -> set[tuple[str, str]]:
    package = Path("python/lanewise")
    return {
        (path.relative_to(package).parts[0].removesuffix(".py"), named[1])
        for path in tree.files(root, ".py")
        if path.is_relative_to(package)
        for _, name in _imports(ast.parse((root / path).read_text(encoding="utf-8")), path)
        if (named := name.split("."))[0] == "lanewise" and named[1:]
    }


def circle_offences(root: Path) -> list[str]:
    """Return the circles among headers and sources, native folders, and Python modules."""
    files: Graph = {}
    folders: Graph = {}
    for path, _, target in _quoted_includes(root):
        files.setdefault(str(path), set()).add(str(target))
        here, there = str(path.parent), str(target.parent)
        if here != there and not path.stem.endswith("_test") and "testing" not in here + there:
            folders.setdefault(here, set()).add(there)
    found = [f"{names}: these include each other" for names in circles(files)]
    found += [f"{names}: these folders include each other" for names in circles(folders)]
    found += [f"{names}: these import each other" for names in circles(_module_graph(root))]
    return found


def _quoted_includes(root: Path) -> Iterator[tuple[Path, int, Path]]:
    """Yield (file, line, the file it includes) for the quoted includes below src/."""
    for path in tree.files(root, *tree.NATIVE):
        if path.parts[0] != "src" or len(path.parts) < 3:
            continue
        for include in includes((root / path).read_text(encoding="utf-8")):
            target = _included(root, path, include.name) if include.quoted else None
            if target:
                yield path, include.line, target


def _folder_in(part: Path, path: Path) -> str:
    parts = path.relative_to(part).parts
    return parts[0] if len(parts) > 1 else ""


def _module_graph(root: Path) -> Graph:
    """Return which module below python/ imports which, inside functions as well."""
    paths = [path for path in tree.files(root, ".py") if path.parts[0] == "python"]
    modules = {_module_name(path): path for path in paths}
    graph: Graph = {}
    for name, path in modules.items():
        wanted = _imported_names(ast.parse((root / path).read_text(encoding="utf-8")), path)
        found = {_module_in(modules, name) for name in wanted}
        # A package's own file is run before each of its modules, and is no part of a circle.
        graph[name] = {other for other in found if other and not name.startswith(other + ".")}
    return graph


def _module_name(path: Path) -> str:
    parts = path.with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _module_in(modules: Mapping[str, Path], name: str) -> str:
    """Return the module that `name` is, or that holds it; empty for one of another project."""
    if name in modules:
        return name
    holder = name.rpartition(".")[0]
    return holder if holder in modules else ""


def circles(graph: Graph) -> list[str]:
    """Return the circles of a graph, each as its members in order (Tarjan 1972)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_nodes: list[str] = []
    found: list[str] = []

    def visit(node: str) -> None:
        order[node] = lowest[node] = len(order)
        open_nodes.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in order:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in open_nodes:
                lowest[node] = min(lowest[node], order[other])
        if lowest[node] == order[node]:
            members = open_nodes[open_nodes.index(node) :]
            del open_nodes[-len(members) :]
            if len(members) > 1 or node in graph.get(node, ()):
                found.append(", ".join(sorted(members)))

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return found


def python_offences(root: Path) -> list[str]:
    """Return each import below python/lanewise and experiments/ that the tables forbid."""
    found = []
    for path in tree.files(root, ".py"):
        if path.parts[0] not in ("python", EXPERIMENTS):
            continue
        module = ast.parse((root / path).read_text(encoding="utf-8"))
        for line, name in _imports(module, path):
            reason = _import_reason(root, path, name.split("."))
            if reason:
                found.append(f"{path}:{line}: {reason}")
    return found


def _import_reason(root: Path, path: Path, named: list[str]) -> str:
    package = Path("python/lanewise")
    if path.parts[0] == EXPERIMENTS:
        return _experiment_reason(root, path, named)
    door = EXPERIMENTS_DOOR.with_suffix("").as_posix()
    if named[0] == EXPERIMENTS and not path.as_posix().startswith(door):
        return f"the product may not import {EXPERIMENTS}; only {EXPERIMENTS_DOOR} does"
    if named[0] != "lanewise" or not named[1:] or not path.is_relative_to(package):
        return ""
    return _python_reason(path.relative_to(package).parts[0].removesuffix(".py"), named[1])


def _experiment_reason(root: Path, path: Path, named: Sequence[str]) -> str:
    """Say why a file of experiments/ may not use what is `named`: another experiment's file."""
    if path.parts[0] != EXPERIMENTS:
        return ""
    if named[0] != EXPERIMENTS or len(named) < 2 or path.parts[1] == named[1]:
        return ""
    # The folder results is what results.py writes.
    shared = (root / EXPERIMENTS / f"{named[1]}.py").is_file()
    if shared or not (root / EXPERIMENTS / named[1]).is_dir():
        return ""
    return f"an experiment may not use another one, {named[1]}; share it in {EXPERIMENTS}/"


def _python_reason(part: str, other: str) -> str:
    if part in PYTHON_TOPS or part == other:
        return ""
    if part not in PYTHON_PARTS:
        return f"the package '{part}' is not in the table of layers"
    if other in PYTHON_PARTS[part] or other == "__version__":
        return ""
    return f"{part} may not import {other}"


def borrowing_offences(root: Path) -> list[str]:
    """Return each import of the experiments in tests/ and examples/ that the table forbids."""
    return [
        f"{path}:{line}: {path.parent} may not import {EXPERIMENTS}.{module}"
        for path, line, module in _borrowed(root)
        if not _lender(path, module)
    ]


def _uses_of_experiments(root: Path) -> set[tuple[str, str]]:
    return {(path.parent.as_posix(), _lender(path, module)) for path, _, module in _borrowed(root)}


def _borrowed(root: Path) -> Iterator[tuple[Path, int, str]]:
    """Yield (file, line, name below `experiments`) for what tests and examples import of it."""
    for path in tree.files(root, ".py"):
        if path.parts[0] in ("tests", "examples"):
            module = ast.parse((root / path).read_text(encoding="utf-8"))
            for line, name in _imports(module, path):
                if name.startswith(f"{EXPERIMENTS}."):
                    yield path, line, name.removeprefix(f"{EXPERIMENTS}.")


def _lender(path: Path, name: str) -> str:
    """Return the module that the folder of a test may import and that has `name`, or nothing."""
    permitted = BORROWED_BY_TESTS.get(path.parent.as_posix(), set())
    return next((one for one in permitted if f"{name}.".startswith(f"{one}.")), "")


def _imports(module: ast.Module, path: Path) -> list[tuple[int, str]]:
    """Return (line, full name) of each import, absolute or relative."""
    found = []
    for node in ast.walk(module):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found += [(node.lineno, name) for name in _names_in(node, path)]
    return found


def _imported_names(module: ast.Module, path: Path) -> set[str]:
    return {name for node in ast.walk(module) for name in _names_in(node, path)}


def _names_in(node: ast.AST, path: Path) -> Iterable[str]:
    """Return the full names that an import statement brings; nothing for any other node."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        base = _absolute(node, path)
        return [f"{base}.{alias.name}" for alias in node.names]
    return []


def _absolute(node: ast.ImportFrom, path: Path) -> str:
    if not node.level:
        return node.module or ""
    folder = path.parts[1 : len(path.parts) - node.level]
    return ".".join([*folder, *([node.module] if node.module else [])])
