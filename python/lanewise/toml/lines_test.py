# SPDX-License-Identifier: BSD-3-Clause
"""Every key of a TOML text is found on its line."""

import sys
import time
import tracemalloc
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanewise.toml.lines import Path, SyntaxFault, parse_with_lines

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

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
def test_a_key_stands_on_the_line_where_it_begins(path: Path, line: int) -> None:
    assert parse_with_lines(TEXT)[1][path] == line


NESTED = """[[site]]
[[site.host]]
name = "a"
[[site.host]]
ports.first = 1
[site.wan]
rate = "1"
[[site]]
[site.wan.loss]
share = 0.1
[[site.host]]
name = "b"
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("site",), 1),
        (("site", 0, "host", 0, "name"), 3),
        (("site", 0, "host", 1), 4),
        (("site", 0, "host", 1, "ports"), 5),
        (("site", 0, "host", 1, "ports", "first"), 5),
        (("site", 0, "wan"), 6),
        (("site", 1), 8),
        (("site", 1, "wan"), 9),
        (("site", 1, "wan", "loss"), 9),
        (("site", 1, "wan", "loss", "share"), 10),
        (("site", 1, "host", 0, "name"), 12),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_a_key_of_a_table_in_an_array_stands_on_its_line(path: Path, line: int, end: str) -> None:
    assert parse_with_lines(NESTED.replace("\n", end))[1][path] == line


def test_a_separator_of_lines_inside_a_string_begins_no_line() -> None:
    assert parse_with_lines('a = "x\u2028y\x85z"\nb = 1\n')[1][("b",)] == 2


@pytest.mark.parametrize(
    "text",
    ["[[fault]]\nat = 1\n" * 500, f"at = [\n{'1,' * 500}\n]\n".replace(",", ",\n")],
    ids=["statements", "lines of one statement"],
)
def test_a_statement_is_parsed_as_often_in_a_long_text_as_in_a_short_one(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = Mock(wraps=tomllib.loads)
    monkeypatch.setattr(tomllib, "loads", parsed)

    parse_with_lines(text)

    assert sum(len(call.args[0]) for call in parsed.call_args_list) < 4 * len(text)


def test_whole_numbers_have_64_bits() -> None:
    assert parse_with_lines(f"a = [{-(2**63)}, {2**63 - 1}]")[0] == {"a": [-(2**63), 2**63 - 1]}


def test_a_text_that_is_no_toml_is_refused_with_its_line() -> None:
    with pytest.raises(SyntaxFault, match="line 2"):
        parse_with_lines("a = 1\nb = \n")


TOO_LARGE = r"a whole number needs more than 64 bits; use one from -2\^63 to 2\^63-1"


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("[" * 5000, "values are nested too deeply"),
        (f"{{ {'b.' * 5000}b = 1 }}", "values are nested too deeply"),
        ("1" * 5000, TOO_LARGE),
        (f"[0x{'f' * 5000}]", TOO_LARGE),
        (f"{{ b = {2**63} }}", TOO_LARGE),
    ],
    ids=["lists", "tables", "digits", "hexadecimal digits", "more than 64 bits"],
)
def test_a_text_with_more_than_can_be_read_is_refused_with_its_line(value: str, why: str) -> None:
    with pytest.raises(ValueError, match=rf"^{why} \(at line 2\)$"):
        parse_with_lines(f"x = 1\na = {value}\ny = 2\n")


@pytest.mark.parametrize(
    "value",
    [
        '"""\n[ # " \\""" \\\\\n"""',
        "'''\n{ \"\"\" \\\n'''",
        '"""\n\\\n  """""',
        "'''\n'''''",
        "[\"[\", '\"', \"\\\"\",\n# ] \"\n]",
        "[\n'\\', []\n]",
        '[\n{ "]" = 1 },\n[ # [\n]\n]',
        '""\n\n\n',
    ],
    ids=[
        "string of lines", "literal string of lines", "quotes at the end", "literal quotes",
        "strings", "literal strings", "brackets", "blank lines",
    ],
)  # fmt: skip
def test_a_statement_goes_on_until_its_brackets_and_strings_end(value: str) -> None:
    text = f"a = {value}\n'[' = 1\n"

    assert parse_with_lines(text)[1][("[",)] == text.count("\n")


@given(st.lists(st.booleans(), max_size=30))
def test_blank_lines_move_keys_and_change_no_value(blank: list[bool]) -> None:
    lines = [
        text for i, empty in enumerate(blank) for text in (["", "# note"] * empty + [f"k{i} = {i}"])
    ]

    values, places = parse_with_lines("\n".join(lines))

    assert values == {f"k{i}": i for i in range(len(blank))}
    assert all(lines[places[(key,)] - 1].startswith(f"{key} ") for key in values)


@pytest.mark.parametrize("string", ['"x\\n{}"', '"""\nx\\n{}"""', "'x{}'", "'''x{}'''"])
def test_a_long_string_takes_no_more_memory_than_its_text(string: str) -> None:
    text = f"a = {string.format('x' * 200_000)}\nb = 1\n"
    tracemalloc.start()
    try:
        lines = parse_with_lines(text)[1]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert lines[("b",)] == text.count("\n")
    assert peak < 8 * len(text)


@pytest.mark.parametrize("opened", ['"""\n\\', '"\\', "'''\n"], ids=["lines", "line", "literal"])
def test_a_text_with_many_open_strings_is_refused_in_no_time(opened: str) -> None:
    text = f"a = [{'9' * 5000},\n{opened * 20_000}"
    begin = time.process_time()

    with pytest.raises(ValueError, match=r"\(at line 1\)$"):
        parse_with_lines(text)

    assert time.process_time() - begin < 2
