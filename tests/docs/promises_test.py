# SPDX-License-Identifier: BSD-3-Clause
"""What docs/promises.md says of files, structs and names is what schemas and headers have."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import lanewise
import lanewise.rdma
import lanewise.wavefront

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
HEADERS = sorted((ROOT / "include" / "lanewise").glob("*.h"))

# Pass between programs of one version, and are not kept.
BETWEEN_PROGRAMS = {"delay-line", "options"}
# What lies in a struct that has a size.
WITHOUT_SIZE = {"lw_buffers"}


def test_the_page_has_the_version_of_each_file() -> None:
    told = dict(
        re.findall(r"^\| \[([\w-]+)\]\(reference/files/[\w-]+\.md\) \| (\d+) \|", PAGE, re.M)
    )

    written = {}
    for path in (ROOT / "schema").glob("*.json"):
        name = path.name.removesuffix(".schema.json")
        schema = json.loads(path.read_text(encoding="utf-8"))
        context = schema.get("$defs", {}).get("context", {})
        properties = {**schema.get("properties", {}), **context.get("properties", {})}
        if name not in BETWEEN_PROGRAMS:
            written[name] = str(properties["version"]["const"])

    assert told == written


def test_the_page_names_what_passes_between_programs() -> None:
    told = re.search(r"^(`.*`) pass between programs of one version", PAGE, re.M)

    assert told is not None
    assert set(re.findall(r"`([\w-]+)`", told[1])) == BETWEEN_PROGRAMS


def test_the_page_says_of_each_header_what_is_kept() -> None:
    told = re.findall(r"^\| `(lanewise/[\w./]+)` \|", PAGE, re.M)

    include = ROOT / "include"
    headers = [path for path in (include / "lanewise").rglob("*") if path.is_file()]
    assert told == sorted(path.relative_to(include).as_posix() for path in headers)


def test_the_reference_has_each_public_name_of_python() -> None:
    reference = (ROOT / "docs" / "site" / "api" / "python.md").read_text(encoding="utf-8")
    names = re.findall(r"^\.\. auto\w+:: ([\w.]+)\.(\w+)$", reference, re.M)
    described = [getattr(import_module(place), name) for place, name in names]

    missing = [
        f"{package.__name__}.{name}"
        for package in (lanewise, lanewise.rdma, lanewise.wavefront)
        for name in package.__all__
        if name != "__version__" and getattr(package, name) not in described
    ]
    assert missing == []


def test_the_reference_of_fortran_names_what_only_c_has() -> None:
    page = (ROOT / "docs" / "site" / "api" / "fortran.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+\.h)` \| (.+) \|$", page, re.M)
    told = {
        header: row if row == "all" else set(re.findall(r"`(\w+)`", row)) for header, row in rows
    }
    in_fortran = {
        name.removesuffix("_fortran")
        for path in HEADERS[0].parent.glob("*.f90")
        for name in re.findall(r"\blw_\w+", re.sub(r"!.*", "", path.read_text(encoding="utf-8")))
    }

    lacking = {}
    for path in HEADERS:
        declared = re.findall(r"^LW_API [^(]*\b(lw_\w+)\(", path.read_text(encoding="utf-8"), re.M)
        functions = {name.removesuffix("_fortran") for name in declared}
        missing = functions - in_fortran
        if missing:
            lacking[path.name] = "all" if missing == functions else missing
    assert told == lacking


def test_each_name_of_the_reference_is_in_the_package_of_its_section() -> None:
    # Each package in a process of its own, as in a program that says `import lanewise` only.
    look_up = """
import functools, sys, lanewise

def is_there(name):
    try:
        functools.reduce(getattr, name.split(".")[1:], lanewise)
    except AttributeError:
        return False
    return True

print([name for name in sys.argv[1:] if not is_there(name)])
"""
    reference = (ROOT / "docs" / "site" / "api" / "python.md").read_text(encoding="utf-8")
    names = re.findall(r"^\.\. \w[\w:]+:: ([\w.]+)", reference, re.M)
    packages = ("lanewise.rdma", "lanewise.wavefront.half", "lanewise.wavefront", "lanewise.errors")
    public: dict[str, list[str]] = {}
    for name in names:
        place = next((one for one in packages if name.startswith(f"{one}.")), "lanewise")
        public.setdefault(place, []).append(f"{place}.{name.rpartition('.')[2]}")

    assert public.keys() == {"lanewise", *packages}
    for in_one in public.values():
        done = subprocess.run(
            [sys.executable, "-c", look_up, *in_one], capture_output=True, text=True, check=True
        )
        assert done.stdout == "[]\n"


def test_the_reference_has_what_the_guides_import() -> None:
    reference = (ROOT / "docs" / "site" / "api" / "python.md").read_text(encoding="utf-8")
    known = set(re.findall(r"^\.\. \w[\w:]+:: ([\w.]+)", reference, re.M))
    guides = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    imported = {
        f"{place}.{name}"
        for path in guides
        for place, names in re.findall(
            r"^from (lanewise\.[\w.]+) import (.+)$", path.read_text(encoding="utf-8"), re.M
        )
        for name in names.split(", ")
    }

    assert imported
    assert imported - known == set()


def test_a_struct_that_a_program_fills_begins_with_its_size() -> None:
    declared = {
        name: body.strip()
        for path in HEADERS
        for name, body in re.findall(
            r"^typedef struct (lw_\w+) \{(.*?)^\}", path.read_text("utf-8"), re.M | re.S
        )
    }
    without = {
        name for name, body in declared.items() if not body.startswith("uint32_t struct_size")
    }

    assert len(declared) > len(WITHOUT_SIZE)
    assert without == WITHOUT_SIZE


def test_the_page_names_the_structs_whose_first_size_is_still_taken() -> None:
    sources = [path for path in (ROOT / "src").rglob("*.?pp") if "_test." not in path.name]
    taken = {
        name
        for path in sources
        for name in re.findall(r"\boffsetof\((lw_\w+),", path.read_text(encoding="utf-8"))
    }

    told = re.search(r"in earlier versions too,(.*?)\. Any other size", PAGE, re.S)
    assert told is not None
    assert set(re.findall(r"`(lw_\w+)`", told[1])) == taken
