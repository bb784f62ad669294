# SPDX-License-Identifier: BSD-3-Clause
"""The documentation site as it is built: links, what it loads, and how it fits a narrow screen.

make test-all runs this; make test reads the same pages without building the site.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import printed_page
import pytest

ROOT = Path(__file__).resolve().parents[2]
SPHINX = (sys.executable, "-m", "sphinx", "-q", "-c", str(ROOT / "docs" / "site"))
NARROW_PX = 400
# Names the elements of a page that reach over its right edge and cannot be scrolled to.
OVER_THE_EDGE = """
addEventListener("load", () => {
  const scrolled = (element) => element.localName !== "article" &&
    (/auto|scroll/.test(getComputedStyle(element).overflowX) || scrolled(element.parentElement));
  const over = [...document.querySelectorAll("article *")].filter((element) => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.right > innerWidth + 1 && !scrolled(element.parentElement);
  });
  const names = over.map((element) => `${element.localName} ${element.className}`);
  parent.postMessage([name, `${names.length}: ${[...new Set(names)].join(", ")}`], "*");
});
"""
# Margins of a printed page, as shares of its width; half of what Chromium leaves.
MARGIN = 0.03
# Pages with long lines of a terminal, and with wide tables.
PRINTED = ("docs/gate.html", "docs/reference/lanewise-measure.html", "docs/comparison.html")
# Elements whose address is loaded with the page, and the attribute that has it.
LOADED = {"img": "src", "script": "src", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """The links, the anchors and the loaded files of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what an element refers to, and by what it can be referred to."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if given.get(LOADED.get(tag, "")):
            self.loaded.append(given[LOADED[tag]])
        if tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(given["href"])


read = cache(Page)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [*SPHINX, "-W", "-b", "html", str(ROOT), str(folder)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


def pages(site: Path) -> list[Path]:
    found = sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)
    assert len(found) > 40
    return found


def is_elsewhere(link: str) -> bool:
    return re.match(r"[a-z]+:|//", link) is not None


def fault(page: Path, link: str) -> str:
    """Return why a link leads nowhere, empty where it leads somewhere."""
    address, _, anchor = link.partition("#")
    name = address.partition("?")[0]
    target = (page.parent / unquote(name)).resolve() if name else page
    if not target.is_file():
        return "there is no such file"
    if anchor and target.suffix == ".html" and unquote(anchor) not in read(target).anchors:
        return "there is no such anchor"
    return ""


def test_every_link_and_anchor_of_the_site_leads_somewhere(site: Path) -> None:
    faults = [
        f"{page.relative_to(site)}: {link}: {fault(page, link)}"
        for page in pages(site)
        for link in (*read(page).links, *read(page).loaded)
        if not is_elsewhere(link) and fault(page, link)
    ]

    assert faults == []


def test_the_first_page_leads_to_the_list_of_all(site: Path) -> None:
    assert "docs/README.html" in read(site / "index.html").links


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    loaded = [link for page in pages(site) for link in read(page).loaded]
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    by_styles = [*re.findall(r"url\(([^)]*)\)", styles), *re.findall(r"@import[^;]*;", styles)]

    assert loaded
    assert [link for link in loaded if is_elsewhere(link)] == []
    assert [link for link in by_styles if re.match(r"(@import.*)?['\"]?(https?:|//)", link)] == []


