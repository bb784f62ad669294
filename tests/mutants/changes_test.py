# SPDX-License-Identifier: BSD-3-Clause
"""Which small changes a mutation run makes to a line, and which it must not make."""

from __future__ import annotations

import pytest
from changes import changes_of


def mutated(line: str) -> set[str]:
    return {change.mutated for change in changes_of("a.cpp", f"    {line}\n")}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("return a < b;", {"return a <= b;"}),
        ("return a == b && c;", {"return a != b && c;", "return a == b || c;"}),
        ("x = y + z;", {"x = y - z;", ";"}),
        ("i += step;", {"i -= step;", ";"}),
        ("const int limit = 7;", {"const int limit = 8;", "const int limit = 6;"}),
        ("const int first = 0;", {"const int first = 1;"}),
        ("if (empty(a)) return b;", {"if (!(empty(a))) return b;"}),
        ("return f(a, b);", {"return f(b, a);"}),
        ("list.push_back(a);", {";"}),
        ("break;", {";"}),
        ('print("a < 1", b);', {";"}),
        ("return a;  // a < b + 1", set()),
    ],
)
def test_a_line_is_changed_in_every_way_of_an_operator(line: str, expected: set[str]) -> None:
    assert mutated(line) == expected


@pytest.mark.parametrize(
    "line",
    ["std::vector<int> v;", "const char *name;", "#include <cmath>", "// a < b", "using X = int;",
     "if (const auto x = f()) return;", 'fail("2 < 3");', "int f(const T& a);"],
)  # fmt: skip
def test_what_only_looks_like_an_operator_stays(line: str) -> None:
    assert not mutated(line) - {";"}


def test_a_change_replaces_its_place_alone() -> None:
    source = "int f() {\n    return a < b + c < d;\n}\n"
    changes = list(changes_of("a.cpp", source))
    assert [change.apply(source).split("\n")[1] for change in changes] == [
        "    return a <= b + c < d;", "    return a < b + c <= d;", "    return a < b - c < d;",
    ]  # fmt: skip


def test_a_change_keeps_its_name_when_lines_are_added_above() -> None:
    line = "return a < b;"
    (before,) = changes_of("a.cpp", line)
    (after,) = changes_of("a.cpp", f"int x;\n\n    {line}")
    assert before.key() == after.key()


def test_equal_lines_have_names_of_their_own() -> None:
    keys = [change.key() for change in changes_of("a.cpp", "a = b;\na = b;\n")]
    assert len(set(keys)) == 2
