# SPDX-License-Identifier: BSD-3-Clause
"""Emitted files, read back by readers that were written from the MPIs' own rules."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanewise.errors import RequestError
from lanewise.tuning import prove
from lanewise.tuning.content import BYTES_MAX, Choice, CollectiveTuning, Rule, Tuning
from lanewise.tuning.emit_openmpi import ALGORITHMS, NO_ALGORITHM, emittable, probe
from lanewise.tuning.emitters import emitter_named
from lanewise.tuning.safety import Operators
from lanewise.tuning.specimen import ours, own, tuning

IDS = {0: "allgather", 2: "allreduce", 3: "alltoall", 4: "alltoallv", 6: "barrier", 7: "bcast",
       8: "exscan", 9: "gather", 11: "reduce", 12: "reduce_scatter", 14: "scan",
       15: "scatter"}  # fmt: skip
ELEMENT_BYTES = 4
OVER_RANKS = {"allgather", "alltoall", "gather", "scatter", "reduce_scatter"}


def looked_up(collective: str, message_bytes: int, ranks: int) -> int:
    """Return the size by which Open MPI looks a rule up."""
    if collective in {"scan", "exscan"}:
        return ELEMENT_BYTES * ranks
    if collective in {"barrier", "alltoallv"}:
        return 0
    return message_bytes * (ranks if collective in OVER_RANKS else 1)


class Classic:
    """What Open MPI up to 5.0 makes of a rules file."""

    def __init__(self, text: str) -> None:
        words = [word for line in text.splitlines() for word in line.split("#")[0].split()]
        self.numbers = [int(word) for word in words]
        self.rules = {
            IDS[self.take()]: {
                self.take(): [tuple(self.take() for _ in range(4)) for _ in range(self.take())]
                for _ in range(self.take())
            }
            for _ in range(self.take())
        }
        assert not self.numbers
        for sizes in self.rules.values():
            assert list(sizes) == sorted(sizes)
            for entries in sizes.values():
                assert entries[0][0] == 0
                assert [entry[0] for entry in entries] == sorted({entry[0] for entry in entries})

    def take(self) -> int:
        return self.numbers.pop(0)

    def algorithm(self, collective: str, message_bytes: int, ranks: int) -> tuple[int, int]:
        """Return number and segment for a call; 0 leaves it to Open MPI."""
        sizes = self.rules.get(collective)
        if sizes is None:
            return 0, 0
        comm_size = max([size for size in sizes if size <= ranks], default=min(sizes))
        seen_bytes = looked_up(collective, message_bytes, ranks)
        entry = [entry for entry in sizes[comm_size] if entry[0] <= seen_bytes][-1]
        return entry[1], entry[3]


def version3(values: dict[str, Any], collective: str, message_bytes: int, ranks: int) -> Any:
    """Return the rule that Open MPI 6 takes for a call, None for its own choice."""
    for block in values["collectives"].get(collective, []):
        if not block["comm_size_min"] <= ranks <= block["comm_size_max"]:
            continue
        seen_bytes = looked_up(collective, message_bytes, ranks)
        for rule in block["rules"]:
            last = rule.get("msg_size_max", "inf")
            fits = last == "inf" or seen_bytes <= last
            if rule.get("msg_size_min", 0) <= seen_bytes and fits:
                return rule
        return None
    return None


@st.composite
def tunings(draw: st.DrawFn) -> Tuning:
    """Draw a tuning with rules for some collectives, of up to three algorithms each."""
    wins: dict[str, dict[int, list[Choice]]] = {}
    for name in draw(st.lists(st.sampled_from(sorted(IDS.values())), unique=True, max_size=4)):
        known = draw(st.lists(st.sampled_from(ALGORITHMS[name]), unique=True, min_size=1,
                              max_size=3))  # fmt: skip
        choices = [own(algorithm, draw(st.sampled_from([0, 8192]))) for algorithm in known]
        sizes = [0] if name == "barrier" else draw(
            st.lists(st.integers(1, 1 << 20), unique=True, min_size=1, max_size=5))  # fmt: skip
        wins[name] = {
            size: draw(st.lists(st.sampled_from(choices), unique=True)) for size in sorted(sizes)
        }
    return tuning(wins, ranks=draw(st.integers(1, 9)))


def expected(one: Tuning, collective: str, message_bytes: int) -> tuple[int, int] | None:
    """Return number and segment that the tuning's rules give, None for the default."""
    content = one.collectives.get(collective)
    for rule in content.mpi_rules if content else ():
        if rule.from_bytes <= message_bytes <= rule.to_bytes:
            return ALGORITHMS[collective].index(rule.algorithm) + 1, rule.segment_bytes
    return None


