# SPDX-License-Identifier: BSD-3-Clause
"""Values of `lanewise testbed` on the command line, and the testbed that a file means."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lanewise.cli import run
from lanewise.cli.testbed import with_unit
from lanewise.errors import RequestError
from lanewise.testbed import bed
from lanewise.testbed.impairments import BY_KEY
from lanewise.testbed.state import DESCRIPTION, Info
from lanewise.toml.quantities import parse


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("delay", "3", 3e9),
        ("delay", "0.5", 5e8),
        ("delay", "1min", 6e10),
        ("jitter", "5 ms", 5e6),
        ("loss", "0.01", 0.01),
        ("loss", "1%", 0.01),
        ("rate", "250Mbit/s", 2.5e8),
    ],
)
def test_a_bare_time_is_in_seconds_and_a_bare_share_a_fraction(
    key: str, text: str, value: float
) -> None:
    assert parse(BY_KEY[key].kind, with_unit(key, text)) == pytest.approx(value)


def test_a_share_that_could_mean_both_is_refused() -> None:
    with pytest.raises(RequestError, match=r"--loss '5' is not a share; write 5% or 0\.05"):
        with_unit("loss", "5")


def test_the_shipped_testbeds_are_listed_as_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["testbed", "check", "--json"]) == 0

    assert "two-site" in json.loads(capsys.readouterr().out)["testbeds"]


@pytest.fixture
def one_is_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bed.Bed:
    folder = tmp_path / "state"
    folder.mkdir()
    (folder / DESCRIPTION).write_text("text", encoding="utf-8")
    up = bed.Bed(folder, Info("one", "one.toml", shared=True))
    monkeypatch.setattr(bed, "beds", lambda: [up])
    monkeypatch.chdir(tmp_path)
    return up


@pytest.mark.parametrize("given", ["one", "one.toml", "./one.toml", "{folder}/one.toml"])
def test_a_testbed_that_is_up_is_found_by_its_file_and_by_its_name(
    given: str, one_is_up: bed.Bed, tmp_path: Path
) -> None:
    (tmp_path / "one.toml").write_text("text", encoding="utf-8")

    assert bed.find_bed(given.format(folder=tmp_path)) == one_is_up


def test_a_file_that_has_changed_since_is_refused_with_the_way_out(
    one_is_up: bed.Bed, tmp_path: Path
) -> None:
    (tmp_path / "one.toml").write_text("other text", encoding="utf-8")

    with pytest.raises(RequestError, match="lanewise testbed down one"):
        bed.find_bed("./one.toml")


def test_a_file_with_other_ends_of_its_lines_is_the_same(
    one_is_up: bed.Bed, tmp_path: Path
) -> None:
    (one_is_up.folder / DESCRIPTION).write_text("one\ntwo\n", encoding="utf-8")
    (tmp_path / "one.toml").write_bytes(b"one\r\ntwo\r\n")

    assert bed.find_bed("./one.toml") == one_is_up


def test_another_name_finds_nothing(one_is_up: bed.Bed) -> None:
    assert one_is_up.info.name == "one"
    assert bed.find_bed("./two.toml") is None
