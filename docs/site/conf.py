# SPDX-License-Identifier: BSD-3-Clause
"""How Sphinx makes the documentation site from the repository: `make site` builds build/site.

The sources are the Markdown pages of the repository as they are, with the links that they have on a
forge.  What only the site shows (the interfaces in C, C++ and Python) is in docs/site/api.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from sphinx.errors import ExtensionError

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "docs" / "site"

project = "Lanewise"
author = "The Lanewise developers"
project_copyright = author
version = release = (ROOT / "VERSION").read_text("utf-8").strip()
language = "en"

# Pages.
root_doc = "docs/README"
include_patterns = ["*.md", "docs/**", "experiments/README.md", "src/**/README.md"]
exclude_patterns = ["build", "demo", "reproduce", "bench", ".*", "docs/site/templates"]
extensions = ["myst_nb", "breathe", "sphinx.ext.autodoc", "sphinx_copybutton"]
nb_execution_mode = "off"  # the notebooks have their outputs; a test executes them
myst_heading_anchors = 6
highlight_language = "console"
# A line that a command prints and that begins with # looks like a prompt, and an apostrophe in it
# like a quotation without an end.
suppress_warnings = ["misc.highlighting_failure"]
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
copybutton_line_continuation_character = "\\"
smartquotes = False  # options begin with two hyphens

# The interface in Python, from docstrings.
sys.path.insert(0, str(ROOT / "python"))
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
add_module_names = False

# The interfaces in C and C++: Doxygen reads the headers, Breathe shows what it found.
breathe_default_project = "lanewise"
breathe_projects = {"lanewise": str(ROOT / "build" / "doxygen")}
breathe_domain_by_extension = {"h": "c", "hpp": "cpp"}
breathe_show_include = False

# How pages look. Nothing is loaded from another site.
html_theme = "furo"
html_title = f"Lanewise {release}"
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
templates_path = [str(HERE / "templates")]
html_additional_pages = {"index": "first.html"}
html_copy_source = False
html_show_sphinx = False

_PAGE = re.compile(r"\]\(([^)#:]+)\.(?:md|ipynb)\)")
_LINK = re.compile(r"(?<!!)\[([^][]+)\]\(([^)#:]+)\)")


def read_headers(_app: Any) -> None:
    """Let Doxygen describe the headers in XML."""
    (ROOT / "build").mkdir(exist_ok=True)
    with_python = {**os.environ, "PYTHON": sys.executable}
    try:
        subprocess.run(["doxygen", str(HERE / "Doxyfile")], cwd=ROOT, env=with_python, check=True)
    except FileNotFoundError:
        raise ExtensionError("there is no doxygen; make site installs it") from None


def list_pages_of_index(_app: Any, name: str, source: list[str]) -> None:
    """Make the links of a README under docs the contents of the site, each heading a part."""
    if not name.startswith("docs/") or not name.endswith("/README"):
        return
    before, *parts = re.split(r"^## (.*)$", source[0], flags=re.MULTILINE)
    trees = []
    for heading, text in zip(parts[::2], parts[1::2], strict=True) if parts else [("", before)]:
        pages = list(dict.fromkeys(_PAGE.findall(text)))
        caption = [f":caption: {heading}"] if heading else []
        if pages:
            trees += ["", "```{toctree}", ":hidden:", *caption, "", *pages, "```"]
    source[0] += "\n".join([*trees, ""])


def leave_folders(_app: Any, name: str, source: list[str]) -> None:
    """Leave of a link to a folder of the repository its text: the site has no listing of it."""

    def shown(link: re.Match[str]) -> str:
        return link[1] if (ROOT / name).parent.joinpath(link[2]).is_dir() else link[0]

    source[0] = _LINK.sub(shown, source[0])


def setup(app: Any) -> None:
    """Connect what is done to pages on their way."""
    app.connect("builder-inited", read_headers)
    app.connect("source-read", leave_folders)
    app.connect("source-read", list_pages_of_index)
