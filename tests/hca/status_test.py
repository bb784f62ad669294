# SPDX-License-Identifier: BSD-3-Clause
"""What is seen of a device from outside: status, counters, captures, processes that die or fork."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from compiling import compiled

from experiments.hca.hosts import ADDRESS, CALLER, LISTENER, Hosts
from experiments.hca.many import many
from experiments.stopping import stop
from lanewise.cli.rdma.status import text
from lanewise.hca.status import MANAGER, Found, joined, mailboxes, read
from processes import run_to_end

PINGPONG = ["ibv_rc_pingpong", "-g", "0", "-c", "-n", "200"]
FORKING = """
import os
from pyverbs.device import Context
from pyverbs.pd import PD
context = Context(name="lanewise0")
child = os.fork()
if child == 0:
    try:
        PD(context)
    except Exception:
        os._exit(7)
    os._exit(0)
print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
PD(context)
print("parent works")
"""


def status_on(hosts: Hosts, host: str) -> list[dict[str, Any]]:
    words = [sys.executable, "-m", "lanewise", "rdma", "status", "--json"]
    done = subprocess.run(hosts.bed.line(host, words), capture_output=True, text=True, check=True)
    devices = json.loads(done.stdout)["devices"]
    assert isinstance(devices, list)
    return devices


def test_mailboxes_are_found_in_the_list_of_sockets() -> None:
    listing = "0: 2 0 0 1 1 9 @lanewise-hca/slot/7\n0: 2 0 0 1 1 9 @lanewise-hca/member/7/0\n"
    assert mailboxes(listing) == {"lanewise-hca/slot/7": 9}


def test_neither_other_slots_nor_parts_of_lines_are_mailboxes() -> None:
    slots = ("0", "1023", "07", "7x", "3000")
    lines = [f"0: 2 0 0 1 1 9 @lanewise-hca/slot/{slot}\n" for slot in slots]
    # The rest of a name that has a line break, and a short line.
    lines += ["0: 2 0 0 1 1 9 @a\n9 @lanewise-hca/slot/7\n", "0: 1 9 @lanewise-hca/slot/7\n"]
    assert mailboxes("".join(lines)) == {}


def test_without_devices_status_says_so() -> None:
    assert text(Found([], [])) == "no program uses a software device here\n"


def test_one_queue_pair_and_region_are_counted_in_the_singular() -> None:
    device = {"program": "ib_write_bw", "process": 4, "queue_pair_count": 1, "regions": 1}
    shown = {**device, "device": "lanewise0", "ports": [], "queue_pairs": []}

    assert text(Found([shown], [])) == "ib_write_bw (4): 1 queue pair, 1 memory region\n"


def test_a_device_other_than_the_first_is_named() -> None:
    device = {"program": "ib_write_bw", "process": 4, "queue_pair_count": 0, "regions": 0}
    shown = {**device, "device": "lanewise1", "ports": [], "queue_pairs": []}
    said = text(Found([shown], []))

    assert said == "ib_write_bw (4) lanewise1: 0 queue pairs, 0 memory regions\n"


def test_no_name_that_a_process_gives_moves_the_cursor() -> None:
    escape = "\x1b]0;title\a\x1b[31m"
    port = {"port": 1, "interface": escape, "state": escape, "gids": [escape], "counters": {}}
    pair = {
        "number": 1, "transport": escape, "state": escape, "port": 1, "peer": 2, "address": escape,
        "migration": escape, "counters": {escape: 1},
    }  # fmt: skip
    shown = {
        "program": escape, "process": 4, "queue_pair_count": 1, "regions": 0, "device": escape,
        "ports": [port], "queue_pairs": [pair], MANAGER: {escape: 1},
    }  # fmt: skip

    said = text(Found([shown], []))

    assert len(said.splitlines()) == 4
    assert not {"\x1b", "\a"} & set(said)


def test_status_shows_ports_and_queue_pairs_and_a_killed_program_leaves_none(hosts: Hosts) -> None:
    if shutil.which("ibv_rc_pingpong") is None:
        pytest.skip("no ibv_rc_pingpong here; install ibverbs-utils")
    waiting = hosts.listen(PINGPONG, 18515)
    try:
        shown = status_on(hosts, LISTENER)
    finally:
        stop(waiting, signal.SIGKILL)
        waiting.communicate()
    (one,) = shown
    assert [port["interface"] for port in one["ports"]] == ["lan0", "lan1"]
    assert one["program"] == "ibv_rc_pingpong"
    assert [pair["state"] for pair in one["queue_pairs"]] == ["init"]
    assert " to " not in text(Found([one], []))
    assert "port 1 lan0 active" in text(Found([one], []))
    assert status_on(hosts, LISTENER) == []


def test_a_program_that_is_stopped_is_named_and_not_denied(hosts: Hosts) -> None:
    if shutil.which(PINGPONG[0]) is None:
        pytest.skip("no ibv_rc_pingpong here; install ibverbs-utils")
    waiting = hosts.listen(PINGPONG, 18515)
    words = [sys.executable, "-m", "lanewise", "rdma", "status"]
    try:
        stop(waiting, signal.SIGSTOP)
        asked = [
            run_to_end(hosts.bed.line(LISTENER, line), 60) for line in (words, [*words, "--json"])
        ]
    finally:
        stop(waiting, signal.SIGKILL)
        waiting.communicate()
    ((silent,), devices) = (json.loads(asked[1].stdout)[key] for key in ("unanswered", "devices"))
    assert (silent["program"], devices) == ("ibv_rc_pingpong", [])
    assert (asked[0].returncode, asked[0].stdout) == (0, "")
    assert f"ibv_rc_pingpong ({silent['process']}) does not answer" in asked[0].stderr


def test_connection_managers_are_those_of_their_processes_in_each_pid_namespace() -> None:
    processes = [{"process": 1, "pid_namespace": namespace} for namespace in (8, 9)]
    devices = [{**one, "device": "lanewise0", "ports": []} for one in processes]
    managers = [{**one, MANAGER: {"connections": one["pid_namespace"]}} for one in processes]

    found = joined([*devices, *reversed(managers)])

    assert [(one["pid_namespace"], one[MANAGER]["connections"]) for one in found] == [
        (8, 8), (9, 9),
    ]  # fmt: skip


def test_a_process_has_the_number_that_it_has_for_who_asks(hosts: Hosts) -> None:
    if shutil.which(PINGPONG[0]) is None:
        pytest.skip("no ibv_rc_pingpong here; install ibverbs-utils")
    waiting = hosts.listen(["unshare", "-pf", "--kill-child", *PINGPONG], 18515)
    try:
        (shown,) = status_on(hosts, LISTENER)
    finally:
        stop(waiting, signal.SIGKILL)
        waiting.communicate()
    assert shown["process"] > 1  # which it is for itself


def test_tshark_dissects_a_capture_of_either_end(hosts: Hosts, tmp_path: Path) -> None:
    if shutil.which("tshark") is None:
        pytest.skip("no tshark here; install it")
    file = tmp_path / "packets.pcap"
    capturing = Hosts(hosts.bed, [*hosts.options, "--pcap", str(file)])
    listening = hosts.listen(PINGPONG, 18515)
    calling = capturing.run(CALLER, [*PINGPONG, ADDRESS])
    listening.communicate()
    assert calling.returncode == 0, calling.stdout
    fields = ["-e", "infiniband.bth.opcode", "-e", "infiniband.bth.psn", "-e", "_ws.malformed"]
    words = ["tshark", "-r", str(file), "-T", "fields", *fields]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    opcodes = {row[0] for row in rows}
    # RC: send first, middle, last; acknowledge.
    assert {"0", "1", "2", "17"} <= opcodes
    assert all(len(row) < 3 or not row[2] for row in rows)


def test_a_capture_that_finds_the_disk_full_says_so_and_the_program_goes_on(hosts: Hosts) -> None:
    capturing = Hosts(hosts.bed, [*hosts.options, "--pcap", "/dev/full"])
    listening = hosts.listen(PINGPONG, 18515)
    calling = capturing.run(CALLER, [*PINGPONG, ADDRESS])
    listening.communicate()
    assert calling.returncode == 0, calling.stdout
    assert calling.stdout.count("/dev/full took no more packets: No space left on device") == 1


def test_a_child_may_not_use_the_device_and_the_parent_still_may(
    hosts: Hosts, tmp_path: Path
) -> None:
    if not Path("/usr/lib/python3/dist-packages/pyverbs").is_dir():
        pytest.skip("no pyverbs here; install python3-pyverbs")
    program = tmp_path / "forking.py"
    program.write_text(FORKING, encoding="utf-8")
    said = hosts.run(LISTENER, ["/usr/bin/python3", str(program)]).stdout
    assert "child 7" in said
    assert "parent works" in said
    assert "a child process cannot use the RDMA device of its parent" in said


HOLDING = """
import ctypes, os
verbs = ctypes.CDLL("libibverbs.so.1")
verbs.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
verbs.ibv_open_device.restype = ctypes.c_void_p
assert verbs.ibv_open_device(ctypes.c_void_p(verbs.ibv_get_device_list(None)[0]))
def held():
    at = "/proc/self/fd/"
    return [os.readlink(at + one) for one in os.listdir(at) if os.path.lexists(at + one)]
