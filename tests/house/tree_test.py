# SPDX-License-Identifier: BSD-3-Clause
"""The rules of the house see every file that is a source, in a clone and outside of one."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import tree

Plant = Callable[[dict[str, str]], Path]


def test_everything_but_what_git_ignores_is_found_where_there_is_no_clone(plant: Plant) -> None:
    ignored = {"build/a.o": "", "src/__pycache__/a.pyc": "", ".git/config": ""}
    sources = {".gitignore": "/build/\n__pycache__/\n", "src/build/a.cpp": "", "src/b.h": ""}

    root = plant({**ignored, **sources})

    assert {str(path) for path in tree.everything(root)} == set(sources)
    assert tree.files(root, ".cpp") == [Path("src/build/a.cpp")]
    assert tree.named(root, "b.h") == [Path("src/b.h")]


def test_in_a_clone_git_finds_the_same() -> None:
    asked = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(asked, cwd=tree.ROOT, capture_output=True, text=True, check=False)
    names = {name for name in listed.stdout.split("\0") if (tree.ROOT / name).is_file()}
    if not names:
        pytest.skip("git has no list of the files here; run this in a clone")

    assert {str(path) for path in tree.everything(tree.ROOT)} == names
