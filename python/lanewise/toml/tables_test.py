# SPDX-License-Identifier: BSD-3-Clause
"""What is refused in a table is named with file, line and key."""

import pytest

from lanewise.errors import RequestError
from lanewise.toml.tables import Tables


def test_a_value_of_any_length_is_refused_in_one_line() -> None:
    tables = Tables(f"a = [{'1, ' * 3000}]", "x.toml")

    with pytest.raises(RequestError) as refused:
        tables.whole(tables.values, (), "a", 0)

    said = f"x.toml:1: a = [{'1, ' * 12}... is not a whole number from 0 on"
    assert str(refused.value) == said


def test_an_unknown_key_of_any_length_is_refused_in_one_line() -> None:
    tables = Tables(f"{'x' * 1000} = 1", "x.toml")

    with pytest.raises(RequestError) as refused:
        tables.known(tables.values, (), ["name"])

    assert str(refused.value) == f"x.toml:1: unknown key '{'x' * 36}...; there are name"
