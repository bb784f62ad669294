# SPDX-License-Identifier: BSD-3-Clause
"""Who may include whom, and who may see MPI.

The tables are the design; the code below them only reads them.  A part may always use itself and
the public headers.  A new part is an offence until it stands in the table.
"""

from __future__ import annotations

import ast
from pathlib import Path

import cpp
import tree

# A native part, and the parts whose headers it may include.
NATIVE_PARTS: dict[str, set[str]] = {
    "base": set(),
    "model": {"base"},
    "measure": {"base"},
    "collectives": {"base", "model"},
    "verbs": {"base"},
    "paths": {"base"},
    "wavefront": {"base", "model"},
    "testing": {"base"},
}
# What tests share; any test may include it.
NATIVE_TESTING = "testing"
# These stand on top and may include every part.
NATIVE_TOPS = {"tools"}

# Folders whose files may include <mpi.h>, or a public header that does.
MPI_FOLDERS = (
    "include/lanewise",
    "src/measure",
    "src/collectives/execute",
    "src/collectives/tuned",
    "src/wavefront/run",
    "src/testing",
    "src/tools",
)

# A Python package, and the packages that it may import.
PYTHON_PARTS: dict[str, set[str]] = {
    "errors": set(),
    "results": {"errors"},
    "toml": {"errors"},
    "launch": {"errors", "toml"},
    "model": {"errors", "results", "launch"},
    "tuning": {"errors", "launch", "results"},
    "plots": {"errors", "results"},
    "report": {"errors", "results", "plots", "tuning"},
    "testbed": {"errors", "toml", "launch"},
    "suite": {"errors", "results", "launch", "report", "testbed"},
    "wavefront": {"errors", "launch"},
    "reproduce": {
        "errors",
        "results",
        "toml",
        "launch",
        "model",
        "plots",
        "testbed",
        "wavefront",
        "suite",
    },
}
PYTHON_TOPS = {"cli", "__init__", "__main__"}


def native_offences(root: Path) -> list[str]:
    """Return each include in src/ and include/ that the tables above forbid."""
    found = []
    for path in tree.files(root, *tree.NATIVE):
        if path.parts[0] not in ("src", "include"):
            continue
        for include in cpp.includes((root / path).read_text(encoding="utf-8")):
            reason = _native_reason(root, path, include)
            if reason:
                found.append(f"{path}:{include.line}: {reason}")
    return found


def _native_reason(root: Path, path: Path, include: cpp.Include) -> str:
    if _brings_mpi(root, include.name) and not path.as_posix().startswith(MPI_FOLDERS):
        return f"{include.name} brings MPI, which only {', '.join(MPI_FOLDERS)} may see"
    if not include.quoted:
        return ""
    if path.parts[0] == "include":
        return f'a public header says <lanewise/...>, not "{include.name}"'
    other = _part_of(root, path, include.name)
    if other is None:
        return f'"{include.name}" is neither below src/ nor beside the file'
    if other == NATIVE_TESTING and path.stem.endswith("_test"):
        return ""
    return _part_reason(path.parts[1] if len(path.parts) > 2 else "", other)


def _part_reason(part: str, other: str) -> str:
    if part in NATIVE_TOPS or part == other:
        return ""
    if part not in NATIVE_PARTS:
        return f"the part '{part}' is not in the table of layers"
    if other not in NATIVE_PARTS[part]:
        return f"{part} may not include {other}"
    return ""


def _part_of(root: Path, path: Path, name: str) -> str | None:
    """Return the part of src/ that a quoted include names, from src/ or from beside the file."""
    source = root / "src"
    for base in (source, (root / path).parent):
        target = (base / name).resolve()
        if target.is_file() and target.is_relative_to(source.resolve()):
            return target.relative_to(source.resolve()).parts[0]
    return None


def _brings_mpi(root: Path, name: str) -> bool:
    """Tell whether <name> is mpi.h, or a public header that includes it, however indirectly."""
    if name == "mpi.h":
        return True
    header = root / "include" / name
    if not name.startswith("lanewise/") or not header.is_file():
        return False
    inner = cpp.includes(header.read_text(encoding="utf-8"))
    return any(_brings_mpi(root, include.name) for include in inner)


def python_offences(root: Path) -> list[str]:
    """Return each import below python/lanewise that the table forbids."""
    found = []
    package = Path("python/lanewise")
    for path in tree.files(root, ".py"):
        if not path.is_relative_to(package):
            continue
        part = path.relative_to(package).parts[0].removesuffix(".py")
        module = ast.parse((root / path).read_text(encoding="utf-8"))
        for line, other in _imports(module, path):
            reason = _python_reason(part, other)
            if reason:
                found.append(f"{path}:{line}: {reason}")
    return found


def _python_reason(part: str, other: str) -> str:
    if part in PYTHON_TOPS or part == other:
        return ""
    if part not in PYTHON_PARTS:
        return f"the package '{part}' is not in the table of layers"
    if other in PYTHON_PARTS[part] or other == "__version__":
        return ""
    return f"{part} may not import {other}"


def _imports(module: ast.Module, path: Path) -> list[tuple[int, str]]:
    """Return (line, part) of each import of a part of lanewise, absolute or relative."""
    found = []
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, path)
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        parts = (name.split(".") for name in names)
        found += [(node.lineno, part[1]) for part in parts if part[0] == "lanewise" and part[1:]]
    return found


def _absolute(node: ast.ImportFrom, path: Path) -> str:
    if not node.level:
        return node.module or ""
    folder = path.parts[1 : len(path.parts) - node.level]
    return ".".join([*folder, *([node.module] if node.module else [])])
