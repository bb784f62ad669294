# SPDX-License-Identifier: BSD-3-Clause
"""The page of the demonstration: a sentence, a picture and the commands of each chapter."""

from __future__ import annotations

import io
import platform
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import jinja2
from markupsafe import Markup
from matplotlib.figure import Figure

from examples.demo.story import Told
from lanewise import __version__
from lanewise.launch.machine import core_count
from lanewise.plots.style import house_style

HERE = Path(__file__).parent


def write_page(path: Path, told: Sequence[Told]) -> None:
    """Write the page of all chapters, whose files are in folders beside it.

    Raises OSError where it cannot be written.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    path.write_text(
        environment.get_template("page.html.j2").render(
            told=told, drawn=drawn, version=__version__, date=date.today(),
            machine=f"{processor()}, {core_count()} cores",
        ),
        encoding="utf-8",
    )  # fmt: skip


@house_style()
def drawn(figure: Figure) -> Markup:
    """Return a figure as an SVG element."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    svg = text.getvalue()
    return Markup(svg[svg.index("<svg") :])


def processor() -> str:
    """Return the name of this machine's processor."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