def sizes_of_interest(one: Tuning, collective: str) -> set[int]:
    content = one.collectives[collective]
    near = {0, 1, 1 << 30} | {p.message_bytes for p in content.points}
    for rule in content.mpi_rules:
        near |= {rule.from_bytes - 1, rule.from_bytes, rule.to_bytes, rule.to_bytes + 1}
    return {size for size in near if 0 <= size <= 1 << 30}


@settings(max_examples=40)
@given(tunings())
def test_open_mpi_takes_from_the_file_what_the_rules_say(one: Tuning) -> None:
    read = Classic(emitter_named("openmpi").emit(one).text)
    values = json.loads(emitter_named("openmpi6").emit(one).text)

    for name in set(one.collectives) - {"scatter", "gather", "scan", "exscan"}:
        for size in sizes_of_interest(one, name) if name != "barrier" else {0}:
            wanted = expected(one, name, size)
            assert read.algorithm(name, size, one.ranks) == (wanted or (0, 0))
            rule = version3(values, name, size, one.ranks)
            assert (rule is None) == (wanted is None)
            if rule is not None and wanted is not None:
                renamed = {"bruck-k-fanout": "bruck"}.get(rule["alg"], rule["alg"])
                assert ALGORITHMS[name].index(renamed) + 1 == wanted[0]
                assert rule.get("seg_size", 0) == wanted[1]


@settings(max_examples=40)
@given(tunings(), st.integers(1, 12))
def test_other_numbers_of_ranks_are_left_to_open_mpi(one: Tuning, ranks: int) -> None:
    read = Classic(emitter_named("openmpi").emit(one).text)
    values = json.loads(emitter_named("openmpi6").emit(one).text)

    if ranks != one.ranks:
        for name in one.collectives:
            assert read.algorithm(name, 1024, ranks)[0] == 0
            assert version3(values, name, 1024, ranks) is None


@settings(max_examples=40)
@given(tunings())
def test_ranks_that_see_other_sizes_in_scatter_and_gather_still_understand_each_other(
    one: Tuning,
) -> None:
    read = Classic(emitter_named("openmpi").emit(one).text)
    values = json.loads(emitter_named("openmpi6").emit(one).text)

    together = {"scatter": {frozenset({1, 3}), frozenset({1}), frozenset({3})}, "gather": set()}
    for name in {"scatter", "gather"} & set(one.collectives):
        sizes = sizes_of_interest(one, name)
        taken = frozenset(read.algorithm(name, size, one.ranks)[0] for size in sizes)
        assert len(taken) == 1 or taken in together[name]
        blocks = values["collectives"].get(name, [])
        named = {rule["alg"] for block in blocks for rule in block["rules"]}
        assert len(named) <= 1 or named == {"basic_linear", "linear_nb"}
        everywhere = all(version3(values, name, size, one.ranks) for size in sizes)
        assert everywhere or not blocks


@settings(max_examples=40)
@given(tunings())
def test_the_probe_applies_to_the_same_calls_and_names_no_algorithm(one: Tuning) -> None:
    read, probed = Classic(emitter_named("openmpi").emit(one).text), Classic(probe(one))

    for name in one.collectives:
        for size in sizes_of_interest(one, name):
            there = read.algorithm(name, size, one.ranks)[0] != 0
            assert probed.algorithm(name, size, one.ranks)[0] == (NO_ALGORITHM if there else 0)


def test_open_mpi_6_is_told_the_radix_of_bruck_without_which_it_hangs() -> None:
    one = tuning({"allgather": {64: [own("bruck")]}, "alltoall": {64: [own("modified_bruck")]}})

    values = json.loads(emitter_named("openmpi6").emit(one).text)

    assert version3(values, "allgather", 64, 4) == {
        "msg_size_min": 256, "msg_size_max": 259, "alg": "bruck-k-fanout", "faninout": 2,
    }  # fmt: skip
    assert "faninout" not in version3(values, "alltoall", 64, 4)


def test_scatter_may_change_between_its_two_linear_algorithms() -> None:
    linear, eager = own("basic_linear"), own("linear_nb")
    one = tuning({"scatter": {8: [linear], 64: [linear, eager], 512: [eager]}})

    read = Classic(emitter_named("openmpi").emit(one).text)

    assert [read.algorithm("scatter", size, 4)[0] for size in (0, 8, 512, 1 << 20)] == [1, 1, 3, 3]


