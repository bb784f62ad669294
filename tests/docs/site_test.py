# SPDX-License-Identifier: BSD-3-Clause
"""The pages make a site without a warning: no link is dead, and no name is unknown."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "site"


def sphinx(builder: str, folder: Path, source: Path = ROOT) -> str:
    """Let Sphinx read all pages for a builder; return what it warned of."""
    if shutil.which("doxygen") is None:
        pytest.skip("no doxygen here; make site installs it")
    command = [sys.executable, "-m", "sphinx", "-q", "-b", builder, "-c", str(SITE)]
    done = subprocess.run(
        [*command, str(source), str(folder)], capture_output=True, text=True, check=False
    )
    return done.stderr + ("" if done.returncode == 0 else f"exit status {done.returncode}")


def marked(header: str) -> str:
    """Return a header as Doxygen is to see it."""
    found = importlib.util.spec_from_file_location("plain_comments", SITE / "plain_comments.py")
    assert found is not None
    assert found.loader is not None
    module: Any = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return "\n".join(module.marked(header))


def test_no_page_of_the_site_has_a_warning(tmp_path: Path) -> None:
    assert sphinx("dummy", tmp_path) == ""


COMMENTS = {
    "above a declaration": (
        "/* What f does. */\nint f(void);",
        "/** What f does. */\nint f(void);",
    ),
    "on several lines": (
        "/*\n * What f does.\n */\nint f(void);",
        "/**\n * What f does.\n */\nint f(void);",
    ),
    "at the first name of a field": (
        "  union {\n    int a; /* new */\n    int b;\n  };\n  int c;",
        "    int a; /**< new */\n  int c;",
    ),
    "behind an enumerator": ("    A, /* the first */", "    A, /**< the first */"),
    "behind a macro": ('#define A "a" /* the first */', '#define A "a" /**< the first */'),
    "at the head of a file": (
        "/* SPDX-License-Identifier: X */\n/*\n * A: what it is.\n */",
        "\n/** @file\n *\n * A: what it is.\n */",
    ),
    "at the head of a file in C++": (
        "// SPDX-License-Identifier: X\n//\n// A: what it is.\n\n/* What f does. */",
        "\n/// @file\n///\n/// A: what it is.\n\n/** What f does. */",
    ),
    "above several functions": (
        "/* What both do. */\nLW_API int lw_f(void);\nLW_API int lw_g(void);\n\nLW_API int lw_h();",
        "/** What both do. */\nLW_API int lw_f(void);\n/** See lw_f(). */\nLW_API int lw_g(void);"
        "\n\nLW_API int lw_h();",
    ),
}


@pytest.mark.parametrize(("header", "seen"), COMMENTS.values(), ids=COMMENTS.keys())
def test_a_comment_reaches_doxygen(header: str, seen: str) -> None:
    assert marked(header) == seen
