# SPDX-License-Identifier: BSD-3-Clause
"""Faults as a TOML file: what is read, and what is refused with its line."""

from __future__ import annotations

import errno

import pytest

from lanewise.errors import RequestError
from lanewise.hca.faults import CALLS, STATUSES, Fault, checked_seed, read, script

WHOLE = """
[[fault]]
call = "ibv_reg_mr"
after = 2
times = 1

[[fault]]
completion = "send"
status = "IBV_WC_RETRY_EXC_ERR"
every = 100

[[fault]]
packet = "any"
action = "delay"
delay = "5 ms"
probability = "1 %"

[[fault]]
packet = "write"
action = "mark"
every = 10
peer = "10.0.0.2"
size_min = "1 kB"

[[fault]]
packet = "send"
action = "port_down"
for = "200 ms"

[[fault]]
connection = "request"
action = "reject"

[[fault]]
call = "ibv_post_send"
after = "2 s"
every = "500 ms"
"""


@pytest.mark.parametrize("seed", [-1, 1.0, "1", None, 2**64], ids=repr)
def test_a_seed_that_the_device_cannot_take_is_refused(seed: object) -> None:
    with pytest.raises(RequestError, match=f"seed {seed}: use a whole number from 0 to 2\\^64 - 1"):
        checked_seed(seed, "seed")


def test_a_seed_is_any_whole_number_of_64_bits() -> None:
    assert [checked_seed(seed, "seed") for seed in (0, True, 2**64 - 1)] == [0, 1, 2**64 - 1]


def test_every_key_of_a_fault_script_is_read() -> None:
    assert read(WHOLE, "a.toml") == (
        Fault("call", "ibv_reg_mr", "ENOMEM", errno.ENOMEM, after=2, times=1),
        Fault("completion", "send", "IBV_WC_RETRY_EXC_ERR", 12, every=100),
        Fault("packet", "any", "delay", 5000, probability=0.01),
        Fault("packet", "write", "mark", every=10, peer="10.0.0.2", bytes_min=1000),
        Fault("packet", "send", "port_down", 200_000),
        Fault("connection", "request", "reject"),
        Fault(
            "call", "ibv_post_send", "ENOMEM", errno.ENOMEM, after_us=2_000_000, every_us=500_000
        ),
    )


def test_the_device_is_told_a_line_for_each() -> None:
    lines = script(read(WHOLE, "a.toml"), 7, "a.toml").splitlines()
    assert lines[0] == "seed=7"
    assert lines[1] == (
        "place=call what=ENOMEM value=12 after=2 every=1 probability=1.0 name=ibv_reg_mr times=1"
    )
    assert "name=" not in lines[3]
    assert " after=0 every=1 after_us=2000000 every_us=500000 " in lines[7]


def test_every_error_has_a_number_and_every_status_its_place_in_the_header() -> None:
    assert all(hasattr(errno, name) for names in CALLS.values() for name in names)
    assert len(STATUSES) == len(set(STATUSES)) == 21
    assert STATUSES.index("IBV_WC_GENERAL_ERR") + 1 == 21


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "there is no"),
        ("[[faults]]\n", "unknown key 'faults'"),
        ('[[fault]]\ncall = "ibv_reg_mrs"', "a.toml:2: .*did you mean ibv_reg_mr?"),
        ('[[fault]]\ncall = "ibv_reg_mr"\nerror = "EIO"', "a.toml:3: error = 'EIO'"),
        ('[[fault]]\ncompletion = "send"', "a.toml:1: status is missing"),
        ('[[fault]]\npacket = "send"\naction = "delay"', "delay = .* goes with"),
        ('[[fault]]\npacket = "send"\naction = "lose"\nevery = 0', "a.toml:4: every = 0"),
        ('[[fault]]\npacket = "send"\naction = "lose"\nevery = "0 s"', "a.toml:4: every = '0 s'"),
        ('[[fault]]\npacket = "send"\naction = "lose"\nafter = "5"', "a.toml:4: after .* no unit"),
        ('[[fault]]\npacket = "send"\naction = "lose"\nprobability = 2', "no unit"),
        ('[[fault]]\nconnection = "reply"\naction = "reject"', "only a request"),
        ('[[fault]]\ncall = "ibv_reg_mr"\npacket = "any"', "exactly one of the keys call"),
        ('[[fault]]\nat = "1 s"\ncut = "a-b"', "lanewise testbed run --faults"),
        ('[[fault]]\ncall = "ibv_reg_mr"\nstatus = "x"', "unknown key 'status'"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(text: str, says: str) -> None:
    with pytest.raises(RequestError, match=says):
        read(text, "a.toml")


@pytest.mark.parametrize(
    ("written", "meant"),
    [("::ffff:10.0.0.2", "10.0.0.2"), ("FE80:0::1", "fe80::1"), ("10.0.0.2", "10.0.0.2")],
)
def test_a_peer_is_named_as_the_device_names_it(written: str, meant: str) -> None:
    text = f'[[fault]]\npacket = "any"\naction = "lose"\npeer = "{written}"'
    (fault,) = read(text, "f.toml")
    assert fault.peer == meant


@pytest.mark.parametrize("peer", ['"fe80::1%lan0"', "5", '"localhost"'])
def test_a_peer_that_no_packet_can_be_from_is_refused(peer: str) -> None:
    text = f'[[fault]]\npacket = "any"\naction = "lose"\npeer = {peer}'
    with pytest.raises(RequestError, match=r"f\.toml:4: peer = .*: use an address without a zone"):
        read(text, "f.toml")


def test_a_rule_may_name_a_device() -> None:
    text = '[[fault]]\ncall = "ibv_reg_mr"\ndevice = "lanewise1"'
    (fault,) = read(text, "f.toml")
    assert fault.device == "lanewise1"
    assert "device=lanewise1" in fault.line()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('call = "ibv_reg_mr"\ndevice = "mlx5_0"', "device = 'mlx5_0': use lanewise0 to"),
        ('connection = "request"\naction = "ignore"\ndevice = "lanewise1"', "unknown key 'device'"),
    ],
)
def test_a_device_that_cannot_be_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(RequestError, match=sentence):
        read(f"[[fault]]\n{text}", "f.toml")


@pytest.mark.parametrize(
    "text",
    [
        'call = "ibv_post_send"', 'completion = "send"\nstatus = "IBV_WC_GENERAL_ERR"',
        'packet = "write"\naction = "lose"',
    ],
)  # fmt: skip
def test_a_rule_may_name_a_queue_pair(text: str) -> None:
    (fault,) = read(f"[[fault]]\n{text}\nqueue_pair = 2", "f.toml")
    assert fault.queue_pair == 2
    assert "queue_pair=2" in fault.line()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            'call = "ibv_reg_mr"\nqueue_pair = 1',
            "f.toml:3: ibv_reg_mr is not called on a queue pair",
        ),
        ('call = "ibv_post_send"\nqueue_pair = 0', "f.toml:3: queue_pair = 0: use 1 or more"),
        ('connection = "any"\naction = "ignore"\nqueue_pair = 1', "unknown key 'queue_pair'"),
    ],
)
def test_a_queue_pair_that_cannot_be_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(RequestError, match=sentence):
        read(f"[[fault]]\n{text}", "f.toml")


def test_more_rules_than_a_program_can_be_given_are_refused() -> None:
    many = read('[[fault]]\ncall = "ibv_reg_mr"\n' * 3000, "a.toml")
    with pytest.raises(RequestError, match=r"a\.toml: 3000 faults are too many for one program"):
        script(many, 1, "a.toml")
