# SPDX-License-Identifier: BSD-3-Clause
"""Whatever goes wrong ends in one line that names the command, and in the right status."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from lanewise.cli import doctor, run
from lanewise.cli.gate import make_folder
from lanewise.errors import RequestError
from lanewise.results import specimen
from lanewise.testbed import fault, running
from lanewise.testbed.bed import Bed
from lanewise.wavefront.arrays import open_array

Capture = pytest.CaptureFixture[str]


def one_line(capsys: Capture) -> str:
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    return shown.err.rstrip("\n")


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("run", "lanewise run: no program; "),
        ("rdma run", "lanewise rdma run: no program; "),
        ("rdma protect", "lanewise rdma protect: no program; "),
        ("suite app", "lanewise suite app: Missing argument"),
        ("model zork", "lanewise model: No such command 'zork'; see lanewise model --help"),
        ("doctor zork", "lanewise doctor: unexpected argument 'zork'; see lanewise doctor --help"),
    ],
)
def test_a_command_that_is_incomplete_or_too_long_gets_one_line(
    command: str, complaint: str, capsys: Capture
) -> None:
    assert run(command.split()) == 2

    assert one_line(capsys).startswith(complaint)


@pytest.mark.parametrize(
    "command",
    [
        "measure scatter --sizes",
        "tune --hosts",
        "report s.jsonl -o",
        "model guidelines --sizes",
        "suite --list --transports",
    ],
)
def test_an_option_whose_variable_was_not_set_is_refused(command: str, capsys: Capture) -> None:
    assert run([*command.split(), ""]) == 2

    option = command.rpartition(" ")[2]
    said = one_line(capsys)
    assert option in said
    assert "the value is empty; give one, or leave the option out" in said


@pytest.mark.parametrize(
    "command",
    ["run --profile", "run --tuning t.json --report", "run --interleaved 6 -o", "suite app -n",
     "check same-bits --also"],
)  # fmt: skip
def test_an_option_whose_value_was_left_out_before_a_program_is_refused(
    command: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run([*command.split(), "--", "true"]) == 2

    option = command.rpartition(" ")[2]
    said = one_line(capsys)
    assert f"'{option}'" in said
    assert "no value before --; give one, or leave the option out" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["testbed run file", "suite app command"])
def test_an_argument_may_be_a_word_that_is_its_name_within_the_command(
    command: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    run([*command.split(), "--", "true"])

    assert "no value before --" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "package"),
    [
        ("rdma run -- ib_send_lat", "perftest"),
        ("rdma protect -- ibv_devinfo", "ibverbs-utils"),
        ("suite app -- lmp", "lammps"),
    ],
)
def test_a_program_that_is_missing_is_named_with_its_package(
    command: str, package: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert run(command.split()) == 2

    program = command.rsplit(maxsplit=1)[-1]
    assert one_line(capsys).endswith(
        f"no program '{program}'; install it with: apt-get install {package}"
    )


@pytest.mark.parametrize("option", ["--failback-delay", "--retry-window"])
@pytest.mark.parametrize("text", ["3", "0", "500ms", "1min"])
def test_a_time_of_protect_is_a_duration_as_everywhere(
    option: str, text: str, capsys: Capture
) -> None:
    assert run(["rdma", "protect", option, text, "--", "no-such-program"]) == 2

    assert "no program 'no-such-program'" in one_line(capsys)


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_that_the_device_cannot_take_is_refused(seed: int, capsys: Capture) -> None:
    assert run(["rdma", "run", "--seed", str(seed), "--", "true"]) == 2

    assert f"--seed {seed}: use a whole number from 0 to 2^64 - 1" in one_line(capsys)


@pytest.mark.parametrize("options", [["--seed", "7"], ["--seed", "7", "--replay", "faults.log"]])
def test_a_seed_without_faults_is_refused(options: list[str], capsys: Capture) -> None:
    assert run(["rdma", "run", *options, "--", "true"]) == 2

    said = "--seed applies to the faults of a script; give it with --faults FILE"
    assert said in one_line(capsys)


def test_a_time_of_protect_that_is_none_is_refused(capsys: Capture) -> None:
    assert run(["rdma", "protect", "--failback-delay", "soon", "--", "true"]) == 2

    assert "--failback-delay soon is not a duration; write 1s or 500ms" in one_line(capsys)


def test_sweeps_without_a_command_show_the_help(capsys: Capture) -> None:
    assert run(["wavefront"]) == 0

    assert capsys.readouterr().out.startswith("Example:\n  $ lanewise wavefront")


@pytest.mark.parametrize(
    "command", [["--version"], ["report", "--format", "text", "{file}"], ["report", "-h"]]
)
def test_a_full_disk_under_the_output_gets_one_line(command: list[str], tmp_path: Path) -> None:
    path = specimen.write(tmp_path / "samples.jsonl", specimen.records())
    line = [sys.executable, "-m", "lanewise", *(word.format(file=path) for word in command)]

    with Path("/dev/full").open("w") as full:
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, check=False)

    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "the output: No space left on device; free space there" in done.stderr


def test_a_current_folder_that_was_removed_is_told(tmp_path: Path) -> None:
    inside = f"cd {shlex.quote(str(tmp_path))} && mkdir gone && cd gone && rmdir ../gone && "
    line = f"{inside}{shlex.quote(sys.executable)} -m lanewise report samples.jsonl"

    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert done.stderr == (
        "lanewise report: the current folder was removed; change to one that exists\n"
    )


def test_a_reader_that_stops_early_ends_the_command_without_a_word(tmp_path: Path) -> None:
    path = specimen.write(tmp_path / "samples.jsonl", specimen.records())
    reading, writing = os.pipe()
    os.close(reading)
    line = [sys.executable, "-m", "lanewise", "report", "--format", "csv", "--raw", str(path)]

    done = subprocess.run(line, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)

    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize("surroundings", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "POSIX"}])
def test_what_the_encoding_of_the_output_lacks_is_escaped(
    surroundings: dict[str, str], tmp_path: Path
) -> None:
    specimen.write(tmp_path / "é.jsonl", specimen.records())
    line = [sys.executable, "-m", "lanewise", "report", "--format", "text", "é.jsonl"]
    environment = {**os.environ, "PYTHONUTF8": "0", **surroundings}

    done = subprocess.run(
        line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("# file      \\")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    "command",
    ["report --format text s.jsonl", "report s.jsonl -o r.csv", "compare s.jsonl s.jsonl"],
)
def test_a_standard_stream_that_is_closed_is_one_that_nobody_reads(
    command: str, closed: str, tmp_path: Path
) -> None:
    path = specimen.write(tmp_path / "s.jsonl", specimen.records())
    before = path.read_bytes()
    line = f"{shlex.quote(sys.executable)} -m lanewise {command} {closed}"

    done = subprocess.run(
        ["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert path.read_bytes() == before


# A signal comes while the command asks for something, outside of a launch.
SIGNALLED = """
import os, signal, sys
from lanewise.__main__ import main
from lanewise.testbed import bed

