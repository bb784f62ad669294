# SPDX-License-Identifier: BSD-3-Clause
"""The picture of a schedule."""

from __future__ import annotations

from lanewise.plots.messages import Arrow, draw_messages


def test_the_picture_has_a_line_for_each_rank_and_tells_what_a_round_carries() -> None:
    arrows = [Arrow(0, 0, 1, 8), Arrow(1, 0, 2, 8), Arrow(1, 1, 3, 16), Arrow(2, 3, 0, 0)]

    (panel,) = draw_messages("bcast", 4, arrows).axes

    assert [text.get_text() for text in panel.get_yticklabels()] == ["0", "1", "2", "3"]
    assert [text.get_text() for text in panel.get_xticklabels()] == [
        "1\n8 B", "2\n8 B\nto 16 B", "3",
    ]  # fmt: skip
