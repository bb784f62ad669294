# SPDX-License-Identifier: BSD-3-Clause
"""What a program in Python asks of a launch."""

from __future__ import annotations

import pytest

from lanewise.errors import RequestError
from lanewise.suite.asked import asked_for


def test_launcher_arguments_are_a_list_whose_words_stay_whole() -> None:
    found = asked_for("", "", ["a", "b"], "", ["--bind-to", "none"])

    assert (found.hosts, found.launcher_arguments) == ("a,b", ("--bind-to", "none"))


def test_launcher_arguments_in_one_text_are_refused_with_the_list_that_they_are() -> None:
    with pytest.raises(RequestError, match=r"say launcher_arguments=\['--bind-to', 'none'\]"):
        asked_for("", "", "", "", "--bind-to none")
