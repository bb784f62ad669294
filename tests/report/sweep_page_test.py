# SPDX-License-Identifier: BSD-3-Clause
"""The page of a fault sweep in a browser: its cells can be read on a narrow screen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lanewise.rdma.program import Outcome
from lanewise.rdma.sweep.faults import Fault
from lanewise.rdma.sweep.judge import Ending, Verdict
from lanewise.rdma.sweep.runs import Judged, Sweep
from lanewise.rdma.sweep.text import page

# One worker runs them, since one Chromium serves all tests of a worker.
pytestmark = pytest.mark.xdist_group("browser")

FRAME = """<!DOCTYPE html>
<body id="body"><iframe style="width: 400px; height: 900px; border: 0"></iframe>
<script>
const frame = document.querySelector("iframe");
frame.addEventListener("load", () => {
  const inside = frame.contentDocument;
  const widths = [...inside.querySelectorAll("td")].map((one) => one.clientWidth);
  document.body.dataset.narrowest = Math.min(...widths);
  document.body.dataset.over = inside.documentElement.scrollWidth - 400;
});
frame.srcdoc = %s;
</script></body>
"""


def test_no_cell_is_narrower_than_a_word_on_a_narrow_screen(browser: Any, tmp_path: Path) -> None:
    fault = Fault("call", "ibv_post_send", "ENOMEM", 1, 9)
    run = Judged(fault, Verdict(Ending.LEAK, "1 ibv_context, 1 ibv_qp"), Outcome(1, "", ""))
    text = page(Sweep(Outcome(0, "", ""), (run,), left_out=2), "./program")
    framed = tmp_path / "framed.html"
    framed.write_text(FRAME % json.dumps(text).replace("</", "<\\/"), encoding="utf-8")

    body = browser.open(framed).by_id["body"]

    assert float(body["data-narrowest"]) > 200
    assert float(body["data-over"]) <= 0
