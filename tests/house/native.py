# SPDX-License-Identifier: BSD-3-Clause
"""What programs that link the library rely on: headers that stand alone, and a list of symbols."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
LANGUAGES = {"c11": ["cc", "-x", "c", "-std=c11"], "c++20": ["c++", "-x", "c++", "-std=c++20"]}

_LISTED = re.compile(r"^\s*(\w+);", re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_DIRECTIVE = re.compile(r"^\s*#.*$", re.MULTILINE)
_WORD = re.compile(r"\blw_\w+")
_TEST = re.compile(r"^tests/.*\.(c|cpp|py|F90|f90)$|_test\.(c|cpp)$|/testing/\w+\.(c|cpp|hpp)$")
_DECLARED = re.compile(r"\bLW_API\b[^;(]*?\b(\w+)\s*\(")


def header_offences(header: Path, include: Path, language: str) -> list[str]:
    """Return what the compiler says about `header`, included twice and alone."""
    command = [*LANGUAGES[language], *STRICT, f"-I{include}", *mpi_flags(), "-"]
    name = header.relative_to(include)
    text = f"#include <{name}>\n#include <{name}>\n"
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    return [] if done.returncode == 0 else [f"{name} as {language}:\n{done.stderr}"]


def mpi_flags() -> list[str]:
    """Return the include folders of an MPI as system folders; its own warnings are not ours."""
    for wrapper in ("mpicc.openmpi", "mpicc.mpich", "mpicc"):
        if shutil.which(wrapper):
            shown = subprocess.run([wrapper, "-show"], capture_output=True, text=True, check=True)
            folders = re.findall(r"-I(\S+)", shown.stdout)
            return [word for folder in folders for word in ("-isystem", folder)]
    raise FileNotFoundError("no mpicc; install libopenmpi-dev")


def listed_symbols(version_script: Path) -> set[str]:
    """Return the symbols that a linker version script makes global."""
    text = _COMMENT.sub("", version_script.read_text(encoding="utf-8"))
    return set(_LISTED.findall(text.split("local:")[0]))


def declared_symbols(include: Path) -> set[str]:
    """Return the functions that the public headers declare."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(include.rglob("*.h")))
    return set(_DECLARED.findall(_DIRECTIVE.sub("", _COMMENT.sub("", text))))


def called_symbols(root: Path, besides: Path) -> set[str]:
    """Return the words of all tests in C, C++ and Fortran, programs in strings included."""
    files = [path for folder in ("src", "tests") for path in (root / folder).rglob("*.*")]
    tests = [path for path in files if _TEST.search(path.relative_to(root).as_posix())]
    texts = (path.read_text(encoding="utf-8") for path in tests if path != besides)
    return {word for text in texts for word in _WORD.findall(text)}


def exported_symbols(library: Path) -> set[str]:
    """Return the symbols that a shared library defines for others."""
    command = ["nm", "-D", "--defined-only", "--format=posix", str(library)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = (line.split() for line in shown.splitlines())
    # A version node is itself an absolute symbol.
    return {row[0].split("@")[0] for row in rows if row[1] != "A"}


def symbol_offences(declared: set[str], listed: set[str], exported: set[str]) -> list[str]:
    """Return where the headers, the version script and the library disagree."""
    stray = sorted(name for name in exported if not name.startswith("lw_"))
    found = [f"{name} is exported but does not begin with lw_" for name in stray]
    found += [f"{name} is exported but not listed" for name in sorted(exported - listed)]
    found += [f"{name} is listed but not exported" for name in sorted(listed - exported)]
    found += [f"{name} is declared but not listed" for name in sorted(declared - listed)]
    found += [f"{name} is listed but not declared" for name in sorted(listed - declared)]
    return found