def test_scatter_that_changes_otherwise_is_left_out_and_named() -> None:
    one = tuning({"scatter": {8: [own("binomial")], 64: [own("linear_nb")]}})

    emitted = emitter_named("openmpi").emit(one)

    assert Classic(emitted.text).rules == {}
    assert emitted.left_out[0].startswith("scatter: ")


def test_gather_has_one_algorithm_for_all_sizes_or_none() -> None:
    for algorithms, number in (["binomial"], 2), (["binomial", "linear_sync"], 0):
        wins = {8: [own(algorithms[0])], 64: [own(algorithms[-1])]}

        read = Classic(emitter_named("openmpi").emit(tuning({"gather": wins})).text)

        assert {read.algorithm("gather", size, 4)[0] for size in (0, 8, 64, 1 << 30)} == {number}


@pytest.mark.parametrize("format_", ["openmpi", "openmpi6"])
def test_scan_has_one_algorithm_for_all_sizes_or_none(format_: str) -> None:
    linear, doubling = own("linear"), own("recursive_doubling")
    one = tuning({"scan": {8: [linear], 64: [doubling]}, "exscan": {8: [linear], 64: [linear]}})

    emitter = emitter_named(format_)

    assert emitter.emittable(one).rules == {"exscan": (Rule(0, BYTES_MAX, "linear"),)}
    assert emitter.emit(one).left_out[0].startswith("scan: no algorithm wins at every size")


def test_rules_that_need_a_commutative_operator_are_left_out_and_named() -> None:
    one = tuning(
        {
            "allreduce": {8: [own("recursive_doubling")], 4096: [own("ring")]},
            "reduce": {8: [own("binomial"), ours("binomial")], 64: [own("pipeline")]},
            "reduce_scatter": {8: [own("butterfly")]},
            "bcast": {8: [own("pipeline")]},
        }
    )
    emitter = emitter_named("openmpi")

    safe = emitter.exportable(one, Operators.ANY)
    emitted = emitter.emit(safe.tuning)

    remedy = (
        "with operators that do not commute; lanewise tune export --commutative-only keeps them"
    )
    assert safe.left_out == (
        f"allreduce: ring would give wrong results {remedy}",
        f"reduce: binomial and pipeline would give wrong results {remedy}",
    )
    read = Classic(emitted.text)
    assert [read.algorithm("allreduce", size, 4)[0] for size in (8, 4096)] == [3, 0]
    assert set(read.rules) == {"allreduce", "reduce_scatter", "bcast"}
    assert emitted.left_out == ()
    assert "do not commute" not in emitted.text


def test_with_the_promise_that_operators_commute_all_rules_are_written_with_a_warning() -> None:
    one = tuning({"allreduce": {4096: [own("ring")]}, "bcast": {8: [own("pipeline")]}})
    emitter = emitter_named("openmpi")

    safe = emitter.exportable(one, Operators.COMMUTATIVE)
    text = emitter.emit(safe.tuning).text

    assert (safe.left_out, Classic(text).algorithm("allreduce", 4096, 4)[0]) == ((), 4)
    assert "# Wrong results in allreduce with operators that do not commute." in text.splitlines()


def test_a_format_without_comments_has_the_warning_said_beside_the_file() -> None:
    emitter = emitter_named("openmpi6")
    some = tuning({"allreduce": {4096: [own("ring")]}, "bcast": {8: [own("pipeline")]}})
    none = tuning({"allreduce": {4096: [own("recursive_doubling")]}})

    assert emitter.emit(some).warning == (
        "wrong results in allreduce with operators that do not commute"
    )
    assert emitter.emit(none).warning == ""


@pytest.mark.parametrize("format_", ["openmpi", "openmpi6", "mpich"])
def test_a_tuning_that_was_cut_short_has_no_rule_for_all_sizes(format_: str) -> None:
    emitter = emitter_named(format_)
    one = tuning({"scatter": {8: [own("binomial")], 64: [own("binomial")]}}, emitter.family)
    content = replace(one.collectives["scatter"], unmeasured_bytes=(4096,))

    whole = emitter.emittable(one)
    cut_short = emitter.emittable(replace(one, collectives={"scatter": content}))

    assert whole.rules == {"scatter": (Rule(0, BYTES_MAX, "binomial"),)}
    assert cut_short.rules == {}
    assert cut_short.left_out == (
        "scatter: 1 of 3 sizes is not measured, and the rule would be for all; "
        "lanewise tune --resume measures them",
    )


def test_mpich_is_not_told_an_algorithm_that_some_numbers_of_ranks_do_not_survive() -> None:
    emitter = emitter_named("mpich")

    found = emitter.emittable(tuning({"reduce_scatter": {8: [own("noncommutative")]}}, "mpich"))

    assert found.rules == {}
    assert found.left_out[0].startswith("reduce_scatter: noncommutative ends programs")


