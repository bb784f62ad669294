# SPDX-License-Identifier: BSD-3-Clause
"""Results: what each run measured, one line of JSON per run, in results/NAME.jsonl.

The lines say when and on which commit, so that figures can be followed over the history of the
project.  Lines are only ever appended, whole or not at all.
"""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from lanewise.errors import RequestError, RunError

FOLDER = Path(__file__).parent / "results"
ROOT = FOLDER.parents[1]
# What a commit is called where sources differ from it, and where there is none.
DIRTY, UNKNOWN = "-dirty", "unknown"
# Lines that were refused are in a file of another name, so that nobody reads them as kept.
NOT_KEPT = "-not-kept"
# After ":!" a path is one below the root; one that begins with "/" would be below it as well.
NO_SOURCES = (":!experiments/results", ":!docs")


def append(
    printed: dict[str, object], folder: Path = FOLDER, measured_on: str = "", ending: str = ""
) -> Path | None:
    """Append what a run printed to its file; None where `folder` cannot be written.

    `measured_on` is the commit on which the run began; without it, that of now.  The file of the
    experiment has an `ending` to its name where its runs are not kept.
    """
    path = folder / f"{printed['name']}{ending}.jsonl"
    kept = {key: value for key, value in printed.items() if key != "files"}
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    run = {"date": now, "commit": measured_on or commit(), **kept}
    line = json.dumps(run, ensure_ascii=False, default=str)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("ab+", buffering=0) as file:
            _append_line(file, line.encode())
    except OSError:
        return None
    return path


def require_writable(names: Iterable[str], folder: Path = FOLDER) -> None:
    """Raise RequestError where runs of these experiments could not be appended."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            path = folder / f"{name}.jsonl"
            if path.exists():
                path.open("ab").close()
            elif not os.access(folder, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise RequestError(
            f"runs cannot be kept in {folder}: {error.strerror}; name another with --results"
        ) from error


def _append_line(file: io.FileIO, line: bytes) -> None:
    """Append a line whole; where that fails, the file is as long as before."""
    before = file.seek(0, os.SEEK_END)
    file.seek(max(before - 1, 0))
    begun = file.read(1) not in (b"", b"\n")
    left = memoryview(b"\n" * begun + line + b"\n")
    try:
        while left:
            left = left[file.write(left) :]
        os.fsync(file.fileno())
    except OSError:
        file.truncate(before)
        raise


def read(name: str, folder: Path = FOLDER) -> list[dict[str, Any]]:
    """Return the runs of an experiment that are kept, the oldest first.

    Raises RunError, with its place, for a line that is no run.
    """
    path = folder / f"{name}.jsonl"
    if not path.is_file():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")
    runs = [_run_in(text, f"{path}:{number}") for number, text in enumerate(lines, 1) if text]
    return sorted(runs, key=lambda run: str(run["date"]))


def _run_in(text: str, place: str) -> dict[str, Any]:
    with suppress(json.JSONDecodeError):
        run = json.loads(text)
        if (
            isinstance(run, dict)
            and "date" in run
            and all(isinstance(run.get(key), dict) for key in ("figures", "conditions"))
        ):
            return run
    raise RunError(f"{place} is no run of an experiment; restore the line, git log -p shows it")


def six_digits(value: float) -> float:
    """Return a finite number as it is kept: with six digits, whole numbers as they are."""
    return value if float(value).is_integer() else float(f"{value:.6g}")


def commit() -> str:
    """Return the commit that is checked out, with "-dirty" where sources differ; or "unknown".

    Results and pages are no sources: each run that is kept changes them.
    """
    changed = ["status", "--porcelain", "--untracked-files=no", "--", ".", *NO_SOURCES]
    with suppress(OSError, subprocess.CalledProcessError):
        name = _git("rev-parse", "--short=12", "HEAD")
        return f"{name}{DIRTY}" if _git(*changed) else name
    return UNKNOWN


def _git(*words: str) -> str:
    line = ["git", "-C", str(ROOT), *words]
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout.strip()
