# SPDX-License-Identifier: BSD-3-Clause
"""The page in a real browser: every curve is there, no script fails, nothing is fetched."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from lanewise.imports.load import load
from lanewise.profile import specimen as profile_specimen
from lanewise.report.write import write_report
from lanewise.results import specimen

# One worker runs them, since one Chromium serves all tests of a worker.
pytestmark = pytest.mark.xdist_group("browser")

WritePage = Callable[..., Path]

SIZES_BYTES = (0, 8, 64, 512, 4096, 32768)
MPICH = {
    "launcher": "mpich",
    "mpi": {"family": "mpich", "library": "MPICH Version:\t4.0.2", "standard": "4.0"},
}


def run_records(*operations: str, seed: int = 1, **context: Any) -> list[dict[str, Any]]:
    return specimen.records(operations, SIZES_BYTES, seed=seed, context=context)


def pair_records(ranks: int) -> list[dict[str, Any]]:
    points = [
        specimen.point_record(
            "pairs", 4096, specimen.lognormal_samples(4096, 40, first * ranks + second),
            root=first, peer=second, reply_bytes=4096,
        )
        for first in range(ranks)
        for second in range(first + 1, ranks)
    ]  # fmt: skip
    end = {"record": "end", "points": len(points), "elapsed_s": 1.0}
    return [specimen.context_record(ranks=ranks), *points, end]


def test_each_operation_of_each_run_becomes_a_curve(browser: Any, write_page: WritePage) -> None:
    page = write_page(
        openmpi=run_records("scatter", "gather"), mpich=run_records("scatter", seed=2, **MPICH)
    )

    elements = browser.open(page).by_id

    assert elements["html"]["data-errors"] == "0", elements["html"].get("data-error-text")
    assert elements["html"]["data-figures"] == "2"
    assert elements["html"]["data-curves"] == "3"
    assert elements["curves-0-scatter-plot"]["data-curves"] == "2"
    assert elements["curves-1-gather-plot"]["data-curves"] == "1"


def test_a_curve_has_the_colour_of_its_run_and_a_legend_where_it_is_alone(
    browser: Any, write_page: WritePage
) -> None:
    page = write_page(monday=run_records("scatter"), tuesday=run_records("scatter", "gather"))
    words = (
        "const drawn = (name) => document.getElementById(name).data.filter((one) => one.name)"
        "  .map((one) => `${one.name} ${one.line.color}`);"
        "document.body.dataset.same = drawn('curves-0-scatter-plot')[1]"
        "  === drawn('curves-1-gather-plot')[0];"
        "document.body.dataset.legend = document.getElementById('curves-1-gather-plot')"
        "  .querySelector('.legendtext').textContent;"
        "document.body.id = 'body';"
    )

    elements = browser.open(page, script=words).by_id

    assert elements["html"]["data-errors"] == "0", elements["html"].get("data-error-text")
    assert elements["body"]["data-same"] == "true"
    assert elements["body"]["data-legend"] == "tuesday"
    assert re.search(
        r'swatch curve-2"></span>tuesday</td>\s*<td class="">8 B',
        page.read_text(encoding="utf-8").partition('id="curves-1-gather-table"')[2],
    )


def test_no_two_of_many_curves_look_alike(browser: Any, write_page: WritePage) -> None:
    runs = {f"run{number}": run_records("scatter", seed=number) for number in range(28)}
    looks = (
        "const drawn = document.getElementById('curves-0-scatter-plot').data"
        "  .filter((one) => one.name);"
        "const looks = drawn.map(({ line }) => line.color + line.dash);"
        "document.body.dataset.looks = new Set(looks).size;"
        "document.body.id = 'body';"
    )

    elements = browser.open(write_page(**runs), script=looks).by_id

    assert elements["html"]["data-errors"] == "0", elements["html"].get("data-error-text")
    assert elements["body"]["data-looks"] == "28"


@pytest.mark.parametrize("ends", [(700, 750), (4098, 4102), (1000, 1300), (0.9, 8)])
def test_an_axis_of_sizes_has_ticks_however_far_it_is_zoomed(
    browser: Any, write_page: WritePage, ends: tuple[float, float]
) -> None:
    low, high = ends
    zoom = (
        "const place = document.getElementById('curves-0-scatter-plot');"
        f"Plotly.relayout(place, {{ 'xaxis.range': [Math.log10({low}), Math.log10({high})] }})"
        "  .then(() => {"
        "    document.body.dataset.ticks = place._fullLayout.xaxis.tickvals;"
        "    document.body.dataset.texts = place._fullLayout.xaxis.ticktext;"
        "    document.body.id = 'body';"
        "  });"
    )

    elements = browser.open(write_page(samples=run_records("scatter")), script=zoom).by_id

    assert elements["html"]["data-errors"] == "0", elements["html"].get("data-error-text")
    ticks = [float(at) for at in elements["body"]["data-ticks"].split(",")]
    texts = elements["body"]["data-texts"].split(",")
    assert sum(low <= at <= high for at in ticks) in range(2, 10)
    assert len(set(texts)) == len(texts) == len(ticks)
    zero_at, *at_sizes = ticks
    assert zero_at == 2 and all(at.is_integer() for at in at_sizes)


def test_an_axis_of_the_sizes_0_and_1_has_no_ticks_at_fractions_of_a_byte(
    browser: Any, write_page: WritePage
) -> None:
    look = (
        "const place = document.getElementById('curves-0-scatter-plot');"
        "document.body.dataset.texts = place._fullLayout.xaxis.ticktext;"
        "document.body.id = 'body';"
    )

    page = write_page(samples=specimen.records(("scatter",), (0, 1)))
    elements = browser.open(page, script=look).by_id

    assert elements["html"]["data-errors"] == "0", elements["html"].get("data-error-text")
    assert elements["body"]["data-texts"] == "0,1 B"


def test_an_operation_of_one_size_is_drawn(browser: Any, write_page: WritePage) -> None:
    page = write_page(samples=specimen.records(("barrier",), (0,)))

    assert browser.open(page).by_id["curves-0-barrier-plot"]["data-curves"] == "1"


def test_pairs_become_a_cell_each_way(browser: Any, write_page: WritePage) -> None:
    elements = browser.open(write_page(samples=pair_records(5))).by_id

    assert elements["html"]["data-cells"] == "20"
    assert elements["html"]["data-errors"] == "0"


def test_the_pairs_of_many_ranks_are_drawn(browser: Any, write_page: WritePage) -> None:
    many = (
        "const { figures: [figure] } = report;"
        "const cells = (value) => Array.from({ length: 400 }, () => new Array(400).fill(value));"
        "figure.names = Array.from({ length: 400 }, (_, rank) => `rank ${rank}`);"
        "figure.cells = { z: cells(1e-6), text: cells(''), point: cells(0) };"
        "drawHeat(document.getElementById(`${figure.id}-plot`), figure);"
    )

    elements = browser.open(write_page(samples=pair_records(3)), script=many).by_id

    assert elements["html"]["data-errors"] == "0", elements["html"].get("data-error-text")


def test_the_page_of_another_tool_calls_an_average_a_mean(browser: Any, tmp_path: Path) -> None:
    text = tmp_path / "osu.txt"
    text.write_text("# OSU MPI Broadcast Latency Test v7.4\n# Size  Avg Latency(us)\n8 1.5\n16 2\n")
    words = (
        "const panel = document.querySelector('.distribution');"
        "document.body.dataset.what = panel.querySelector('.what').textContent;"
        "document.body.dataset.how = panel.querySelector('.how').textContent;"
        "document.body.id = 'body';"
    )

    page = write_report([text], tmp_path / "report.html", load).path
    elements = browser.open(page, script=words).by_id

    assert elements["html"]["data-errors"] == "0", elements["html"].get("data-error-text")
    assert elements["body"]["data-what"] == "Mean 1.50 µs; no samples, and so no interval."
    assert elements["body"]["data-how"] == "A fixed number of repetitions."


SPREAD = (
    "const spread = document.querySelector('.spread');"
    "const [bars, dots] = spread.data;"
    "Object.assign(document.body.dataset, {"
    "  how: document.querySelector('.how').textContent, counts: bars.y, last: dots.y.at(-1),"
    "  range: spread._fullLayout.xaxis.range, width: bars.width });"
    "document.body.id = 'body';"
)


def test_the_histogram_is_of_all_samples_and_the_dots_have_their_numbers(
    browser: Any, write_page: WritePage
) -> None:
    point = specimen.point_record("bcast", 8, [1e-6, 2e-6] * 1000)
    page = write_page(samples=[specimen.context_record(), point])

    elements = browser.open(page, script=SPREAD).by_id

    assert elements["html"]["data-errors"] == "0", elements["html"].get("data-error-text")
    panel = elements["body"]
    assert panel["data-how"].startswith("2000 repetitions (1000 of them as dots); ")
    assert sum(map(int, panel["data-counts"].split(","))) == 2000
    assert 1000 < int(panel["data-last"]) <= 2000


@pytest.mark.parametrize("sample_s", [1e-6, 0.0, -1e-7])
def test_samples_that_are_alike_stand_where_their_median_does(
    browser: Any, write_page: WritePage, sample_s: float
) -> None:
    low_s, high_s = sample_s - 1e-9, sample_s + 1e-7
    point = specimen.point_record("bcast", 8, [sample_s] * 20, low_s=low_s, high_s=high_s)
    page = write_page(samples=[specimen.context_record(), point])

    elements = browser.open(page, script=SPREAD).by_id

    assert elements["html"]["data-errors"] == "0", elements["html"].get("data-error-text")
    first, last = map(float, elements["body"]["data-range"].split(","))
    assert first < low_s < sample_s < high_s < last
    assert last - first < 3e-7
    assert 0 < float(elements["body"]["data-width"]) < (last - first) / 10


def test_the_pointer_on_a_point_shows_its_samples(browser: Any, write_page: WritePage) -> None:
    page = write_page(openmpi=run_records("scatter"), mpich=run_records("scatter", **MPICH))
    hover = (
        "const place = document.getElementById('curves-0-scatter-plot');"
        "const { xaxis, yaxis } = place._fullLayout;"
        "const layer = place.querySelector('.nsewdrag');"
        "const box = layer.getBoundingClientRect();"
        "const trace = place.data[3];"
        "layer.dispatchEvent(new MouseEvent('mousemove', { bubbles: true,"
        "  clientX: box.left + xaxis.d2p(trace.x[4]),"
        "  clientY: box.top + yaxis.d2p(trace.y[4]) }));"
    )

    elements = browser.open(page, script=hover).by_id

    assert elements["html"]["data-errors"] == "0", elements["html"].get("data-error-text")
    assert elements["curves-0-scatter-distribution"]["data-point"] == "1:4"


def test_a_click_on_a_row_shows_its_samples(browser: Any, write_page: WritePage) -> None:
    click = "document.querySelector('tr[data-point=\"0:2\"]').click();"

    elements = browser.open(write_page(samples=run_records("scatter")), script=click).by_id

    assert elements["curves-0-scatter-distribution"]["data-point"] == "0:2"


def test_a_profile_alone_becomes_a_page_with_bars(browser: Any, tmp_path: Path) -> None:
    profile = profile_specimen.write(tmp_path / "profile.json")

    page = write_report([profile], tmp_path / "report.html")
    elements = browser.open(page.path).by_id

    assert page.figures == 1
    assert elements["html"]["data-errors"] == "0", elements["html"].get("data-error-text")
    assert elements["html"]["data-bars"] == "2"
    assert "rank 1 100 % (500 ms late)" in page.path.read_text(encoding="utf-8")


@pytest.mark.parametrize(("in_calls_s", "parts"), [(0.7, 3), (1.0, 4)])
def test_the_bars_of_a_profile_have_a_part_for_calls_that_are_not_attributed_where_there_are_some(
    in_calls_s: float, parts: int, browser: Any, tmp_path: Path
) -> None:
    first, second = profile_specimen.values()["processes"]
    processes = [{**first, "in_calls_s": in_calls_s}, second]
    profile = profile_specimen.write(tmp_path / "profile.json", processes=processes)
    count = (
        "document.body.dataset.parts = document.querySelectorAll('.legendtext').length;"
        "document.body.id = 'body';"
    )

    page = write_report([profile], tmp_path / "report.html").path
    elements = browser.open(page, script=count).by_id

    assert elements["body"]["data-parts"] == str(parts)


def test_the_narrow_axis_of_a_profile_has_its_first_and_last_tick_alone(
    browser: Any, tmp_path: Path
) -> None:
    profile = profile_specimen.write(tmp_path / "profile.json")
    count = (
        "document.body.dataset.ticks = document.querySelectorAll('.x2tick text').length;"
        "document.body.id = 'body';"
    )

    page = write_report([profile], tmp_path / "report.html").path
    elements = browser.open(page, script=count).by_id

    assert elements["body"]["data-ticks"] == "2"


def test_a_profile_stands_beside_samples(browser: Any, tmp_path: Path) -> None:
    profile = profile_specimen.write(tmp_path / "profile.json")
    samples = specimen.write(tmp_path / "samples.jsonl", run_records("scatter"))

    elements = browser.open(write_report([samples, profile], tmp_path / "report.html").path).by_id

    assert elements["html"]["data-errors"] == "0", elements["html"].get("data-error-text")
    assert (elements["html"]["data-figures"], elements["html"]["data-bars"]) == ("2", "2")


def test_a_failing_script_is_noticed(browser: Any, write_page: WritePage) -> None:
    page = write_page(samples=run_records("scatter"))

    elements = browser.open(page, script="throw new Error('on purpose');").by_id

    assert elements["html"]["data-errors"] == "1"


def test_a_point_without_interval_or_positive_time_breaks_nothing(
    browser: Any, write_page: WritePage
) -> None:
    points = [
        specimen.point_record("bcast", 8, [1e-6, 2e-6], low_s=None, high_s=None),
        specimen.point_record("bcast", 16, [-1e-7] * 10),
        specimen.point_record("bcast", 32, [3e-6] * 10, low_s=-1e-6),
    ]
    page = write_page(samples=[specimen.context_record(), *points])

    elements = browser.open(page).by_id

    assert elements["html"]["data-errors"] == "0", elements["html"].get("data-error-text")
    assert elements["curves-0-bcast-plot"]["data-curves"] == "1"


def test_a_time_below_any_unit_breaks_nothing(browser: Any, write_page: WritePage) -> None:
    point = specimen.point_record("bcast", 8, [1e-310] * 10)
    page = write_page(samples=[specimen.context_record(), point])
    words = (
        "document.body.dataset.what = document.querySelector('.what').textContent;"
        "document.body.id = 'body';"
    )

    elements = browser.open(page, script=words).by_id

    assert elements["html"]["data-errors"] == "0", elements["html"].get("data-error-text")
    assert elements["body"]["data-what"].startswith("Median 0 s,")


def test_a_name_that_looks_like_markup_is_text(browser: Any, write_page: WritePage) -> None:
    name = "</script><script>throw new Error('injected')</script>"

    elements = browser.open(write_page(samples=specimen.records((name,)))).by_id

    assert elements["html"]["data-errors"] == "0", elements["html"].get("data-error-text")
    assert elements["html"]["data-curves"] == "1"


def test_the_page_fetches_nothing(write_page: WritePage) -> None:
    text = write_page(samples=run_records("scatter")).read_text(encoding="utf-8")
    own = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)

    assert "default-src 'none'" in own
    assert not re.findall(r"(?:src|href)\s*=|url\(|@import", own)


@pytest.mark.parametrize("width", [1280, 400])
def test_the_page_has_a_picture_at_both_widths(
    browser: Any, write_page: WritePage, tmp_path: Path, width: int
) -> None:
    page = write_page(samples=run_records("scatter"))
    picture = tmp_path / f"{width}.png"

    browser.picture(page, width, 1400, picture)

    with Image.open(picture) as image:
        assert image.size == (width, 1400)
        pixels = image.convert("RGB")
    # The page reaches to its right edge and to the bottom of the window.
    for part in ((0, 0, width // 2, 700), (width // 2, 0, width, 700), (0, 700, width, 1400)):
        colours = pixels.crop(part).getcolors(maxcolors=1 << 24)
        assert colours is not None and len(colours) > 50, part


def test_nothing_is_wider_than_a_narrow_window(browser: Any, write_page: WritePage) -> None:
    page = write_page(samples=run_records("scatter"))
    measure = (
        "document.body.style.maxWidth = '400px'; document.body.style.width = '400px';"
        "document.body.dataset.overflow = Math.max(...[...document.querySelectorAll("
        "'header, section, pre, .scroll')].map((part) => part.getBoundingClientRect().right)) "
        "- document.body.getBoundingClientRect().right;"
        "document.body.id = 'body';"
    )

    elements = browser.open(page, script=measure).by_id

    assert float(elements["body"]["data-overflow"]) <= 0
