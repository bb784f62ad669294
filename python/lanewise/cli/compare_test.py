# SPDX-License-Identifier: BSD-3-Clause
"""Two runs are compared, at the ranks that both have, and the gate judges the second."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from lanewise.cli import run
from lanewise.results import specimen

SPECIMENS = Path(__file__).parents[3] / "tests" / "cli" / "imports"
# Ping-pong of two processes, then reduce_scatter of four.
IMB = SPECIMENS / "imb-2021.txt"


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    lines = specimen.records(["pingpong"], [8], context={"ranks": 2})
    return specimen.write(tmp_path / "samples.jsonl", lines)


@pytest.mark.parametrize("text_is_first", [True, False])
def test_a_text_is_read_at_the_ranks_of_the_samples(
    measured: Path, text_is_first: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    files = (IMB, measured) if text_is_first else (measured, IMB)

    assert run(["compare", *map(str, files)]) == 0

    printed = capsys.readouterr().out
    assert "# pingpong, 2 ranks" in printed
    assert "IMB 2021.7 printed one number per size" in printed


@pytest.mark.parametrize("ranks", [2, 4])
def test_collectives_beside_a_pingpong_are_read_at_the_ranks_of_the_samples(
    ranks: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = specimen.records(["pingpong", "bcast"], [8], context={"ranks": ranks})
    samples = specimen.write(tmp_path / "samples.jsonl", lines)
    text = tmp_path / "osu.txt"
    text.write_text(
        "# OSU MPI Latency Test v7.4\n# Size       Avg Latency(us)\n8 1.0\n"
        "# OSU MPI Broadcast Latency Test v7.4\n# Size       Avg Latency(us)\n8 2.0\n"
    )

    assert run(["compare", str(samples), str(text)]) == 0

    printed = capsys.readouterr().out
    assert f"# bcast, {ranks} ranks" in printed
    assert f"B: the file does not name all of its ranks; those are taken to be {ranks}" in printed


def test_json_says_which_test_was_made_of_what_and_for_which_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    point = specimen.point_record("bcast", 8, [1e-6] * 10, root=3)
    records = [specimen.context_record(), *({**point, "launch": launch} for launch in (1, 2))]
    several = specimen.write(tmp_path / "a.jsonl", records)
    single = specimen.write(tmp_path / "b.jsonl", records[:2])

    assert run(["compare", str(several), str(several), "--json"]) == 0
    over_launches = json.loads(capsys.readouterr().out)
    assert run(["compare", str(several), str(single), "--json", "--confidence", "90%"]) == 0
    within = json.loads(capsys.readouterr().out)

    assert [(one["test"], one["root"]) for one in over_launches["ratios"]] == [("Welch", 3)]
    assert [(one["test"], one["root"]) for one in within["ratios"]] == [("rank-sum", 3)]
    assert within["ratios"][0]["first_number"] == "median"
    assert (within["paths"], within["confidence"]) == ([str(several), str(single)], 0.9)


def launched(path: Path, seed: int, slowdown: float = 1.0, launches: int = 10) -> str:
    lines = specimen.launched_records(
        launches=launches, spread=0.02, seed=seed, slowdown=slowdown,
        operations=["scatter", "bcast"], sizes_bytes=[8, 1024],
    )  # fmt: skip
    return str(specimen.write(path, lines))


@pytest.mark.parametrize(
    ("rule", "number"), [("median", "median"), ("student", "mean")], ids=["median", "student"]
)
def test_ratios_of_single_launches_have_a_table_of_their_own(
    rule: str, number: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    context = {"stopping": {**specimen.context_record()["stopping"], "rule": rule}}
    lines = specimen.launched_records(2, sizes_bytes=[8, 16], context=context)
    whole = specimen.write(tmp_path / "a.jsonl", lines)
    stopped = specimen.write(tmp_path / "b.jsonl", lines[:4])

    assert run(["compare", str(whole), str(stopped)]) == 0

    over_launches, single, notes = capsys.readouterr().out.split("\n\n")
    title, headings, row = over_launches.splitlines()
    assert (title, row.split()[0]) == ("# scatter, 4 ranks", "8")
    assert f"A {number}(us)" in headings
    assert headings.endswith("p (Welch)")
    title, headings, row, overall = single.splitlines()
    assert title == "# scatter, 4 ranks (A 2 launches, B 1 launch)"
    assert row.split()[0] == "16"
    assert "A median(us)" in headings
    assert headings.endswith("p (rank-sum)")
    assert overall.startswith("# over 2 points: ")
    assert "! 1 of 2 ratios (scatter 16 B) are of single launches" in notes


def test_the_title_names_the_launches_of_each_side_where_one_has_a_single_launch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    several = launched(tmp_path / "a.jsonl", 1, launches=5)
    single = launched(tmp_path / "b.jsonl", 2, launches=1)

    assert run(["compare", several, single]) == 0

    assert capsys.readouterr().out.startswith("# scatter, 4 ranks (A 5 launches, B 1 launch)\n")


@pytest.mark.parametrize("late_bytes", [8, 16])
def test_a_point_without_a_time_stands_with_the_others(
    late_bytes: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = specimen.launched_records(2, sizes_bytes=[8, 16])
    whole = specimen.write(tmp_path / "a.jsonl", lines)
    nothing = dict.fromkeys(("median_s", "low_s", "high_s", "mean_s"))
    for line in lines:
        if line.get("message_bytes") == late_bytes:
            line |= {**nothing, "samples_s": []}
    late = specimen.write(tmp_path / "b.jsonl", lines)

    assert run(["compare", str(whole), str(late)]) == 0

    table = capsys.readouterr().out.split("\n\n")[0].splitlines()
    assert table[0] == "# scatter, 4 ranks"
    assert [row.split()[0] for row in table[2:-1]] == ["8", "16"]


@pytest.mark.parametrize(("slowdown", "status"), [(1.0, 0), (1.02, 0), (1.2, 1)])
def test_the_gate_ends_with_status_1_for_a_slower_run_alone(
    slowdown: float, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = launched(tmp_path / "a.jsonl", 1), launched(tmp_path / "b.jsonl", 2, slowdown)

    assert run(["compare", *files, "--gate", "5%"]) == status

    said = capsys.readouterr()
    assert ("slower by more than 5 %" in said.err) == bool(status)
    assert "could not have seen less than" in said.out
    assert "false alarms 1 % over all points together" in said.out
    assert "10 and 10 launches, not interleaved" in said.out


@pytest.mark.parametrize("option", ["--gate", "--fail-if-slower"])
def test_the_gate_refuses_files_of_one_launch_and_names_the_remedy(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = launched(tmp_path / "a.jsonl", 1)
    second = launched(tmp_path / "b.jsonl", 2, launches=1)

    assert run(["compare", first, second, option, "5%"]) == 2

    said = capsys.readouterr()
    assert said.err.splitlines()[-1] == (
        f"lanewise compare: {second} has 1 launch of its ranks, which says nothing of the next; "
        "measure again with --launches 10, or let lanewise gate launch both"
    )
    assert ("'--fail-if-slower' is now '--gate'" in said.err) == (option == "--fail-if-slower")


def test_too_few_launches_are_refused_with_the_number_needed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [launched(tmp_path / f"{seed}.jsonl", seed, launches=4) for seed in (1, 2)]

    assert run(["compare", *files, "--gate", "5%"]) == 2

    assert "measure 5 or more of each side" in capsys.readouterr().err


def test_a_verdict_is_written_as_json_junit_and_markdown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = launched(tmp_path / "a.jsonl", 1), launched(tmp_path / "b.jsonl", 2, 1.2)
    junit, markdown = tmp_path / "gate.xml", tmp_path / "gate.md"
    words = ["--gate", "5%", "--json", "--junit", str(junit), "--markdown", str(markdown)]

    assert run(["compare", *files, *words]) == 1

    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "slower"
    assert found["rule"] == {
        "gate": 0.05, "false_alarms": 0.01, "power": 0.99, "looks": 1, "share": 1.0, "seed": 1,
        "level": 0.01,
    }  # fmt: skip
    suite = ElementTree.parse(junit).getroot()[0]
    assert [case.get("name") for case in suite] == ["scatter", "bcast"]
    assert (suite.get("tests"), suite.get("failures")) == ("2", "2")
    assert "### Communication: slower" in markdown.read_text()


# What clears a terminal, and what Markdown would take for a column, a picture, a line break, and on
# GitHub for emphasis, a mention, links and a formula.
ODD = "my|op \x1b[2J<img src=x>\n`b` _x_ @all http://e.x #1 $a$"


def odd_files(folder: Path) -> list[str]:
    placement = [{"rank": rank, "host": f"{ODD} host"} for rank in range(4)]
    return [
        str(
            specimen.write(
                folder / name,
                specimen.launched_records(
                    10, operations=[ODD], sizes_bytes=[8], slowdown=slowdown, context=context
                ),
            )
        )
        for name, slowdown, context in (("a", 1.0, {}), ("b", 2.0, {"placement": placement}))
    ]


@pytest.mark.parametrize("options", [[], ["--gate", "5%"]], ids=["ratios", "gate"])
def test_names_of_a_file_do_not_move_the_cursor(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["compare", *odd_files(tmp_path), *options])

    said = capsys.readouterr()
    assert "my|op \N{REPLACEMENT CHARACTER}[2J<img src=x>" in said.out
    assert "\x1b" not in said.out + said.err


def test_names_of_a_file_are_text_in_junit_and_markdown(tmp_path: Path) -> None:
    junit, markdown = tmp_path / "gate.xml", tmp_path / "gate.md"
    words = ["--gate", "5%", "--junit", str(junit), "--markdown", str(markdown)]

    assert run(["compare", *odd_files(tmp_path), *words]) == 1

    (case,) = ElementTree.parse(junit).getroot()[0]
    assert case.get("name") == ODD.replace("\x1b", "\N{REPLACEMENT CHARACTER}")
    rows = [line for line in markdown.read_text().splitlines() if line.startswith("|")]
    shown = ODD.replace("\x1b", "\N{REPLACEMENT CHARACTER}").replace("\n", " ")
    name = shown.replace("|", r"\|")
    assert [row.partition(" | ")[0] for row in rows[2:]] == [
        f"| `` {name} ``",
        f"| `` {name} 8 B ``",
    ]
    assert f"`` {shown} 8 B `` +" in markdown.read_text()
    assert "<sub>`` Hosts differ: node1 and my|op" in markdown.read_text()


@pytest.mark.parametrize("option", ["--junit", "--markdown"])
def test_a_verdict_is_written_to_a_file_that_is_called_a_hyphen_only_by_its_path(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = launched(tmp_path / "a.jsonl", 1), launched(tmp_path / "b.jsonl", 2)
    monkeypatch.chdir(tmp_path)

    assert run(["compare", *files, "--gate", "5%", option, "-"]) == 2

    assert f"{option} - is not a file name" in capsys.readouterr().err
    assert not (tmp_path / "-").exists()
    assert run(["compare", *files, "--gate", "5%", option, "./-"]) == 0
    assert (tmp_path / "-").exists()


@pytest.mark.parametrize("option", ["--junit", "--markdown"])
def test_a_verdict_whose_file_would_not_be_compressed_is_refused(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = launched(tmp_path / "a.jsonl", 1), launched(tmp_path / "b.jsonl", 2)

    assert run(["compare", *files, "--gate", "5%", option, str(tmp_path / "gate.xml.gz")]) == 2

    assert "gate.xml.gz would not be compressed; name a file without .gz" in capsys.readouterr().err


def test_the_gate_refuses_one_file_for_both_sides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = launched(tmp_path / "a.jsonl", 1)
    (tmp_path / "link.jsonl").symlink_to(file)

    assert run(["compare", file, str(tmp_path / "link.jsonl"), "--gate", "5%"]) == 2

    assert "link.jsonl is both A and B, so the gate would always pass" in capsys.readouterr().err


@pytest.mark.parametrize("options", [[], ["--gate", "5%"]], ids=["ratios", "gate"])
@pytest.mark.parametrize("first", [True, False], ids=["A", "B"])
def test_a_file_without_points_is_refused_by_what_it_is_of(
    first: bool, options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    polling = {
        "record": "polling", "message_bytes": 8, "interval_s": 1e-5, "depth": 4,
        "availability": [0.5], "rate_bytes_per_s": [3e9],
    }  # fmt: skip
    path = specimen.write(tmp_path / "polling.jsonl", [specimen.context_record(), polling])
    files = [str(path), launched(tmp_path / "a.jsonl", 1)]

    assert run(["compare", *(files if first else files[::-1]), *options]) == 2

    assert "polling.jsonl is of polling or post-work-wait" in capsys.readouterr().err


def test_ranks_that_no_file_names_are_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "osu.txt"
    text.write_text("# OSU MPI Broadcast Latency Test v7.4\n# Size       Avg Latency(us)\n8 2.0\n")

    assert run(["compare", str(text), str(text)]) == 0

    assert capsys.readouterr().out.startswith("# bcast, unknown ranks (1 launch)\n")


def test_options_of_the_gate_need_the_gate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = launched(tmp_path / "a.jsonl", 1), launched(tmp_path / "b.jsonl", 2)

    assert run(["compare", *files, "--junit", "gate.xml"]) == 2

    assert "--junit is about the gate; add --gate 5%" in capsys.readouterr().err


def test_import_does_not_write_over_the_text_that_it_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "imb.txt"
    text.write_bytes(IMB.read_bytes())

    assert run(["import", str(text), "-o", str(text)]) == 2

    assert capsys.readouterr().err == (
        f"lanewise import: -o {text} is another file of this command; name one that is not\n"
    )
    assert text.read_bytes() == IMB.read_bytes()


def test_a_confidence_beside_the_gate_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = launched(tmp_path / "a.jsonl", 1), launched(tmp_path / "b.jsonl", 2)

    assert run(["compare", *files, "--gate", "5%", "--confidence", "99%"]) == 2

    assert "--confidence is about intervals" in capsys.readouterr().err


def test_import_does_not_write_a_file_that_is_called_a_hyphen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run(["import", str(IMB), "-o", "-"]) == 2

    assert "write -o ./-" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
