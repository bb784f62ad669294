# SPDX-License-Identifier: BSD-3-Clause
"""Scripts of faults: read with their lines, drawn from their seed, refused where they are wrong."""

import threading
from typing import cast

import pytest

from lanewise.errors import RequestError
from lanewise.testbed import fault, shipped
from lanewise.testbed.bed import Bed
from lanewise.testbed.fault import Event
from lanewise.testbed.layout import make_plan
from lanewise.testbed.plan import Plan
from lanewise.testbed.read import read

SCRIPT = """seed = 5

[[fault]]
at = "2 s"
degrade = "a-b"
rate = "10 Mbit/s"
loss = "1 %"

[[fault]]
at = ["0 s", "1 s"]
cut = "a-b"
for = "50 ms"

[[fault]]
at = "3 s"
cut = "a1.wan0"

[[fault]]
at = "4 s"
kill = "b2"
"""


@pytest.fixture(scope="module")
def plan() -> Plan:
    source = shipped.find("two-site")
    return make_plan(read(source.text, source.name, source.where))


def test_a_script_becomes_events_in_the_order_of_their_times(plan: Plan) -> None:
    events = fault.schedule(SCRIPT, "s.toml", plan)

    assert [(event.action, event.target) for event in events] == [
        ("cut", "a-b"), ("mend", "a-b"), ("degrade", "a-b"), ("cut", "a1.wan0"), ("kill", "b2"),
    ]  # fmt: skip
    assert events[1].time_ns - events[0].time_ns == 50e6
    assert dict(events[2].settings) == {"rate_bits_per_s": 10e6, "loss": 0.01}


def test_the_same_seed_draws_the_same_times_and_another_others(plan: Plan) -> None:
    other = SCRIPT.replace("seed = 5", "seed = 6")

    first = fault.schedule(SCRIPT, "s.toml", plan)

    assert first == fault.schedule(SCRIPT, "s.toml", plan)
    assert first != fault.schedule(other, "s.toml", plan)
    assert 0 <= first[0].time_ns <= 1e9


@pytest.mark.parametrize(
    ("before", "after", "line", "named"),
    [
        ('at = "2 s"', "at = 2", 4, ["at", "unit"]),
        ('at = "2 s"', "", 3, ["at", "missing"]),
        ('"1 s"]', '"1"]', 10, ["at", "unit"]),
        ('["0 s", "1 s"]', '["2 s", "1 s"]', 10, ["at", "earlier"]),
        ('degrade = "a-b"', 'degrade = "a-c"', 5, ["a-c", "a-b"]),
        ('degrade = "a-b"', 'degrade = "a1.wan0"', 5, ["a1.wan0"]),
        ('degrade = "a-b"', 'break = "a-b"', 5, ["break"]),
        ('degrade = "a-b"', "", 3, ["cut, mend, degrade, kill"]),
        ('cut = "a1.wan0"', 'cut = "a1.lan9"', 16, ["a1.lan9"]),
        ('kill = "b2"', 'kill = "b9"', 20, ["b9"]),
        ('kill = "b2"', 'kill = "b2"\nfor = "1 s"', 21, ["for"]),
        ("seed = 5", "seed = 'x'", 1, ["seed"]),
    ],
)
def test_what_is_wrong_is_named_with_its_line(
    plan: Plan, before: str, after: str, line: int, named: list[str]
) -> None:
    with pytest.raises(RequestError) as refused:
        fault.schedule(SCRIPT.replace(before, after, 1), "s.toml", plan)

    sentence = str(refused.value)
    assert sentence.startswith(f"s.toml:{line}: ")
    assert all(word in sentence for word in named), sentence


@pytest.mark.parametrize(
    ("action", "target", "words", "says"),
    [
        ("degrade", "a-b", {}, "no new value"),
        ("degrade", "a-b", {"rate": "5"}, "rate = '5' has no unit"),
        ("cut", "a-b", {"rate": "5 Mbit/s"}, "no use for rate;"),
        ("cut", "", {}, "cut = ''"),
    ],
)
def test_a_single_fault_that_makes_no_sense_is_refused(
    plan: Plan, action: str, target: str, words: dict[str, str], says: str
) -> None:
    with pytest.raises(RequestError, match=says):
        fault.single(action, target, words, plan)


