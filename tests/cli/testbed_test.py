# SPDX-License-Identifier: BSD-3-Clause
"""Testbeds are really created: their programs see hosts and delays, and nothing stays behind."""

import hashlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from experiments.testbed_accuracy.experiment import probing
from lanewise.errors import RequestError
from lanewise.launch.native import find_program
from lanewise.results.read import load
from lanewise.testbed import bed, shipped

Lanewise = Callable[..., "subprocess.CompletedProcess[str]"]

SMALL = """[[site]]
name = "a"
hosts = 1
lan = { rate = "10 Gbit/s" }
wan = { rate = "250 Mbit/s" }

[[site]]
name = "b"
hosts = 2
lan = { latency = "1 ms" }

[[link]]
between = ["a", "b"]
rate = "1 Gbit/s"
delay = "20 ms"
"""

# Prints the shortest of twenty round trips to a host, in ms; the far end sends back what it gets.
ECHO = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 9000))
print("ready", flush=True)
while True:
    data, peer = s.recvfrom(100)
    s.sendto(data, peer)
"""
PING = """
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(20)
times = []
for _ in range(20):
    begin = time.perf_counter()
    s.sendto(b"ping", (sys.argv[1], 9000))
    s.recv(100)
    times.append(time.perf_counter() - begin)
print(1e3 * min(times))
"""
# Sends 8 MB made of a pattern, or prints the digest of what comes.
SEND = """
import socket, sys
with socket.create_connection((sys.argv[1], 9001)) as link:
    link.sendall(bytes(i * i % 251 for i in range(8_000_000)))
"""
DIGEST = """
import hashlib, socket
found = hashlib.sha256()
with socket.create_server(("", 9001)) as server:
    print("ready", flush=True)
    link, _ = server.accept()
    while data := link.recv(1 << 16):
        found.update(data)
print(found.hexdigest())
"""
# Says whether an interface has its carrier: IFF_RUNNING among its flags (SIOCGIFFLAGS).
CARRIER = """
import fcntl, socket, struct, sys
request = struct.pack("16sh14x", sys.argv[1].encode(), 0)
answer = fcntl.ioctl(socket.socket(), 0x8913, request)
print("there" if struct.unpack("16sh14x", answer)[1] & 0x40 else "gone")
"""
UNTIL_IT_IS_CUT = "while read up </sys/class/net/lan0/carrier && [ $up = 1 ]; do sleep 0.1; done"
WAIT = "echo started; read forever"
# As a shell starts what is to run in the background: it ignores interrupts.
IN_BACKGROUND = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")


@pytest.fixture(scope="module")
def possible() -> None:
    """Skip where this machine lets nobody raise a testbed, and say why."""
    try:
        find_program(bed.PROGRAM, os.environ)
        with bed.created(shipped.find("one-switch")):
            pass
    except (RequestError, bed.RefusedError) as error:
        pytest.skip(str(error))


@pytest.fixture
def base(possible: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give the folder of testbeds, which is empty again at the end."""
    folder = Path(tempfile.mkdtemp(prefix="lwt", dir="/tmp"))
    monkeypatch.setenv("LANEWISE_TESTBEDS", str(folder))
    yield folder
    for each in bed.beds():
        bed.take_down(each)
    shutil.rmtree(folder)


@pytest.fixture
def small(base: Path, tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def started(*arguments: object, by: Sequence[str] = ()) -> "subprocess.Popen[str]":
    """Start the command and return when its first line of output is there."""
    process = subprocess.Popen(
        [*by, sys.executable, "-m", "lanewise", "testbed", *map(str, arguments)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline()
    return process


def processes_of(folder: Path) -> list[str]:
    """Return the command lines of processes that a testbed in `folder` has."""
    mark = str(folder).encode()
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            line, variables = (path / "cmdline").read_bytes(), (path / "environ").read_bytes()
        except OSError:
            continue
        if mark in line or b"LANEWISE_TESTBED_RUN=" + mark in variables:
            found.append(line.replace(b"\0", b" ").decode(errors="replace"))
    return found


def assert_nothing_left(base: Path) -> None:
    assert list(base.iterdir()) == []
    assert processes_of(base) == []


def ended(process: int) -> bool:
    """Wait until a process that is no child of ours has ended."""
    try:
        watched = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watched], [], [], 60)[0])
    finally:
        os.close(watched)


