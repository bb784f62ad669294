# SPDX-License-Identifier: BSD-3-Clause
"""Every source keeps to the rules for sources, and one that does not is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import sources
import tree

Plant = Callable[[dict[str, str]], Path]
Rule = Callable[[Path], list[str]]

LICENCE = f"// {sources.LICENCE}\n"
PYTHON_LICENCE = f"# {sources.LICENCE}\n"

RULES = {
    "has the licence line": sources.licence_offences,
    "says what it is": sources.head_offences,
    "has a name that says something": sources.name_offences,
    "has tidy lines": sources.line_offences,
    "has prose of a width that can be read": sources.prose_offences,
    "is merged": sources.conflict_offences,
    "is a short main, if it is a program": sources.main_offences,
    "names its tests in CamelCase": sources.test_name_offences,
    "includes what it needs": sources.include_offences,
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_every_source_keeps_the_rule(rule: Rule) -> None:
    offences = rule(tree.ROOT)

    assert not offences, "\n".join(offences)


OFFENCES = {
    "no licence": (sources.licence_offences, "src/a.cpp", "int x;\n"),
    "a licence too late": (sources.licence_offences, "src/a.cpp", "\n" * 3 + LICENCE),
    "no licence in a script": (sources.licence_offences, "packaging/get.sh", "#!/bin/sh\n"),
    "no licence in CMake": (sources.licence_offences, "src/CMakeLists.txt", "project(x)\n"),
    "no word of what it is": (sources.head_offences, "src/a.cpp", LICENCE + "\nint x;\n"),
    "a header of another file": (
        sources.head_offences,
        "src/a.cpp",
        LICENCE + '#include "b.hpp"\n// Later.\n',
    ),
    "a vague file": (sources.name_offences, "src/utils.cpp", ""),
    "a vague word": (sources.name_offences, "src/string_helpers.hpp", ""),
    "a vague folder": (sources.name_offences, "python/common/a.py", ""),
    "a generation": (sources.name_offences, "docs/reader-v2.md", ""),
    "a tab": (sources.line_offences, "src/a.cpp", "\tint x;\n"),
    "a long line": (sources.line_offences, "src/a.cpp", "x" * 101 + "\n"),
    "a long line of a guide": (sources.prose_offences, "docs/a.md", "x" * 119 + "\n"),
    "trailing blanks": (sources.line_offences, "src/a.cpp", "int x; \n"),
    "an unfinished merge": (sources.conflict_offences, "docs/a.md", "<<<<<<" + "< main\na\n"),
    "a main that does the work": (sources.main_offences, "src/tools/a.cpp", "int x;\n" * 101),
    "a test in snake_case": (
        sources.test_name_offences,
        "src/a_test.cpp",
        "TEST_F(Window,\n       is_open) {\n",
    ),
    "a suite in snake_case": (
        sources.test_name_offences,
        "src/a_test.cpp",
        "TEST(a_window, IsOpen) {\n",
    ),
    "a name that it does not include": (
        sources.include_offences,
        "src/a.cpp",
        "#include <algorithm>\nint y = std::exchange(x, 0);\n",
    ),
    "unfinished business": (sources.line_offences, "src/a.cpp", "// TO" + "DO: later\n"),
}


@pytest.mark.parametrize(("rule", "name", "text"), OFFENCES.values(), ids=OFFENCES.keys())
def test_an_offence_is_caught(plant: Plant, rule: Rule, name: str, text: str) -> None:
    assert len(rule(plant({name: text}))) == 1


FINE = {
    "a C++ file": ("src/renewal.cpp", LICENCE + "//\n// Renewal.\n\nvoid f() {\n}\n"),
    "a C file": ("src/a.c", f"/* {sources.LICENCE} */\n/*\n * A test.\n */\nint x;\n"),
    "a long file of a part": ("src/base/a.cpp", LICENCE + "//\n// A.\n" + "int x;\n" * 200),
    "a test": (
        "src/base/a_test.cpp",
        LICENCE + "//\n// A.\nTEST_P(Alternate, IsNotOnAPortThatIsDown2) {\n}\n",
    ),
    "a name that is included": (
        "src/base/a.cpp",
        LICENCE + "//\n// A.\n#include <utility>\nint y = std::exchange(x, 0);\n",
    ),
    "a script": ("packaging/get.sh", f"#!/bin/sh\n{PYTHON_LICENCE}"),
    "a Makefile": ("Makefile", f"{PYTHON_LICENCE}all:\n\ttrue\n"),
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
@pytest.mark.parametrize(("name", "text"), FINE.values(), ids=FINE.keys())
def test_a_sound_file_passes(plant: Plant, rule: Rule, name: str, text: str) -> None:
    assert rule(plant({name: text})) == []


@pytest.mark.parametrize("name", ["src/base/a.cpp", "src/base/a_test.cpp"])
def test_a_source_may_leave_it_to_its_header_to_say_what_it_is(plant: Plant, name: str) -> None:
    source = LICENCE + '\n#include "base/a.hpp"\n\nint x;\n'

    assert sources.head_offences(plant({"src/base/a.hpp": LICENCE, name: source})) != []
    assert (
        sources.head_offences(plant({"src/base/a.hpp": LICENCE + "//\n// A.\n", name: source}))
        == []
    )


def test_what_git_ignores_is_not_looked_at(plant: Plant) -> None:
    root = plant({".gitignore": "/build/\n__pycache__/\n", "build/a.cpp": "", "x/b.cpp": ""})

    assert sources.sources(root) == [Path("x/b.cpp")]
