# SPDX-License-Identifier: BSD-3-Clause
"""Progress: how far a run is, or what moves into a store and out of one.

What takes an `on_progress` calls it with the share that is done, from 0 to 1, and the seconds since
it began.  A `ProgressBar` is one that a person looks at.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from types import TracebackType

OnShare = Callable[[float, float], None]

PERIOD_S = 0.1


class MovedRows:
    """Calls `on_progress` as rows move, ten times a second at most, and once all have."""

    def __init__(self, on_progress: OnShare | None, rows: int) -> None:
        self._on_progress = on_progress
        self._rows = max(rows, 1)
        self._began_s = self._called_s = time.monotonic()

    def share(self, done: int) -> Callable[[], None] | None:
        """Return what is to be called now that `done` rows have moved; None for nothing."""
        shown, now_s = self._on_progress, time.monotonic()
        if shown is None or (done < self._rows and now_s - self._called_s < PERIOD_S):
            return None
        self._called_s = now_s
        share, elapsed_s = done / self._rows, now_s - self._began_s
        return lambda: shown(share, elapsed_s)


class ProgressBar:
    """A bar on standard error, in a terminal or a notebook with ipywidgets; nothing elsewhere.

    with ProgressBar("import") as bar:
        store.write("u", values, on_progress=bar)
    """

    def __init__(self, title: str = "") -> None:
        from rich.console import Console  # noqa: PLC0415
        from rich.progress import (  # noqa: PLC0415
            BarColumn,
            Progress,
            TaskProgressColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        columns = (
            TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(),
            TimeElapsedColumn(), TimeRemainingColumn(),
        )  # fmt: skip
        console = Console(stderr=True)
        has_widgets = find_spec("ipywidgets") is not None
        visible = has_widgets if console.is_jupyter else console.is_terminal
        self._bar = Progress(*columns, console=console, transient=True, disable=not visible)
        self._task = self._bar.add_task(title, total=1.0)

    def __call__(self, share: float, elapsed_s: float) -> None:
        """Show that `share` of the work is done; the bar takes the time itself."""
        del elapsed_s
        self._bar.update(self._task, completed=share)

    def __enter__(self) -> ProgressBar:
        self._bar.start()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._bar.stop()
