# SPDX-License-Identifier: BSD-3-Clause
"""The command as a person meets it, without launching anything."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lanewise
from lanewise.cli import BELOW, COMMANDS, run, wavefront
from lanewise.results import specimen

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    return specimen.write(tmp_path / "samples.jsonl", specimen.records())


def one_line(capsys: Capture) -> str:
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    return shown.err.rstrip("\n")


GROUPS = {
    "model": ("fit", "predict", "algorithms", "guidelines"),
    "rdma": ("run", "status", "protect", "discover"),
}
BELOW_GROUPS = [f"{group} {name}" for group, names in GROUPS.items() for name in names]


@pytest.mark.parametrize("name", [*COMMANDS, *BELOW_GROUPS, *BELOW])
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_opens_with_an_example_of_the_command(name: str, option: str, capsys: Capture) -> None:
    assert run([*name.split(), option]) == 0

    assert capsys.readouterr().out.startswith(f"Example:\n  $ lanewise {name}")


@pytest.mark.parametrize("arguments", [[], ["-h"], ["--help"]])
def test_the_help_of_the_whole_opens_with_an_example(arguments: list[str], capsys: Capture) -> None:
    assert run(arguments) == 0

    shown = capsys.readouterr().out
    assert shown.startswith("Example:\n  $ lanewise measure")
    assert all(f"  {name} " in shown for name in (*COMMANDS, "check same-bits"))


def test_a_shell_completes_single_words(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_LANEWISE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "lanewise ")
    monkeypatch.setenv("COMP_CWORD", "1")

    with pytest.raises(SystemExit):
        run([])

    assert set(capsys.readouterr().out.split()) == {*COMMANDS, "check", "reproduce"}


@pytest.mark.parametrize("arguments", [[], ["model"], ["rdma"], ["testbed"]])
def test_a_summary_of_a_command_fits_its_line(arguments: list[str], capsys: Capture) -> None:
    assert run(arguments) == 0

    shown = capsys.readouterr().out.splitlines()
    assert not [line for line in shown if line.endswith("...") and not line.startswith("Usage")]
    assert max(map(len, shown)) <= 80


WAVEFRONT = [f"wavefront {name}" for name in wavefront.COMMANDS]
TESTBED = [f"testbed {name}" for name in ("check", "up", "run", "fault", "status", "down")]


@pytest.mark.parametrize(
    "name", [*COMMANDS, *BELOW_GROUPS, *BELOW, *WAVEFRONT, *TESTBED, "suite app", "reproduce"]
)
def test_help_says_what_a_value_is_and_fits_eighty_columns(
    name: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    assert run([*name.split(), "--help"]) == 0

    shown = capsys.readouterr().out
    assert not re.findall(r"<\w+>|\[x[<>]|\{[a-zA-Z]+\}\.\.\.|\[-- ", shown)
    assert re.search(rf"^Usage: lanewise {name} \[OPTIONS\]", shown, re.MULTILINE)
    assert max(map(len, shown.splitlines())) <= 80


def test_the_version_is_that_of_the_file(capsys: Capture) -> None:
    assert run(["--version"]) == 0

    version = (Path(__file__).parents[3] / "VERSION").read_text().strip()
    assert capsys.readouterr().out == f"lanewise {version}\n"
    assert lanewise.__version__ == version


def test_no_command_is_loaded_for_the_version(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []
    monkeypatch.setattr("lanewise.cli.import_module", loaded.append)

    assert run(["--version"]) == 0

    assert capsys.readouterr().out.startswith("lanewise ")
    assert loaded == []


def test_a_mistyped_command_gets_a_suggestion(capsys: Capture) -> None:
    assert run(["mesure"]) == 2

    assert one_line(capsys) == "lanewise: No such command 'mesure'. Did you mean 'measure'?"


def test_a_mistyped_option_gets_a_suggestion(capsys: Capture) -> None:
    assert run(["measure", "--confidense", "0.9"]) == 2

    assert "--confidence" in one_line(capsys)


def test_a_missing_argument_names_it_and_the_help(capsys: Capture) -> None:
    assert run(["compare"]) == 2

    assert one_line(capsys) == (
        "lanewise compare: Missing argument 'A'; see lanewise compare --help"
    )


def test_the_text_has_conditions_table_and_cautions(samples: Path, capsys: Capture) -> None:
    text = samples.read_text().replace('"cores": 4', '"cores": 2')
    samples.write_text(text)

    assert run(["report", "--format", "text", str(samples)]) == 0

    shown = capsys.readouterr().out
    assert "# mpi       Open MPI v4.1.4" in shown
    assert "\n1024 " in shown
    assert "\n! 4 ranks share 2 cores" in shown


def test_the_text_says_that_a_file_is_cut_off_and_shows_the_rest(
    samples: Path, capsys: Capture
) -> None:
    samples.write_text(samples.read_text()[:-10])

    assert run(["report", "--format", "text", str(samples)]) == 0

    shown = capsys.readouterr().out
    assert "the last line is cut off; read up to line 9" in shown
    assert "\n1024 " in shown


@pytest.mark.parametrize(
    "command",
    [["report", "--format", "text"], ["report", "--format", "csv"], ["compare", "{file}"]],
)
def test_a_newer_file_is_refused_everywhere(
    command: list[str], tmp_path: Path, capsys: Capture
) -> None:
    path = specimen.write(tmp_path / "new.jsonl", [specimen.context_record(version=9)])

    assert run([*(word.format(file=path) for word in command), str(path)]) == 2

    assert "schema version 9 is newer than 2" in one_line(capsys)


def test_compare_prints_a_row_a_point_and_a_line_over_all(samples: Path, capsys: Capture) -> None:
    assert run(["compare", str(samples), str(samples)]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "# scatter, 4 ranks (1 launch)"
    assert lines[2].split()[3] == "1.000"
    assert lines[10].startswith("# over 8 points: B/A 1.000 (geometric mean)")
    assert lines[-1].startswith("! 8 of 8 ratios are of single launches")


@pytest.mark.parametrize("limit", ["five", "-5%", "nan", "%", "5"])
def test_a_limit_that_is_no_share_is_refused(limit: str, samples: Path, capsys: Capture) -> None:
    assert run(["compare", str(samples), str(samples), f"--gate={limit}"]) == 2

    assert f"--gate '{limit}' is not a share; write 5% or 0.05" in one_line(capsys)


@pytest.mark.parametrize("confidence", ["0", "1", "95", "-1", "high", "nan"])
def test_a_confidence_outside_its_range_is_refused_by_value(
    confidence: str, samples: Path, capsys: Capture
) -> None:
    assert run(["compare", str(samples), str(samples), f"--confidence={confidence}"]) == 2

    assert f"confidence {confidence}" in one_line(capsys)


def test_compare_prints_the_same_as_json(samples: Path, capsys: Capture) -> None:
    assert run(["compare", str(samples), str(samples), "--json"]) == 0

    found = json.loads(capsys.readouterr().out)
    assert found["ratios"][0]["ratio"] == 1.0
    assert found["overall"][0]["operation"] == "scatter"


def test_a_report_is_csv_on_standard_output(samples: Path, capsys: Capture) -> None:
    assert run(["report", str(samples), "--format", "csv"]) == 0

    assert len(capsys.readouterr().out.splitlines()) == 9


def test_a_report_is_json_with_an_object_for_each_point(samples: Path, capsys: Capture) -> None:
    assert run(["report", str(samples), "--json"]) == 0

    points = json.loads(capsys.readouterr().out)["points"]
    assert [point["message_bytes"] for point in points][:2] == [8, 16]


FIRST_BYTES = {
    "out.txt": rb"# +\S+ +\S",
    "out.csv": rb"[a-z_]+,[a-z_]+,",
    "out.json": rb"[\[{]\s*[\[{\"]",
    "out.parquet": rb"PAR1",
    "out.html": rb"(?i)<!doctype html>",
}


@pytest.mark.parametrize("name", FIRST_BYTES)
def test_the_suffix_of_a_report_says_its_format(
    name: str, samples: Path, tmp_path: Path, capsys: Capture
) -> None:
    assert run(["report", str(samples), "-o", str(tmp_path / name)]) == 0

    written = (tmp_path / name).read_bytes()
    assert [kind for kind, start in FIRST_BYTES.items() if re.match(start, written)] == [name]


def test_a_suffix_that_says_nothing_is_refused(samples: Path, capsys: Capture) -> None:
    assert run(["report", str(samples), "-o", "out.xyz"]) == 2

    assert "out.xyz does not say what to write" in one_line(capsys)


def test_an_old_name_works_with_one_line_of_advice(samples: Path, capsys: Capture) -> None:
    assert run(["show", str(samples)]) == 0

    shown = capsys.readouterr()
    assert "\n1024 " in shown.out
    assert shown.err == "lanewise: 'show' is now 'lanewise report --format text'\n"


def test_doctor_tells_what_it_found_as_json(capsys: Capture) -> None:
    status = run(["doctor", "--json"])

    found = json.loads(capsys.readouterr().out)
    assert [launcher["name"] for launcher in found["launchers"]] == [
        "openmpi", "mpich", "srun", "flux", "smpi",
    ]  # fmt: skip
    assert status == (0 if found["usable"] else 1)
    assert 1 <= found["cores"] <= found["cpus"]


def test_doctor_names_the_remedy_where_nothing_is_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert run(["doctor"]) == 1

    shown = capsys.readouterr().out
    assert "get it: apt-get install openmpi-bin libopenmpi-dev" in shown
    assert "Ready to measure on: nothing yet" in shown


@pytest.mark.parametrize(
    "command",
    [["-h"], ["doctor"], ["report", "--format", "text", "{file}"], ["compare", "{file}", "{file}"]],
)
def test_no_command_colours_its_output(
    command: list[str], samples: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")

    run([word.format(file=samples) for word in command])

    assert "\x1b" not in capsys.readouterr().out


def test_a_report_waits_for_no_statistics_that_it_does_not_need(samples: Path) -> None:
    script = (
        "import sys; from lanewise.cli import run; run(sys.argv[1:]);"
        "from lanewise.results import gate, intervals; from lanewise.tuning import judge;"
        "sys.exit('scipy.stats' in sys.modules)"
    )
    words = ["report", str(samples), "--format", "text"]

    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout


def test_the_help_waits_for_no_library_that_imports_slowly() -> None:
    script = (
        "import sys; from lanewise.cli import make_app; make_app();"
        "print(sorted({'matplotlib', 'numpy', 'pandas', 'plotly', 'scipy'} & set(sys.modules)))"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"
