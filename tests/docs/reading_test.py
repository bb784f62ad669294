# SPDX-License-Identifier: BSD-3-Clause
"""A page is read whole, the table settles all that it shows, and its shell keeps its state."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from pathlib import Path

import markdown
import pytest
import table
from shell import PageShell

PAGE = """# A page

```
$ one --size 4   # a comment
what it prints
$ two 'a # b' \\
    --more
```

<!-- not run: needs an adapter -->
```
$ three &
```

```c
#include <x.h>
int f(void);
```
"""

SOUND = {
    "run": ["one --size 4"],
    "instead": [["two 'a # b' \\\n  --more", "two a --more"]],
    "snippet": [{"begins": "#include <x.h>"}],
}


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[PageShell]:
    folder = tmp_path / "page"
    folder.mkdir()
    opened = PageShell(folder)
    yield opened
    opened.close()


def test_a_command_is_read_with_its_further_lines_and_without_its_comment() -> None:
    commands = markdown.read("a.md", PAGE).commands

    assert [(command.line, command.text) for command in commands] == [
        (4, "one --size 4"),
        (6, "two 'a # b' --more"),
        (12, "three &"),
    ]


def test_what_a_command_shows_is_looked_for_in_what_it_prints() -> None:
    first, second, _ = markdown.read("a.md", PAGE.replace("what it", "what ... it")).commands

    assert first.shown == "what ... it prints"
    assert first.printed_in("before\nwhat the\n  long word it\nprints, and after")
    assert not first.printed_in("what it said")
    assert second.printed_in("anything")


def test_a_marker_holds_for_the_next_block_alone() -> None:
    page = markdown.read("a.md", PAGE)

    assert [command.not_run for command in page.commands] == ["", "", "needs an adapter"]
    assert [snippet.not_run for snippet in page.snippets] == [""]


def test_a_script_without_a_prompt_is_code() -> None:
    page = markdown.read("a.md", "```bash\nset -e\n```\n```bash\n$ ls\n```\n")

    assert [snippet.begins for snippet in page.snippets] == ["set -e"]
    assert [command.text for command in page.commands] == ["ls"]


def test_nothing_is_said_where_all_is_settled(tmp_path: Path) -> None:
    page = markdown.read("a.md", PAGE)

    assert table.offences([page], {"a.md": table.entry(SOUND)}, tmp_path) == []


OFFENCES = {
    "a command in no class": ({"run": []}, "a.md:4: no test runs `one --size 4`"),
    "a command in two classes": ({"parse": ["one --size 4"]}, "is in run and parse"),
    "a command that is marked and in a class": ({"not_run": [["three &", "x"]]}, "a.md:12: "),
    "a command that is gone": ({"run": ["one --size 4", "gone"]}, "no longer shows `gone`"),
    "a variant without an option": ({"instead": [["two 'a # b' --more", "two"]]}, "lacks --more"),
    "a variant that uses no option": (
        {"instead": [["two 'a # b' --more", "two; : --more"]]},
        "lacks --more",
    ),
    "a command that shows nothing to compare": (
        {"printed": ["one --size 4", "three &"]},
        "a.md shows nothing below `three &`",
    ),
    "a test that is not there": (
        {"run": [], "tested_by": [["one --size 4", "tests/a_test.py::test_one"]]},
        "there is no test tests/a_test.py::test_one",
    ),
    "a snippet that nothing checks": ({"snippet": []}, "a.md:16: nothing checks"),
    "a snippet that is gone": (
        {"snippet": [*SOUND["snippet"], {"begins": "gone"}]},
        "no snippet of a.md begins with `gone`",
    ),
}


@pytest.mark.parametrize(("change", "said"), OFFENCES.values(), ids=OFFENCES.keys())
def test_an_offence_is_one_line_that_names_the_place(
    tmp_path: Path, change: dict[str, object], said: str
) -> None:
    page = markdown.read("a.md", PAGE)

    (offence,) = table.offences([page], {"a.md": table.entry({**SOUND, **change})}, tmp_path)

    assert said in offence
    assert "\n" not in offence


def test_a_test_elsewhere_has_the_options_of_the_command(tmp_path: Path) -> None:
    page = markdown.read("a.md", "```\n$ lanewise one --size 4\n```\n")
    named = {"tested_by": [["lanewise one --size 4", "a_test.py::test_one"]]}
    test = tmp_path / "a_test.py"

    def offences(words: str) -> list[str]:
        test.write_text(f"def test_one() -> None:\n    run({words})\n", encoding="utf-8")
        return table.offences([page], {"a.md": table.entry(named)}, tmp_path)

    assert offences('"one", "--size", 8') == []
    assert "a_test.py has no --size" in offences('"one"')[0]


def test_a_page_that_is_gone_leaves_no_entry(tmp_path: Path) -> None:
    (offence,) = table.offences([], {"a.md": table.entry(SOUND)}, tmp_path)

    assert "a.md: there is no such page" in offence


def test_all_that_a_page_shows_is_compared_or_what_the_table_names() -> None:
    commands = markdown.read("a.md", PAGE).commands

    def compared(**keys: object) -> list[bool]:
        return [table.entry({**SOUND, **keys}).compares(command) for command in commands]

    assert compared() == [False, False, False]
    assert compared(printed=True) == [True, True, True]
    assert compared(printed=["two 'a # b' \\\n --more"]) == [False, True, False]


def test_a_key_that_means_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="skip: use one of"):
        table.entry({"skip": []})


def test_options_are_parsed_before_the_program_that_is_launched() -> None:
    assert table.parsed("lanewise run -- ./app") == "lanewise run --print-command -- ./app"
    assert table.parsed("lanewise tune") == "lanewise tune --print-command"


def test_what_stands_around_a_snippet_is_written_after_its_includes() -> None:
    (snippet,) = markdown.read("a.md", PAGE).snippets

    written = table.Code("#include <x.h>", before="int g(void) {", after="}").source(snippet)

    assert written == "#include <x.h>\nint g(void) {\nint f(void);\n}\n"


def test_a_shell_keeps_variables_and_files_for_the_next_command(shell: PageShell) -> None:
    shell.run("greeting=hello")
    shell.run('echo "$greeting" > file')

    assert shell.run("cat file") == (0, "hello\n")


def test_a_shell_gives_the_status_of_a_command_and_all_that_it_prints(shell: PageShell) -> None:
    assert shell.run("echo out; echo err >&2; (exit 3)") == (3, "out\nerr\n")


def test_what_a_job_in_the_background_prints_is_not_mixed_with_the_next_command(
    shell: PageShell,
) -> None:
    shell.run("{ until [ -e told ]; do sleep 0.01; done; echo late; touch done; } &")

    status, printed = shell.run(
        "echo first; touch told; until [ -e done ]; do sleep 0.01; done; echo second"
    )

    assert (status, printed) == (0, "first\nsecond\n")


def test_a_command_that_ends_the_shell_fails_and_so_does_the_next(shell: PageShell) -> None:
    assert "it ended the shell" in shell.run("exit 0")[1]
    assert shell.run("true")[0] != 0


def test_a_shell_leaves_no_job_behind(tmp_path: Path) -> None:
    folder = tmp_path / "page"
    folder.mkdir()
    opened = PageShell(folder)
    job = os.pidfd_open(int(opened.run("sleep 1000 & echo $!")[1]))

    opened.close()

    ended = select.select([job], [], [], 60)[0]
    os.close(job)
    assert ended