def test_mpich_looks_at_the_operator_itself() -> None:
    one = tuning({"reduce_scatter": {8: [own("recursive_halving")]}}, "mpich")

    assert emitter_named("mpich").exportable(one, Operators.ANY).tuning == one


def test_what_is_proved_is_what_is_written() -> None:
    one = tuning({"bcast": {8: [own("chain")], 64: [own("nonesuch")]}, "scan": {8: [own("best")]}})

    assert emittable(one).rules == {}
    assert Classic(emitter_named("openmpi").emit(one).text).rules == {}


def test_a_rule_for_all_sizes_needs_no_measurements() -> None:
    rules = {"gather": Rule(0, BYTES_MAX, "binomial"), "scatter": Rule(8, 64, "basic_linear")}
    contents = {name: CollectiveTuning(mpi_rules=(rule,)) for name, rule in rules.items()}
    bare = replace(tuning({}), collectives=contents)

    emitted = emitter_named("openmpi").emit(bare)
    of_mpich = emitter_named("mpich").emit(replace(bare, mpi_family="mpich"))

    assert list(Classic(emitted.text).rules) == ["gather"]
    assert emitted.left_out[0].startswith("scatter: ")
    assert "MPIR_CVAR_GATHER_INTRA_ALGORITHM=binomial" in of_mpich.text.splitlines()


def test_a_tuning_file_cannot_write_lines_of_its_own() -> None:
    library = "MPI 1\nLD_PRELOAD=evil.so\r1 # collectives"
    wins = {"bcast": {8: [own("nb LD_PRELOAD=evil.so")]}, "scatter": {8: [own("nb\nA=b")]}}
    one = replace(tuning(wins, "mpich"), mpi_library=library)

    of_mpich = emitter_named("mpich").emit(one)
    of_open_mpi = emitter_named("openmpi").emit(replace(one, mpi_family="openmpi"))

    assert all(line.startswith("#") for line in of_mpich.text.splitlines())
    assert of_mpich.left_out == (
        "bcast: 'nb LD_PRELOAD=evil.so' is no name of an algorithm",
        "scatter: 'nb\\nA=b' is no name of an algorithm",
    )
    assert Classic(of_open_mpi.text).rules == {}


def test_mpich_gets_a_variable_where_an_algorithm_wins_at_every_size() -> None:
    one = tuning(
        {
            "scatter": {8: [own("nb")], 64: [own("nb"), own("binomial")]},
            "bcast": {8: [own("binomial")], 64: [own("smp")]},
        },
        family="mpich",
    )

    emitted = emitter_named("mpich").emit(one)

    lines = [line for line in emitted.text.splitlines() if not line.startswith("#")]
    assert lines == ["MPIR_CVAR_SCATTER_INTRA_ALGORITHM=nb"]
    assert emitted.left_out[0].startswith("bcast: ")


def test_a_collective_that_only_lanewise_makes_faster_is_left_out_and_named() -> None:
    both = tuning({"bcast": {8: [ours("ring")]}, "allgather": {8: [own("ring")]}})

    emitted = emitter_named("openmpi").emit(both)

    assert list(Classic(emitted.text).rules) == ["allgather"]
    assert emitted.left_out == (
        "bcast: its rules are for algorithms of Lanewise, which only lanewise run applies",
    )


def test_rules_of_one_mpi_are_not_written_for_another() -> None:
    with pytest.raises(RequestError, match="measured with openmpi, not mpich"):
        emitter_named("mpich").emit(tuning({}))


@settings(max_examples=40)
@given(tunings())
def test_a_proof_asks_on_both_sides_of_each_bound(one: Tuning) -> None:
    rules = emittable(one).rules

    calls = prove.calls_for(rules, one.ranks)

    for name in set(rules) - {"barrier"}:
        asked = {call.message_bytes for call in calls if call.collective == name}
        step = ELEMENT_BYTES if name in prove.REDUCTIONS else 1
        for rule in rules[name]:
            for begin in (rule.from_bytes, rule.to_bytes + 1):
                below, above = (begin - 1) // step * step, (begin + step - 1) // step * step
                assert below in asked or not 0 < below <= prove.PROOF_BYTES_MAX
                assert above in asked or not 0 < above <= prove.PROOF_BYTES_MAX
    read = Classic(emitter_named("openmpi").emit(one).text)
    for call in calls:
        ruled = read.algorithm(call.collective, call.message_bytes, call.ranks)[0] != 0
        assert ruled == call.ruled


