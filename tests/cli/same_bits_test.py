# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise run --same-bits`: reductions of unmodified programs, in one order or exact."""

from __future__ import annotations

import functools
import json
import math
import operator
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import pytest
from conftest import Lanewise
from run_safety_test import unloading
from tuned_job import (
    EVERY_SIZE,
    TIMEOUT_S,
    Compile,
    Run,
    counted,
    is_version,
    launch_line,
    library_of,
    skip_unless_it_spawns,
    tuning,
)

from processes import run_to_end

CELLS = 12
COUNT = 6000
REQUESTED = (
    "iallreduce",
    "ireduce",
    "ireduce_scatter_block",
    "ireduce_scatter",
    "persistent_allreduce",
    "persistent_reduce",
    "persistent_reduce_scatter",
)

# Asked for requests, the program also splits its ranks in every way, so it tries each number of
# ranks up to its own.
ONE_ORDER = "one_order.c -ffp-contract=off -lm"
RANDOM = "random_reductions.c -ffp-contract=off -lm -lpthread"
MORE = bool(os.environ.get("LANEWISE_TEST_SAME_BITS"))
RANKS_AND_WORD = ((8, "requests"), (16, "whole")) if MORE else ((5, "requests"),)
LONG_S = 900 if MORE else TIMEOUT_S
PERSISTENT_RANKS = (2, 3, 4, 5, 8, 16) if MORE else (3, 5)
# Seeds, and the numbers of ranks that they are tried on.
SEEDS = range(1, 13) if MORE else (1, 2, 3)
RANDOM_RANKS = range(1, 11) if MORE else (4,)
# The table of docs/same-bits.md.
IN_ONE_ORDER = {
    "reduce": ["binomial", "direct", "rabenseifner", "linear_nb"],
    "allreduce": ["binomial", "direct", "rabenseifner", "recursive_doubling", "linear_nb"],
    "reduce_scatter": ["binomial", "direct"],
    "scan": ["direct"],
    "exscan": ["direct"],
}
RULED_TURNS = range(5) if MORE else (1,)