def beds():
    os.kill(os.getpid(), number)
    return []

number = int(sys.argv[1])
signal.signal(signal.SIGHUP, getattr(signal, sys.argv[2]))
bed.beds = beds
sys.argv[1:] = ["testbed", "status"]
main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_the_command_outside_of_a_launch_is_told_in_one_line(
    number: signal.Signals,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SIGNALLED, str(int(number)), "SIG_DFL"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (130, "lanewise testbed status: stopped\n")


def test_a_hangup_that_is_ignored_as_by_nohup_stays_ignored() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SIGNALLED, str(int(signal.SIGHUP)), "SIG_IGN"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")


def test_an_interrupt_ends_with_its_status(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(doctor, "register", interrupted)

    assert run(["doctor"]) == 130
    assert one_line(capsys) == "lanewise: stopped"


def test_an_interrupt_of_a_command_is_told_in_one_line(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lanewise.testbed.bed.beds", interrupted)

    assert run(["testbed", "status"]) == 130
    assert one_line(capsys) == "lanewise testbed status: stopped"


def test_an_interrupt_of_a_group_that_is_a_command_itself_is_told_in_one_line(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lanewise.suite.start.find_out", interrupted)

    assert run(["suite", "--list"]) == 130
    assert one_line(capsys) == "lanewise suite: stopped"


# An interrupt where Python would make another exception of it: while a class is made in an import.
INTERRUPTED = """
import os, runpy, signal, sys

class Interrupting:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), NUMBER)

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == MODULE:
            type("Imported", (), {"part": Interrupting()})

MODULE = sys.argv[1]
sys.meta_path.insert(0, Finder())
NUMBER = int(sys.argv[2])
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup
sys.argv[1:] = ["suite", "--list"]
runpy.run_module("lanewise", run_name="__main__")
"""


@pytest.mark.parametrize("module", ["lanewise.cli", "typer", "lanewise.cli.suite"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_while_the_command_is_loaded_is_told_in_one_line(
    module: str, number: signal.Signals
) -> None:
    line = [sys.executable, "-c", INTERRUPTED, module, str(int(number))]
    done = subprocess.run(line, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (130, "lanewise: stopped\n")


def test_a_fault_of_our_own_is_one_line_that_says_how_to_report_it(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_arguments: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("lanewise.testbed.bed.beds", broken)

    assert run(["testbed", "status"]) == 1
    assert one_line(capsys) == (
        "lanewise testbed status: a fault of Lanewise, ZeroDivisionError: division by zero; "
        "report it with what LANEWISE_TRACEBACK=1 in the environment prints"
    )


def test_a_suite_in_a_folder_that_cannot_be_written_is_refused_at_once(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Root may write everywhere, so the answer of the system is made up.
    monkeypatch.setattr(os, "access", lambda *_arguments: False)

    assert run(["suite", "--quick", "--folder", str(tmp_path / "suite")]) == 2

    assert "not writable; name another --folder" in one_line(capsys)


def test_samples_in_a_folder_that_cannot_be_made_are_refused(
    capsys: Capture, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")

    assert run(["model", "fit", "--measure", "--samples", str(tmp_path / "file" / "s")]) == 2

    assert "cannot be made: Not a directory; name another folder" in one_line(capsys)


def test_launches_of_a_gate_in_a_folder_that_cannot_be_made_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(RequestError, match="cannot be made: File exists; name another folder"):
        make_folder(tmp_path / "file")


@pytest.mark.parametrize(
    "command",
    [
        "gate bcast --junit gone/x -- --",
        "gate bcast --markdown gone/x -- --",
        "model fit --measure -o gone/x",
        "run --interleaved 6 -o gone/x -- mpirun true",
        "suite app -o gone/x -- true",
    ],
)
def test_an_output_that_cannot_be_written_is_refused_before_anything_is_measured(
    command: str, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run(command.split()) == 2

    assert "gone/x cannot be written: No such file or directory; make the folder" in one_line(
        capsys
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("compare a.jsonl b.jsonl --gate 5% --junit a.jsonl", "--junit a.jsonl"),
        ("compare a.jsonl b.jsonl --gate 5% --markdown ./b.jsonl", "--markdown b.jsonl"),
        ("gate --baseline a.jsonl --junit link.jsonl -- true", "--junit link.jsonl"),
        ("gate bcast --junit z --markdown z -- --", "--markdown z"),
        ("gate bcast --folder . --junit base.jsonl -- --", "--junit base.jsonl"),
        ("report a.jsonl -o a.jsonl --format text", "-o a.jsonl"),
        ("report a.jsonl -o a.jsonl --format html", "-o a.jsonl"),
        ("report a.jsonl -o link.jsonl --format csv", "-o link.jsonl"),
        ("import osu.txt -o osu.txt", "-o osu.txt"),
        ("model fit a.jsonl b.jsonl -o b.jsonl", "-o b.jsonl"),
        ("rdma run --faults f.toml --fault-log f.toml -- true", "--fault-log f.toml"),
        ("rdma run --faults f.toml --pcap f.toml -- true", "--pcap f.toml"),
        ("rdma run --config f.toml --pcap f.toml -- true", "--pcap f.toml"),
        ("rdma run --replay log --fault-log log -- true", "--fault-log log"),
        ("rdma run --faults f.toml --fault-log z --pcap z -- true", "--pcap z"),
        ("rdma protect --paths f.toml --report f.toml -- true", "--report f.toml"),
        ("rdma sweep --junit z --html z -- true", "--html z"),
        ("testbed run two-site --faults f.toml --fault-log f.toml -- true", "--fault-log f.toml"),
        ("testbed run f.toml --fault-log f.toml -- true", "--fault-log f.toml"),
    ],
)
def test_an_output_that_is_another_file_of_the_command_is_refused_and_nothing_is_lost(
    command: str, named: str, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        specimen.write(tmp_path / name, specimen.launched_records(launches=40))
    (tmp_path / "link.jsonl").symlink_to("a.jsonl")
    for name in ("f.toml", "log", "osu.txt"):
        (tmp_path / name).write_text("")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.chdir(tmp_path)

    assert run(command.split()) == 2

    assert one_line(capsys).endswith(
        f"{named} is another file of this command; name one that is not"
    )
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("command", "remedy"),
    [
        ("rdma run --config", "; docs/hca.md shows one"),
        ("rdma run --faults", "; docs/rdma-lab.md shows one"),
        ("compare here.txt", ""),
        ("import -o x.jsonl", ""),
    ],
)
def test_a_file_that_is_not_there_is_named_once_with_a_remedy_that_fits(
    command: str, remedy: str, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run([*command.split(), "gone.txt", *(["--", "true"] if "rdma" in command else [])]) == 2

    told = one_line(capsys)
    assert "Errno" not in told
    assert "measure" not in told
    assert told.endswith(remedy)


@pytest.mark.parametrize(
    ("command", "remedy"),
    [
        ("model fit", "; lanewise measure -o gone.json writes it"),
        ("model predict scatter --platform", "; lanewise model fit -o gone.json writes it"),
        (
            "model algorithms scatter lmo_binomial --platform",
            "; lanewise model fit -o gone.json writes it",
        ),
        (
            "tune bcast -n 2 -o tuning.json --platform",
            "; lanewise model fit -o gone.json writes it",
        ),
        ("rdma protect --paths", "; lanewise rdma discover -o gone.json writes it"),
    ],
)
def test_a_file_that_is_not_there_is_named_with_the_command_that_writes_it(
    command: str, remedy: str, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run([*command.split(), "gone.json", *(["--", "true"] if "rdma" in command else [])]) == 2

    told = one_line(capsys)
    assert "gone.json does not exist" in told or "gone.json cannot be read: No such file" in told
    assert told.endswith(remedy)


def test_a_log_of_faults_on_a_full_disk_is_told_and_ends_them(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(_bed: object, _events: object, write: Callable[[str], None], _stop: object) -> None:
        write("{}")

    monkeypatch.setattr(fault, "play", cut)

    with running.faults_played(cast("Bed", None), (), "/dev/full") as failures:
        pass

    assert len(failures) == 1
    assert one_line(capsys) == (
        "lanewise testbed: the remaining faults were not injected: /dev/full cannot be written: "
        "No space left on device"
    )


def test_a_log_of_faults_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(RequestError, match=r"--fault-log .* cannot be written"),
        running.faults_played(cast("Bed", None), (), str(tmp_path / "gone" / "log")),
    ):
        pass


def test_an_array_that_is_not_there_is_named_without_the_words_of_its_library(
    tmp_path: Path,
) -> None:
    pytest.importorskip("h5py", reason="h5py is not installed; pip install h5py")

    with pytest.raises(RequestError, match=r"gone\.h5:x cannot be read: there is no such file$"):
        open_array(str(tmp_path / "gone.h5:x"))
