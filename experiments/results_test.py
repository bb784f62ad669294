# SPDX-License-Identifier: BSD-3-Clause
"""Every run is appended, with its date and commit, and nothing is lost."""

import json
from pathlib import Path

from experiments import results

PRINTED: dict[str, object] = {"name": "pairs", "figures": {"speedup": 3.9}, "files": ["pairs.png"]}


def test_each_run_is_a_line_more(tmp_path: Path) -> None:
    folder = tmp_path / "results"

    paths = [results.append(PRINTED, folder) for _ in range(2)]

    assert paths == [folder / "pairs.jsonl"] * 2
    first, second = map(json.loads, (folder / "pairs.jsonl").read_text().splitlines())
    assert first["figures"] == second["figures"] == {"speedup": 3.9}
    assert first.keys() == {"date", "commit", "name", "figures"}


def test_the_line_names_the_commit() -> None:
    assert len(results.commit().removesuffix("-dirty")) in (12, len("unknown"))


def test_where_the_checkout_cannot_be_written_the_run_goes_on(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("")

    assert results.append(PRINTED, tmp_path / "results") is None
