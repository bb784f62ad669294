# SPDX-License-Identifier: BSD-3-Clause
"""What is preloaded comes before what was, and what the loader would cut or leave out is told."""

from __future__ import annotations

import os
import stat
import struct
import sys
from pathlib import Path

import pytest

from lanewise.errors import RequestError
from lanewise.launch.preload import obstacle, preloading

LOADED, INTERPRETER = 1, 3


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


def program(path: Path, *kinds: int) -> str:
    """Write the head of a program with segments of these kinds."""
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    sizes = (64, 56, len(kinds), 0, 0, 0)
    head += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, *sizes)
    path.write_bytes(head + b"".join(struct.pack("<I52x", kind) for kind in kinds))
    return str(path)


def test_a_program_that_is_linked_statically_has_no_loader(tmp_path: Path) -> None:
    assert "linked statically" in obstacle(program(tmp_path / "static", LOADED))
    assert obstacle(program(tmp_path / "dynamic", LOADED, INTERPRETER)) == ""
    assert obstacle(sys.executable) == ""


def test_the_loader_preloads_into_what_it_loads(tmp_path: Path) -> None:
    assert obstacle(program(tmp_path / "ld-linux-x86-64.so.2", LOADED)) == ""


def test_a_script_and_what_is_no_program_are_left_to_the_system(tmp_path: Path) -> None:
    (tmp_path / "script").write_text("#!/bin/sh\n")
    (tmp_path / "short").write_bytes(b"\x7fELF")
    assert obstacle(str(tmp_path / "script")) == ""
    assert obstacle(str(tmp_path / "short")) == ""
    assert obstacle(str(tmp_path / "none")) == ""


def test_the_loader_preloads_nothing_into_what_runs_as_another_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = program(tmp_path / "setuid", LOADED, INTERPRETER)
    Path(name).chmod(stat.S_ISUID | 0o755)
    assert obstacle(name) == ""
    monkeypatch.setattr(os, "geteuid", lambda: Path(name).stat().st_uid + 1)
    assert "runs as another user" in obstacle(name)