def report(who):
    sockets = sum(name.startswith("socket:") for name in held())
    print(who, sockets > 0, any(name.endswith(".pcap") for name in held()), flush=True)
report("parent")
if os.fork() == 0:
    report("child")
    os._exit(0)
os.wait()
"""


def test_a_child_holds_neither_a_socket_nor_a_capture_of_its_parent(
    hosts: Hosts, tmp_path: Path
) -> None:
    program, file = tmp_path / "holding.py", tmp_path / "packets.pcap"
    program.write_text(HOLDING, encoding="utf-8")
    capturing = Hosts(hosts.bed, [*hosts.options, "--pcap", str(file)])
    said = capturing.run(LISTENER, ["/usr/bin/python3", str(program)]).stdout
    assert said.splitlines()[:2] == ["parent True True", "child False False"], said


def test_nor_does_a_child_that_is_made_while_a_thread_opens_and_closes_the_device(
    hosts: Hosts, tmp_path: Path
) -> None:
    done = hosts.run(LISTENER, [compiled("forking", tmp_path)])
    assert done.returncode == 0, done.stdout


SYSFS = """
import os
device = "/sys/class/infiniband/lanewise0"
print(os.listdir("/sys/class/infiniband"), sorted(os.listdir(device + "/ports/")))
print(os.path.isdir(device + "/ports/2"), os.path.exists(device + "/ports/3"))
print(open(device + "/ports/2/gid_attrs/ndevs/0").read().strip(), os.path.isdir("/sys/class/net"))
"""


def test_programs_find_the_interfaces_of_the_device_where_sysfs_would_have_them(
    hosts: Hosts,
) -> None:
    interfaces = hosts.run(LISTENER, ["ls", "/sys/class/infiniband/lanewise0/device/net/"])
    assert interfaces.stdout.split() == ["lan0", "lan1"]
    said = hosts.run(LISTENER, ["/usr/bin/python3", "-c", SYSFS]).stdout
    assert said.splitlines()[:3] == ["['lanewise0'] ['1', '2']", "True False", "lan1 True"]


GIDS = """
import os
port = "/sys/class/infiniband/lanewise0/ports/2/"
print(sorted(os.listdir(port + "gid_attrs")), len(os.listdir(port + "gid_attrs/types")))
print(open(port + "gid_attrs/types/15").read().strip(), os.path.isfile(port + "gid_attrs/types/15"))
print(os.access(port + "gid_attrs/ndevs/0", os.R_OK), os.path.exists(port + "gid_attrs/ndevs/16"))
for name in ("gid_attrs/types/77", "gid_attrs/types/0x", "gid_attrs/names/0"):
    assert not os.path.exists(port + name)
    try:
        open(port + name)
    except FileNotFoundError:
        print("not found")
