# SPDX-License-Identifier: BSD-3-Clause
"""A headless Chromium that opens a page, says what it became and takes its picture.

One Chromium serves all tests, since most of the time of opening a page would be its start.  It is
asked by the Chrome DevTools protocol (https://chromedevtools.github.io/devtools-protocol/), and
each page gets a browser context of its own, which shares nothing with those before.
"""

from __future__ import annotations

import base64
import itertools
import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from lanewise.report.write import write_report
from lanewise.results import specimen

sys.path.insert(0, str(Path(__file__).parent))

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
)
LIMIT_S = 120
# How long a page may do things before it is looked at, on its own clock, which skips idle time.
VIRTUAL_MS = 10_000
WIDTH, HEIGHT = 800, 600


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
    """A running Chromium."""

    def __init__(self, program: str, profile: Path) -> None:
        self._socket, its = socket.socketpair()
        self._socket.settimeout(LIMIT_S)
        self._numbers = itertools.count(1)
        self._heard = b""
        self._events: list[dict[str, Any]] = []
        # Chromium reads requests from descriptor 3 and answers on 4, each ended by a zero byte.
        script = f'exec "$@" 3<&{its.fileno()} 4>&{its.fileno()}'
        line = [program, *QUIET, f"--user-data-dir={profile}", "--remote-debugging-pipe"]
        with its:
            self._running = subprocess.Popen(
                ["bash", "-c", script, "bash", *line],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=(its.fileno(),),
            )  # fmt: skip

    def close(self) -> None:
        """End Chromium."""
        self._socket.close()
        self._running.wait(LIMIT_S)

    def open(self, page: Path, script: str = "") -> Elements:
        """Open `page`, run `script` at its end, and return the elements that it then has."""
        if script:
            text = page.read_text(encoding="utf-8")
            page = page.with_name(f"scripted-{page.name}")
            page.write_text(
                text.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8"
            )
        with self._opened(page, WIDTH, HEIGHT) as session:
            root = "document.documentElement.outerHTML"
            done = self._ask("Runtime.evaluate", session, expression=root)
        return Elements(done["result"]["value"])

    def picture(self, page: Path, width: int, height: int, picture: Path) -> None:
        """Write a picture of the top of `page`, `width` by `height` pixels, as PNG."""
        with self._opened(page, width, height) as session:
            taken = self._ask("Page.captureScreenshot", session)
        picture.write_bytes(base64.b64decode(taken["data"]))

    def pdf(self, page: Path) -> bytes:
        """Return `page` printed to PDF."""
        with self._opened(page, WIDTH, HEIGHT) as session:
            return base64.b64decode(self._ask("Page.printToPDF", session)["data"])

    @contextmanager
    def _opened(self, page: Path, width: int, height: int) -> Iterator[str]:
        """Open `page` in a window of its own, wait for what it does, and close it at the end."""
        context = self._ask("Target.createBrowserContext")["browserContextId"]
        target = self._ask("Target.createTarget", url="about:blank", browserContextId=context)
        where = {"targetId": target["targetId"], "flatten": True}
        session = str(self._ask("Target.attachToTarget", **where)["sessionId"])
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._ask("Emulation.setDeviceMetricsOverride", session, **size)
        self._ask("Page.enable", session)
        self._ask("Page.setLifecycleEventsEnabled", session, enabled=True)
        loader = self._ask("Page.navigate", session, url=page.as_uri())["loaderId"]
        self._event("Page.lifecycleEvent", session, name="load", loaderId=loader)
        budget = {"policy": "pauseIfNetworkFetchesPending", "budget": VIRTUAL_MS}
        self._ask("Emulation.setVirtualTimePolicy", session, **budget)
        self._event("Emulation.virtualTimeBudgetExpired", session)
        yield session
        self._ask("Target.disposeBrowserContext", browserContextId=context)

    def _ask(self, method: str, session: str = "", **parameters: object) -> dict[str, Any]:
        """Send a request, to a page where `session` is not empty, and return its result."""
        number = next(self._numbers)
        request = {"id": number, "method": method, "params": parameters}
        request |= {"sessionId": session} if session else {}
        self._socket.sendall(json.dumps(request).encode() + b"\0")
        while True:
            said = self._message()
            if said.get("id") == number:
                assert "error" not in said, f"{method}: {said['error']}"
                return dict(said["result"])
            self._events.append(said)

    def _event(self, method: str, session: str, **parameters: object) -> None:
        """Wait for an event of a page that has these parameters, unless it has come."""
        while True:
            for one in self._events:
                if (one.get("method"), one.get("sessionId")) == (method, session) and (
                    parameters.items() <= one["params"].items()
                ):
                    return
            self._events = [self._message()]

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._heard:
            heard = self._socket.recv(1 << 16)
            assert heard, "Chromium has ended"
            self._heard += heard
        message, _, self._heard = self._heard.partition(b"\0")
        return dict(json.loads(message))


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Start Chromium, for all tests of a worker."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip("no Chromium here; install chromium")
    started = Browser(program, tmp_path_factory.mktemp("browser") / "profile")
    yield started
    started.close()


@pytest.fixture
def write_page(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes result files, named by stem, and the page of them all."""

    def write(**files: list[dict[str, object]]) -> Path:
        paths = [specimen.write(tmp_path / f"{stem}.jsonl", lines) for stem, lines in files.items()]
        return write_report(paths, tmp_path / "report.html").path

    return write
