# SPDX-License-Identifier: BSD-3-Clause
"""How a sweep is shown on a terminal, in JUnit XML and on a page."""

from __future__ import annotations

from xml.etree import ElementTree

from lanewise.rdma.program import Outcome
from lanewise.rdma.sweep.faults import Fault
from lanewise.rdma.sweep.judge import Ending, Verdict
from lanewise.rdma.sweep.runs import Judged, Sweep
from lanewise.rdma.sweep.text import junit, lines_of, page


def _judged(fault: Fault, ending: Ending, why: str) -> Judged:
    return Judged(fault, Verdict(ending, why), Outcome(1, "", ""))


SEND = [Fault("call", "ibv_post_send", "ENOMEM", at, 9) for at in (1, 5, 9)]
SWEEP = Sweep(
    Outcome(0, "", "", occurred={"call": {"ibv_post_send": 9}}),
    (
        _judged(SEND[0], Ending.LEAK, "1 ibv_qp"),
        _judged(SEND[1], Ending.ERROR, "status 1: <no> room"),
        _judged(SEND[2], Ending.LEAK, "1 ibv_qp"),
        _judged(Fault("packet", "send", "lose", 3, 3), Ending.NOT_MET, "it did not come to it"),
    ),
    left_out=2,
)


def test_runs_that_ended_alike_share_a_row_and_findings_come_last() -> None:
    assert lines_of(SWEEP, 80) == [
        "ibv_post_send 5 of 9: ENOMEM       clean error   status 1: <no> room",
        "send packet 3 of 3: lose           not met       it did not come to it",
        "ibv_post_send 1 of 9: ENOMEM (+1)  leak          1 ibv_qp",
        "",
        "4 runs: 1 not met, 1 clean error, 2 leaks; 2 more faults are possible",
    ]


def test_no_row_is_wider_than_the_terminal() -> None:
    assert max(map(len, lines_of(SWEEP, 50)[:-1])) == 50


def test_findings_are_failures_of_junit_with_their_script() -> None:
    suite = ElementTree.fromstring(junit(SWEEP))[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "2", "1")
    failure = suite[0][0]
    assert (failure.get("type"), failure.get("message")) == ("leak", "leak: 1 ibv_qp")
    assert 'call = "ibv_post_send"' in str(failure.text)
    assert [one.tag for one in suite[3]] == ["skipped"]


def test_junit_is_xml_whatever_a_program_says() -> None:
    why = "status 1: \x1b[31mno\x00\ufffe\udcff room\t\x85"
    verdicts = [Verdict(ending, why) for ending in (Ending.LEAK, Ending.NOT_MET)]
    runs = tuple(Judged(SEND[0], verdict, Outcome(1, "", "")) for verdict in verdicts)
    text = junit(Sweep(Outcome(0, "", ""), runs, left_out=0)).encode()

    suite = ElementTree.fromstring(text)[0]

    shown = "status 1: \ufffd[31mno\ufffd\ufffd\ufffd room\t\x85"
    assert suite[0][0].get("message") == f"leak: {shown}"
    assert suite[1][0].get("message") == shown


def test_a_page_can_be_written_whatever_the_program_is_called() -> None:
    assert "Faults of ./\ufffd" in page(SWEEP, "./\udcff")
    page(SWEEP, "./\udcff").encode()


def test_the_page_escapes_what_programs_say_and_begins_with_findings() -> None:
    text = page(SWEEP, "./program <x>")
    assert "Faults of ./program &lt;x&gt;" in text
    assert "&lt;no&gt; room" in text
    assert text.index("1 ibv_qp") < text.index("&lt;no&gt; room")
