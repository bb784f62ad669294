# SPDX-License-Identifier: BSD-3-Clause
"""Profiles are read strictly, summed up, named by addr2line's output, and laid out as text."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from lanewise.errors import RequestError
from lanewise.profile import sources, specimen
from lanewise.profile.content import CallSite
from lanewise.profile.read import load
from lanewise.profile.table import share_text, text_of


def test_a_key_that_is_not_known_is_named(tmp_path: Path) -> None:
    path = specimen.write(tmp_path / "p.json", colour="red")

    with pytest.raises(RequestError, match="colour"):
        load(path)


def test_a_negative_time_is_refused(tmp_path: Path) -> None:
    places = [{"operation": "bcast", "site": 0, "ranks": [specimen.part(0, waiting_s=-1.0)]}]

    with pytest.raises(RequestError, match="waiting_s"):
        load(specimen.write(tmp_path / "p.json", places=places))


@pytest.mark.parametrize("key", ["bytes", "calls", "waiting_s", "awaited_s"])
@pytest.mark.parametrize("digits", [308, 400])
def test_a_number_that_is_too_large_to_compute_with_is_refused(
    digits: int, key: str, tmp_path: Path
) -> None:
    ranks = [specimen.part(0, **{key: 10**digits})]
    places = [{"operation": "bcast", "site": 0, "ranks": ranks}]

    with pytest.raises(RequestError, match=key):
        load(specimen.write(tmp_path / "p.json", places=places))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"site": 2}, r"places\[0\] has site 2, and there are 2 sites"),
        ({"ranks": [specimen.part(0, site=2)]}, r"places\[0\] has site 2"),
        ({"ranks": [specimen.part(2)]}, r"places\[0\] has rank 2, and there are 2 processes"),
        ({"ranks": [specimen.part(0, calls=0)]}, "calls"),
    ],
)
def test_a_place_that_points_nowhere_is_named(
    change: specimen.Json, what: str, tmp_path: Path
) -> None:
    places = [{"operation": "bcast", "site": 0, "ranks": [specimen.part(0)], **change}]

    with pytest.raises(RequestError, match=what):
        load(specimen.write(tmp_path / "p.json", places=places))


def test_processes_that_are_out_of_order_or_too_few_are_named(tmp_path: Path) -> None:
    backwards = specimen.values()["processes"][::-1]

    with pytest.raises(RequestError, match="not in the order of their ranks"):
        load(specimen.write(tmp_path / "p.json", processes=backwards))
    with pytest.raises(RequestError, match="hosts is 3, and there are 2 processes"):
        load(specimen.write(tmp_path / "p.json", clock={"hosts": 3, "drift_s": 0.0}))


def in_calls(
    folder: Path, seconds: float, places: list[specimen.Json] | None = None, **counts: int
) -> Path:
    """Write a profile whose first rank, in places of 0.7 s, spent so long in calls."""
    values = specimen.values()
    first, second = values["processes"]
    return specimen.write(
        folder / "p.json",
        processes=[{**first, "in_calls_s": seconds}, second],
        calls={**values["calls"], **counts},
        places=values["places"] if places is None else places,
    )


def test_the_place_with_most_waiting_comes_first(tmp_path: Path) -> None:
    profile = load(specimen.write(tmp_path / "p.json"))

    assert [place.operation for place in profile.by_waiting()] == ["allreduce", "bcast"]


def test_the_time_of_a_rank_is_split_without_a_rest(tmp_path: Path) -> None:
    first, second = load(specimen.write(tmp_path / "p.json")).rank_times()

    assert (first.outside_s, first.waiting_s, first.transfer_s) == pytest.approx((1.3, 0.5, 0.2))
    assert (second.outside_s, second.waiting_s, second.transfer_s) == pytest.approx((1.8, 0, 0.2))
    assert second.lateness_s == second.awaited_s == 0.5


def test_where_one_in_two_calls_was_kept_the_known_time_in_calls_is_split(tmp_path: Path) -> None:
    path = in_calls(tmp_path, 1.4, one_in=2)

    first = load(path).rank_times()[0]

    assert (first.waiting_s, first.transfer_s, first.unattributed_s) == pytest.approx((1.0, 0.4, 0))


def test_the_time_of_a_call_that_waits_for_several_is_counted_once(tmp_path: Path) -> None:
    first = load(in_calls(tmp_path, 0.35)).rank_times()[0]

    assert (first.waiting_s, first.transfer_s, first.unattributed_s) == pytest.approx(
        (0.25, 0.1, 0)
    )


def test_time_in_calls_that_are_not_attributed_is_neither_waiting_nor_transfer(
    tmp_path: Path,
) -> None:
    path = in_calls(tmp_path, 1.0, intercommunicator=2)

    first, second = load(path).rank_times()

    assert (first.outside_s, first.waiting_s, first.transfer_s) == pytest.approx((1.0, 0.5, 0.2))
    assert (first.unattributed_s, second.unattributed_s) == pytest.approx((0.3, 0))


@pytest.mark.parametrize("one_in", [1, 64])
def test_where_no_call_was_kept_all_time_in_calls_is_not_attributed(
    one_in: int, tmp_path: Path
) -> None:
    first = load(in_calls(tmp_path, 1.0, one_in=one_in, places=[])).rank_times()[0]

    assert (first.waiting_s, first.transfer_s, first.unattributed_s) == (0, 0, 1.0)


def test_the_table_has_a_column_of_time_that_is_not_attributed_where_there_is_some(
    tmp_path: Path,
) -> None:
    lines = text_of(load(in_calls(tmp_path, 1.1, intercommunicator=2)))

    assert lines[0].endswith("10 % transfer, 10 % in calls that are not attributed")
    [heading] = [line for line in lines if line.startswith("rank ")]
    assert re.split("  +", heading)[4:7] == ["transfer", "not attributed", "late"]
    [row] = [line for line in lines if line.startswith("0 ")]
    assert " ".join(row.split()) == "0 node1 900 ms 500 ms 200 ms 400 ms 0 s 0 s"
    assert "not attributed" not in "\n".join(text_of(load(specimen.write(tmp_path / "q.json"))))


def test_time_that_is_not_attributed_is_not_shown_where_it_is_no_part_of_the_run_to_speak_of(
    tmp_path: Path,
) -> None:
    profile = load(in_calls(tmp_path, 0.7008))

    assert profile.rank_times()[0].unattributed_s > 0
    assert "not attributed" not in "\n".join(text_of(profile))


def test_time_that_is_not_attributed_has_a_column_where_it_is_a_part_of_the_run_of_one_rank(
    tmp_path: Path,
) -> None:
    lines = text_of(load(in_calls(tmp_path, 0.7015)))

    assert "not attributed" not in lines[0]
    assert any("not attributed" in line for line in lines[1:])


def test_where_one_in_two_calls_was_kept_delays_of_ranks_are_those_of_all_calls(
    tmp_path: Path,
) -> None:
    values = specimen.values()
    processes = [{**one, "in_calls_s": 2 * one["in_calls_s"]} for one in values["processes"]]
    calls = {**values["calls"], "one_in": 2, "forgotten": 40}

    profile = load(specimen.write(tmp_path / "p.json", processes=processes, calls=calls))

    first, second = profile.rank_times()
    assert (first.waiting_s, second.lateness_s, second.awaited_s) == pytest.approx((1, 1, 1))


def test_calls_that_overlapped_are_told_as_such(tmp_path: Path) -> None:
    first, second = specimen.values()["processes"]
    processes = [{**first, "in_calls_s": 5.0}, second]

    lines = text_of(load(specimen.write(tmp_path / "p.json", processes=processes)))

    assert lines[-1].startswith("Calls of 1 of 2 ranks overlapped, as those of ")
    assert not any("overlapped" in line for line in text_of(load(specimen.write(tmp_path / "q"))))


def test_the_table_names_place_late_rank_and_its_lateness(tmp_path: Path) -> None:
    lines = text_of(load(specimen.write(tmp_path / "p.json")))

    assert lines[0] == (
        "who was late: 2 ranks on one host, 2.00 s; 12 % of it waiting for late ranks in "
        "collectives, 10 % transfer"
    )
    [row] = [line for line in lines if line.startswith("allreduce")]
    assert " ".join(row.split()) == (
        "allreduce step app.c:7 10 8 B 350 ms 71 % 29 % rank 1 100 % (500 ms late)"
    )
    [row] = [line for line in lines if line.startswith("bcast")]
    assert "app+0x12c2" in row
    assert row.endswith("nobody")


def test_a_late_rank_that_calls_from_elsewhere_is_named_with_that_place(tmp_path: Path) -> None:
    ranks = specimen.late_and_waiting(1, 0, 0.5, site=1)
    places = [{"operation": "bcast", "site": 0, "ranks": ranks}]

    lines = text_of(load(specimen.write(tmp_path / "p.json", places=places)))

    assert "rank 1 100 % (500 ms late, in app+0x12c2)" in "\n".join(lines)


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    calls = {**specimen.values()["calls"], "nonblocking": 3, "mismatched": 2, "one_in": 4}

    lines = text_of(load(specimen.write(tmp_path / "p.json", calls=calls)))

    assert lines[-2].startswith("1 in 4 calls was kept")
    assert lines[-1] == (
        "Calls that are not attributed: 3 nonblocking and never complete, "
        "2 different on different ranks."
    )


def test_calls_whose_places_are_not_told_apart_are_counted(tmp_path: Path) -> None:
    calls = {**specimen.values()["calls"], "unplaced": 3}

    lines = text_of(load(specimen.write(tmp_path / "p.json", calls=calls)))

    assert lines[-1] == (
        "Calls from more places than are told apart, which are in rows of an unknown place: 3."
    )


def test_of_many_ranks_those_that_were_waited_for_longest_are_shown(tmp_path: Path) -> None:
    processes = [
        {"rank": rank, "host": "node1", "elapsed_s": 2.0, "in_calls_s": 0.5} for rank in range(40)
    ]
    ranks = [specimen.part(rank, awaited_s=float(rank)) for rank in range(40)]
    places = [{"operation": "barrier", "site": 0, "ranks": ranks}]

    lines = text_of(load(specimen.write(tmp_path / "p.json", processes=processes, places=places)))

    shown = [line.split()[0] for line in lines if "node1" in line]
    assert shown == [str(rank) for rank in range(24, 40)]
    assert lines[-1] == "and 24 ranks more in p.json"


@pytest.mark.parametrize(
    ("site", "text"),
    [
        (CallSite("/a/app", 16, "", "solve", "solver.c:12"), "solve solver.c:12"),
        (
            CallSite("/a/app", 16, "", "f", "a.h:1", "g a.c:2 in h a.c:3"),
            "f a.h:1 in g a.c:2 in h a.c:3",
        ),
        (CallSite("/a/app", 16, "", "solve"), "solve app+0x10"),
        (CallSite("/a/libx.so", 16, "exported"), "exported libx.so+0x10"),
        (CallSite("/a/app", 16), "app+0x10"),
        (CallSite("", 0), "an unknown place"),
    ],
)
def test_a_site_is_called_by_the_best_name_there_is(site: CallSite, text: str) -> None:
    assert site.text() == text


def test_the_names_of_addr2line_are_read() -> None:
    output = (
        "0x10\nmain\n/src/a.c:12\n0x000000000000002a\nf(int)\n/src/b.cc:7 (discriminator 3)\n"
        "0x30\ng\n??:?\n0x40\n??\n??:0\n"
    )

    assert sources.names_from(output) == [
        {"function": "main", "source": "a.c:12"},
        {"function": "f(int)", "source": "b.cc:7"},
        {"function": "g"},
        {},
    ]


def test_a_function_that_is_inlined_has_the_names_of_its_callers() -> None:
    output = "0x10\nsum\n/src/a.h:3\nstep\n/src/a.c:12\nmain\n/src/a.c:40\n0x20\nmain\n/src/a.c:9\n"

    assert sources.names_from(output) == [
        {"function": "sum", "source": "a.h:3", "inlined_into": "step a.c:12 in main a.c:40"},
        {"function": "main", "source": "a.c:9"},
    ]


def test_sites_are_asked_for_just_before_the_return_address_and_once_a_file() -> None:
    sites = [{"object": name, "offset": offset} for name, offset in (("a", 9), ("b", 5), ("a", 7))]
    asked = []

    def names_of(file: str, offsets: object) -> list[sources.Names]:
        asked.append((file, offsets))
        return [{"function": f"{file}{offset}"} for offset in offsets]  # type: ignore[attr-defined]

    sources.name_sites(sites, names_of)

    assert asked == [("a", [8, 6]), ("b", [4])]
    assert [site["function"] for site in sites] == ["a8", "b4", "a6"]


def test_a_file_that_is_gone_leaves_the_offsets(tmp_path: Path) -> None:
    path = specimen.write(tmp_path / "p.json")
    before = json.loads(path.read_text(encoding="utf-8"))["sites"]

    sources.add_sources(path, "mpirun ./app")

    assert json.loads(path.read_text(encoding="utf-8"))["sites"] == before
    assert load(path).program == "mpirun ./app"


@pytest.mark.skipif(shutil.which("addr2line") is None, reason="no addr2line; install binutils")
def test_a_file_without_symbols_names_nothing(tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_text("no program", encoding="utf-8")

    assert not any(sources.names_in(str(file), [16]))


def test_names_that_are_not_utf8_are_read_as_far_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "addr2line"
    program.write_text(
        "#!/bin/sh\nprintf '0x10\\nl\\366se\\n/src/l\\366ser.c:7\\n'\n", encoding="ascii"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    names = sources.names_in(str(program), [16])

    assert names == [{"function": "l\ufffdse", "source": "l\ufffdser.c:7"}]


@pytest.mark.parametrize("name", [r"\xe9" * 100, "x" * 300], ids=["escaped", "plain"])
def test_a_path_whose_text_is_too_long_for_a_name_names_nothing(name: str) -> None:
    assert sources.names_in(f"/tmp/{name}/app", [1]) == []


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [(0, 0, "0 %"), (1, 3, "33 %"), (1, 300, "0.3 %"), (3, 3, "100 %"), (0, 3, "0 %")],
)
def test_shares_are_written_with_two_digits_at_most(part: float, whole: float, text: str) -> None:
    assert share_text(part, whole) == text