"""


def test_all_that_is_listed_of_gids_exists_and_nothing_else(hosts: Hosts) -> None:
    said = hosts.run(LISTENER, ["/usr/bin/python3", "-c", GIDS]).stdout
    assert said.splitlines()[:6] == [
        "['ndevs', 'types'] 16", "RoCE v2 True", "True False", *["not found"] * 3,
    ]  # fmt: skip


WRITING = """
import ctypes, os
port = "/sys/class/infiniband/lanewise0/ports/1/"
libc = ctypes.CDLL(None, use_errno=True)
libc.fopen.restype = ctypes.c_void_p
for name in ("counters/port_xmit_data", "gid_attrs/types/0"):
    for flags in (os.O_WRONLY | os.O_CREAT | os.O_TRUNC, os.O_RDWR):
        try:
            os.open(port + name, flags)
        except PermissionError:
            print("refused")
    assert libc.fopen((port + name).encode(), b"r+") is None
    print(os.strerror(ctypes.get_errno()), os.access(port + name, os.W_OK))
"""


def test_nothing_is_written_to_these_files(hosts: Hosts) -> None:
    said = hosts.run(LISTENER, ["/usr/bin/python3", "-c", WRITING]).stdout
    assert said.splitlines()[:6] == ["refused", "refused", "Permission denied False"] * 2


POSITIONS = """
import ctypes
class Entry(ctypes.Structure):
    _fields_ = [("head", ctypes.c_char * 19), ("name", ctypes.c_char * 256)]
