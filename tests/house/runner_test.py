# SPDX-License-Identifier: BSD-3-Clause
"""The test runner counts what ctest and pytest report, and never takes silence for success."""

from __future__ import annotations

import contextlib
import io
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import junit
import run
import suites
from junit import Outcome, Verdict

# What ctest 3.25 wrote for one test of each kind.
CTEST = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="(empty)" tests="8">
<testcase name="ok" classname="ok" status="run"><system-out>hi</system-out></testcase>
<testcase name="bad" classname="bad" status="fail">
  <failure message=""/><system-out>expected 1</system-out></testcase>
<testcase name="skip" classname="skip" status="notrun">
  <skipped message="SKIP_RETURN_CODE=77"/><system-out>Start\nno second host</system-out></testcase>
<testcase name="alone" classname="alone" status="notrun">
  <skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/><system-out>one rank</system-out></testcase>
<testcase name="gone" classname="gone" status="notrun">
  <skipped message="Unable to find executable"/><system-out>gone</system-out></testcase>
<testcase name="apart" classname="apart" status="notrun">
  <skipped message="Required Files Missing"/></testcase>
<testcase name="off" classname="off" status="disabled"><system-out>x</system-out></testcase>
</testsuite>
"""

# What ctest 3.25 wrote for two programs of GoogleTest, the first started by a launcher that gives a
# terminal.
GOOGLETEST = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="(empty)" tests="2">
<testcase name="pairs_2" classname="pairs_2" status="run"><system-out>
[ RUN      ] Pairs.Meet
[       OK ] Pairs.Meet (0 ms)
[ RUN      ] Pairs.OfThree
pairs_test.cpp:3: Skipped
three ranks are needed
[NON-XML-CHAR-0x1B][0;32m[  SKIPPED ] [NON-XML-CHAR-0x1B][mPairs.OfThree (0 ms)
[  PASSED  ] 1 test.
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] Pairs.OfThree</system-out></testcase>
<testcase name="large_2" classname="large_2" status="run"><system-out>
[ RUN      ] Large.Call
large_test.cpp:4: Skipped

[  SKIPPED ] Large.Call (0 ms)
[ RUN      ] Large.Silent
[  SKIPPED ] Large.Silent (0 ms)
[  PASSED  ] 0 tests.</system-out></testcase>
</testsuite>
"""