def test_a_testbed_outlives_the_folder_in_which_it_was_created(
    lanewise: Lanewise, base: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "left"
    folder.mkdir()
    up = [sys.executable, "-m", "lanewise", "testbed", "up", "one-switch"]
    subprocess.run(up, cwd=folder, capture_output=True, check=True)
    folder.rmdir()

    done = lanewise("testbed", "run", "one-switch", "--", "hostname")

    assert (done.returncode, done.stdout, done.stderr) == (0, "a1\n", "")
    assert lanewise("testbed", "down", "one-switch").returncode == 0
    assert_nothing_left(base)


def test_what_runs_in_a_testbed_is_on_its_first_host(lanewise: Lanewise, base: Path) -> None:
    done = lanewise("testbed", "run", "one-switch", "--", "hostname")

    assert (done.returncode, done.stdout, done.stderr) == (0, "a1\n", "")
    assert_nothing_left(base)


def test_the_status_of_the_command_is_passed_on(lanewise: Lanewise, base: Path) -> None:
    done = lanewise("testbed", "run", "one-switch", "--", "sh", "-c", "exit 7")

    assert done.returncode == 7
    assert_nothing_left(base)


def test_a_run_whose_fault_failed_does_not_end_as_if_all_had_happened(
    lanewise: Lanewise, small: Path, tmp_path: Path
) -> None:
    # The script fits the description, and not what the link has become.
    (tmp_path / "f.toml").write_text('[[fault]]\nat = "0 s"\ndegrade = "a-b"\njitter = "9 ms"\n')
    lanewise("testbed", "up", "small.toml")
    lanewise("testbed", "fault", "small", "degrade", "a-b", "--delay", "1 ms")
    words = ("testbed", "run", "small", "--faults", "f.toml", "--", "sh", "-c")

    ended, failed = lanewise(*words, "sleep 1"), lanewise(*words, "sleep 1; exit 7")

    assert (ended.returncode, failed.returncode) == (1, 7)
    assert "the remaining faults were not injected: " in ended.stderr
    assert "jitter_ns is larger than delay_ns" in ended.stderr


def begun(words: Sequence[str]) -> int:
    """Wait until a program whose command line ends with `words` runs, and return its process."""
    wanted, end_s = "\0".join([*words, ""]).encode(), time.monotonic() + 60
    while time.monotonic() < end_s:
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                line = (path / "cmdline").read_bytes()
                if line.endswith(wanted) and not line.startswith(b"nsenter"):
                    return int(path.name)
    raise AssertionError(f"{words} has not begun")


def test_a_congestion_control_that_the_kernel_has_not_is_named_with_its_line(
    lanewise: Lanewise, base: Path, tmp_path: Path
) -> None:
    text = '[[site]]\nname = "a"\nhosts = 2\n[tcp]\ncongestion = "nosuch"\n'
    (tmp_path / "t.toml").write_text(text)

    done = lanewise("testbed", "run", "t.toml", "--", "true")

    assert done.returncode == 2
    assert "t.toml:5: congestion = 'nosuch': the kernel has reno" in done.stderr
    assert_nothing_left(base)


def test_what_floods_a_link_ends_with_its_measurement(base: Path) -> None:
    words = ["flood", "a2", "1234567.0"]
    with bed.created(shipped.find("one-switch")) as raised:
        with probing(raised, "a1", *words):
            flooding = begun(words)

        assert ended(flooding)
    assert_nothing_left(base)


def test_a_host_in_a_chroot_sees_the_files_of_the_chroot(base: Path, tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root may change its root directory")
    root = tmp_path / "root"
    root.mkdir()
    mounts = f"mount --rbind / {root} && mount -t tmpfs tmpfs {root}/mnt"
    enter = f'{mounts} && echo seen > {root}/mnt/it && exec chroot {root} "$@"'
    testbed = [sys.executable, "-m", "lanewise", "testbed", "run", "one-switch"]

    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", enter, "sh", *testbed, "--", "cat", "/mnt/it"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip

    assert done.stdout == "seen\n", done.stderr
    assert_nothing_left(base)


def test_ranks_of_both_mpis_run_on_every_host_and_sites_are_as_far_as_described(
    lanewise: Lanewise, small: Path, base: Path
) -> None:
    assert lanewise("testbed", "up", small).stdout == "small is up: a1, b1, b2\n"

    # A program that is over at once can end the mpiexec of MPICH by SIGPIPE.
    named = ("sh", "-c", "hostname; sleep 0.1")
    for launcher in ("mpirun.openmpi", "mpiexec.mpich"):
        if shutil.which(launcher):
            done = lanewise("testbed", "run", "small", "--", launcher, "-n", 3, *named)
            assert sorted(done.stdout.split()) == ["a1", "b1", "b2"], done.stderr

    echo = started("run", "small", "--at", "b1", "--", sys.executable, "-c", ECHO)
    ping = ("testbed", "run", "small", "--", sys.executable, "-c", PING, "b1")
    before_ms = float(lanewise(*ping).stdout)
    lanewise("testbed", "fault", "small", "degrade", "a-b", "--delay", "60 ms")
    after_ms = float(lanewise(*ping).stdout)
    assert before_ms >= 41
    assert 2 < after_ms / before_ms < 4

    near = ("testbed", "run", "small", "--at", "b2", "--", sys.executable, "-c", PING, "b1")
    assert 2 <= float(lanewise(*near).stdout) < before_ms

    states = json.loads(lanewise("testbed", "status", "--json").stdout)["testbeds"]
    assert [state["name"] for state in states] == ["small"]
    link = next(link for link in states[0]["links"] if link["name"] == "a-b")
    assert link["settings"]["delay_ns"] == 60_000_000
    assert link["ends"] == ["a", "b"]
    assert all(way["delivered"] > 0 for way in link["directions"])

    assert lanewise("testbed", "down", "small").stdout == "small is down\n"
    echo.communicate()
    assert echo.returncode != 0
    assert_nothing_left(base)


def test_messages_of_either_mpi_take_the_way_between_the_sites(
    lanewise: Lanewise, small: Path, base: Path, real_mpi: str, tmp_path: Path
) -> None:
    output = tmp_path / "samples.jsonl"

    done = lanewise("testbed", "run", small, "--hosts", "a1,b1", "--", sys.executable, "-m",
                    "lanewise", "measure", "pingpong", "-n", 2, "--launcher", real_mpi,
                    "--sizes", 1, "--repetitions", "5", "--launches", 1,
                    "-o", output)  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert load(output).points[0].median_s > 0.02


def test_without_a_number_of_ranks_each_host_has_one(
    lanewise: Lanewise, small: Path, base: Path, real_mpi: str, tmp_path: Path
) -> None:
    output = tmp_path / "samples.jsonl"

    done = lanewise("testbed", "run", small, "--", sys.executable, "-m", "lanewise", "measure",
                    "bcast", "--launcher", real_mpi, "--sizes", 1, "--repetitions", "5",
                    "--launches", 1, "-o", output)  # fmt: skip

    assert done.returncode == 0, done.stderr
    placement = load(output).context.placement
    assert [each["host"] for each in placement] == ["a1", "b1", "b2"]
    assert "share" not in done.stderr


def test_a_host_sees_its_own_interfaces_alone(lanewise: Lanewise, small: Path, base: Path) -> None:
    done = lanewise("testbed", "run", small, "--", "ls", "/sys/class/net")

    assert "lan0" in done.stdout.split(), done.stderr
    assert "eth0" not in done.stdout.split()


def test_hosts_ask_soon_again_for_an_address_that_a_switch_lost(
    lanewise: Lanewise, base: Path
) -> None:
    every_ms, most = (f"/proc/sys/net/ipv4/neigh/lan0/{name}"
                      for name in ("retrans_time_ms", "mcast_solicit"))  # fmt: skip

    done = lanewise("testbed", "run", "one-switch", "--", "cat", every_ms, most)

    assert done.stdout.split() == ["20", "150"], done.stderr


def test_what_crosses_a_bad_link_arrives_whole(lanewise: Lanewise, small: Path, base: Path) -> None:
    lanewise("testbed", "up", small)
    lanewise("testbed", "fault", "small", "degrade", "a-b", "--delay", "1 ms", "--loss", "0.5 %",
             "--reorder", "0.5 %")  # fmt: skip
    receiver = started("run", "small", "--at", "b1", "--", sys.executable, "-c", DIGEST)

    lanewise("testbed", "run", "small", "--", sys.executable, "-c", SEND, "b1")
    digest = receiver.communicate(timeout=60)[0].strip()

    states = json.loads(lanewise("testbed", "status", "--json").stdout)["testbeds"]
    link = next(link for link in states[0]["links"] if link["name"] == "a-b")
    there = link["directions"][0]
    sent = bytes(i * i % 251 for i in range(8_000_000))
    assert digest == hashlib.sha256(sent).hexdigest()
    assert there["lost"] > 0
    assert there["held"] > 0
    lanewise("testbed", "down", "--all")
    assert_nothing_left(base)


@pytest.mark.parametrize(
    ("launcher", "rank"),
    [("mpirun.openmpi", "OMPI_COMM_WORLD_RANK"), ("mpiexec.mpich", "PMI_RANK")],
)
def test_ranks_go_to_the_hosts_in_the_order_asked_for_as_the_placement_says(
    lanewise: Lanewise, small: Path, base: Path, launcher: str, rank: str
) -> None:
    if shutil.which(launcher) is None:
        pytest.skip(f"there is no {launcher} here")
    show = (
        f"echo ${rank} $(hostname); [ ${rank} != 2 ] || cat $LANEWISE_PLACEMENT > placed.json; "
        "sleep 0.1"  # A program that is over at once can end the mpiexec of MPICH by SIGPIPE.
    )

    done = lanewise("testbed", "run", small, "--hosts", "b2,a1", "--", launcher, "-n", 3, "sh",
                    "-c", show)  # fmt: skip

    placed = json.loads((small.parent / "placed.json").read_text())
    assert sorted(done.stdout.splitlines()) == ["0 b2", "1 b2", "2 a1"], done.stderr
    assert [(each["rank"], each["host"], each["site"]) for each in placed["ranks"]] == [
        (0, "b2", "b"), (1, "b2", "b"), (2, "a1", "a"),
    ]  # fmt: skip
    assert_nothing_left(base)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_takes_everything_down(small: Path, base: Path, number: int) -> None:
    process = started("run", small, "--", "sh", "-c", WAIT)

    process.send_signal(number)
    process.communicate(timeout=60)

    assert process.returncode == 130
    assert_nothing_left(base)


def test_a_run_in_the_background_of_a_shell_takes_everything_down_when_it_is_terminated(
    small: Path, base: Path
) -> None:
    process = started("run", small, "--", "sh", "-c", WAIT, by=IN_BACKGROUND)
    process.send_signal(signal.SIGINT)

    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)

    assert process.returncode == 130
    assert_nothing_left(base)


def test_a_killed_run_takes_everything_with_it(small: Path, base: Path) -> None:
    process = started("run", small, "--", "sh", "-c", WAIT)
    (running,) = bed.beds()

    process.kill()
    process.communicate(timeout=60)

    assert ended(running.info.outer)
    assert_nothing_left(base)


def test_what_a_killed_supervisor_leaves_is_found_by_down_all(
    lanewise: Lanewise, small: Path, base: Path
) -> None:
    lanewise("testbed", "up", small)
    (left,) = bed.beds()
    os.kill(left.info.outer, signal.SIGKILL)
    assert ended(left.info.supervisor)

    done = lanewise("testbed", "down", "--all")

    assert done.stdout == "removed what was left of small\n"
    assert_nothing_left(base)


def test_two_testbeds_of_one_description_do_not_meet(
    lanewise: Lanewise, small: Path, base: Path
) -> None:
    first = started("run", small, "--", "sh", "-c", WAIT)

    second = lanewise("testbed", "run", small, "--", "hostname")

    assert (second.returncode, second.stdout) == (0, "a1\n")
    assert first.poll() is None
    first.communicate("go\n", timeout=60)
    assert first.returncode == 0
    assert_nothing_left(base)


def test_a_host_that_dies_fails_the_run_and_the_testbed_is_cleaned_up(
    lanewise: Lanewise, small: Path, base: Path
) -> None:
    if shutil.which("mpirun.openmpi") is None:
        pytest.skip("there is no Open MPI here; install openmpi-bin")
    lanewise("testbed", "up", small)
    script = "echo started; exec sleep 600"
    process = started("run", "small", "--", "mpirun.openmpi", "-n", 3, "sh", "-c", script)
    assert process.stdout is not None
    for _ in range(2):
        process.stdout.readline()

    killed = lanewise("testbed", "fault", "small", "kill", "b2")
    process.communicate(timeout=60)

    assert json.loads(killed.stdout)["target"] == "b2"
    assert process.returncode not in (0, None)
    lanewise("testbed", "down", "small")
    assert_nothing_left(base)


def test_faults_of_a_script_are_logged_with_their_times(
    lanewise: Lanewise, small: Path, base: Path, tmp_path: Path
) -> None:
    (tmp_path / "faults.toml").write_text(
        '[[fault]]\nat = "0 s"\ncut = "a1.lan0"\n[[fault]]\nat = "1 ms"\ncut = "a-b"\n'
    )
    lanewise("testbed", "up", small)

    done = lanewise("testbed", "fault", "small", "faults.toml")
    carrier = ("testbed", "run", "small", "--", sys.executable, "-c", CARRIER, "lan0")

    logged = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(each["action"], each["target"]) for each in logged] == [
        ("cut", "a1.lan0"), ("cut", "a-b"),
    ]  # fmt: skip
    assert all(each["elapsed_s"] >= each["wanted_s"] for each in logged)
    assert lanewise(*carrier).stdout == "gone\n"
    lanewise("testbed", "fault", "small", "mend", "a1.lan0")
    assert lanewise(*carrier).stdout == "there\n"
    lanewise("testbed", "down", "--all")
    assert_nothing_left(base)


