# SPDX-License-Identifier: BSD-3-Clause
"""What is printed on the pages of a PDF, by pdftotext of poppler-utils, and what should be."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path


@dataclass(frozen=True)
class Word:
    """A word of a page: where it begins and ends, as shares of the width of the page."""

    text: str
    left: float
    right: float


class _Words(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[Word] = []
        self._width = 1.0
        self._at: tuple[float, float] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "page":
            self._width = float(given["width"])
        if tag == "word":
            self._at = (float(given["xmin"]) / self._width, float(given["xmax"]) / self._width)

    def handle_data(self, data: str) -> None:
        if self._at:
            self.found.append(Word(data, *self._at))
            self._at = None


def words_of(pdf: Path) -> list[Word]:
    """Return the words of all pages, in the order in which they were printed."""
    boxes = ["pdftotext", "-bbox", "-raw", str(pdf), "-"]
    done = subprocess.run(boxes, capture_output=True, text=True, check=True)
    return _Words(done.stdout).found


class _Texts(HTMLParser):
    def __init__(self, text: str, tags: tuple[str, ...]) -> None:
        super().__init__()
        self.found: list[str] = []
        self._tags = tags
        self._depth = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag in self._tags:
            self._depth += 1
            if self._depth == 1:
                self.found.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._tags:
            self._depth -= 1

    def handle_data(self, data: str) -> None:
        if self._depth:
            self.found[-1] += data


def texts(page: Path, *tags: str) -> list[str]:
    """Return the texts of these elements of a page of HTML, such as the cells of its tables."""
    return _Texts(page.read_text(encoding="utf-8"), tags).found
