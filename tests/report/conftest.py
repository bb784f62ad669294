# SPDX-License-Identifier: BSD-3-Clause
"""A headless Chromium that opens a page, says what it became and takes its picture."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from lanewise.report.write import write_report
from lanewise.results import specimen

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--disable-component-update",
    "--disable-background-networking",
    "--no-first-run",
    "--hide-scrollbars",
    "--virtual-time-budget=10000",
)
# Chromium refuses narrower windows; a narrow page is seen through a frame.
WINDOW_WIDTH_MIN = 500


class Elements(HTMLParser):
    """The attributes of each element of a page, by `id`, and those of the root under `html`."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.by_id: dict[str, dict[str, str]] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the attributes of an element that can be found again."""
        attributes = {name: value or "" for name, value in attrs}
        name = "html" if tag == "html" else attributes.get("id", "")
        if name:
            self.by_id[name] = attributes


class Browser:
    """Chromium with a profile of its own for each call."""

    def __init__(self, program: str, folder: Path) -> None:
        self.program = program
        self.folder = folder

    def open(self, page: Path, script: str = "") -> Elements:
        """Open `page`, run `script` at its end, and return the elements that it then has."""
        if script:
            text = page.read_text(encoding="utf-8")
            page = page.with_name(f"scripted-{page.name}")
            page.write_text(
                text.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8"
            )
        return Elements(self._run("--dump-dom", page.as_uri()).stdout)

    def picture(self, page: Path, width: int, height: int, picture: Path) -> None:
        """Write a picture of the top of `page`, `width` by `height` pixels, as PNG."""
        shown = page
        if width < WINDOW_WIDTH_MIN:
            shown = page.with_name(f"frame-{page.name}")
            size = f"border:0;width:{width}px;height:{height}px"
            frame = f"<body style='margin:0'><iframe src='{page.name}' style='{size}'></iframe>"
            shown.write_text(frame, encoding="utf-8")
        window = f"--window-size={max(width, WINDOW_WIDTH_MIN)},{height}"
        self._run(window, f"--screenshot={picture}", shown.as_uri())

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        profile = self.folder / "profile"
        try:
            return subprocess.run(
                [self.program, *QUIET, f"--user-data-dir={profile}", *arguments],
                capture_output=True, text=True, check=True, timeout=120,
            )  # fmt: skip
        finally:
            shutil.rmtree(profile, ignore_errors=True)


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip("no Chromium here; install chromium")
    return Browser(program, tmp_path)


@pytest.fixture
def write_page(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes result files, named by stem, and the page of them all."""

    def write(**files: list[dict[str, object]]) -> Path:
        paths = [specimen.write(tmp_path / f"{stem}.jsonl", lines) for stem, lines in files.items()]
        return write_report(paths, tmp_path / "report.html").path

    return write
