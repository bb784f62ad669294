# SPDX-License-Identifier: BSD-3-Clause
"""Lets the tests of this folder import the rules beside them, and plant faults in small trees."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

Plant = Callable[..., Path]


@pytest.fixture
def plant(tmp_path: Path) -> Plant:
    """Return a function that writes files, named by path, and returns the root of their tree."""

    def write(contents: dict[str, str]) -> Path:
        for name, text in contents.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return write
