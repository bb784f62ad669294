# SPDX-License-Identifier: BSD-3-Clause
"""A launch hands events on, keeps the last words, and leaves no process behind."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from lanewise.errors import RunError
from lanewise.launch import lines
from lanewise.launch.run import TAIL_LINES, Event, EveryLine, living_members, run, started


def shell(script: str) -> list[str]:
    return ["/bin/sh", "-c", script]


def alive(process: int) -> bool:
    state = Path(f"/proc/{process}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"


def test_events_are_handed_on_in_order() -> None:
    seen: list[Event] = []

    run(
        shell("""echo '{"event": "start"}'; echo noise; echo '{"event": "end"}'"""), {}, seen.append
    )

    assert [event["event"] for event in seen] == ["start", "end"]


def test_what_is_not_an_event_is_kept_as_output() -> None:
    outcome = run(shell("""echo out; echo '{"broken'; echo err >&2; exit 3"""), {}, print)

    assert outcome.status == 3
    assert sorted(outcome.output) == ["err", "out", '{"broken']


def test_only_the_last_lines_are_kept() -> None:
    outcome = run(shell("seq 1000 >&2"), {}, print)

    assert list(outcome.output) == [str(number) for number in range(1001 - TAIL_LINES, 1001)]


def test_ranks_that_stay_after_the_last_event_are_ended_and_count_as_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lanewise.launch.run.LEAVING_S", 0.2)
    seen: list[Event] = []
    script = """echo "{\\"event\\": \\"end\\", \\"process\\": $$}"; exec sleep 600"""

    outcome = run(shell(script), {}, seen.append)

    assert outcome.status == 0
    assert not alive(seen[0]["process"])


def test_every_line_of_a_program_of_a_user_is_handed_on_and_none_is_an_event() -> None:
    lines: list[str] = []
    script = """seq 100; echo '{"event": "end"}'; echo err >&2; exit 3"""

    outcome = run(shell(script), {}, EveryLine(lines.append))

    assert (outcome.status, outcome.ended, len(outcome.output)) == (3, False, TAIL_LINES)
    assert sorted(lines) == sorted([*map(str, range(1, 101)), '{"event": "end"}', "err"])


@pytest.mark.parametrize("streams", [">/dev/null", "2>/dev/null", ""])
def test_a_process_that_leaves_the_session_with_a_stream_does_not_hold_up_the_end(
    streams: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lanewise.launch.lines.LAST_WORDS_S", 0.1)
    left: list[int] = []
    told = '{"event": "start", "left": %d}\\n'
    script = f"setsid sleep 600 {streams} & printf '{told}' $!"

    outcome = run(shell(script), {}, lambda event: left.append(event["left"]), limit_s=60.0)

    try:
        assert (outcome.status, alive(left[0])) == (0, True)
    finally:
        os.kill(left[0], signal.SIGKILL)


def test_what_a_process_said_before_its_end_is_read_though_no_time_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lines, "LAST_WORDS_S", 0.0)

    outcome = run(["sh", "-c", "seq 2000"], {}, lambda _event: None, tail_lines=None)

    assert len(outcome.output) == 2000


def test_a_launch_that_takes_too_long_is_ended_and_said() -> None:
    with pytest.raises(RunError, match="it had not ended after 0 s and was stopped"):
        run(shell("sleep 600"), {}, print, limit_s=0.2)


def test_variables_are_added_to_the_environment() -> None:
    outcome = run(shell('echo "$LANEWISE_SAYS $HOME"'), {"LANEWISE_SAYS": "hello"}, print)

    assert outcome.output[0] == f"hello {os.environ['HOME']}"


def test_a_launcher_that_is_not_there_is_a_failure() -> None:
    with pytest.raises(RunError, match="/none/mpirun could not be started: No such file"):
        run(["/none/mpirun"], {}, print)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_ends_the_launcher_and_its_children(number: int) -> None:
    children: list[int] = []
    script = 'sleep 600 & echo "{\\"event\\": \\"start\\", \\"child\\": $!}"; wait'

    def interrupt(event: Event) -> None:
        children.append(event["child"])
        os.kill(os.getpid(), number)

    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup
    try:
        with pytest.raises(KeyboardInterrupt):
            run(shell(script), {}, interrupt)
    finally:
        signal.signal(signal.SIGHUP, before)

    assert not alive(children[0])


def test_a_hangup_that_is_ignored_does_not_end_a_launch() -> None:
    script = """echo "{\\"event\\": \\"start\\"}"; exit 4"""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        outcome = run(shell(script), {}, lambda _: os.kill(os.getpid(), signal.SIGHUP))
    finally:
        signal.signal(signal.SIGHUP, before)

    assert outcome.status == 4


def test_a_launcher_deaf_to_polite_requests_is_killed() -> None:
    deaf = (
        "import signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('deaf', flush=True)\n"
        "time.sleep(600)\n"
    )

    with (
        pytest.raises(KeyboardInterrupt),
        started([sys.executable, "-c", deaf], {}, grace_s=0.2) as launcher,
    ):
        assert launcher.stdout is not None
        launcher.stdout.readline()
        raise KeyboardInterrupt

    assert launcher.returncode == -signal.SIGKILL


def test_ranks_in_process_groups_of_their_own_are_ended_too() -> None:
    ranks: list[int] = []
    script = (
        "import json, os, time\n"
        "rank = os.fork()\n"
        "if rank == 0:\n"
        "    os.setpgid(0, 0)\n"
        "    print(json.dumps({'event': 'start', 'process': os.getpid()}), flush=True)\n"
        "time.sleep(600)\n"
    )

    def interrupt(event: Event) -> None:
        ranks.append(event["process"])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run([sys.executable, "-c", script], {}, interrupt)

    assert not alive(ranks[0])


def test_a_second_interrupt_kills_at_once_and_leaves_nothing() -> None:
    launchers: list[int] = []
    deaf = (
        "import json, os, signal, time\n"
        f"signal.signal(signal.SIGTERM, lambda *_: os.kill({os.getpid()}, signal.SIGINT))\n"
        "print(json.dumps({'event': 'start', 'process': os.getpid()}), flush=True)\n"
        "time.sleep(600)\n"
    )

    def interrupt(event: Event) -> None:
        launchers.append(event["process"])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run([sys.executable, "-c", deaf], {}, interrupt)

    assert not alive(launchers[0])


def test_nothing_is_left_where_what_is_done_meanwhile_fails() -> None:
    with pytest.raises(ValueError, match="meanwhile"), started(["sleep", "100"], {}) as process:
        raise ValueError("meanwhile")

    assert living_members(process.pid) == []
    assert process.returncode not in (None, 0)


def test_a_program_writes_to_the_streams_that_are_named(tmp_path: Path) -> None:
    with (
        (tmp_path / "out").open("w+") as file,
        started(["echo", "said"], {}, streams=(file, subprocess.STDOUT)) as process,
    ):
        assert process.wait() == 0

    assert (tmp_path / "out").read_text() == "said\n"


def test_a_launch_from_another_thread_leaves_signals_alone() -> None:
    outcomes = []
    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=lambda: outcomes.append(run(shell("exit 4"), {}, print)))

    thread.start()
    thread.join()

    assert outcomes[0].status == 4
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_signal_that_is_not_handled_by_python_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(signal, "getsignal", lambda _number: None)

    assert run(shell("exit 4"), {}, print).status == 4


def test_the_name_of_a_process_may_be_of_any_bytes(tmp_path: Path) -> None:
    program = os.fsencode(tmp_path) + b"/\xff) Z"
    shutil.copy(os.fsencode(shutil.which("sleep") or "sleep"), program)
    with subprocess.Popen([program, "600"], start_new_session=True) as process:
        try:
            assert living_members(process.pid) == [process.pid]
        finally:
            process.kill()


def test_a_process_that_ends_while_it_is_looked_at_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The kernel says this, and not that there is no such file, between the two.
    def ended(path: Path, *_: object, **__: object) -> bool:
        raise ProcessLookupError(3, "No such process", str(path))

    monkeypatch.setattr(Path, "exists", ended)

    assert os.getpid() in living_members(os.getsid(0))
