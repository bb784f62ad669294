# SPDX-License-Identifier: BSD-3-Clause
"""Write: one HTML file with everything in it.

The page asks for nothing from the network: plotly.js, the style, the script and
the data are inside, and its content policy forbids any request.  The file is
written beside its place and moved there, so that a failure leaves no half page.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from lanewise import __version__
from lanewise.errors import RequestError
from lanewise.files.whole import write_whole
from lanewise.profile.content import Profile
from lanewise.profile.read import SCHEMA as PROFILE_SCHEMA
from lanewise.report.cautions import page_cautions
from lanewise.report.costs import cost_tables
from lanewise.report.decisions import NO_DECISIONS, Decisions, decisions_of, schema_of
from lanewise.report.figures import Json, figures_of
from lanewise.report.labels import names_of
from lanewise.report.lateness import (
    command_of_profile,
    profiles_in,
    sections_of,
    title_of_profiles,
)
from lanewise.report.tables import (
    clock_rows,
    command_of,
    context_rows,
    glance_of,
    number_of,
    point_rows,
)
from lanewise.report.verdict import title_of, verdict_of
from lanewise.results import read
from lanewise.results.read import Samples

_HERE = Path(__file__).parent
_SCRIPTS = ("axes.js", "distribution.js", "curves.js", "heat.js", "lateness.js", "page.js")


@dataclass(frozen=True)
class Page:
    """A page that was written: where, and what is on it."""

    path: Path
    figures: int
    curves: int


def write_report(
    paths: Sequence[Path], output: Path, load: Callable[[Path], Samples] = read.load
) -> Page:
    """Read the result files and write the page; one page for all of them.

    Raises RequestError for a file that cannot be read or an output that cannot be written.
    """
    concluded = [path for path in paths if schema_of(path)]
    runs = [load(path) for path in paths if path not in concluded]
    profiles = profiles_in(concluded)
    decided = [path for path in concluded if schema_of(path) != PROFILE_SCHEMA]
    if not runs and (decided or not profiles):
        raise RequestError("a report needs samples; name a file of `lanewise measure` too")
    figures = figures_of(runs)
    write_whole(output, render_page(runs, figures, output, decisions_of(decided), profiles))
    curves = sum(len(figure["curves"]) for figure in figures if figure["kind"] == "curves")
    return Page(output, len(figures) + len(profiles), curves)


def render_page(
    runs: Sequence[Samples],
    figures: Sequence[Json],
    output: Path,
    decisions: Decisions = NO_DECISIONS,
    profiles: Sequence[Profile] = (),
) -> str:
    """Return the page as text; `output` is where it will be."""
    cautions = page_cautions(runs)
    lateness = sections_of(profiles)
    measures = [
        *(command_of(run) for run in runs if not run.context.imported),
        *(command_of_profile(profile) for profile in profiles),
    ]
    paths = [run.path for run in runs]
    files = [*map(str, paths), *decisions.files, *(str(profile.path) for profile in profiles)]
    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.j2").render(
        title=title_of(runs) if runs else title_of_profiles(profiles),
        verdict=" ".join(verdict_of(runs, len(cautions))) if runs else lateness[0].summary,
        cautions=cautions,
        glance=glance_of(figures),
        decisions=decisions,
        lateness=lateness,
        figures=[(figure, point_rows(figure)) for figure in figures],
        clocks=clock_rows(runs),
        number_of=number_of,
        costs=cost_tables(runs),
        files=names_of(paths),
        context=context_rows(runs),
        measures=measures,
        commands=[*measures, shlex.join(["lanewise", "report", *files, "-o", str(output)])],
        data=_embedded({"figures": [*figures, *(one.figure for one in lateness)]}),
        style=Markup((_HERE / "page.css").read_text(encoding="utf-8")),
        scripts=[Markup((_HERE / name).read_text(encoding="utf-8")) for name in _SCRIPTS],
        plotly=Markup(get_plotlyjs()),
        version=__version__,
        written=datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
    )


def _embedded(data: object) -> Markup:
    """Return JSON that cannot end the script element it stands in, whatever a name contains."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028"))
