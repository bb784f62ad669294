# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise tune` and `lanewise model guidelines` for real, on a few small messages."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from lanewise.cli import proving, run
from lanewise.launch.choose import choose
from lanewise.launch.native import MANIFEST, MEASURE, NATIVE, TUNE
from lanewise.launch.tuned import build_of
from lanewise.tuning.content import Choice
from lanewise.tuning.decide import decide
from lanewise.tuning.emitters import emitter_named
from lanewise.tuning.read import load, load_all
from lanewise.tuning.specimen import ours, own, tuning
from lanewise.tuning.write import save
from processes import started

Lanewise = Callable[..., "subprocess.CompletedProcess[str]"]

ROOT = Path(__file__).parents[2]
QUICK = ("-n", 2, "--repetitions", "10:40", "--launches", 2, "-o", "t.json")


def test_tuning_writes_the_evidence_and_the_rules_that_follow_from_it(
    lanewise: Lanewise, launcher: str, tmp_path: Path
) -> None:
    launches = ("--launches", 1) if launcher == "smpi" else ()
    line = ("tune", "scatter", "barrier", "--sizes", "8,1K", "--launcher", launcher, *QUICK)
    done = lanewise(*line, *launches)

    assert done.returncode == 0, done.stderr
    path = tmp_path / "t.json"
    schema = json.loads((ROOT / "schema/tuning.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(path.read_text(encoding="utf-8")), schema)
    found = load(path)
    assert (found.mpi_family, found.hosts) == (launcher, (0, 0) if launcher != "smpi" else (0, 1))
    assert found.launches in (0, 1 if launcher == "smpi" else 2)
    assert list(found.collectives) == ["barrier", "scatter"]
    sizes = [point.message_bytes for point in found.collectives["scatter"].points]
    assert sizes == [8, 1024]
    for name, content in found.collectives.items():
        assert decide(name, content.points, found.margin) == content
        origins = {c.choice.origin for point in content.points for c in point.candidates}
        assert origins == ({"lanewise"} if launcher == "smpi" else {"lanewise", "mpi"})
    assert [left.name for left in tmp_path.iterdir()] == ["t.json"]


@pytest.mark.one_mpi
def test_programs_in_a_folder_that_ld_preload_cuts_are_refused_before_a_rank_is_started(
    lanewise: Lanewise, real_mpi: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = build_of(real_mpi, os.environ)
    folder = tmp_path / "my programs"
    (folder / "bin").mkdir(parents=True)
    shutil.copy(build.folder / MANIFEST, folder)
    shutil.copy(build.program(NATIVE), folder / "bin")
    for name in (MEASURE, TUNE):
        (folder / "bin" / name).symlink_to(NATIVE)
    monkeypatch.setenv("LANEWISE_NATIVE", str(folder))

    done = lanewise("tune", "bcast", "--launcher", real_mpi, *QUICK)

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert f"{folder}/lib/liblanewise_tuned.so cannot be preloaded: LD_PRELOAD" in done.stderr


@pytest.mark.one_mpi
def test_in_one_order_only_algorithms_that_have_it_are_compared(
    lanewise: Lanewise, real_mpi: str, tmp_path: Path
) -> None:
    words = ("allreduce", "--same-bits", "order", "--sizes", "8", "--launcher", real_mpi, *QUICK)
    done = lanewise("tune", *words)

    assert done.returncode == 0, done.stderr
    found = load(tmp_path / "t.json")
    assert found.same_bits == "order"
    names = {c.choice.algorithm for c in found.collectives["allreduce"].points[0].candidates}
    # What run --same-bits takes by itself is what they are compared with.
    assert names == {"binomial", "direct", "linear_nb", "rabenseifner"}
    # A program that is over at once can end the mpirun of MPICH by SIGPIPE.
    launch = (f"mpirun.{real_mpi}", "-n", "2", "sleep", "0.1")
    run_line = ("--tuning", "t.json", "--strict", "--", *launch)
    refused = lanewise("run", "--mpi", real_mpi, *run_line)
    assert refused.returncode == 2
    assert "chooses among algorithms of one order; add --same-bits order" in refused.stderr
    assert lanewise("run", "--same-bits", "order", "--mpi", real_mpi, *run_line).returncode == 0


@pytest.mark.one_mpi
def test_only_reductions_have_an_order(lanewise: Lanewise, real_mpi: str) -> None:
    done = lanewise("tune", "bcast", "--same-bits", "order", "--launcher", real_mpi, *QUICK)

    assert done.returncode == 2
    assert done.stderr.endswith("bcast adds nothing; --same-bits order is for reductions\n")


@pytest.mark.one_mpi
def test_ranks_that_are_no_power_of_two_survive_all_algorithms_of_the_mpi(
    lanewise: Lanewise, real_mpi: str, tmp_path: Path
) -> None:
    done = lanewise(
        "tune", "reduce_scatter", "-n", 3, "--sizes", "64", "--launcher", real_mpi,
        "--budget", "20s", "--launches", 1, "-o", "t.json",
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    (point,) = load(tmp_path / "t.json").collectives["reduce_scatter"].points
    assert "mpi" in {one.choice.origin for one in point.candidates}


def test_nonblocking_collectives_have_evidence_of_their_own(
    lanewise: Lanewise, real_mpi: str, tmp_path: Path
) -> None:
    done = lanewise("tune", "iscatter", "--sizes", "8,1K", "--launcher", real_mpi, *QUICK)

    assert done.returncode == 0, done.stderr
    found = load(tmp_path / "t.json")
    points = found.collectives["iscatter"].points
    assert [point.message_bytes for point in points] == [8, 1024]
    choices = {c.choice for point in points for c in point.candidates}
    assert {choice.origin for choice in choices} == {"lanewise"}
    assert "linear_nb" in {choice.algorithm for choice in choices}
    emitted = lanewise("tune", "export", "t.json", "--for", real_mpi)
    assert emitted.returncode == 0, emitted.stderr
    assert "iscatter" not in emitted.stdout.lower()


@pytest.mark.one_mpi
def test_an_interrupted_tuning_goes_on_where_it_was(
    lanewise: Lanewise, real_mpi: str, tmp_path: Path
) -> None:
    line = ["tune", "allgather", "--sizes", "1:4K:x2", "--launcher", real_mpi, *map(str, QUICK)]
    words = [sys.executable, "-m", "lanewise", *line]
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    with started(words, cwd=tmp_path, stderr=pipe, stdout=null) as tuning:
        assert tuning.stderr is not None
        first = tuning.stderr.readline()

        tuning.send_signal(signal.SIGINT)
        rest = tuning.communicate(timeout=60)[1]
    kept = [found.name for found in tmp_path.iterdir()]
    done = lanewise(*line, "--resume")

    assert first.startswith("1/13 allgather 1 B")
    assert tuning.returncode == 130
    assert rest.splitlines()[-1].endswith("the same command with --resume continues")
    assert kept == ["t.json.evidence"]
    assert done.returncode == 0, done.stderr
    assert not done.stderr.startswith("1/13")
    assert len(load(tmp_path / "t.json").collectives["allgather"].points) == 13
    assert [left.name for left in tmp_path.iterdir()] == ["t.json"]


def test_a_budget_ends_a_tuning_with_what_was_measured(lanewise: Lanewise, tmp_path: Path) -> None:
    line = ("tune", "bcast", "--sizes", "1:1M:x2", "-n", 2, "--launcher", "openmpi", "-o", "t.json")

    done = lanewise(*line, "--budget", "0.05s")
    if done.returncode == 2:  # where processors are so slow that no size fits
        done = lanewise(*line, "--budget", done.stderr.split("--budget ")[1].split()[0])
    cut_short = load(tmp_path / "t.json").collectives["bcast"]
    before, left = len(cut_short.points), len(cut_short.unmeasured_bytes)
    kept = (tmp_path / "t.json.evidence").exists()
    more = lanewise(*line, "--budget", "5s", "--resume")

    assert done.returncode == more.returncode == 0, done.stderr + more.stderr
    assert "the budget is used up after" in done.stderr
    assert 0 < before < 21
    assert before + left == 21
    assert len(load(tmp_path / "t.json").collectives["bcast"].points) > before
    assert kept, "what was measured is there for --resume"


def test_what_was_measured_elsewhere_or_over_another_network_is_not_gone_on_with(
    lanewise: Lanewise, tmp_path: Path
) -> None:
    line = ["tune", "bcast", "--sizes", "1:1M:x2", "-n", 2, "-o", "t.json", "--resume"]
    evidence = tmp_path / "t.json.evidence"
    begun = [*line[:-1], "--launcher", "openmpi", "--budget"]
    done = lanewise(*begun, "0.05s")
    if done.returncode == 2:  # where processors are so slow that no size fits
        lanewise(*begun, done.stderr.split("--budget ")[1].split()[0])
    assert evidence.exists()
    context, rest = evidence.read_text().split("\n", 1)

    over_tcp = lanewise(*line, "--transport", "openmpi-tcp")
    told = json.loads(context)
    told["placement"][1]["host"] = "another"
    evidence.write_text(json.dumps(told) + "\n" + rest)
    elsewhere = lanewise(*line, "--launcher", "openmpi")
    told = {**json.loads(context), "processor": "Ancient Processor"}
    evidence.write_text(json.dumps(told) + "\n" + rest)
    on_another = lanewise(*line, "--launcher", "openmpi")

    assert "was measured with another --transport; name another file" in over_tcp.stderr
    assert "with its ranks on other hosts ([0, 1] by rank, now [0, 0]); name" in elsewhere.stderr
    assert 'on another machine, with processor "Ancient Processor", not "' in on_another.stderr
    assert over_tcp.returncode == elsewhere.returncode == on_another.returncode == 2


def test_a_simulated_tuning_goes_on_on_another_machine(
    lanewise: Lanewise, smpi: str, tmp_path: Path
) -> None:
    line = ["tune", "scatter", "--sizes", "8,1K", "--launcher", smpi, *QUICK, "--launches", 1]
    evidence = tmp_path / "t.json.evidence"
    told = lanewise(*line, "--budget", "0.1s").stderr
    if not evidence.exists():
        lanewise(*line, "--budget", told.split("--budget ")[1].split()[0])
    context, rest = evidence.read_text().split("\n", 1)
    elsewhere = {**json.loads(context), "processor": "Ancient Processor", "cores": 1000}
    evidence.write_text(json.dumps(elsewhere) + "\n" + rest)

    done = lanewise(*line, "--resume")

    assert done.returncode == 0, done.stderr
    assert len(load(tmp_path / "t.json").collectives["scatter"].points) == 2


def test_a_budget_too_small_for_one_launch_is_refused_with_one_that_is_not(
    lanewise: Lanewise, tmp_path: Path
) -> None:
    line = ("tune", "bcast", "--sizes", "64M", "-n", 2, "--launcher", "openmpi", "-o", "t.json")

    done = lanewise(*line, "--budget", "1s")

    assert done.returncode == 2
    assert done.stderr.startswith("lanewise tune: a budget of 1s is too small for one launch: ")
    assert "name --budget " in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_rules_are_judged_in_launches_that_did_not_choose_them(
    lanewise: Lanewise, tmp_path: Path
) -> None:
    line = ("tune", "bcast", "allreduce", "--sizes", "64,16K", *QUICK)
    done = lanewise(*line, "--launches", 5)

    assert done.returncode == 0, done.stderr
    found = load(tmp_path / "t.json")
    assert found.launches == 5
    judged = [
        point.judgement
        for content in found.collectives.values()
        for point in content.points
        if point.judgement
    ]
    assert judged
    for one in judged:
        assert one.roots in ((1, 0, 1, 0, 1), (0, 0, 0, 0, 0))
        assert len(one.default_s) == 5
        assert all(len(candidate.times_s) == 5 for candidate in one.candidates)
    assert ", launch 5 of 5 (" in done.stderr


def test_files_of_several_layouts_are_merged(lanewise: Lanewise, tmp_path: Path) -> None:
    for ranks in (2, 4):
        save(tuning({"bcast": {8: [ours("ring")]}}, ranks=ranks), tmp_path / f"{ranks}.json")

    done = lanewise("tune", "--merge", "4.json", "2.json", "-o", "both.json")
    again = lanewise("tune", "--merge", "4.json", "2.json", "-o", "both.json")
    exported = lanewise("tune", "export", "both.json", "--for", "openmpi")

    assert done.returncode == 0, done.stderr
    assert done.stderr == (
        "1 rule for 2 ranks on one host in both.json\n1 rule for 4 ranks on one host in both.json\n"
    )
    assert [one.ranks for one in load_all(tmp_path / "both.json")] == [2, 4]
    assert (again.returncode, again.stderr.count("both.json exists")) == (2, 1)
    assert (exported.returncode, exported.stderr.count("several layouts")) == (2, 1)


def test_rules_for_open_mpi_6_that_need_operators_that_commute_are_written_with_a_warning(
    lanewise: Lanewise, tmp_path: Path
) -> None:
    save(tuning({"allreduce": {4096: [own("ring")]}}), tmp_path / "t.json")
    line = ("tune", "export", "t.json", "--for", "openmpi6", "--commutative-only")

    done = lanewise(*line)

    assert list(json.loads(done.stdout)["collectives"]) == ["allreduce"]
    assert done.stderr == (
        "lanewise tune: wrong results in allreduce with operators that do not commute\n"
    )


def test_a_complete_tuning_has_nothing_to_resume(lanewise: Lanewise, tmp_path: Path) -> None:
    save(tuning({}), tmp_path / "t.json")

    done = lanewise("tune", "scatter", "-o", "t.json", "--resume")

    assert done.returncode == 2
    assert "t.json is complete" in done.stderr


def test_only_the_algorithms_that_are_named_are_compared(
    lanewise: Lanewise, tmp_path: Path
) -> None:
    done = lanewise("tune", "bcast", "--sizes", "1K", "--algorithm", "binomial,linear", *QUICK)

    assert done.returncode == 0, done.stderr
    point = load(tmp_path / "t.json").collectives["bcast"].points[0]
    assert {one.choice.algorithm for one in point.candidates} == {"binomial", "linear"}


def test_an_algorithm_that_no_candidate_has_is_refused_with_those_there_are(
    lanewise: Lanewise, tmp_path: Path
) -> None:
    done = lanewise("tune", "bcast", "--sizes", "1K", "--algorithm", "binominal", *QUICK)

    assert done.returncode == 2
    assert 'no candidate is called "binominal"; use one of ' in done.stderr
    assert "binomial" in done.stderr
    assert list(tmp_path.iterdir()) == []


REFUSED = [
    (["scater", "-o", "t.json"], ["scater", "did you mean scatter?"]),
    (["pingpong", "-o", "t.json"], ["pingpong"]),
    (["neighbor_alltoall", "-o", "t.json"], ["neighbor_alltoall", "topology", "docs/tune.md"]),
    (["scatter", "scatter", "-o", "t.json"], ["scatter", "twice"]),
    (["scatter"], ["-o tuning.json"]),
    (["scatter", "-o", "none/t.json"], ["none"]),
    (["scatter", "-o", "/"], ["/", "folder"]),
    (["scatter", "-o", "t.json", "--budget", "soon"], ['--budget "soon"', "10s"]),
    (["scatter", "-o", "t.json", "--budget", "0s"], ["--budget 0s"]),
    (["scatter", "-o", "t.json", "--margin", "3"], ["margin 3"]),
    (["scatter", "-o", "t.json", "--launches", "0"], ["--launches 0"]),
    (["--merge", "there.json"], ["-o tuning.json"]),
    (["--merge", "-o", "t.json"], ["no tuning files"]),
    (["--merge", "none.json", "-o", "t.json"], ["none.json", "does not exist"]),
    (["scatter", "-o", "t.json", "--confidence", "95"], ["confidence", "95"]),
    (["scatter", "-o", "t.json", "--repetitions", "9:5"], ["repetitions", "9:5", "10:1000"]),
    (["scatter", "-o", "t.json", "--sizes", "8,eight"], ["eight"]),
    (["reduce", "-o", "t.json", "--sizes", "1,2"], ["reduce", "multiple of 4"]),
    (["scatter", "-o", "t.json", "--platform", "none.json"], ["none.json"]),
    (["scatter", "-o", "t.json", "--emit", "opnmpi"], ["opnmpi", "openmpi"]),
    (["scatter", "-o", "t.json", "--emit-to", "x"], ["--emit-to", "--emit openmpi"]),
    (["none.json", "--emit", "openmpi"], ["none.json", "does not exist"]),
    (["there.json"], ["lanewise tune export there.json --for openmpi"]),
    (["there.json", "--emit", "mpich"], ["openmpi, not mpich"]),
    (["there.json", "--emit", "openmpi", "-o", "there.json"], ["there.json exists"]),
    (["scatter", "-o", "there.json"], ["there.json exists", "--resume"]),
]


@pytest.mark.parametrize(("arguments", "named"), REFUSED, ids=" ".join)
def test_bad_input_is_one_line_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    arguments: list[str], named: list[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    save(tuning({}), tmp_path / "there.json")

    status = run(["tune", "-n", "2", "--launcher", "openmpi", *arguments])

    said = capsys.readouterr()
    assert status == 2
    assert said.out == ""
    assert said.err.startswith("lanewise tune: ")
    assert said.err.count("\n") == 1
    assert all(word in said.err for word in named), said.err
    assert [left.name for left in tmp_path.iterdir()] == ["there.json"]


def test_rules_are_emitted_without_measuring(lanewise: Lanewise, tmp_path: Path) -> None:
    one = tuning({"bcast": {8: [own("chain")]}, "scatter": {8: [own("linear_nb")], 64: []}})
    save(one, tmp_path / "t.json")

    shown = lanewise("tune", "t.json", "--emit", "openmpi")
    written = lanewise("tune", "export", "t.json", "--for", "openmpi", "-o", "rules.conf")

    assert shown.returncode == written.returncode == 0, shown.stderr + written.stderr
    assert shown.stdout == (tmp_path / "rules.conf").read_text(encoding="utf-8")
    assert "8 2 4 0" in shown.stdout.splitlines()
    assert "left out: scatter" in shown.stderr


PROVED: dict[str, dict[str, dict[int, list[Choice]]]] = {
    "openmpi": {
        "bcast": {64: [own("chain", 8192)], 128: [own("chain", 8192)]},
        "allgather": {16: [own("ring")]},
        "scatter": {8: [own("linear_nb")]},
        "allreduce": {64: [own("rabenseifner")], 4096: []},
        "scan": {8: [own("recursive_doubling")], 4096: [own("recursive_doubling")]},
        "exscan": {8: [own("recursive_doubling")], 4096: [own("recursive_doubling")]},
        "alltoallv": {8: [own("pairwise")], 4096: [own("pairwise")]},
    },
    "mpich": {
        "scatter": {8: [own("nb")]},
        "bcast": {8: [own("scatter_ring_allgather")]},
        "reduce": {8: [own("reduce_scatter_gather")]},
        "allreduce": {8: [own("reduce_scatter_allgather")]},
        "reduce_scatter": {8: [own("recursive_halving")]},
    },
}


def test_the_emitted_file_is_obeyed(lanewise: Lanewise, real_mpi: str, tmp_path: Path) -> None:
    save(tuning(PROVED[real_mpi], real_mpi, ranks=2), tmp_path / "t.json")

    done = lanewise("tune", "export", "t.json", "--for", real_mpi, "-o", "rules.conf", "--verify")

    assert done.returncode == 0, done.stderr
    assert "the MPI follows the file" in done.stderr


def test_a_file_that_is_not_obeyed_is_found_out(
    lanewise: Lanewise, real_mpi: str, tmp_path: Path
) -> None:
    save(tuning({"bcast": {8: [own("nonesuch")]}}, real_mpi, ranks=2), tmp_path / "t.json")

    done = lanewise("tune", "export", "t.json", "--for", real_mpi, "-o", "rules.conf", "--verify")

    if real_mpi == "openmpi":
        assert done.returncode == 0, done.stderr
        assert "left out: bcast: an algorithm whose number is not known" in done.stderr
        assert "the file has no rules, so there is nothing to verify" in done.stderr
    else:
        assert done.returncode == 1
        assert "the MPI does not follow the file: bcast:8:2 did not come to an end" in done.stderr


def test_a_file_that_takes_operands_out_of_order_is_found_out() -> None:
    rules = {"allreduce": {64: [own("ring")]}, "reduce": {64: [own("binomial")]}}
    one = tuning({**rules, "reduce_scatter": {64: [own("ring")]}}, ranks=4)
    choice, text = choose("openmpi", os.environ), emitter_named("openmpi").emit(one).text

    _, unnoticed = proving.prove_openmpi(choice, one, text, ["--sparse"])
    _, faults = proving.prove_openmpi(choice, one, text, ["--sparse", "--ordered"])

    assert unnoticed == []
    assert faults == [
        f"{name}:64:4 was wrong with an operator that does not commute"
        for name in ("allreduce", "reduce", "reduce_scatter")
    ]


@pytest.mark.thorough
def test_a_file_that_hangs_programs_is_found_out(
    lanewise: Lanewise, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = tuning({"scatter": {64: [own("binomial")]}}, ranks=4)
    by_size = "1\n15\n1\n4\n2\n0 1 0 0\n256 2 0 0\n"
    monkeypatch.setattr(proving, "TIMEOUT_S", 15.0)

    _, faults = proving.prove_openmpi(choose("openmpi", os.environ), one, by_size, ["--sparse"])

    assert any("scatter:1024:4 did not come to an end" in fault for fault in faults)


@pytest.mark.one_mpi
def test_checking_reports_each_guideline(lanewise: Lanewise, real_mpi: str) -> None:
    done = lanewise(
        "model", "guidelines", "bcast", "gather", "-n", 2, "--sizes", "8,1K",
        "--repetitions", "10:20",
        "--launcher", real_mpi, "--json",
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["mpi"]["family"] == real_mpi
    kinds = {(one["collective"], one["kind"]) for one in found["guidelines"]}
    assert kinds == {(c, k) for c in ("bcast", "gather") for k in ("mock-up", "monotony", "split")}
    assert found["broken"] == sum(one["broken"] for one in found["guidelines"])
    assert found["complete"] is True


@pytest.mark.parametrize("option", ["--strict", "--fail-on-violation"])
def test_a_strict_check_fails_only_where_a_guideline_is_broken(
    option: str, lanewise: Lanewise
) -> None:
    done = lanewise(
        "model", "guidelines", "scatter", "-n", 2, "--sizes", "8", "--repetitions", "10:20",
        "--launcher", "openmpi", option,
    )  # fmt: skip

    lines = done.stderr.splitlines()
    assert done.returncode == (0 if "0 of 3 guidelines are broken" in lines else 1)


def test_a_strict_check_fails_where_the_budget_was_too_short_for_all_guidelines(
    lanewise: Lanewise,
) -> None:
    line = ("model", "guidelines", "bcast", "allgather", "-n", 2, "--sizes", "1:64K:x2",
            "--launcher", "openmpi", "--strict", "--budget", "0.05s")  # fmt: skip

    shown, as_json = lanewise(*line), lanewise(*line, "--json")

    assert shown.returncode == as_json.returncode == 1, shown.stderr
    assert "more were not checked" in shown.stderr
    assert json.loads(as_json.stdout)["complete"] is False


def test_checking_refuses_what_it_cannot_check(lanewise: Lanewise) -> None:
    done = lanewise("model", "guidelines", "barrier", "-n", 2, "--launcher", "openmpi")

    assert done.returncode == 2
    assert "no guideline concerns these collectives" in done.stderr
