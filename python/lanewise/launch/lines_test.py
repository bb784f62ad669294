# SPDX-License-Identifier: BSD-3-Clause
"""What a stream says is cut into lines wherever a read ends."""

import pytest

from lanewise.launch.lines import Lines


@pytest.mark.parametrize("bytes_at_once", [1, 2, 3, 100])
def test_lines_are_the_same_wherever_a_read_ends(bytes_at_once: int) -> None:
    said = "one\r\ntwo\rthree\n\nfünf\nsix".encode()
    lines = Lines()

    told = [
        text
        for begin in range(0, len(said) + bytes_at_once, bytes_at_once)
        for text in lines.take(said[begin : begin + bytes_at_once])
    ]

    assert told == ["one", "two", "three", "", "fünf", "six"]


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert Lines().take(b"a\xffb\n") == ["a\ufffdb"]


def test_a_stream_that_ends_with_a_line_has_no_other() -> None:
    lines = Lines()

    assert (lines.take(b"a\n"), lines.take(b"")) == (["a"], [])
