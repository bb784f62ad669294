# SPDX-License-Identifier: BSD-3-Clause
"""Every run is appended, with its date and commit, and nothing is lost."""

import json
import resource
import subprocess
from pathlib import Path

import pytest

from experiments import results
from lanewise.errors import RequestError, RunError

PRINTED: dict[str, object] = {
    "name": "pairs", "figures": {"speedup": 3.9}, "conditions": {}, "files": ["pairs.png"],
}  # fmt: skip


def test_each_run_is_a_line_more(tmp_path: Path) -> None:
    folder = tmp_path / "results"

    paths = [results.append(PRINTED, folder) for _ in range(2)]

    assert paths == [folder / "pairs.jsonl"] * 2
    first, second = map(json.loads, (folder / "pairs.jsonl").read_text().splitlines())
    assert first["figures"] == second["figures"] == {"speedup": 3.9}
    assert first.keys() == {"date", "commit", "name", "figures", "conditions"}


def test_a_number_is_kept_with_six_digits_and_a_count_as_it_is() -> None:
    kept = [results.six_digits(value) for value in (0.123456789, 134217728.0, 134217728, 0)]

    assert kept == [0.123457, 134217728.0, 134217728, 0]
    assert [type(value) for value in kept] == [float, float, int, int]


def test_the_line_names_the_commit() -> None:
    assert len(results.commit().removesuffix("-dirty")) in (12, len("unknown"))


def test_where_the_clone_cannot_be_written_the_run_goes_on(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("")

    assert results.append(PRINTED, tmp_path / "results") is None


@pytest.mark.parametrize("taken", ["results", "results/pairs.jsonl"])
def test_where_runs_cannot_be_kept_that_is_told_before_they_run(taken: str, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    results.require_writable(["pairs"], folder)
    assert not list(folder.iterdir())
    folder.rmdir()
    if taken == "results":
        folder.write_text("")
    else:
        (tmp_path / taken).mkdir(parents=True)

    with pytest.raises(RequestError, match=f"cannot be kept in {folder}: .*--results"):
        results.require_writable(["pairs"], folder)


def test_a_disk_that_is_full_leaves_no_half_line(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    before = (
        json.dumps(
            {"date": "2026-11-23", "figures": {}, "conditions": {}, "filling": "x" * (1 << 20)}
        )
        + "\n"
    )
    path.write_text(before)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 20, hard))
    try:
        kept = results.append(PRINTED, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert kept is None
    assert path.read_text() == before


def test_a_line_that_was_left_half_does_not_swallow_the_next(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"date": "2026-11-23", "figures": {}, "conditions": {}}')

    results.append(PRINTED, tmp_path)

    assert [run["figures"] for run in results.read("pairs", tmp_path)] == [{}, {"speedup": 3.9}]


NO_RUNS = (
    '{"date": "2026-1', "[]", '{"figures": {}, "conditions": {}}', '{"date": "2026-11-23"}',
    '{"date": "2026-11-23", "figures": {}}', '{"date": "x", "figures": [], "conditions": {}}',
)  # fmt: skip


@pytest.mark.parametrize("bad", NO_RUNS)
def test_a_line_that_is_no_run_is_told_with_its_place(bad: str, tmp_path: Path) -> None:
    results.append(PRINTED, tmp_path)
    path = tmp_path / "pairs.jsonl"
    with path.open("a") as file:
        file.write(f"\n{bad}\n")

    with pytest.raises(RunError, match=rf"{path}:3 is no run of an experiment"):
        results.read("pairs", tmp_path)


def test_the_commit_is_that_on_which_the_run_began(tmp_path: Path) -> None:
    results.append(PRINTED, tmp_path, "0123456789ab")

    (run,) = results.read("pairs", tmp_path)
    assert run["commit"] == "0123456789ab"


def test_pages_that_a_run_changed_do_not_make_the_sources_dirty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "ROOT", tmp_path)
    files = [tmp_path / name for name in ("docs/papers.md", "experiments/results/a.jsonl", "a.py")]
    for path in files:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("before\n")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "Begin"]):
        subprocess.run([*git, *words], check=True)

    dirty = []
    for path in files:
        path.write_text("after\n")
        dirty.append(results.commit().endswith("-dirty"))

    assert dirty == [False, False, True]