def test_a_script_may_last_for_days(plan: Plan) -> None:
    script = '[[fault]]\nat = "50 h"\ncut = "a-b"\nfor = "20 min"\n'

    events = fault.schedule(script, "s.toml", plan)

    assert [event.time_ns for event in events] == [50 * 3600e9, 50 * 3600e9 + 1200e9]
    with pytest.raises(RequestError, match=r"^s.toml:2: at = '1000 h' is more than"):
        fault.schedule(script.replace("50 h", "1000 h"), "s.toml", plan)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"mark": "2 MB"}, "mark, 2 MB, is larger than queue, 1.25 MB,"),
        ({"queue": "20 kB", "mark": "21 kB"}, "mark, 21 kB, is larger than queue, 20 kB,"),
    ],
)
def test_a_link_is_not_degraded_so_that_nothing_is_marked(
    plan: Plan, words: dict[str, str], says: str
) -> None:
    with pytest.raises(RequestError, match=says):
        fault.single("degrade", "a-b", words, plan)


def test_a_link_may_get_a_longer_queue_together_with_its_mark(plan: Plan) -> None:
    event = fault.single("degrade", "a-b", {"queue": "3 MB", "mark": "2 MB"}, plan)

    assert dict(event.settings) == {"queue_bytes": 3e6, "mark_bytes": 2e6}


@pytest.mark.parametrize(
    ("script", "line", "says"),
    [
        ('at = "1 s"\ndegrade = "a-b"\njitter = "20 ms"', 3, "degrade leaves a-b with a jitter of"),
        (
            'at = "1 s"\ndegrade = "a-b"\njitter = "4 ms"\n'
            '[[fault]]\nat = "2 s"\ndegrade = "a-b"\ndelay = "2 ms"',
            7,
            "jitter of 4 ms, larger than its delay, 2 ms;",
        ),
        (
            'at = "1 s"\ndegrade = "a-b"\ndelay = "30 ms"\nfor = "2 s"\n'
            '[[fault]]\nat = "2 s"\ndegrade = "a-b"\njitter = "20 ms"',
            5,
            "its end leaves a-b with a jitter of 20 ms, larger than its delay, 5 ms;",
        ),
    ],
)
def test_a_script_never_leaves_a_link_with_more_jitter_than_delay(
    plan: Plan, script: str, line: int, says: str
) -> None:
    with pytest.raises(RequestError) as refused:
        fault.schedule(f"[[fault]]\n{script}\n", "s.toml", plan)

    assert str(refused.value).startswith(f"s.toml:{line}: ")
    assert says in str(refused.value)


def test_jitter_may_be_large_while_another_fault_of_the_link_has_made_the_delay_longer(
    plan: Plan,
) -> None:
    script = (
        '[[fault]]\nat = "0 s"\ndegrade = "a-b"\ndelay = "30 ms"\nfor = "9 s"\n'
        '[[fault]]\nat = "1 s"\ndegrade = "a-b"\njitter = "20 ms"\nfor = "2 s"\n'
        '[[fault]]\nat = "2 s"\ncut = "a-b"\nfor = "100 ms"\n'
        '[[fault]]\nat = "10 s"\nkill = "b2"\n'
    )

    assert len(fault.schedule(script, "s.toml", plan)) == 7


def test_a_testbed_without_links_has_nothing_to_degrade() -> None:
    alone = make_plan(read('[[site]]\nname = "a"\nhosts = 2\n', "one", "one.toml"))

    with pytest.raises(RequestError, match=r"has no \[\[link\]\] between sites"):
        fault.single("degrade", "a1.lan0", {"rate": "5 Mbit/s"}, alone)


def test_mending_brings_back_what_was_described(plan: Plan) -> None:
    _, wire = fault.links_of(plan)["a-b"]

    mended = fault.new_settings(Event(0, "mend", "a-b"), wire)

    assert mended["up"] is True
    assert mended["rate_bits_per_s"] == 1e9
    assert mended["delay_ns"] == 5_000_000
    assert fault.new_settings(Event(0, "cut", "a-b"), wire) == {"up": False}


def settings_after(text: str, plan: Plan) -> list[dict[str, float]]:
    """Return what the delay line of a-b is told by each event of a script."""
    _, wire = fault.links_of(plan)["a-b"]
    return [fault.new_settings(event, wire) for event in fault.schedule(text, "s.toml", plan)]


