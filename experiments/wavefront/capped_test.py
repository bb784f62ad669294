# SPDX-License-Identifier: BSD-3-Clause
"""Caps of control groups of either version, and what is said of those that are not in force."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from experiments.wavefront import capped
from experiments.wavefront.capped import Applied, Cap
from lanewise.errors import RunError

CAP = Cap(memory_bytes=1 << 20, disk_bytes_per_s=5000)
V1 = {
    "memory": ("memory.limit_in_bytes",),
    "blkio": ("blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"),
}
V2 = {"": ("memory.max", "io.max")}

Made = Callable[[Mapping[str, tuple[str, ...]]], dict[str, str]]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Make groups with these files by controller, cap, and return what the files hold then."""

    def make(files: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
        def group(controller: Path, applied: Applied) -> Path:
            found = controller / "lanewise"
            found.mkdir(parents=True, exist_ok=True)
            for name in files.get(str(controller.relative_to(tmp_path)).strip("."), ()):
                (found / name).touch()
            applied.groups.append(found)
            return found

        monkeypatch.setattr(capped, "GROUPS", tmp_path)
        monkeypatch.setattr(capped, "_group", group)
        monkeypatch.setattr(capped, "_disk_of", lambda _folder: "8:0")
        with capped.capped(CAP, tmp_path) as applied:
            applied.require()
        return {path.name: path.read_text() for path in tmp_path.rglob("*/*.*")}

    return make


def test_groups_of_version_1_are_one_for_each_controller(made: Made) -> None:
    assert made(V1) == {
        "memory.limit_in_bytes": "1048576",
        "blkio.throttle.read_bps_device": "8:0 5000",
        "blkio.throttle.write_bps_device": "8:0 5000",
    }


def test_a_group_of_version_2_has_all_caps(tmp_path: Path, made: Made) -> None:
    (tmp_path / "cgroup.controllers").touch()

    assert made(V2) == {"memory.max": "1048576", "io.max": "8:0 rbps=5000 wbps=5000"}


def test_a_controller_that_is_not_there_is_told(tmp_path: Path, made: Made) -> None:
    (tmp_path / "cgroup.controllers").touch()

    with pytest.raises(RunError, match=r"the disk cannot be capped here.*subtree_control"):
        made({"": ("memory.max",)})


def test_where_nothing_can_be_capped_a_run_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capped, "GROUPS", tmp_path / "none")

    with capped.capped(CAP, tmp_path) as applied:
        assert applied.groups == []
        assert [note.partition(" so that")[0] for note in applied.notes] == [
            "memory was not capped,", "the disk was not capped,",
        ]  # fmt: skip
        with pytest.raises(RunError, match="memory and the disk cannot be capped here"):
            applied.require()


def test_what_was_not_asked_for_is_not_told() -> None:
    assert Applied().notes == []
    Applied().require()