libc = ctypes.CDLL(None)
libc.opendir.restype = ctypes.c_void_p
libc.readdir.restype = ctypes.POINTER(Entry)
libc.telldir.restype = ctypes.c_long
folder = ctypes.c_void_p(libc.opendir(b"/sys/class/infiniband/lanewise0/ports/"))
at = libc.telldir(folder)
first = libc.readdir(folder).contents.name
libc.seekdir(folder, ctypes.c_long(at))
class Room(ctypes.Structure):  # for the longest name, and what stands after it
    _fields_ = [("entry", Entry), ("after", ctypes.c_char * 9)]
room, found = Room(after=b"untouched"), ctypes.POINTER(Entry)()
entry = room.entry
for read in (libc.readdir_r, libc.readdir64_r):
    assert read(folder, ctypes.byref(entry), ctypes.byref(found)) == 0
    print(first, entry.name, found.contents.name, room.after)
assert libc.readdir_r(folder, ctypes.byref(entry), ctypes.byref(found)) == 0
print(bool(found))
"""


def test_a_place_in_such_a_folder_can_be_told_and_sought(hosts: Hosts) -> None:
    briefly = replace(hosts, limit_s=20)
    said = briefly.run(LISTENER, ["/usr/bin/python3", "-c", POSITIONS]).stdout
    assert said.splitlines()[:3] == [
        "b'1' b'1' b'1' b'untouched'", "b'1' b'2' b'2' b'untouched'", "False",
    ]  # fmt: skip


COUNTERS = """
import os
port = "/sys/class/infiniband/lanewise0/ports/1/"
print(sorted(os.listdir(port)), os.path.exists(port + "hw_counters/nonsense"))
for folder in ("counters", "hw_counters"):
    for name in os.listdir(port + folder):
        assert os.path.isfile(port + folder + "/" + name)
        print(name, int(open(port + folder + "/" + name).read()))
"""


def test_counters_stand_where_the_kernel_has_them_and_count(hosts: Hosts, tmp_path: Path) -> None:
    faults, reader = tmp_path / "faults.toml", tmp_path / "reader.py"
    faults.write_text(
        '[[fault]]\npacket = "send"\naction = "double"\nevery = 10\n'
        '[[fault]]\npacket = "send"\naction = "corrupt"\nafter = 5\ntimes = 3\n'
    )
    reader.write_text(COUNTERS, encoding="utf-8")
    counting = Hosts(hosts.bed, ["--ports", "lan0", "--faults", str(faults)])
    looped = compiled("looped", tmp_path)

    done = counting.run(LISTENER, [looped, f"/usr/bin/python3 {reader}"])

    assert done.returncode == 0, done.stdout
    sent, folders, *lines = done.stdout.splitlines()
    assert sent == "success, 100 messages"
    assert folders == "['counters', 'gid_attrs', 'hw_counters'] False"
    counted = {name: int(value) for name, value in (line.split() for line in lines)}
    assert counted["rx_icrc_encapsulated"] == counted["port_rcv_errors"] == 3
    assert counted["duplicate_request"] >= 10
    assert counted["port_rcv_packets"] == counted["rcvd_pkts"] >= 100
    assert counted["port_xmit_data"] >= 100 * 64 / 4
    assert counted["port_rcv_constraint_errors"] == counted["rnr_nak_retry_err"] == 0


FORGING = """
import json, socket, sys, threading
from lanewise.hca.status import ask
def forge(slot, text):
    mailbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    mailbox.bind(f"\\0lanewise-hca/slot/{slot}")
    def answer():
        while True:
            _, asker = mailbox.recvfrom(100)
            mailbox.sendto(text.encode(), asker)
    threading.Thread(target=answer, daemon=True).start()
for slot, text in enumerate(sys.argv[1:], 5):
    forge(slot, text)