def test_the_end_of_a_cut_leaves_a_degraded_link_degraded(plan: Plan) -> None:
    told = settings_after(
        '[[fault]]\nat = "0 s"\ndegrade = "a-b"\nrate = "1 Mbit/s"\nfor = "6 s"\n'
        '[[fault]]\nat = "1 s"\ncut = "a-b"\nfor = "500 ms"\n',
        plan,
    )

    assert [one.get("up") for one in told] == [None, False, True, True]
    assert [one.get("rate_bits_per_s") for one in told] == [1e6, None, 1e6, 1e9]


def test_a_cable_is_out_until_the_last_of_several_cuts_ends(plan: Plan) -> None:
    told = settings_after(
        '[[fault]]\nat = "0 s"\ncut = "a-b"\nfor = "1 s"\n'
        '[[fault]]\nat = "500 ms"\ncut = "a-b"\nfor = "1500 ms"\n',
        plan,
    )
    events = fault.schedule(
        '[[fault]]\nat = "0 s"\ncut = "a1.wan0"\nfor = "1 s"\n'
        '[[fault]]\nat = "500 ms"\ncut = "a1.wan0"\nfor = "1500 ms"\n',
        "s.toml",
        plan,
    )

    assert [one["up"] for one in told] == [False, False, False, True]
    assert [fault.is_up(event) for event in events] == [False, False, False, True]
    assert '"left": ["cut"]' in fault.line_of(events[2], 1.0)
    assert "left" not in fault.line_of(events[3], 2.0)


def test_a_mend_of_the_script_ends_all_faults_of_its_target(plan: Plan) -> None:
    told = settings_after(
        '[[fault]]\nat = "0 s"\ncut = "a-b"\nfor = "4 s"\n'
        '[[fault]]\nat = "1 s"\ndegrade = "a-b"\nloss = "1 %"\n'
        '[[fault]]\nat = "2 s"\nmend = "a-b"\n',
        plan,
    )

    assert [one.get("up") for one in told] == [False, None, True, True]
    assert [one.get("loss", 0) for one in told] == [0, 0.01, 0, 0]


def test_a_script_that_is_stopped_ends_the_faults_that_would_have_ended(plan: Plan) -> None:
    events = fault.schedule(
        '[[fault]]\nat = "0 s"\ncut = "a-b"\nfor = "9 s"\n'
        '[[fault]]\nat = "1 s"\ndegrade = "a-b"\nloss = "1 %"\n'
        '[[fault]]\nat = "2 s"\ncut = "a1.lan0"\nfor = "1 s"\n'
        '[[fault]]\nat = "4 s"\ncut = "b1.lan0"\nfor = "1 s"\n',
        "s.toml",
        plan,
    )
    _, wire = fault.links_of(plan)["a-b"]

    def ends(begun: int) -> list[str]:
        return [event.target for event in fault.early_ends(events, begun)]

    assert [ends(begun) for begun in range(len(events) + 1)] == [
        [], ["a-b"], ["a-b"], ["a1.lan0", "a-b"], ["a-b"], ["b1.lan0", "a-b"], ["a-b"], [],
    ]  # fmt: skip
    (mended,) = fault.early_ends(events, 2)
    assert fault.new_settings(mended, wire)["up"] is True
    assert fault.new_settings(mended, wire)["loss"] == 0.01


def test_an_end_that_is_interrupted_is_brought_about_again(plan: Plan) -> None:
    events = fault.schedule('[[fault]]\nat = "0 s"\ncut = "a1.lan0"\nfor = "0 s"\n', "s", plan)
    switched: list[bool] = []

    class InterruptedBed:
        def plan(self) -> Plan:
            return plan

        def switch(self, _host: str, _interface: str, *, up: bool) -> None:
            switched.append(up)
            if switched == [False, True]:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fault.play(cast("Bed", InterruptedBed()), events, lambda _line: None, threading.Event())

    assert switched == [False, True, True]


@pytest.mark.parametrize("key", ["rate", "flow_rate", "queue", "mark"])
def test_a_fault_takes_no_value_that_a_description_does_not_take(plan: Plan, key: str) -> None:
    none = "0 B" if key in ("queue", "mark") else "0 bit/s"
    with pytest.raises(RequestError, match="is too small for a testbed"):
        fault.single("degrade", "a-b", {key: none}, plan)
    with pytest.raises(RequestError, match=r"^s:3: .* is too small for a testbed"):
        fault.schedule(f'[[fault]]\nat = "0 s"\n{key} = "{none}"\ndegrade = "a-b"', "s", plan)