# What ctest 3.25 wrote for a program whose filter matched no test.
GOOGLETEST_EMPTY = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="(empty)" tests="1">
<testcase name="bits" classname="bits" status="run"><system-out>
Note: Google Test filter = BitsTest.Gone
[NON-XML-CHAR-0x1B][0;32m[==========] [NON-XML-CHAR-0x1B][mRunning 0 tests from 0 test suites.
[==========] 0 tests from 0 test suites ran. (0 ms total)
[  PASSED  ] 0 tests.</system-out></testcase>
</testsuite>
"""

# What ctest 3.25 wrote for a program that failed.
GOOGLETEST_FAILED = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="(empty)" tests="1">
<testcase name="pairs_2" classname="pairs_2" status="fail"><failure message=""/><system-out>
[ RUN      ] Pairs.Part
pairs_test.cpp:9: Failure
[NON-XML-CHAR-0x1B][0;31m[  FAILED  ] [NON-XML-CHAR-0x1B][mPairs.Part (1 ms)
[ RUN      ] Pairs.Meet
what a test prints
[       OK ] Pairs.Meet (0 ms)
[ RUN      ] Pairs.OfThree
pairs_test.cpp:3: Skipped
[  SKIPPED ] Pairs.OfThree (0 ms)
[ RUN      ] Pairs.Crash
Segmentation fault</system-out></testcase>
</testsuite>
"""

# What pytest wrote, which was interrupted at the last.
PYTEST = """<?xml version="1.0"?><testsuites><testsuite name="pytest" tests="5">
<testcase classname="a_test" name="test_ok"/>
<testcase classname="a_test" name="test_bad"><failure message="E">assert 1 == 2</failure></testcase>
<testcase classname="a_test" name="test_broken"><error message="setup">no mpicc</error></testcase>
<testcase classname="a_test" name="test_skip"><skipped message="no browser"/></testcase>
<testcase time="0.000" />
</testsuite></testsuites>
"""


def written(tmp_path: Path, text: str) -> Path:
    report = tmp_path / "report.xml"
    report.write_text(text, encoding="utf-8")
    return report


def read(tmp_path: Path, text: str) -> list[Outcome]:
    return junit.read(written(tmp_path, text))


def test_a_report_of_ctest_is_read_in_full(tmp_path: Path) -> None:
    assert read(tmp_path, CTEST) == [
        Outcome("ok", Verdict.PASSED),
        Outcome("bad", Verdict.FAILED, "expected 1"),
        Outcome("skip", Verdict.SKIPPED, "no second host"),
        Outcome("alone", Verdict.SKIPPED, "one rank"),
        Outcome("gone", Verdict.FAILED, "gone"),
        Outcome("apart", Verdict.FAILED, "Required Files Missing"),
        Outcome("off", Verdict.SKIPPED, "disabled"),
    ]


def test_a_test_that_is_skipped_inside_a_program_is_counted_as_skipped(tmp_path: Path) -> None:
    assert read(tmp_path, GOOGLETEST) == [
        Outcome("pairs_2", Verdict.PASSED),
        Outcome("pairs_2: Pairs.OfThree", Verdict.SKIPPED, "three ranks are needed"),
        Outcome("large_2: Large.Call", Verdict.SKIPPED, "no reason"),
        Outcome("large_2: Large.Silent", Verdict.SKIPPED, "no reason"),
    ]


def test_a_program_that_ran_no_test_failed(tmp_path: Path) -> None:
    (outcome,) = read(tmp_path, GOOGLETEST_EMPTY)

    assert outcome.verdict is Verdict.FAILED
    assert outcome.text.splitlines()[:2] == [
        "it ran no test", "Note: Google Test filter = BitsTest.Gone"
    ]  # fmt: skip


def test_a_program_that_fails_shows_the_tests_that_failed(tmp_path: Path) -> None:
    (outcome,) = read(tmp_path, GOOGLETEST_FAILED)

    assert outcome.verdict is Verdict.FAILED
    assert outcome.text.splitlines() == [
        "[ RUN      ] Pairs.Part",
        "pairs_test.cpp:9: Failure",
        "[  FAILED  ] Pairs.Part (1 ms)",
        "[ RUN      ] Pairs.Crash",
        "Segmentation fault",
    ]


@pytest.mark.parametrize(
    "said",
    [
        "rank 2: Pairs.Meet: Expected: 1 > 2",
        "WARNING: ThreadSanitizer: data race",
        "a crash at exit",
    ],
)
def test_a_program_that_fails_although_its_tests_passed_shows_why(
    tmp_path: Path, said: str
) -> None:
    passed = f"[ RUN      ] Pairs.Meet\n{said}\n[       OK ] Pairs.Meet (0 ms)"
    report = (
        GOOGLETEST_FAILED.partition("[ RUN")[0] + passed + "</system-out></testcase></testsuite>"
    )

    (outcome,) = read(tmp_path, report)

    assert outcome.text == passed


def test_a_report_of_a_sanitizer_is_shown_beside_the_test_that_failed(tmp_path: Path) -> None:
    raced = "[ RUN      ] Pairs.Race\nThreadSanitizer: data race\n[       OK ] Pairs.Race (0 ms)\n"

    (outcome,) = read(tmp_path, GOOGLETEST_FAILED.replace("[ RUN      ] Pairs.Meet", raced, 1))

    assert "ThreadSanitizer: data race" in outcome.text
    assert "Pairs.Part" in outcome.text


def test_errors_that_were_printed_long_before_the_end_are_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    errors = ["a.cpp:7:3: error: narrowing", "b.cpp:8:1: \x1b[0;1;31merror: \x1b[0mnull"]
    printed = [*errors, *(f"{n}/900 reading" for n in range(900))]

    run.explain("clang-tidy", [Outcome("clang-tidy", Verdict.FAILED, "\n".join(printed))])

    shown = capsys.readouterr().out.splitlines()
    assert shown[2:5] == [*(f"    {error}" for error in errors), "    820/900 reading"]
    assert shown[-1] == "    899/900 reading"


def test_skips_with_the_same_reason_share_a_line() -> None:
    skips = [Outcome(name, Verdict.SKIPPED, "no browser") for name in ("a", "b", "c")]

    assert run.told_skips("report", [*skips, Outcome("d", Verdict.SKIPPED, "no fio")]) == [
        "skipped report: no browser: a and 2 more",
        "skipped report: no fio: d",
    ]


def test_a_report_of_pytest_is_read_in_full(tmp_path: Path) -> None:
    assert read(tmp_path, PYTEST) == [
        Outcome("a_test.test_ok", Verdict.PASSED),
        Outcome("a_test.test_bad", Verdict.FAILED, "assert 1 == 2"),
        Outcome("a_test.test_broken", Verdict.FAILED, "no mpicc"),
        Outcome("a_test.test_skip", Verdict.SKIPPED, "no browser"),
        Outcome("?", Verdict.FAILED, "it did not end"),
    ]


def test_a_suite_without_report_failed_and_says_what_it_printed(tmp_path: Path) -> None:
    (outcome,) = run.judge(tmp_path / "none.xml", 0, "Segmentation fault")

    assert outcome.verdict is Verdict.FAILED
    assert "Segmentation fault" in outcome.text


def test_a_suite_that_ran_no_test_failed(tmp_path: Path) -> None:
    report = tmp_path / "empty.xml"
    report.write_text("<testsuites/>", encoding="utf-8")

    (outcome,) = run.judge(report, 0, "")

    assert outcome.verdict is Verdict.FAILED


def test_an_exit_status_that_no_test_explains_is_a_failure(tmp_path: Path) -> None:
    report = tmp_path / "fine.xml"
    report.write_text('<testsuite><testcase name="a"/></testsuite>', encoding="utf-8")

    outcomes = run.judge(report, 3, "interrupted")

    assert [outcome.verdict for outcome in outcomes] == [Verdict.PASSED, Verdict.FAILED]


def test_the_closing_line_counts_every_verdict() -> None:
    outcomes = [Outcome("a", Verdict.PASSED), Outcome("b", Verdict.PASSED)]

    assert run.count([*outcomes, Outcome("c", Verdict.SKIPPED)]) == "2 passed, 0 failed, 1 skipped"


def test_a_command_that_cannot_start_is_a_failure() -> None:
    assert run.run_command(["lanewise-no-such-program"], 10) == (
        127,
        "cannot start lanewise-no-such-program: No such file or directory",
    )


def test_the_folder_of_jobs_stays_when_the_last_of_them_ends() -> None:
    launcher = shutil.which("mpirun.openmpi")
    if launcher is None:
        pytest.skip("no Open MPI here; install openmpi-bin")

    with run.folder_of_jobs() as folder:
        status, printed = run.run_command([launcher, "-n", "1", "true"], LIMIT_S)

        assert (status, printed) == (0, "")
        assert folder.is_dir()


LIMIT_S = 60.0  # of a start of the runner, and of a suite that nobody ends

# Begins a child that ignores interrupts, as a shell's jobs in the background do, says its number
# into the file of its first argument, which the child holds open, and does the second. The child
# may do something before it waits.
WITH_CHILD = 'exec >"$0"; {0} sh -c "{1}while :; do sleep 0.1; done" & echo $!; {2}'


@pytest.mark.parametrize("session", ["", "setsid"])
@pytest.mark.parametrize("deaf", ["", "trap '' TERM; "])
@pytest.mark.parametrize(("then", "expected"), [("wait", run.STOPPED), ("exit 3", 3)])
def test_what_a_command_began_ends_with_it(
    session: str, deaf: str, then: str, expected: int, tmp_path: Path
) -> None:
    said = tmp_path / "said"
    os.mkfifo(said)
    line = ["sh", "-c", WITH_CHILD.format(session, deaf, then), str(said)]
    with os.fdopen(os.open(said, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as words:
        limit_s = 10.0 if then == "wait" else LIMIT_S
        status, printed = run.run_command(line, limit_s)

        child = int(words.readline())
        try:
            assert (status, "stopped after 10 s" in printed) == (expected, then == "wait")
            assert select.select([words], [], [], 0)[0], "the child still holds the file open"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)


def test_what_a_command_left_may_put_away_what_it_made(tmp_path: Path) -> None:
    said = tmp_path / "said"
    os.mkfifo(said)
    # The command waits until the child is ready.
    tidy = "trap 'echo put away; exit' TERM; touch $0.ready; "
    then = 'until [ -e "$0.ready" ]; do sleep 0.1; done'
    line = ["sh", "-c", WITH_CHILD.format("setsid", tidy, then), str(said)]
    with os.fdopen(os.open(said, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as words:
        assert run.run_command(line, LIMIT_S) == (0, "")

        assert words.read().endswith(b"put away\n")


def test_a_command_past_its_limit_may_put_away_what_it_made() -> None:
    tidy = "import time\ntry: time.sleep(60)\nfinally: print('put away')"

    status, printed = run.run_command([sys.executable, "-c", tidy], 10)

    assert status == run.STOPPED
    assert "put away" in printed


def test_a_suite_that_was_stopped_failed_beside_the_tests_that_it_reports(tmp_path: Path) -> None:
    outcomes = run.judge(written(tmp_path, PYTEST), run.STOPPED, "stopped after 900 s")

    assert outcomes[-1] == Outcome(
        "the suite did not finish", Verdict.FAILED, "stopped after 900 s"
    )
    assert len(outcomes) == 6


# Begins a process whose parent ends at once, and waits until nothing is left of it.
ORPHAN = """orphan=$( (sh -c 'echo $$; exec sleep 0.1 >/dev/null' &) )
for i in $(seq 300); do [ -e /proc/$orphan ] || exit 3; sleep 0.1; done; exit 1"""


def test_a_process_whose_parent_has_ended_is_reaped_as_by_init() -> None:
    assert run.run_command(["sh", "-c", ORPHAN], LIMIT_S) == (3, "")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_a_run_that_is_terminated_or_killed_leaves_no_suite_running(
    number: signal.Signals, status: int, tmp_path: Path
) -> None:
    said = tmp_path / "said"
    os.mkfifo(said)
    suite = f"import time; f = open({str(said)!r}, 'w', 1); print('begun', file=f); time.sleep(20)"
    suite += "; print('ended', file=f)"
    runner = (
        "import sys; sys.path.insert(0, 'tests'); import run, suites;"
        "long = suites.Suite('long', [sys.executable, '-c', sys.argv.pop()]);"
        "suites.everyday = lambda: [long];"
        "run.main()"
    )
    with (
        os.fdopen(os.open(said, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as words,
        subprocess.Popen([sys.executable, "-c", runner, suite], cwd=run.ROOT) as running,
    ):
        try:
            assert first_words(words, running) == b"begun\n"

            running.send_signal(number)

            # What is left when nobody can say more.
            assert select.select([words], [], [], LIMIT_S)[0]
            assert words.read() == b""
            assert running.wait(LIMIT_S) == status
        finally:
            running.kill()


def first_words(words: io.FileIO, running: subprocess.Popen[bytes]) -> bytes:
    """Wait for what a suite says, as long as its runner runs; nothing where it says nothing."""
    end_s = time.monotonic() + LIMIT_S
    while running.poll() is None and time.monotonic() < end_s:
        if select.select([words], [], [], 0.1)[0] and (said := words.read()):
            return said
    return b""


def test_a_command_that_hangs_is_seen_with_its_last_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "HEARTBEAT_S", 0.5)
    hanging = "print('test_of_a_queue', flush=True)\nwhile True: pass"

    status, printed = run.run_command([sys.executable, "-c", hanging], 10)

    assert status == run.STOPPED
    assert printed.startswith("test_of_a_queue\n")
    assert printed.endswith("\nstopped after 10 s; its last lines were:\ntest_of_a_queue")
    assert "s: test_of_a_queue" in capsys.readouterr().out


def test_suites_keep_what_python_compiles_also_where_it_is_told_not_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    ask = "import sys; print(sys.dont_write_bytecode)"

    assert run.run_command([sys.executable, "-c", ask], 10) == (0, "False\n")


def test_suites_do_not_inherit_what_changes_what_commands_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = {"LANEWISE_NATIVE": "build/mpich", "LANEWISE_TEST_KILLS": "3", "PMIX_MCA_gds": "hash"}
    left_out = (
        "COLUMNS",
        "NO_COLOR",
        "PYTEST_ADDOPTS",
        "GTEST_FILTER",
        "LANEWISE_TRACEBACK",
        "SLURM_JOB_ID",
        "FLUX_URI",
        "PMI_RANK",
        "PMIX_RANK",
        "OMPI_COMM_WORLD_RANK",
    )
    for name, value in {**kept, **dict.fromkeys(left_out, "1")}.items():
        monkeypatch.setenv(name, value)
    ask = f"import os; print(*sorted({{*{(*kept, *left_out)}}} & {{*os.environ}}))"

    assert run.run_command([sys.executable, "-c", ask], LIMIT_S) == (0, f"{' '.join(kept)}\n")


def test_every_daily_suite_ends_within_its_limit() -> None:
    assert {suite.limit_s for suite in suites.everyday()} == {suites.DAILY_LIMIT_S}


def test_an_unknown_suite_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        run.wanted(["houses"], everything=False)

    assert stopped.value.code == 2
    assert "houses" in capsys.readouterr().err


def test_every_suite_has_a_name_of_its_own() -> None:
    names = [suite.name for suite in suites.everyday() + suites.thorough()]

    assert len(names) == len(set(names))
