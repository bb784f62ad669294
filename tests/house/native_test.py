# SPDX-License-Identifier: BSD-3-Clause
"""The public headers stand alone, and the library exports what they declare and nothing else."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import native
import pytest
import tree

Plant = Callable[[dict[str, str]], Path]

INCLUDE = tree.ROOT / "include"
HEADERS = sorted(INCLUDE.rglob("*.h"))
BUILT = tree.ROOT / "build/release/lib"
# Each library that programs link, and the list of its symbols.
LIBRARIES = {"liblanewise.so": "src/lanewise.map", "liblanewise_paths.so": "src/paths/paths.map"}


@pytest.mark.parametrize("language", native.LANGUAGES)
@pytest.mark.parametrize("header", HEADERS, ids=[header.name for header in HEADERS])
def test_a_public_header_stands_alone(header: Path, language: str) -> None:
    offences = native.header_offences(header, INCLUDE, language)

    assert not offences, "\n".join(offences)


UNSOUND = {
    "a type it does not include": "#ifndef A\n#define A\nuint8_t lw_a(void);\n#endif\n",
    "no guard": "struct lw_a { int x; };\n",
    "an empty parameter list in C": "#ifndef A\n#define A\nint a(int) { }\n#endif\n",
}


@pytest.mark.parametrize("text", UNSOUND.values(), ids=UNSOUND.keys())
def test_an_unsound_header_is_reported(plant: Plant, text: str) -> None:
    root = plant({"include/lanewise/a.h": text})

    assert native.header_offences(root / "include/lanewise/a.h", root / "include", "c11")


def test_the_libraries_export_what_the_headers_declare() -> None:
    declared = native.declared_symbols(INCLUDE)
    all_listed: set[str] = set()
    for library, script in LIBRARIES.items():
        assert (BUILT / library).exists(), f"{library} is not built; run make build"
        listed = native.listed_symbols(tree.ROOT / script)
        exported = native.exported_symbols(BUILT / library)
        offences = native.symbol_offences(declared & listed, listed, exported)
        assert not offences, "\n".join(offences)
        all_listed |= listed

    assert declared == all_listed


# What the tests of a wrapper call, which is in this file.
THROUGH_WRAPPERS = {
    "lw_accumulator_allreduce_fortran": "include/lanewise/sum.f90",
    "lw_icollective_fortran": "include/lanewise/collectives.f90",
    "lw_in_place_fortran": "include/lanewise/collectives.f90",
    "lw_product_allreduce_fortran": "include/lanewise/sum.f90",
    "lw_wavefront_resume_kernel_on_ranks": "python/lanewise/wavefront/ranks.py",
}


def test_each_function_is_called_by_a_test() -> None:
    listed: set[str] = set()
    for script in LIBRARIES.values():
        listed |= native.listed_symbols(tree.ROOT / script)
    called = native.called_symbols(tree.ROOT, besides=Path(__file__))

    assert listed - called == set(THROUGH_WRAPPERS)
    for name, wrapper in THROUGH_WRAPPERS.items():
        assert name in (tree.ROOT / wrapper).read_text(encoding="utf-8"), f"{name}: {wrapper}"


SOUND = ({"lw_a"}, {"lw_a"}, {"lw_a"})
DISAGREEMENTS = {
    "a symbol without prefix": ({"a"}, {"a"}, {"a"}),
    "exported but not listed": ({"lw_a"}, {"lw_a"}, {"lw_a", "lw_b"}),
    "listed but not exported": ({"lw_a", "lw_b"}, {"lw_a", "lw_b"}, {"lw_a"}),
    "declared but not listed": ({"lw_a", "lw_b"}, {"lw_a"}, {"lw_a"}),
    "listed but not declared": ({"lw_a"}, {"lw_a", "lw_b"}, {"lw_a", "lw_b"}),
}


def test_nothing_is_said_where_headers_list_and_library_agree() -> None:
    assert native.symbol_offences(*SOUND) == []


@pytest.mark.parametrize("sets", DISAGREEMENTS.values(), ids=DISAGREEMENTS.keys())
def test_a_disagreement_is_caught(sets: tuple[set[str], set[str], set[str]]) -> None:
    assert len(native.symbol_offences(*sets)) == 1


def test_symbols_are_read_from_headers_script_and_library(tmp_path: Path, plant: Plant) -> None:
    root = plant(
        {
            "include/a.h": "#define LW_API X((a))\n/* LW_API no(); */\nLW_API char *lw_a(int b);\n",
            "a.map": "X_1 {\n  global:\n    lw_a;\n  local:\n    *;\n};\n",
            "a.c": "int lw_a(void) { return 0; }\nint hidden(void) { return 1; }\n",
        }
    )
    library = tmp_path / "a.so"
    script = f"-Wl,--version-script={root / 'a.map'}"
    subprocess.run(["cc", "-shared", "-fPIC", script, "-o", library, root / "a.c"], check=True)

    assert native.declared_symbols(root / "include") == {"lw_a"}
    assert native.listed_symbols(root / "a.map") == {"lw_a"}
    assert native.exported_symbols(library) == {"lw_a"}
