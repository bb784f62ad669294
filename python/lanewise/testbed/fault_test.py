# SPDX-License-Identifier: BSD-3-Clause
"""Scripts of faults: read with their lines, drawn from their seed, refused where they are wrong."""

import pytest

from lanewise.errors import RequestError
from lanewise.testbed import fault, shipped
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
        ("cut", "a-b", {"rate": "5 Mbit/s"}, "no use for"),
        ("cut", "", {}, "cut = ''"),
    ],
)
def test_a_single_fault_that_makes_no_sense_is_refused(
    plan: Plan, action: str, target: str, words: dict[str, str], says: str
) -> None:
    with pytest.raises(RequestError, match=says):
        fault.single(action, target, words, plan)


def test_mending_brings_back_what_was_described(plan: Plan) -> None:
    _, wire = fault.links_of(plan)["a-b"]

    mended = fault.new_settings(Event(0, "mend", "a-b"), wire)

    assert mended["up"] is True
    assert mended["rate_bits_per_s"] == 1e9
    assert mended["delay_ns"] == 5_000_000
    assert fault.new_settings(Event(0, "cut", "a-b"), wire) == {"up": False}
