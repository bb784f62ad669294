# SPDX-License-Identifier: BSD-3-Clause
"""What is preloaded comes before what was, and a path that the loader would cut is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanewise.errors import RequestError
from lanewise.launch.preload import preloading


def test_libraries_come_before_those_that_were_there_and_once() -> None:
    before = {"LD_PRELOAD": "/lib/tool.so /b.so:/lib/other.so"}

    assert preloading([Path("/a.so"), Path("/b.so")], before) == (
        "/a.so:/b.so:/lib/tool.so:/lib/other.so"
    )


@pytest.mark.parametrize(
    ("folder", "named"),
    [("my programs", "a space"), ("a:b", "a colon"), ("a: b", "a space and a colon")],
)
def test_a_path_that_would_be_cut_is_refused_with_what_cuts_it(folder: str, named: str) -> None:
    path = f"/home/{folder}/lib/liblanewise_tuned.so"

    with pytest.raises(RequestError) as refused:
        preloading([Path(path)], {})

    assert str(refused.value) == (
        f"{path} cannot be preloaded: LD_PRELOAD cuts it at {named}; install Lanewise into a "
        "folder whose path has neither spaces nor colons"
    )