print(open("/sys/class/infiniband/lanewise0/ports/1/counters/port_xmit_data").read().strip())
print(json.dumps(ask()))
"""


def nested(levels: int) -> list[Any]:
    """Return a list in a list, and so on."""
    return [nested(levels - 1)] if levels else []


DEVICE = {
    "process": 7, "program": "forged", "device": "lanewise0", "regions": 0, "queue_pair_count": 0,
    "ports": [], "queue_pairs": [],
}  # fmt: skip
NONSENSE: dict[str, Any] = {
    "no object": [],
    "no process": {"ports": []},
    "ports that are a number": {**DEVICE, "ports": 7},
    "a port that is a number": {**DEVICE, "ports": [7]},
    "an interface that is a number": {**DEVICE, "ports": [{"interface": 7}]},
    "counters that are a list": {
        **DEVICE, "ports": [{"interface": "lan0", "sysfs": {"counters": [1]}}],
    },
    "a queue pair without a number": {**DEVICE, "queue_pairs": [{"peer": 1}]},
    "a process that is a list": {"process": [], "connection_manager": {}},
    "a connection manager that is a number": {"process": 7, "connection_manager": 7},
    "a connection manager with ports": {"process": 7, "connection_manager": {}, "ports": 7},
    "a device with a connection manager": {**DEVICE, "connection_manager": 7},
    "a further member that is nested deeply": {**DEVICE, "more": nested(900)},
}  # fmt: skip


@pytest.mark.parametrize("case", NONSENSE)
def test_an_answer_that_makes_no_sense_is_not_read(case: str) -> None:
    assert read(json.dumps(NONSENSE[case]).encode()) is None


def test_answers_that_make_no_sense_are_neither_shown_nor_counted(
    hosts: Hosts, tmp_path: Path
) -> None:
    program = tmp_path / "forging.py"
    program.write_text(FORGING, encoding="utf-8")
    answers = [*map(json.dumps, NONSENSE.values()), "[" * 100_000]
    done = hosts.run(LISTENER, [sys.executable, str(program), *answers])
    assert (done.returncode, done.stdout.splitlines()[:2]) == (0, ["0", "[]"]), done.stdout


SILENT = """
import json, socket, sys, threading, time
from lanewise.hca.status import ask
def taken(slot):
    mailbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    mailbox.bind(f"\\0lanewise-hca/slot/{slot}")
    return mailbox
silent = [taken(slot) for slot in range(1, 900)]
last = taken(999)
def answer():
    while True:
        _, asker = last.recvfrom(100)
        last.sendto(sys.argv[1].encode(), asker)
threading.Thread(target=answer, daemon=True).start()
began_s = time.monotonic()
print(open("/sys/class/infiniband/lanewise0/ports/1/counters/port_xmit_data").read().strip())
print(time.monotonic() - began_s < 8, [one["program"] for one in ask()])
"""


def test_names_that_do_not_answer_neither_hide_a_device_nor_delay_long(hosts: Hosts) -> None:
    sysfs = {"counters": {"port_xmit_data": 5}}
    port = {"port": 1, "interface": "lan0", "state": "", "gids": [], "counters": {}, "sysfs": sysfs}
    words = [sys.executable, "-c", SILENT, json.dumps({**DEVICE, "ports": [port]})]
    done = hosts.run(LISTENER, words)
    assert done.stdout.splitlines()[:2] == ["5", "True ['forged']"], done.stdout


ASKING_OFTEN = """
import os, socket, threading
mailbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
mailbox.bind("\\0lanewise-hca/slot/5")
questions = []
def answer():
    while True:
        letter, asker = mailbox.recvfrom(100)
        questions.append(letter)
        mailbox.sendto(b"{}", asker)
threading.Thread(target=answer, daemon=True).start()
folder = "/sys/class/infiniband/lanewise0/ports/1/hw_counters"
names = os.listdir(folder)
for name in names:
    assert open(os.path.join(folder, name)).read() == "0\\n"
print(0 < len(questions) < len(names))
"""


def test_counters_that_are_read_in_a_row_are_asked_for_together(hosts: Hosts) -> None:
    done = hosts.run(LISTENER, ["/usr/bin/python3", "-c", ASKING_OFTEN])
    assert done.stdout.splitlines()[:1] == ["True"], done.stdout


def test_counters_can_be_read_as_a_program_exits(hosts: Hosts, tmp_path: Path) -> None:
    done = hosts.run(LISTENER, [compiled("counting_at_exit", tmp_path)])
    assert (done.returncode, done.stdout.splitlines()[:2]) == (0, ["0", "0"]), done.stdout


def test_lids_with_a_mask_lead_to_the_peer(hosts: Hosts) -> None:
    if shutil.which("ibv_rc_pingpong") is None:
        pytest.skip("no ibv_rc_pingpong here; install ibverbs-utils")
    options = [*hosts.options, "--link-layer", "infiniband", "--lmc", "2"]
    infiniband = Hosts(hosts.bed, options)
    assert "port_lmc:\t\t0x02" in infiniband.run(LISTENER, ["ibv_devinfo"]).stdout
    words = ["ibv_rc_pingpong", "-c", "-n", "200"]
    said = infiniband.pair(words, [*words, ADDRESS])
    assert said.good, said


def test_ten_thousand_queue_pairs_work_in_one_process_that_then_sleeps(
    hosts: Hosts, tmp_path: Path
) -> None:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler; install build-essential")
    found = many(hosts, tmp_path, seconds=2)
    assert found.queue_pairs == 10_000
    assert found.bytes_each < 16_384
    assert found.idle_percent < 1
