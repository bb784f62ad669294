# SPDX-License-Identifier: BSD-3-Clause
"""The page of a suite in a browser: every figure drawn, readable wide, narrow and on paper."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from lanewise.results import specimen
from lanewise.suite import page, state
from lanewise.suite.benchmarks import FIGURES

# One worker runs them, since one Chromium serves all tests of a worker.
pytestmark = pytest.mark.xdist_group("browser")

TRANSPORTS = ("openmpi-shm", "openmpi-tcp", "mpich-ucx")
SIZES = (8, 512, 32768, 65536, 1 << 20)
# Nine against message size; availability with the bandwidth beside it; four of what messages cost
# the host; the application.
FIGURE_COUNT = len(FIGURES) + 7


def polling_record(interval_s: float, availability: float) -> dict[str, Any]:
    return {
        "record": "polling", "message_bytes": 100_000, "interval_s": interval_s, "depth": 4,
        "availability": [availability] * 8, "rate_bytes_per_s": [availability * 1e9] * 8,
    }  # fmt: skip


def waiting_records() -> list[dict[str, Any]]:
    base_s = 1e-4
    return [
        {
            "record": "waiting", "message_bytes": 100_000, "over_base": over,
            "alone_s": [over * base_s] * 3, "loop_s": [max(1.0, over + 0.4) * base_s] * 3,
            "post_s": [1e-6] * 3, "wait_s": [base_s] * 3,
        }
        for over in (0.0, 0.5, 1.0, 2.0, 4.0)
    ]  # fmt: skip


@pytest.fixture
def suite_page(tmp_path: Path) -> Path:
    """Return the page of a suite that was not measured but has all that one can have."""
    asked = state.Asked(2, "quick", TRANSPORTS, ("pingpong",), 160, 1, 2)
    known = state.State(asked, "2026-11-21T19:00:00Z", elapsed_s=200.0)
    known.transports["mpich-ofi"] = state.TransportState("MPICH, OFI", "<b>built</b> with ch4:ucx")
    (tmp_path / state.SAMPLES).mkdir()
    benchmarks = list(dict.fromkeys(figure.benchmark for figure in FIGURES))
    for index, name in enumerate(TRANSPORTS):
        known.transports[name] = state.TransportState(name, lacks={"partitioned": "MPI 4"})
        for number in (1, 2):
            launch = f"{name}.point.{number}"
            context = {"transport": name, "ranks": 2}
            records = specimen.records(benchmarks, SIZES, number, 1.0 + index, context)
            records[-1:-1] = [polling_record(10.0**-p, 1 / p) for p in (2, 3, 4, 5)]
            records[-1:-1] = waiting_records()
            specimen.write(tmp_path / state.SAMPLES / f"{launch}.jsonl", records)
            known.launches[launch] = ""
            times = {"1": [1.0, 1.1, 1.05], "2": [1.2, 1.3, 1.25]}
            run = f"{name}.application.{number}"
            (tmp_path / state.SAMPLES / f"{run}.json").write_text(json.dumps(times))
            known.launches[run] = ""
    known.launches["openmpi-tcp.stream.1"] = "a rank died"
    return page.write_page(tmp_path, known).path


def test_every_figure_is_drawn_without_a_script_error(browser: Any, suite_page: Path) -> None:
    root = browser.open(suite_page).by_id["html"]

    assert root["data-errors"] == "0", root.get("data-error-text")
    assert root["data-figures"] == str(FIGURE_COUNT)
    assert root["data-curves"] == str(FIGURE_COUNT * len(TRANSPORTS))


def test_what_is_missing_is_said_as_text(suite_page: Path) -> None:
    text = suite_page.read_text(encoding="utf-8")

    assert "mpich-ofi does not start: &lt;b&gt;built&lt;/b&gt; with ch4:ucx" in text
    assert "openmpi-tcp.stream.1 failed: a rank died" in text
    assert "mpich-ucx does not support partitioned: needs MPI 4" in text


def test_the_slower_transport_is_placed_later(suite_page: Path) -> None:
    text = suite_page.read_text(encoding="utf-8")
    first = text.index("Ping-pong latency at 8 B")

    places = [text.index(f">{name}<", first) for name in TRANSPORTS]

    assert places == sorted(places)


@pytest.mark.parametrize("width", [1280, 400])
def test_the_page_has_a_picture_at_both_widths(
    browser: Any, suite_page: Path, tmp_path: Path, width: int
) -> None:
    picture = tmp_path / f"{width}.png"

    browser.picture(suite_page, width, 3000, picture)

    with Image.open(picture) as image:
        pixels = image.convert("RGB").crop((0, 0, width, 3000))
        colours = pixels.getcolors(maxcolors=1 << 24)
        assert colours is not None and len(colours) > 100


def test_nothing_is_wider_than_a_narrow_window(browser: Any, suite_page: Path) -> None:
    measure = (
        "document.body.style.maxWidth = '400px'; document.body.style.width = '400px';"
        "document.body.dataset.overflow = Math.max(...[...document.querySelectorAll("
        "'header, section, .plot, .scroll')].map((part) => part.getBoundingClientRect().right)) "
        "- document.body.getBoundingClientRect().right;"
        "document.body.id = 'body';"
    )

    elements = browser.open(suite_page, script=measure).by_id

    assert float(elements["body"]["data-overflow"]) <= 0


def test_on_paper_every_figure_is_drawn_in_the_width_of_a_page(
    browser: Any, suite_page: Path
) -> None:
    script = (
        "window.dispatchEvent(new Event('beforeprint'));"
        "const wide = Math.max(...[...document.querySelectorAll('.plot .main-svg')]"
        ".map((part) => part.getBoundingClientRect().width));"
        "document.body.dataset.wide = wide; document.body.id = 'body';"
    )

    elements = browser.open(suite_page, script=script).by_id

    assert elements["html"]["data-errors"] == "0"
    assert 0 < float(elements["body"]["data-wide"]) <= 44 * 16


def test_the_page_fetches_nothing(browser: Any, suite_page: Path) -> None:
    assert "default-src 'none'" in suite_page.read_text(encoding="utf-8")
    assert browser.pdf(suite_page).startswith(b"%PDF")
