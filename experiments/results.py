# SPDX-License-Identifier: BSD-3-Clause
"""Results: what each run measured, one line of JSON per run, in results/NAME.jsonl.

The lines say when and on which commit, so that figures can be followed over the history of the
project.  Lines are only ever appended.
"""

from __future__ import annotations

import json
import subprocess
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"


def append(printed: dict[str, object], folder: Path = FOLDER) -> Path | None:
    """Append what a run printed to its file; None where `folder` cannot be written."""
    path = folder / f"{printed['name']}.jsonl"
    kept = {key: value for key, value in printed.items() if key != "files"}
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    line = json.dumps({"date": now, "commit": commit(), **kept}, ensure_ascii=False, default=str)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
    except OSError:
        return None
    return path


def read(name: str, folder: Path = FOLDER) -> list[dict[str, Any]]:
    """Return the runs of an experiment that are kept, the oldest first."""
    path = folder / f"{name}.jsonl"
    if not path.is_file():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return sorted(map(json.loads, lines), key=lambda run: str(run["date"]))


def commit() -> str:
    """Return the commit that is checked out, with "-dirty" where sources differ; or "unknown"."""
    root = FOLDER.parents[1]
    changed = ["status", "--porcelain", "--untracked-files=no", "--", ".", f":!{FOLDER}"]
    with suppress(OSError, subprocess.CalledProcessError):
        name = _git(root, "rev-parse", "--short=12", "HEAD")
        return f"{name}-dirty" if _git(root, *changed) else name
    return "unknown"


def _git(root: Path, *words: str) -> str:
    line = ["git", "-C", str(root), *words]
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout.strip()
