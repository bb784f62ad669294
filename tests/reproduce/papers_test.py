# SPDX-License-Identifier: BSD-3-Clause
"""The page of all figures, from the command to a browser: every item is drawn for both sides."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# What each picture became: how wide it is by itself, and whether the page is wider than its window.
ASK = """
for (const image of document.images) image.dataset.drawn = image.naturalWidth;
document.documentElement.dataset.wide = document.documentElement.scrollWidth > innerWidth;
"""


class Pictures(HTMLParser):
    """The pictures of each article that were drawn, and the attributes of the root."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.drawn: dict[str, int] = {}
        self.root: dict[str, str] = {}
        self._article = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count an article's pictures that have a width."""
        attributes = {name: value or "" for name, value in attrs}
        if tag == "html":
            self.root = attributes
        elif tag == "article":
            self._article = attributes["id"]
            self.drawn[self._article] = 0
        elif tag == "img" and int(attributes["data-drawn"]) > 0:
            self.drawn[self._article] += 1


def opened(page: Path, width: int, folder: Path) -> Pictures:
    """Open a page, as wide as a window may be or in a frame, and return what became of it."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip("no Chromium here; install chromium")
    asking = page.with_name("asking.html")
    # The page allows no scripts.
    text = re.sub(r"<meta http-equiv=[^>]+>", "", page.read_text(encoding="utf-8"))
    asking.write_text(text.replace("</body>", f"<script>{ASK}</script></body>"), encoding="utf-8")
    line = [program, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000",
            f"--user-data-dir={folder / 'profile'}", f"--window-size={width},900", "--dump-dom",
            asking.as_uri()]  # fmt: skip
    done = subprocess.run(line, capture_output=True, text=True, check=True, timeout=120)
    return Pictures(done.stdout)


def test_the_page_of_all_kept_runs_is_drawn_whole_in_a_browser(tmp_path: Path) -> None:
    page = tmp_path / "papers.html"
    words = ["reproduce", "--all", "--from-results", "-o", str(page)]
    subprocess.run([sys.executable, "-m", "lanewise", *words], check=True, timeout=120)

    items = json.loads((tmp_path / "papers.json").read_text(encoding="utf-8"))["items"]
    text = page.read_text(encoding="utf-8")
    found = opened(page, 500, tmp_path)

    assert len(items) == len(found.drawn) == 35
    assert min(found.drawn.values()) >= 2, "the paper and here"
    assert found.root["data-wide"] == "false"
    assert "<script" not in text
    assert not re.search(r"""(?:src|href)=["'](?!data:|#)""", text)