def test_a_cable_of_a_lan_with_latency_is_cut_as_any_other(
    lanewise: Lanewise, small: Path, base: Path
) -> None:
    carrier = ("testbed", "run", "small", "--at", "b1", "--", "cat", "/sys/class/net/lan0/carrier")

    def state() -> tuple[str, bool]:
        (testbed,) = json.loads(lanewise("testbed", "status", "--json").stdout)["testbeds"]
        (up,) = (one["settings"]["up"] for one in testbed["links"] if one["name"] == "b1.lan0")
        return lanewise(*carrier).stdout, up

    lanewise("testbed", "up", small)
    lanewise("testbed", "fault", "small", "cut", "b1.lan0")
    cut = state()
    lanewise("testbed", "fault", "small", "mend", "b1.lan0")
    mended = state()
    echo = started("run", "small", "--at", "b1", "--", sys.executable, "-c", ECHO)
    ping = lanewise("testbed", "run", "small", "--at", "b2", "--", sys.executable, "-c", PING, "b1")

    assert (cut, mended) == (("0\n", False), ("1\n", True))
    assert float(ping.stdout) >= 2, ping.stderr
    lanewise("testbed", "down", "small")
    echo.communicate(timeout=60)
    assert_nothing_left(base)


def test_a_host_may_be_as_fast_as_the_kernel_can_say(
    lanewise: Lanewise, base: Path, tmp_path: Path
) -> None:
    text = '[[site]]\nname = "a"\nhosts = 2\nlan = {{ rate = "{}" }}\n'
    (tmp_path / "fast.toml").write_text(text.format("40 Gbit/s"))
    (tmp_path / "fastest.toml").write_text(text.format("1000 Gbit/s"))

    for name in ("fast", "fastest"):
        done = lanewise(
            "testbed", "run", f"{name}.toml", "--", "tc", "qdisc", "show", "dev", "lan0"
        )
        assert (done.returncode, "tbf" in done.stdout) == (0, True), done.stderr

    assert_nothing_left(base)