def test_each_page_fits_a_narrow_screen(site: Path, browser: Any) -> None:
    frames = []
    for page in pages(site):
        text = page.read_text(encoding="utf-8")
        narrow = page.with_name(f"narrow-{page.name}")
        script = f"<script>{OVER_THE_EDGE}</script></body>"
        narrow.write_text(text.replace("</body>", script), encoding="utf-8")
        name = page.relative_to(site).as_posix()
        address = narrow.relative_to(site).as_posix()
        size = f"width:{NARROW_PX}px;height:800px"
        frames.append(f"<iframe id='{name}' name='{name}' src='{address}' style='{size}'></iframe>")
    outer = site / "all.html"
    heard = "document.getElementById(data[0]).dataset.over = data[1]"
    script = f"<script>addEventListener('message', ({{data}}) => {{ {heard} }})</script>"
    outer.write_text(f"<html><body>{script}{''.join(frames)}</body></html>", encoding="utf-8")

    shown = browser.open(outer).by_id

    over = {name: one.get("data-over", "") for name, one in shown.items() if name.endswith(".html")}
    # The first page has no article: it goes to the list of all at once.
    over.pop("index.html")
    assert len(over) > 40
    assert {name: said for name, said in over.items() if said != "0: "} == {}


@pytest.mark.parametrize("name", PRINTED)
def test_a_page_is_printed_whole(site: Path, browser: Any, tmp_path: Path, name: str) -> None:
    if shutil.which("pdftotext") is None:
        pytest.skip("no pdftotext; install poppler-utils")
    pdf = tmp_path / "page.pdf"

    pdf.write_bytes(browser.pdf(site / name))

    words = printed_page.words_of(pdf)
    over = [word for word in words if word.left < MARGIN or word.right > 1 - MARGIN]
    assert [word.text for word in over] == []
    # What is cut off is not in the file. Lines that are broken are joined again.
    there = "".join(word.text for word in words)
    lines = [line for text in printed_page.texts(site / name, "pre") for line in text.splitlines()]
    wanted = [*lines, *printed_page.texts(site / name, "td", "th")]
    assert len(wanted) > 50
    assert [text for text in wanted if "".join(text.split()) not in there] == []


# How Sphinx says that a site refuses programs, as those of publishers do, or is out of order.
REFUSED = re.compile(r"unauthorized|(40[0356]|418|429|5\d\d) \w+ Error")


def is_dead(link: dict[str, Any]) -> bool:
    """Tell whether nothing is there any more; a site that gives no answer says nothing of that."""
    return link["status"] == "broken" and REFUSED.match(link["info"]) is None


@pytest.mark.parametrize(
    "info",
    [
        "404 Client Error: Not Found for url: https://example.org/",
        "410 Client Error: Gone for url: https://example.org/",
        "HTTPSConnectionPool(...): Failed to resolve 'example.org'",
        "Anchor 'here' not found",
    ],
)
def test_a_link_is_dead_where_nothing_is_there(info: str) -> None:
    assert is_dead({"status": "broken", "info": info})


@pytest.mark.parametrize(
    ("status", "info"),
    [
        ("working", ""),
        ("redirected", "https://example.org/new"),
        ("broken", "403 Client Error: Forbidden for url: https://example.org/"),
        ("broken", "429 Client Error: Too Many Requests for url: https://example.org/"),
        ("broken", "502 Server Error: Bad Gateway for url: https://example.org/"),
        ("broken", "unauthorized"),
        ("timeout", "HTTPSConnectionPool(...): Read timed out."),
    ],
)
def test_a_link_is_not_dead_where_a_site_answers_or_refuses_to(status: str, info: str) -> None:
    assert not is_dead({"status": status, "info": info})


def test_links_to_other_sites_are_alive(tmp_path: Path) -> None:
    subprocess.run(
        [*SPHINX, "-b", "linkcheck", str(ROOT), str(tmp_path)], capture_output=True, check=False
    )
    lines = (tmp_path / "output.json").read_text(encoding="utf-8").splitlines()
    links = [link for link in map(json.loads, lines) if link["uri"].startswith("http")]
    answered = [link for link in links if link["status"] in ("working", "redirected")]

    if links and not answered:
        pytest.skip(f"no network here: {links[0]['uri']}: {links[0]['info']}")
    dead = filter(is_dead, links)
    assert [(link["filename"], link["lineno"], link["uri"], link["info"]) for link in dead] == []
    assert len(answered) > len(links) / 2, "most sites refuse to answer, so nothing is known"
