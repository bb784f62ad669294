# SPDX-License-Identifier: BSD-3-Clause
"""Every command and every snippet of the README and the guides works, or says why no test runs it.

What is done with each is decided in commands.toml, or by a marker in the page.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import markdown
import pytest
import table
from markdown import Command, Page, Snippet
from shell import ROOT, PageShell

from lanewise.errors import RequestError, RunError
from lanewise.launch.native import find_builds
from lanewise.testbed import bed, shipped

PAGES = markdown.pages(ROOT)
TABLE = table.load()

# The pages that take longest begin first, and the others run beside them.  The commands of a page
# run in one shell, one after another.
LONGEST = ("docs/suite.md", "docs/gate.md", "docs/multilane.md", "docs/wavefront.md")


def about(page: Page) -> table.Entry:
    return TABLE.get(page.name, table.Entry())


def often(page: Page) -> list[pytest.MarkDecorator]:
    return [pytest.mark.thorough] if about(page).thorough else []


def group_of(page: Page) -> str:
    """Return the group of a page's commands: its own, or that of a port which exists only once."""
    lines = about(page).shell_lines()
    serves = any(line.startswith("lanewise rdma run -- ibv_rc_pingpong") for line in lines)
    return "port 18515" if serves else page.name


COMMANDS = [
    pytest.param(
        page,
        number,
        id=f"{page.name}: {command.text}",
        marks=[pytest.mark.xdist_group(group_of(page)), *often(page)],
    )
    for page in sorted(PAGES, key=lambda page: page.name not in LONGEST)
    for number, command in enumerate(page.commands)
    if "tested_by" not in about(page).classes_of(command)
]
SNIPPETS = [
    pytest.param(page, snippet, id=f"{page.name}: {snippet.begins}", marks=often(page))
    for page in PAGES
    for snippet in page.snippets
]


def is_settled(page: Page, command: Command) -> bool:
    return len(about(page).classes_of(command)) == 1


def reason_not_to_run(page: Page, command: Command) -> str:
    return command.not_run or about(page).classes["not_run"].get(command.text, "")


class Session:
    """The shell of a page, and what became of the commands that it has run."""

    def __init__(self, page: Page, folder: Path) -> None:
        self.page = page
        self.shell = PageShell(folder)
        self.lacking = ""  # why a command of the page could not run on this machine
        self._results: dict[int, tuple[int, str]] = {}
        for snippet in page.snippets:
            write(page, snippet, folder)
        status, printed = self.shell.run(about(page).setup or "true")
        assert status == 0, printed

    def result(self, wanted: int) -> tuple[int, str]:
        """Return the status of a command and what it printed, after those before it have run."""
        for number, command in enumerate(self.page.commands[: wanted + 1]):
            if number in self._results or not is_settled(self.page, command):
                continue
            line = table.typed(command, about(self.page))
            if line is None:
                continue
            self.lacking = self.lacking or why_not(line[0])
            if not why_not(line[0]):
                self._results[number] = self.shell.run(line[0])
        return self._results[wanted]


def write(page: Page, snippet: Snippet, folder: Path) -> None:
    """Write a snippet to its file, where the table has it."""
    code = about(page).code_of(snippet)
    if code is not None:
        path = folder / table.file_of(snippet, code)
        path.write_text(code.source(snippet), encoding="utf-8")


OpenPage = Callable[[Page], Session]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenPage]:
    """Give the function that opens a page, which closes the page before."""
    sessions: list[Session] = []

    def session(page: Page) -> Session:
        if sessions and sessions[0].page != page:
            sessions.pop().shell.close()
        if not sessions:
            folder = tmp_path_factory.mktemp(page.name.replace("/", "-"))
            sessions.append(Session(page, folder))
        return sessions[0]

    yield session
    for last in sessions:
        last.shell.close()


_refused: dict[str, str] = {}


def why_not(line: str) -> str:
    """Return why a command cannot run on this machine, empty where it can."""
    if "lanewise testbed" in line or "--testbed" in line:
        return _why_no_testbed()
    if "smpi" in line and not any(build.mpi == "smpi" for build in find_builds(os.environ)):
        return "there is no native build for SMPI; make build MPI=smpi"
    return ""


def _why_no_testbed() -> str:
    if "testbed" not in _refused:
        try:
            with bed.created(shipped.find("one-switch")):
                _refused["testbed"] = ""
        except (RequestError, bed.RefusedError) as error:  # as where it is not built
            _refused["testbed"] = str(error)
    return _refused["testbed"]


def test_pages_whose_servers_have_one_port_take_turns() -> None:
    serving = [page for page in PAGES if page.name in ("docs/hca.md", "docs/tutorial-rdma.md")]

    assert [group_of(page) for page in serving] == ["port 18515", "port 18515"]


def test_a_testbed_that_breaks_down_is_no_reason_to_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(source: object) -> NoReturn:
        raise RunError("the testbed's supervisor died")

    monkeypatch.setattr(bed, "created", broken)
    monkeypatch.delitem(_refused, "testbed", raising=False)

    with pytest.raises(RunError, match="supervisor died"):
        why_not("lanewise testbed up one-switch")


def test_each_command_and_snippet_is_run_or_says_why_not() -> None:
    offences = table.offences(PAGES, TABLE, ROOT)

    assert not offences, "\n".join(offences)


@pytest.mark.parametrize(("page", "number"), COMMANDS)
def test_the_page_shows_a_command_that_works(opened: OpenPage, page: Page, number: int) -> None:
    command = page.commands[number]
    if not is_settled(page, command):
        pytest.fail("it is in no class or in two; the first test of this file says which")
    if reason_not_to_run(page, command):
        pytest.skip(f"not run: {reason_not_to_run(page, command)}")
    line = table.typed(command, about(page))
    assert line is not None, "only what is not run, or has a test elsewhere, has none"
    if why_not(line[0]):
        pytest.skip(why_not(line[0]))

    session = opened(page)
    status, printed = session.result(number)

    if status != line[1] and session.lacking:
        pytest.skip(f"a command before it could not run: {session.lacking}")
    assert status == line[1], (
        f"{page.name}:{command.line}: `{line[0]}` ended with status {status}; correct the page, or "
        f"{table.SHOWN}\n{printed}"
    )
    assert not about(page).compares(command) or command.printed_in(printed), (
        f"{page.name}:{command.line}: `{line[0]}` prints other words; correct the page\n{printed}"
    )


@pytest.mark.parametrize(("page", "snippet"), SNIPPETS)
def test_the_page_shows_code_that_is_valid(tmp_path: Path, page: Page, snippet: Snippet) -> None:
    if snippet.not_run:
        pytest.skip(f"not run: {snippet.not_run}")
    code = about(page).code_of(snippet)
    if code is None:
        pytest.fail("nothing checks it; the first test of this file says what to do")
    check = table.check_of(snippet, code) or "true"
    if why_not(check):
        pytest.skip(why_not(check))
    folder = tmp_path / "page"
    folder.mkdir()
    write(page, snippet, folder)
    with contextlib.closing(PageShell(folder)) as shell:
        status, printed = shell.run(check)

    assert status == 0, f"{page.name}:{snippet.line}: `{check}`\n{printed}"
