# SPDX-License-Identifier: BSD-3-Clause
"""The page of the demonstration: a sentence, a picture and the commands of each chapter."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

import jinja2
from markupsafe import Markup

from examples.demo.picture import svg_of
from examples.demo.story import Told
from lanewise import __version__
from lanewise.launch.machine import core_count, processor

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
            told=told, drawn=lambda figure: Markup(svg_of(figure)), version=__version__,
            date=date.today(), machine=machine(),
        ),
        encoding="utf-8",
    )  # fmt: skip


def machine() -> str:
    """Return what the figures were measured on, in words."""
    return f"{processor()}, {core_count()} cores"
