# SPDX-License-Identifier: BSD-3-Clause
"""Every key of a TOML text is found on its line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanewise.toml.lines import SyntaxFault, parse_with_lines

TEXT = '''# a comment
[[site]]
name = "a"

lan = { rate = "x" }
long = [
    1,
    2,
]
text = """
name = 3
"""
[[site]]
name = "b"
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("site", 0), 2),
        (("site", 0, "name"), 3),
        (("site", 0, "lan", "rate"), 5),
        (("site", 0, "long", 1), 6),
        (("site", 0, "text"), 10),
        (("site", 1), 13),
        (("site", 1, "name"), 14),
    ],
)
def test_a_key_stands_on_the_line_where_it_begins(path: tuple[str | int, ...], line: int) -> None:
    assert parse_with_lines(TEXT)[1][path] == line


def test_a_text_that_is_no_toml_is_refused_with_its_line() -> None:
    with pytest.raises(SyntaxFault, match="line 2"):
        parse_with_lines("a = 1\nb = \n")


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("[" * 5000, "values are nested too deeply"),
        (f"{{ {'b.' * 5000}b = 1 }}", "values are nested too deeply"),
        ("1" * 5000, "a number has too many digits"),
    ],
    ids=["lists", "tables", "digits"],
)
def test_a_text_with_more_than_can_be_read_is_refused_with_its_line(value: str, why: str) -> None:
    with pytest.raises(ValueError, match=rf"^{why} \(at line 2\)$"):
        parse_with_lines(f"x = 1\na = {value}\ny = 2\n")


@given(st.lists(st.booleans(), max_size=30))
def test_blank_lines_move_keys_and_change_no_value(blank: list[bool]) -> None:
    lines = [
        text for i, empty in enumerate(blank) for text in (["", "# note"] * empty + [f"k{i} = {i}"])
    ]

    values, places = parse_with_lines("\n".join(lines))

    assert values == {f"k{i}": i for i in range(len(blank))}
    assert all(lines[places[(key,)] - 1].startswith(f"{key} ") for key in values)