def test_a_proof_names_the_bounds_that_it_does_not_try() -> None:
    large = Rule(8, 1 << 23, "ring")
    rules = {"bcast": [large], "scan": [Rule(0, BYTES_MAX, "linear")]}

    assert prove.not_tried(rules) == ["bcast: the bounds 8 MiB, as calls have 4 MiB at most"]
    assert prove.not_tried({"bcast": [replace(large, to_bytes=prove.PROOF_BYTES_MAX - 1)]}) == []


def test_a_proof_finds_what_is_not_obeyed() -> None:
    one = tuning({"bcast": {8: [own("chain")], 64: [own("chain")]}})
    calls = prove.calls_for(emittable(one).rules, 4)
    right = [
        {
            "collective": call.collective, "message_bytes": call.message_bytes,
            "ranks": call.ranks, "full": "right", "sparse": "right", "algorithms": {"chain": 2},
        }
        for call in calls
    ]  # fmt: skip

    assert prove.faults_under_file(calls, right) == []
    out_of_order = [*right[:-1], {**right[-1], "ordered": "wrong"}]
    assert prove.faults_under_file(calls, out_of_order) == [
        f"{calls[-1]} was wrong with an operator that does not commute"
    ]
    assert prove.faults_under_file(calls, right[:-1]) == [f"{calls[-1]} did not come to an end"]
    refused = [answer | {"full": "refused" if call.ruled else "right"}
               for answer, call in zip(right, calls, strict=True)]  # fmt: skip
    assert prove.faults_under_probe(calls, refused) == []
    assert len(prove.faults_under_probe(calls, right)) == sum(call.ruled for call in calls)
    other = [answer | {"algorithms": {"chain": 3}} for answer in right]
    assert prove.faults_of_numbers(emittable(one).rules, right) == []
    assert prove.faults_of_numbers(emittable(one).rules, other) == [
        "bcast chain is number 3 here, not 2"
    ]


def said(one: Tuning, calls: list[prove.Call]) -> list[str]:
    """Return what ranks of Open MPI 6 say of the calls under the file, two of them mixed."""
    values = json.loads(emitter_named("openmpi6").emit(one).text)
    lines: list[str] = []
    for call in calls:
        size = looked_up(call.collective, call.message_bytes, call.ranks)
        head = f"coll:tuned:dynamic For {call.collective} with msg_size={size}:"
        rule = version3(values, call.collective, call.message_bytes, call.ranks)
        if call.ranks != one.ranks:
            lines += [f"[a:1] coll:tuned:dynamic: For {call.collective} with communicator size "
                      f"{call.ranks} no matching rule found.  Using fixed defaults."]  # fmt: skip
        elif rule is None:
            lines += [f"[a:1] {head} no matching rule, using fixed defaults."]
        else:
            low, high = rule.get("msg_size_min", 0), rule.get("msg_size_max", "inf")
            taken = (f"\t\t\tmsg_size {low}:{high} -> {rule['alg']} ( 2).  Params: topo in/out  0, "
                     f"segsize {rule.get('seg_size', 0):5}, max_requests    0")  # fmt: skip
            for step in (f"{head} selected rule number 1:", taken):
                lines += [f"[a:1] {step}", f"[b:2] {step}"]
    return lines


@settings(max_examples=40)
@given(tunings())
def test_what_open_mpi_6_says_it_takes_is_compared_with_the_rules(one: Tuning) -> None:
    rules = emittable(one).rules
    calls = prove.calls_for(rules, one.ranks)

    right = prove.said_in(said(one, calls))
    nothing = prove.said_in([])

    assert prove.faults_of_what_is_said(rules, calls, one.ranks, right) == []
    assert len(prove.faults_of_what_is_said(rules, calls, one.ranks, nothing)) == len(calls)


def test_another_algorithm_or_segment_than_the_rule_says_is_a_fault() -> None:
    one = tuning({"bcast": {64: [own("chain", 8192)]}})
    rules = emittable(one).rules
    calls = [call for call in prove.calls_for(rules, 4) if call.ruled]

    for wrong in (("chain", "binary"), ("8192", "4096"), ("size=64", "size=63")):
        lines = [line.replace(*wrong) for line in said(one, calls)]
        assert prove.faults_of_what_is_said(rules, calls, 4, prove.said_in(lines))


def test_the_last_size_that_can_be_is_no_bound() -> None:
    one = tuning({"gather": {8: [own("binomial")], 64: [own("binomial")]}})

    assert emittable(one).rules["gather"][0].to_bytes == BYTES_MAX
    assert "18446744073709551616" not in emitter_named("openmpi").emit(one).text