def test_a_cut_that_would_end_later_ends_with_the_command_and_with_an_interrupt(
    lanewise: Lanewise, small: Path, base: Path, tmp_path: Path
) -> None:
    (tmp_path / "long.toml").write_text('[[fault]]\nat = "0 s"\ncut = "a1.lan0"\nfor = "600 s"\n')
    lanewise("testbed", "up", small)
    carrier = ("testbed", "run", "small", "--", sys.executable, "-c", CARRIER, "lan0")

    run = lanewise(
        "testbed", "run", "small", "--faults", "long.toml", "--", "sh", "-c", UNTIL_IT_IS_CUT
    )
    after_the_command = lanewise(*carrier).stdout
    process = started("fault", "small", tmp_path / "long.toml")
    meanwhile = lanewise(*carrier).stdout
    process.send_signal(signal.SIGTERM)
    mended, _ = process.communicate(timeout=60)

    assert [json.loads(line)["action"] for line in run.stderr.splitlines()] == ["cut", "mend"]
    assert json.loads(mended)["action"] == "mend"
    assert (after_the_command, meanwhile) == ("there\n", "gone\n")
    assert lanewise(*carrier).stdout == "there\n"
    lanewise("testbed", "down", "small")
    assert_nothing_left(base)


def test_without_the_rights_of_root_one_is_raised_as_well(small: Path, base: Path) -> None:
    powerless = ["setpriv", "--bounding-set=-all,+setfcap", "--inh-caps=-all"]
    if shutil.which(powerless[0]) is None:
        pytest.skip("there is no setpriv here; install util-linux")
    # Linux wants this one of whoever maps user 0, which only a test does without the others.
    command = [sys.executable, "-m", "lanewise", "testbed", "run", str(small), "--", "hostname"]

    done = subprocess.run([*powerless, *command], capture_output=True, text=True, check=False)

    if "is refused" in done.stderr:
        pytest.skip(done.stderr)
    assert (done.stdout, done.returncode) == ("a1\n", 0), done.stderr
    assert_nothing_left(base)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("check", "small.toml"), ["small.toml:4", "'rat'", "rate"]),
        (("up", "small.toml"), ["small.toml:4", "'rat'", "rate"]),
        (("run", "small.toml", "--", "true"), ["small.toml:4", "'rat'", "rate"]),
        (("up", "two-sites"), ["two-sites", "two-site"]),
        (("down",), ["--all"]),
        (("down", "small"), ["small", "not up"]),
        (("fault", "small", "cut", "a-b"), ["small"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_bad_input_is_refused_in_one_line_before_anything_is_made(
    lanewise: Lanewise, small: Path, base: Path, arguments: tuple[str, ...], named: list[str]
) -> None:
    small.write_text(SMALL.replace("rate", "rat", 1))

    done = lanewise("testbed", *arguments)

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("lanewise testbed ")
    assert all(word in done.stderr for word in named), done.stderr
    assert list(base.iterdir()) == []