def number(cell: int, element: int) -> float:
    """Return what same_bits.c gives as the number of a cell."""
    bits = cell * 2654435761 + element * 40503 + 12345
    bits = ((bits * 6364136223846793005 + 1442695040888963407) % 2**64) >> 20
    return math.ldexp(bits % 33554432 - 16777216, (cell // 2 * 37 + element) % 90 - 45)


EXACT = [math.fsum(number(cell, element) for cell in range(CELLS)) for element in range(COUNT)]


def printed(line: list[str], *options: str) -> tuple[dict[str, list[float]], str]:
    """Return the sums that the program prints, by operation, and what stands on standard error."""
    command = [sys.executable, "-m", "lanewise", "run", *options, "--", *line] if options else line
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=TIMEOUT_S, env=os.environ
    )
    sums: dict[str, list[float]] = {}
    for text in done.stdout.splitlines():
        words = text.split()
        if len(words) == 3:
            sums.setdefault(words[0], []).append(float.fromhex(words[2]))
    assert "zero 1" in done.stdout
    return sums, done.stderr


def assert_all_are(expected: list[float], sums: dict[str, list[float]]) -> None:
    """Assert that each operation printed the first of the expected numbers."""
    assert {"allreduce", "pieces", "reduce", "reduce_scatter", "reduce_scatter_block"} <= set(sums)
    for operation, printed_sums in sums.items():
        assert printed_sums == expected[: len(printed_sums)], operation


def balanced(parts: list[float]) -> float:
    """Add the parts of ranks as src/collectives/bracketing.hpp says."""
    pairs = len(parts) - 2 ** (len(parts).bit_length() - 1)
    while len(parts) > 1:
        sums = [parts[2 * i] + parts[2 * i + 1] for i in range(pairs)]
        parts = sums + parts[2 * pairs :]
        pairs = len(parts) // 2
    return parts[0]


# The program's numbers are exact on 6 and on 12 ranks.
@pytest.mark.parametrize("ranks", [6, pytest.param(12, marks=pytest.mark.thorough)])
@pytest.mark.one_mpi
def test_sums_are_the_numbers_nearest_to_the_exact_ones(
    mpi: str, ranks: int, compiled: Compile
) -> None:
    program = [str(compiled(mpi, "mpicc", "same_bits.c -lm")), "nonblocking"]

    sums, complaints = printed([*launch_line(mpi, ranks), *program], "--same-bits", "ranks")

    assert complaints == ""
    assert_all_are(EXACT, sums)
    assert set(REQUESTED) <= set(sums)


@pytest.mark.one_mpi
def test_products_are_the_numbers_nearest_to_the_exact_ones(mpi: str, compiled: Compile) -> None:
    ranks = {"openmpi": 6, "mpich": 12}[mpi]
    program = [str(compiled(mpi, "mpicc", "same_bits.c -lm")), "product"]
    exact = [
        float(math.prod(Fraction(number(cell, element)) for cell in range(CELLS)))
        for element in range(COUNT)
    ]

    products, complaints = printed([*launch_line(mpi, ranks), *program], "--same-bits", "ranks")

    assert complaints == ""
    assert_all_are(exact, products)


def in_order(numbers: Iterable[float]) -> float:
    """Add the numbers one after the other; since Python 3.12 sum() makes up for what they lose."""
    return functools.reduce(operator.add, numbers, 0.0)


def added_in_balance(ranks: int) -> list[float]:
    """Return what --same-bits order makes of the numbers."""
    own = CELLS // ranks
    parts = [
        [in_order(number(rank * own + c, element) for c in range(own)) for rank in range(ranks)]
        for element in range(COUNT)
    ]
    return [balanced(row) for row in parts]


@pytest.mark.parametrize("ranks", [3, pytest.param(6, marks=pytest.mark.thorough)])
def test_contributions_are_added_in_one_bracketing_whatever_is_called(
    mpi: str, ranks: int, compiled: Compile
) -> None:
    program = [str(compiled(mpi, "mpicc", "same_bits.c -lm")), "nonblocking"]

    sums, complaints = printed([*launch_line(mpi, ranks), *program], "--same-bits", "order")

    assert complaints == ""
    assert_all_are(added_in_balance(ranks), sums)
    assert set(REQUESTED) <= set(sums)


@pytest.mark.one_mpi
def test_the_last_rank_of_a_scan_has_the_bits_of_the_allreduce(mpi: str, compiled: Compile) -> None:
    program = [str(compiled(mpi, "mpicc", "same_bits.c -lm")), "scan"]

    sums, complaints = printed([*launch_line(mpi, 6), *program], "--same-bits", "order")

    assert complaints == ""
    assert sums["scan"] == added_in_balance(6)


@pytest.mark.one_mpi
def test_without_it_sums_are_others(mpi: str, compiled: Compile) -> None:
    program = str(compiled(mpi, "mpicc", "same_bits.c -lm"))

    sums, _ = printed([*launch_line(mpi, 6), program])

    assert sums["allreduce"] != EXACT


@pytest.mark.parametrize("options", [[], ["--interleaved", "1"]])
@pytest.mark.one_mpi
def test_a_tuning_file_that_cannot_be_used_takes_only_its_rules_away(
    mpi: str, options: list[str], compiled: Compile, tmp_path: Path
) -> None:
    program = str(compiled(mpi, "mpicc", "same_bits.c -lm"))
    damaged = tmp_path / "tuning.json"
    damaged.write_text("{", encoding="utf-8")

    sums, complaints = printed(
        [*launch_line(mpi, 6), program],
        *("--same-bits", "ranks", "--tuning", str(damaged), *options),
    )

    assert sums["allreduce"][-COUNT:] == EXACT
    assert complaints.count("\n") == 1
    assert complaints.endswith("; no rule is followed\n")


def by_hand(mpi: str, program: Path, **variables: str) -> list[str]:
    """Return a line for two ranks with the variables that docs/run.md has for `lanewise run`."""
    told = {"LD_PRELOAD": str(library_of(mpi)), "LANEWISE_EVERY_RANK": "1", **variables}
    words = [f"{name}={value}" for name, value in told.items()]
    return [*launch_line(mpi, 2), "env", *words, str(program)]


@pytest.mark.one_mpi
def test_the_variable_alone_gives_the_sums_of_the_option(
    mpi: str, compiled: Compile, tmp_path: Path
) -> None:
    program = compiled(mpi, "mpicc", "same_bits.c -lm")
    asked, _ = printed([*launch_line(mpi, 2), str(program)], "--same-bits", "ranks")
    report = str(tmp_path / "report.json")

    line = by_hand(mpi, program, LANEWISE_SAME_BITS="ranks", LANEWISE_REPORT=report)
    sums, complaints = printed(line)

    assert (sums, complaints) == (asked, "")
    assert counted(tmp_path, "intercepted")["allreduce"] > 0


@pytest.mark.one_mpi
def test_another_word_in_the_variable_is_told_and_ends_a_strict_program(
    mpi: str, compiled: Compile
) -> None:
    program = compiled(mpi, "mpicc", "same_bits.c -lm")
    sentence = "LANEWISE_SAME_BITS=rank: use order or ranks"

    done = run_to_end(by_hand(mpi, program, LANEWISE_SAME_BITS="rank"), TIMEOUT_S)
    line = by_hand(mpi, program, LANEWISE_SAME_BITS="rank", LANEWISE_STRICT="1")
    strict = run_to_end(line, TIMEOUT_S)

    assert (done.returncode, done.stderr) == (0, f"lanewise: {sentence}\n")
    assert strict.returncode != 0
    assert sentence in strict.stderr


@pytest.mark.one_mpi
def test_a_strict_program_says_why_it_ends_although_its_other_ranks_are_earlier(
    mpi: str, compiled: Compile
) -> None:
    program = compiled(mpi, "mpicc", "same_bits.c -lm")
    line = by_hand(mpi, program, LANEWISE_SAME_BITS="rank", LANEWISE_STRICT="1")
    late = '[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 0 ] || sleep 1; exec "$@"'
    start = line.index("env")

    strict = run_to_end([*line[:start], "sh", "-c", late, "sh", *line[start:]], TIMEOUT_S)

    assert strict.returncode != 0
    assert "LANEWISE_SAME_BITS=rank: use order or ranks" in strict.stderr


@pytest.mark.parametrize("options", [[], ["--interleaved", "1"]])
@pytest.mark.one_mpi
def test_where_a_rank_lacks_the_library_sums_are_the_mpis_and_the_command_fails(
    mpi: str, options: list[str], compiled: Compile, lanewise: Lanewise, tmp_path: Path
) -> None:
    program = compiled(mpi, "mpicc", "same_bits.c -lm")
    line = [*launch_line(mpi, 2), program, ":", "-n", "1", unloading(tmp_path), program]

    done = lanewise("run", "--same-bits", "ranks", *options, "--", *line)

    assert done.returncode == 1
    assert "tuned/plain" not in done.stdout
    rank, command = done.stderr.splitlines()
    assert "the MPI's own algorithms are used" in rank
    assert command.startswith("lanewise run: not every rank has reported that it has loaded ")
    assert "--same-bits was not in force" in command


@pytest.mark.one_mpi
def test_where_no_rank_has_reported_a_line_says_so_and_the_status_is_the_programs(
    mpi: str, compiled: Compile, lanewise: Lanewise
) -> None:
    program = compiled(mpi, "mpicc", "drops_library.c")

    done = lanewise("run", "--same-bits", "ranks", "--", *launch_line(mpi, 2), program)

    assert (done.returncode, done.stdout) == (0, "all right\n")
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("lanewise run: no rank has reported that it has loaded ")
    assert "if the program calls MPI on several ranks, --same-bits was not in force" in done.stderr


@pytest.mark.parametrize(("value", "lines"), [("1", 0), ("0", 1)])
@pytest.mark.one_mpi
def test_where_the_launch_line_confirms_that_every_rank_has_the_library_none_has_to_report(
    mpi: str, value: str, lines: int, compiled: Compile, lanewise: Lanewise
) -> None:
    mpirun, *words = launch_line(mpi, 2)
    variable = {"openmpi": ["-x", f"LANEWISE_EVERY_RANK={value}"]}.get(
        mpi, ["-genv", "LANEWISE_EVERY_RANK", value]
    )
    line = [mpirun, *variable, *words, compiled(mpi, "mpicc", "drops_library.c")]

    done = lanewise("run", "--same-bits", "ranks", "--", *line)

    assert (done.returncode, done.stdout) == (0, "all right\n")
    assert done.stderr.count("\n") == lines, done.stderr


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.one_mpi
def test_one_line_says_that_persistent_reductions_without_memory_are_left_to_the_mpi(
    mpi: str, ranks: int, compiled: Compile, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = [str(compiled(mpi, "mpicc", "same_bits.c -lm")), "persistent"]
    monkeypatch.setenv("LANEWISE_SCRATCH_LIMIT", "1")

    _, complaints = printed([*launch_line(mpi, ranks), *program], "--same-bits", "order")

    told = "persistent calls of allreduce are left to the MPI: their bits may differ\n"
    assert complaints.count(told) == (1 if ranks > 1 else 0)


@pytest.mark.parametrize("ranks", PERSISTENT_RANKS)
def test_persistent_reductions_are_started_in_any_order_and_combined_in_one(
    mpi: str, ranks: int, compiled: Compile
) -> None:
    program = str(compiled(mpi, "mpicc", "persistent_order.c -ffp-contract=off -lm"))

    done = run_in_order(mpi, ranks, [program], LONG_S)

    assert wrong_elements(done) == []
    assert done.stderr == ""


@pytest.mark.parametrize("dialect", ["mpi", "mpi_f08"])
@pytest.mark.one_mpi
def test_persistent_reductions_of_a_fortran_program_are_combined_in_one_order(
    mpi: str, dialect: str, compiled: Compile
) -> None:
    how = {"mpi": "-DWITH_MODULE -w -fallow-argument-mismatch", "mpi_f08": ""}[dialect]
    # The functions of Open MPI 4 are an extension.
    extension = "-DWITH_EXTENSION" if mpi == "openmpi" else ""
    program = str(compiled(mpi, "mpif90", f"{how} {extension} persistent_order.F90"))

    done = run_in_order(mpi, 5, [program])

    assert wrong_elements(done) == []
    assert done.stderr == ""


@pytest.mark.one_mpi
def test_one_line_says_that_reductions_over_two_groups_are_left_to_the_mpi(
    mpi: str, compiled: Compile
) -> None:
    program = [str(compiled(mpi, "mpicc", "same_bits.c -lm")), "groups"]

    _, complaints = printed([*launch_line(mpi, 3), *program], "--same-bits", "order")

    told = "calls of allreduce are left to the MPI: their bits may differ\n"
    assert complaints.count(told) == complaints.count("\n") == 1


@pytest.mark.parametrize("reported", ["", "with a report"])
@pytest.mark.one_mpi
def test_one_line_says_that_reductions_with_spawned_ranks_are_left_to_the_mpi(
    mpi: str, reported: str, compiled: Compile, tmp_path: Path
) -> None:
    skip_unless_it_spawns(mpi)
    program = str(compiled(mpi, "mpicc", "spawn_merge.c"))
    report = ["--report", str(tmp_path / "report.json")] if reported else []

    done = run_in_order(mpi, 2, [program], options=report)

    assert (done.returncode, done.stdout) == (0, "all right\n"), done.stderr
    told = "calls of allreduce are left to the MPI: their bits may differ\n"
    # The spawned job says it, too, unless the environment of mpirun does not reach it.
    assert done.stderr.count(told) == (1 if is_version(mpi, r"Open MPI\D* 5\.") else 2)


@pytest.mark.parametrize(("ranks", "level"), [(3, "order"), (1, "ranks")])
@pytest.mark.one_mpi
def test_one_line_says_that_reductions_of_device_memory_are_left_to_the_mpi(
    mpi: str, ranks: int, level: str, compiled: Compile, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = str(compiled(mpi, "mpicc", "device_memory.c"))
    monkeypatch.setenv("LD_PRELOAD", str(compiled(mpi, "mpicc", "-shared -fPIC device_driver.c")))

    done = run_in_order(mpi, ranks, [program], level=level)

    assert (done.returncode, done.stdout) == (0, "all right\n"), done.stderr
    for name in ("allreduce", "iallreduce"):
        told = f"calls of {name} are left to the MPI: their bits may differ\n"
        assert done.stderr.count(f" {told}") == 1


@pytest.mark.parametrize("level", ["order", "ranks"])
def test_reductions_that_the_mpi_refuses_leave_an_error_and_nothing_else(
    mpi: str, level: str, compiled: Compile
) -> None:
    program = [str(compiled(mpi, "mpicc", "refused_reductions.c"))]
    # MPICH 5.0 itself ends a program that names no type.
    if mpi == "mpich" and is_version(mpi, r"Version:\s+5\.0\b"):
        program.append("typed")

    done = run_in_order(mpi, 3, program, level=level)

    assert (done.returncode, done.stdout) == (0, "all right\n"), done.stderr


@pytest.mark.parametrize("level", ["order", "ranks"])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("ranks", RANDOM_RANKS)
def test_reductions_drawn_at_random_have_the_bits_that_are_promised(
    mpi: str, ranks: int, seed: int, level: str, compiled: Compile
) -> None:
    program = [str(compiled(mpi, "mpicc", RANDOM)), level, str(seed * 10 + ranks), "60"]

    done = run_in_order(mpi, ranks, program, LONG_S, level=level)

    assert wrong_elements(done) == []
    assert complaints(done, level) == []


@pytest.mark.parametrize("level", ["order", "ranks"])
def test_threads_that_reduce_at_the_same_time_get_the_bits_that_are_promised(
    mpi: str, level: str, compiled: Compile
) -> None:
    program = [str(compiled(mpi, "mpicc", RANDOM)), level, "7", "40", "3"]

    done = run_in_order(mpi, 3, program, LONG_S, level=level)

    assert wrong_elements(done) == []
    assert complaints(done, level) == []


def run_in_order(
    mpi: str,
    ranks: int,
    program: list[str],
    timeout_s: float = TIMEOUT_S,
    level: str = "order",
    *,
    options: Iterable[str] = (),
) -> subprocess.CompletedProcess[str]:
    """Run a program that checks its reductions itself under --same-bits."""
    command = [sys.executable, "-m", "lanewise", "run", "--same-bits", level]
    return subprocess.run(
        [*command, *options, "--", *launch_line(mpi, ranks), *program],
        capture_output=True, text=True, check=False, timeout=timeout_s, env=os.environ,
    )  # fmt: skip


def complaints(done: subprocess.CompletedProcess[str], level: str) -> list[str]:
    """Return what is said beside that, with ranks, calls keep their bits on one number of ranks."""
    expected = "keep their bits on one number of ranks only"
    lines = done.stderr.splitlines()
    return [line for line in lines if level == "order" or not line.endswith(expected)]


def wrong_elements(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return what one_order.c says of elements that do not have the bits of the bracketing."""
    assert done.returncode == 0, done.stderr
    *wrong, last = done.stdout.splitlines()
    assert re.fullmatch(r"checked [1-9]\d*", last), done.stdout
    return wrong


@pytest.mark.parametrize(("ranks", "word"), RANKS_AND_WORD)
def test_reductions_of_any_type_by_any_operator_are_combined_in_one_order(
    mpi: str, ranks: int, word: str, compiled: Compile
) -> None:
    program = [str(compiled(mpi, "mpicc", ONE_ORDER)), word]

    done = run_in_order(mpi, ranks, program, LONG_S)

    assert wrong_elements(done) == []
    assert done.stderr == ""


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.one_mpi
def test_the_first_call_on_a_communicator_need_not_block_and_operators_may_be_freed(
    mpi: str, ranks: int, compiled: Compile
) -> None:
    program = str(compiled(mpi, "mpicc", "early_requests.c -ffp-contract=off -lm"))

    done = run_in_order(mpi, ranks, [program])

    assert wrong_elements(done) == []
    assert done.stderr == ""


@pytest.mark.parametrize("dialect", ["mpi", "mpi_f08"])
@pytest.mark.one_mpi
def test_the_first_call_of_a_fortran_program_need_not_block(
    mpi: str, dialect: str, compiled: Compile
) -> None:
    # Compilers do not check the arguments of an MPI that knows no types of buffers.
    how = {"mpi": "-DWITH_MODULE -w -fallow-argument-mismatch", "mpi_f08": ""}[dialect]
    # Before MPICH 4.3 what MPI_Comm_idup makes is left to the MPI.
    duplicates = "-DIDUP_IS_SERVED" if mpi == "openmpi" else ""
    program = str(compiled(mpi, "mpif90", f"{how} {duplicates} early_requests.F90"))

    done = run_in_order(mpi, 3, [program])

    assert wrong_elements(done) == []
    assert done.stderr == ""


@pytest.mark.one_mpi
def test_with_ranks_types_that_have_no_exact_sum_keep_the_order_and_one_line_says_so(
    mpi: str, compiled: Compile
) -> None:
    program = [str(compiled(mpi, "mpicc", ONE_ORDER)), "long"]
    command = [sys.executable, "-m", "lanewise", "run", "--same-bits", "ranks", "--"]

    done = subprocess.run(
        [*command, *launch_line(mpi, 3), *program],
        capture_output=True, text=True, check=False, timeout=LONG_S, env=os.environ,
    )  # fmt: skip

    assert wrong_elements(done) == []
    said = done.stderr.splitlines()
    told = "calls of allreduce keep their bits on one number of ranks only"
    assert sum(line.endswith(told) for line in said) == 1
    assert len(set(said)) == len(said)


@pytest.mark.parametrize("turn", RULED_TURNS)
@pytest.mark.one_mpi
def test_rules_do_not_change_the_order_whichever_algorithm_they_name(
    mpi: str, turn: int, compiled: Compile, run: Run, tmp_path: Path
) -> None:
    program = [str(compiled(mpi, "mpicc", ONE_ORDER)), "double"]
    named = {c: names[turn % len(names)] for c, names in IN_ONE_ORDER.items()}
    rules = {c: {"rules": [{**EVERY_SIZE, "algorithm": name}]} for c, name in named.items()}
    file = tuning(mpi, ranks=3, layout=[3], collectives=rules)

    done = run([*launch_line(mpi, 3), *program], file, "--same-bits", "order")

    assert wrong_elements(done) == []
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    followed = {one["collective"]: one["algorithm"] for one in report["calls"]
                if "algorithm" in one and one["collective"] in named}  # fmt: skip
    assert followed == named
    # Of calls that follow a rule, none is left to the MPI to compare times.
    assert counted(tmp_path, "sampled") == dict.fromkeys(counted(tmp_path, "sampled"), 0)


@pytest.mark.one_mpi
def test_the_report_names_no_rule_for_sums_that_are_exact(
    mpi: str, compiled: Compile, run: Run, tmp_path: Path
) -> None:
    program = str(compiled(mpi, "mpicc", "same_bits.c -lm"))
    file = tuning(mpi, ranks=3, layout=[3])

    done = run([*launch_line(mpi, 3), program], file, "--same-bits", "ranks")

    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    named = {one["collective"]: one.get("algorithm") for one in report["calls"]}
    assert named == dict.fromkeys(["allreduce", "reduce", "reduce_scatter"])
    assert counted(tmp_path, "intercepted")["reduce"] == 1


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.one_mpi
def test_maxima_and_integers_are_the_same_and_other_operators_are_told(
    mpi: str, ranks: int, compiled: Compile
) -> None:
    program = [str(compiled(mpi, "mpicc", "same_bits.c -lm")), "others"]
    command = [sys.executable, "-m", "lanewise", "run", "--same-bits", "ranks", "--"]

    done = subprocess.run(
        [*command, *launch_line(mpi, ranks), *program],
        capture_output=True, text=True, check=True, timeout=TIMEOUT_S, env=os.environ,
    )  # fmt: skip

    told = "calls of allreduce keep their bits on one number of ranks only"
    assert "others 0" in done.stdout.splitlines()
    assert done.stderr.count(told) == done.stderr.count("\n") == (1 if ranks > 1 else 0)


@pytest.mark.one_mpi
def test_a_rank_without_memory_for_exact_sums_leaves_no_other_rank_waiting(
    mpi: str, compiled: Compile
) -> None:
    program = [str(compiled(mpi, "mpicc", "little_memory.c")), "exact"]
    command = [sys.executable, "-m", "lanewise", "run", "--same-bits", "ranks", "--"]

    done = subprocess.run(
        [*command, *launch_line(mpi, 3), *program],
        capture_output=True, text=True, check=False, timeout=TIMEOUT_S, env=os.environ,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (0, "all right\n"), done.stderr


def test_another_level_is_refused(lanewise: Lanewise) -> None:
    done = lanewise("run", "--same-bits", "always", "--", "mpirun", "true")

    assert done.returncode == 2
    assert done.stderr == "lanewise run: --same-bits always: use order or ranks\n"
