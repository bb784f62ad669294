# SPDX-License-Identifier: BSD-3-Clause
"""A timeline has a bar for all work and a line for each message."""

from pathlib import Path

import numpy as np
import pytest

from lanewise.errors import RequestError
from lanewise.plots.timeline import Work, draw_timeline, messages, save_drawing

TWO_MESSAGES = [
    Work("send", 0, 1, 0.0, 1.0),
    Work("send", 0, 1, 1.0, 2.0),
    Work("receive", 1, 0, 3.0, 4.0),
    Work("receive", 1, 0, 5.0, 6.0),
]


def test_the_nth_send_to_a_rank_leads_to_its_nth_receive() -> None:
    assert messages(reversed(TWO_MESSAGES)) == [
        (TWO_MESSAGES[0], TWO_MESSAGES[2]),
        (TWO_MESSAGES[1], TWO_MESSAGES[3]),
    ]


def test_a_message_is_a_line_from_the_end_of_its_send_to_the_beginning_of_its_receive() -> None:
    panel = draw_timeline("Two messages", 2, TWO_MESSAGES).axes[0]

    drawn = [
        (np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist())
        for line in panel.lines
    ]
    assert drawn == [([1.0, 3.0], [0, 1]), ([2.0, 5.0], [0, 1])]


def test_all_work_is_a_bar() -> None:
    work = [*TWO_MESSAGES, Work("egress", 0, 1, 1.0, 2.0), Work("copy", 1, -1, 6.0, 7.0)]

    panel = draw_timeline("Work", 2, work).axes[0]

    assert len(panel.collections) == len(work)


def test_no_work_at_all_can_be_drawn() -> None:
    assert draw_timeline("Nothing", 1, []).axes[0].get_title(loc="left") == "Nothing"


def test_a_drawing_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    figure = draw_timeline("Two messages", 2, TWO_MESSAGES)

    with pytest.raises(RequestError, match="drawing"):
        save_drawing(figure, tmp_path / "none" / "drawing.svg")

    assert list(tmp_path.iterdir()) == []
