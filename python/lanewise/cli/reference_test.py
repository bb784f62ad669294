# SPDX-License-Identifier: BSD-3-Clause
"""The reference pages are what the programs say of themselves."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lanewise.cli.described import Described, commands
from lanewise.cli.man_pages import man_pages, page, plain
from lanewise.cli.reference import pages, row, write

DOCS = Path(__file__).parents[3] / "docs"
OUT_OF_DATE = "docs is out of date; write it with: make reference"


@pytest.fixture(scope="module")
def described() -> dict[str, list[Described]]:
    if not (DOCS / "reference").is_dir():
        pytest.skip("no clone: docs/reference is not here")
    return commands()


def test_the_pages_in_the_repository_are_those_that_the_programs_print(
    described: dict[str, list[Described]],
) -> None:
    kept = {path.name: path.read_text("utf-8") for path in (DOCS / "reference").glob("*.md")}

    assert kept == pages(described), OUT_OF_DATE


def test_the_man_pages_in_the_repository_are_those_that_the_programs_print(
    described: dict[str, list[Described]],
) -> None:
    kept = {path.name: path.read_text("utf-8") for path in (DOCS / "man").glob("*.1")}

    assert kept == man_pages(described), OUT_OF_DATE


def test_a_man_page_warns_of_nothing_and_shows_options_as_they_are_typed(tmp_path: Path) -> None:
    if shutil.which("groff") is None:
        pytest.skip("no groff here, the program behind man")
    option = ("--faults FILE\\.toml", "'Quoted', a~b^c and `--seed`.")
    command = Described("lanewise try", (), "[OPTIONS]", ("Try it.",), {"Options": [option]})
    path = tmp_path / "try.1"
    path.write_text("\n".join(page("lanewise try", [command])) + "\n", encoding="utf-8")

    done = subprocess.run(
        ["groff", "-ww", "-man", "-Tutf8", "-P-c", path],
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert done.stderr == ""
    shown = re.sub(".\b", "", done.stdout)
    assert "--faults FILE\\.toml" in shown
    assert "'Quoted', a~b^c and --seed." in shown


def test_a_man_page_names_the_commands_on_it_that_end_as_their_program(
    described: dict[str, list[Described]],
) -> None:
    written = man_pages(described)
    names = ("run", "rdma", "testbed", "measure")

    found = [
        line for name in names for line in written[f"lanewise-{name}.1"].splitlines()
        if line.endswith(" with the status of the program, unless Lanewise itself fails.")
    ]  # fmt: skip

    assert [re.findall(r"\\fB(.*?)\\fR (\w+)", line) for line in found] == [
        [("lanewise run", "ends")],
        [("lanewise rdma run", "and"), ("lanewise rdma protect", "end")],
        [("lanewise testbed run", "ends")],
    ]


def test_a_line_of_a_man_page_is_no_request() -> None:
    assert plain(".SH is a request") == "\\&.SH is a request"


def test_a_bar_in_an_option_does_not_end_its_cell() -> None:
    assert row(("--rule median|student", "Which\ninterval.")) == (
        "| `--rule median\\|student` | Which interval. |"
    )


def test_the_page_of_a_command_that_is_gone_is_removed(tmp_path: Path) -> None:
    (tmp_path / "lanewise-gone.md").write_text("old", encoding="utf-8")

    write(tmp_path, {"lanewise-new.md": "new"}.items())

    assert [path.name for path in tmp_path.iterdir()] == ["lanewise-new.md"]
