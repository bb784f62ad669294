# SPDX-License-Identifier: BSD-3-Clause
"""The types of all Python sources agree, as mypy reads pyproject.toml."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_types_of_all_sources_agree() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_a_type_checker_sees_what_the_package_has_and_what_it_has_not(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""\
            import lanewise
            reveal_type(lanewise.rdma.run)
            reveal_type(lanewise.wavefront.half.half_of)
            lanewise.wavefront.run("x", "sor", 3, bogus=1)
            lanewise.nonsense()
            lanewise.wavefront.nonsense()
            raise lanewise.errors.RequestError("no")
            """),
        encoding="utf-8",
    )

    line = [sys.executable, "-m", "mypy", "--strict", "--no-color-output", str(program)]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)

    said = [text.partition(".py:")[2] for text in done.stdout.splitlines() if ".py:" in text]
    assert [text[0] for text in said if ": error: " in text] == ["4", "5", "6"], done.stdout
    assert said[0].endswith('-> lanewise.rdma.program.Outcome"')
    assert "[call-arg]" in said[2]
    assert said[-2].endswith('has no attribute "nonsense"  [attr-defined]')
    assert said[-1].endswith('has no attribute "nonsense"  [attr-defined]')
