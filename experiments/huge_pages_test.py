# SPDX-License-Identifier: BSD-3-Clause
"""Huge pages are there while they are reserved, and the host is left as it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from experiments.huge_pages import COUNT_FILE, reserved


@pytest.mark.skipif(os.geteuid() != 0, reason="only root reserves huge pages")
@pytest.mark.skipif(not COUNT_FILE.is_file(), reason="the kernel has no huge pages of 2 MiB")
def test_huge_pages_are_given_back_that_were_reserved() -> None:
    before = int(COUNT_FILE.read_text())

    with reserved(2) as pages:
        assert pages == int(COUNT_FILE.read_text())
        if pages == before:
            pytest.skip("no 2 MiB of memory in one piece")

    assert int(COUNT_FILE.read_text()) == before


def test_huge_pages_that_others_reserve_meanwhile_stay(tmp_path: Path) -> None:
    count_file = tmp_path / "nr_hugepages"
    count_file.write_text("1\n")

    with reserved(8, count_file) as pages:
        assert pages == 9
        count_file.write_text("12\n")

    assert count_file.read_text() == "4\n"


def test_a_host_without_huge_pages_has_none(tmp_path: Path) -> None:
    with reserved(8, tmp_path / "nr_hugepages") as pages:
        assert pages == 0
