# SPDX-License-Identifier: BSD-3-Clause
"""Faults by script: an unmodified program meets what the script says, and the same each time."""

from __future__ import annotations

import errno
import fcntl
import shlex
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from compiling import compiled

from experiments.hca.connections import CLIENTS, try_client
from experiments.hca.hosts import ADDRESS, CALLER, LISTENER, Hosts, Said
from experiments.stopping import stop
from lanewise.hca.faults import CALLS, QUEUE_PAIR_CALLS

PINGPONG = ["ibv_rc_pingpong", "-g", "0", "-c", "-n", "200"]

SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(2, 6))]


def called(hosts: Hosts, folder: Path, faults: str, seed: int = 7) -> tuple[Said, str]:
    """Run a ping-pong whose caller meets the faults; return also their log."""
    script = folder / "faults.toml"
    script.write_text(faults)
    return called_with(hosts, folder, ["--faults", str(script), "--seed", str(seed)])


def called_with(hosts: Hosts, folder: Path, options: list[str]) -> tuple[Said, str]:
    """Run a ping-pong whose caller has these options of faults; return also their log."""
    if shutil.which(PINGPONG[0]) is None:
        pytest.skip(f"no {PINGPONG[0]} here; install ibverbs-utils")
    log = folder / "faults.jsonl"
    log.unlink(missing_ok=True)
    all_options = [*hosts.options, *options, "--fault-log", str(log)]
    with_faults = replace(hosts, options=all_options)
    listening = hosts.listen(PINGPONG, 18515)
    calling = with_faults.run(CALLER, [*PINGPONG, ADDRESS])
    if calling.returncode != 0:
        stop(listening)
    text, _ = listening.communicate()
    said = Said(text, calling.stdout, (listening.returncode, calling.returncode))
    return said, log.read_text() if log.exists() else ""


def test_a_call_fails_with_the_error_of_the_script(hosts: Hosts, tmp_path: Path) -> None:
    said, log = called(hosts, tmp_path, '[[fault]]\ncall = "ibv_reg_mr"\ntimes = 1\n')
    assert said.statuses[1] == 1
    assert "Couldn't register MR" in said.caller
    assert log == '{"fault": 1, "occurrence": 1, "call": "ibv_reg_mr", "what": "ENOMEM"}\n'


def test_a_log_has_the_faults_of_all_processes_of_the_last_command(
    hosts: Hosts, tmp_path: Path
) -> None:
    if shutil.which("ibv_devinfo") is None:
        pytest.skip("no ibv_devinfo here; install ibverbs-utils")
    script, log = tmp_path / "faults.toml", tmp_path / "faults.jsonl"
    script.write_text('[[fault]]\ncall = "ibv_open_device"\ntimes = 1\n')
    options = [*hosts.options, "--faults", str(script), "--fault-log", str(log)]
    with_faults = replace(hosts, options=options)

    lines = []
    for command in ("ibv_devinfo; ibv_devinfo; ibv_devinfo", "ibv_devinfo; ibv_devinfo"):
        with_faults.run(CALLER, ["sh", "-c", command])
        lines.append(len(log.read_text().splitlines()))

    assert lines == [3, 2]


def test_a_log_may_go_where_the_errors_go_and_loses_nothing_there(
    hosts: Hosts, tmp_path: Path
) -> None:
    if shutil.which("ibv_devinfo") is None:
        pytest.skip("no ibv_devinfo here; install ibverbs-utils")
    script, errors = tmp_path / "faults.toml", tmp_path / "errors.txt"
    script.write_text('[[fault]]\ncall = "ibv_open_device"\ntimes = 1\n')
    errors.write_text("before\n")
    device = shlex.join([sys.executable, "-m", "lanewise", "rdma", "run", *hosts.options])
    faults = f"--faults {script} --fault-log /dev/stderr"
    command = f"{device} {faults} -- ibv_devinfo 2>> {errors}"
    done = replace(hosts, device=False).run(CALLER, ["sh", "-c", command])
    lines = errors.read_text().splitlines()
    assert (lines[0], sum(line.startswith('{"fault"') for line in lines)) == ("before", 1), done


@pytest.mark.parametrize("case", ["locked by somebody else", "not readable"])
def test_a_log_takes_faults_that_is(hosts: Hosts, tmp_path: Path, case: str) -> None:
    if shutil.which("ibv_devinfo") is None:
        pytest.skip("no ibv_devinfo here; install ibverbs-utils")
    script, log = tmp_path / "faults.toml", tmp_path / "faults.jsonl"
    script.write_text('[[fault]]\ncall = "ibv_open_device"\ntimes = 1\n')
    log.touch()
    options = [*hosts.options, "--faults", str(script), "--fault-log", str(log)]
    briefly = replace(hosts, options=options, limit_s=20)
    words = ["ibv_devinfo"]
    with log.open("a") as held:
        if case == "not readable":  # nor by root, who is without these privileges here
            log.chmod(0o222)
            words = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *words]
        else:
            fcntl.flock(held, fcntl.LOCK_EX)
        done = briefly.run(CALLER, words)

    log.chmod(0o644)
    assert len(log.read_text().splitlines()) == 1, done.stdout


def on_its_queue_pair(name: str) -> str:
    """Name the queue pair of failing_calls.c on which a verb fails; groups are of its second."""
    if name not in QUEUE_PAIR_CALLS:
        return ""
    return f"queue_pair = {2 if name.endswith('mcast') else 1}\n"


@pytest.mark.parametrize("chosen", [0, 1], ids=["the usual error", "another error"])
def test_each_verb_fails_once_with_each_of_its_errors_and_then_goes_well(
    hosts: Hosts, tmp_path: Path, chosen: int
) -> None:
    wanted = {name: errors[min(chosen, len(errors) - 1)] for name, errors in CALLS.items()}
    script = tmp_path / "faults.toml"
    script.write_text(
        "".join(
            f'[[fault]]\ncall = "{name}"\nerror = "{error}"\ntimes = 1\n{on_its_queue_pair(name)}'
            for name, error in wanted.items()
        )
    )
    alone = Hosts(hosts.bed, ["--ports", "lo", "--faults", str(script)])

    done = alone.run(LISTENER, [compiled("failing_calls", tmp_path)])

    said = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
    assert said == {name: [str(getattr(errno, error)), "0"] for name, error in wanted.items()}


def test_a_completion_has_the_status_of_the_script(hosts: Hosts, tmp_path: Path) -> None:
    faults = '[[fault]]\ncompletion = "send"\nstatus = "IBV_WC_RETRY_EXC_ERR"\nafter = 20\n'
    said, log = called(hosts, tmp_path, faults + "times = 1\n")
    assert said.statuses[1] == 1
    assert "Failed status transport retry counter exceeded" in said.caller
    assert '"occurrence": 21' in log


def test_lost_late_and_corrupt_packets_are_made_good(hosts: Hosts, tmp_path: Path) -> None:
    faults = "".join(
        f'[[fault]]\npacket = "send"\naction = "{action}"\nafter = {after}\nevery = 50\n{more}\n'
        for action, after, more in (
            ("lose", 0, ""), ("double", 10, ""), ("corrupt", 20, ""),
            ("delay", 30, 'delay = "2 ms"'),
        )
    )  # fmt: skip
    said, log = called(hosts, tmp_path, faults)
    assert said.good, str(said)
    assert all(f'"what": "{action}"' in log for action in ("lose", "double", "corrupt", "delay"))


def test_corrupt_packets_of_one_host_are_lost_though_memory_has_no_checksum(
    hosts: Hosts, tmp_path: Path
) -> None:
    if shutil.which(PINGPONG[0]) is None:
        pytest.skip(f"no {PINGPONG[0]} here; install ibverbs-utils")
    script = tmp_path / "faults.toml"
    script.write_text('[[fault]]\npacket = "send"\naction = "corrupt"\nafter = 100\n')
    with_faults = replace(hosts, options=[*hosts.options, "--faults", str(script)])
    listening = with_faults.listen(PINGPONG, 18515)
    calling = hosts.run(LISTENER, [*PINGPONG, ADDRESS])
    stop(listening)
    listening.communicate()
    assert calling.returncode == 1
    assert "Failed status transport retry counter exceeded" in calling.stdout


@pytest.mark.parametrize(
    ("fault", "says", "kinds"),
    [
        (
            'action = "port_down"\nfor = "50 ms"',
            "success, 100 messages", ["port error", "port active"],
        ),
        ('action = "gid_change"', "success, 100 messages", ["GID table change"]),
        ('action = "device_fatal"', "Work Request Flushed Error, 49 messages",
         ["local catastrophic error"]),
        ('action = "not_ready"', "success, 100 messages", []),
        ('action = "mark"', "success, 100 messages", []),
    ],
)  # fmt: skip
def test_a_fault_of_the_device_happens_at_the_packet_that_the_script_names(
    hosts: Hosts, tmp_path: Path, fault: str, says: str, kinds: list[str]
) -> None:
    script, log = tmp_path / "faults.toml", tmp_path / "faults.jsonl"
    script.write_text(f'[[fault]]\npacket = "send"\n{fault}\nafter = 49\ntimes = 1\n')
    options = ["--ports", "lan0", "--faults", str(script), "--fault-log", str(log)]
    looped = compiled("looped", tmp_path)

    done = Hosts(hosts.bed, options).run(LISTENER, [looped])

    assert done.stdout.splitlines() == [says, *kinds]
    noted = log.read_text()
    assert noted.count("\n") == 1
    assert '"occurrence": 50, "packet": "send"' in noted
    # The same happens again by the log alone.
    options = ["--ports", "lan0", "--replay", str(log)]
    assert Hosts(hosts.bed, options).run(LISTENER, [looped]).stdout == done.stdout


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (
            'completion = "send"\nstatus = "IBV_WC_GENERAL_ERR"\nafter = 20',
            "general error, 20 messages",
        ),
        ('packet = "send"\naction = "device_fatal"\nafter = 30',
         "Work Request Flushed Error, 30 messages"),
        ('call = "ibv_post_send"\nafter = 40', ""),
    ],
)  # fmt: skip
def test_a_rule_for_a_queue_pair_leaves_the_others_alone(
    hosts: Hosts, tmp_path: Path, fault: str, says: str
) -> None:
    script, log = tmp_path / "faults.toml", tmp_path / "faults.jsonl"
    looped = [compiled("looped", tmp_path), "-s"]

    def run(*options: str) -> str:
        on_host = Hosts(hosts.bed, ["--ports", "lan0", *options])
        return on_host.run(LISTENER, looped).stdout.partition("\n")[0]

    script.write_text(f"[[fault]]\n{fault}\nqueue_pair = 1\n")
    assert run("--faults", str(script)) == "success, 100 messages"
    script.write_text(f"[[fault]]\n{fault}\nqueue_pair = 2\ntimes = 1\n")
    assert run("--faults", str(script), "--fault-log", str(log)) == says
    assert '"queue_pair": 2' in log.read_text()
    assert run("--replay", str(log)) == says


def test_packets_of_a_queue_pair_that_was_reset_meet_faults_again(
    hosts: Hosts, tmp_path: Path
) -> None:
    script, log = tmp_path / "faults.toml", tmp_path / "log"
    script.write_text('[[fault]]\npacket = "send"\naction = "double"\nafter = 60\ntimes = 1\n')
    options = ["--ports", "lan0", "--faults", str(script), "--fault-log", str(log)]

    done = Hosts(hosts.bed, options).run(LISTENER, [compiled("looped", tmp_path), "-r"])

    assert "success, 100 messages\n" in done.stdout
    assert '"occurrence": 61' in log.read_text()


def test_a_device_that_has_died_flushes_work_and_refuses_what_asks_it(
    hosts: Hosts, tmp_path: Path
) -> None:
    script = tmp_path / "faults.toml"
    script.write_text('[[fault]]\npacket = "send"\naction = "device_fatal"\ntimes = 1\n')
    options = ["--ports", "lan0", "--faults", str(script)]

    done = Hosts(hosts.bed, options).run(LISTENER, [compiled("after_fatal", tmp_path)])

    assert done.returncode == 0, done.stdout
    event, before, after, *calls = done.stdout.splitlines()
    assert event == "local catastrophic error"
    assert before == "posted before: Work Request Flushed Error, Work Request Flushed Error"
    assert after == "posted after: Work Request Flushed Error, Work Request Flushed Error"
    returned = {verb: int(error) for verb, error in (line.rsplit(" ", 1) for line in calls)}
    well = {verb for verb, error in returned.items() if error == 0}
    assert well == {"ibv_req_notify_cq", "ibv_detach_mcast", "destroyed", "opened again"}
    assert {returned[verb] for verb in returned.keys() - well} == {errno.EIO}
    asked = set(CALLS) - {"ibv_open_device", "ibv_reg_dm_mr"}
    posted = {"ibv_post_send", "ibv_post_recv", "ibv_post_srq_recv", "ibv_bind_mw"}
    assert asked - posted <= returned.keys()


def test_faults_by_time_come_in_their_time_and_again_by_the_log(
    hosts: Hosts, tmp_path: Path
) -> None:
    script, log, again = tmp_path / "faults.toml", tmp_path / "once", tmp_path / "again"
    script.write_text(
        '[[fault]]\npacket = "send"\naction = "delay"\ndelay = "1 ms"\n'
        'after = "1 ms"\nevery = "2 ms"\n'
    )
    looped = compiled("looped", tmp_path)
    options = ["--ports", "lan0", "--fault-log"]

    Hosts(hosts.bed, [*options, str(log), "--faults", str(script)]).run(LISTENER, [looped])
    Hosts(hosts.bed, [*options, str(again), "--replay", str(log)]).run(LISTENER, [looped])

    noted = log.read_text()
    assert 0 < noted.count("\n") < 100
    assert again.read_text() == noted


def test_a_peer_without_receives_makes_a_sender_give_up_in_the_end(
    hosts: Hosts, tmp_path: Path
) -> None:
    script = tmp_path / "faults.toml"
    script.write_text('[[fault]]\npacket = "send"\naction = "not_ready"\nafter = 49\n')
    options = ["--ports", "lan0", "--faults", str(script)]

    done = Hosts(hosts.bed, options).run(LISTENER, [compiled("looped", tmp_path)])

    assert done.stdout.startswith("RNR retry counter exceeded, 49 messages")


def test_the_same_seed_gives_the_same_faults(hosts: Hosts, tmp_path: Path) -> None:
    # Each message has one completion of a send, so the counts do not depend on time.
    faults = '[[fault]]\ncall = "ibv_post_send"\nprobability = "2 %"\ntimes = 1\n'
    first, again, other = (called(hosts, tmp_path, faults, seed)[1] for seed in (7, 7, 8))
    assert first == again != other
    assert first.count("\n") == 1


def replayed(hosts: Hosts, folder: Path, faults: str, seed: int) -> tuple[str, str]:
    """Run a ping-pong with the faults, and do its faults again; return the logs of both."""
    _, log = called(hosts, folder, faults, seed)
    noted = folder / "noted.jsonl"
    noted.write_text(log)
    _, again = called_with(hosts, folder, ["--replay", str(noted)])
    return log, again


@pytest.mark.parametrize("seed", SEEDS)
def test_a_replay_fails_the_same_call_without_the_script_and_its_seed(
    hosts: Hosts, tmp_path: Path, seed: int
) -> None:
    faults = '[[fault]]\ncall = "ibv_reg_mr"\nafter = 9\n'  # a rule that never fires has a number
    faults += '[[fault]]\ncall = "ibv_post_send"\nerror = "EINVAL"\nprobability = "4 %"\n'

    log, again = replayed(hosts, tmp_path, faults, seed)

    assert log == again
    assert log.startswith('{"fault": 2, "occurrence": ')


@pytest.mark.parametrize("seed", SEEDS)
def test_a_replay_gives_the_same_completion_an_error(
    hosts: Hosts, tmp_path: Path, seed: int
) -> None:
    faults = '[[fault]]\ncompletion = "send"\nstatus = "IBV_WC_GENERAL_ERR"\nprobability = "3 %"\n'

    log, again = replayed(hosts, tmp_path, faults, seed)

    assert log == again
    assert '"completion": "send", "what": "IBV_WC_GENERAL_ERR"' in log


@pytest.mark.parametrize("seed", SEEDS)
def test_a_replay_of_a_rule_for_any_does_not_depend_on_which_kind_comes_first(
    hosts: Hosts, tmp_path: Path, seed: int
) -> None:
    faults = '[[fault]]\ncompletion = "any"\nstatus = "IBV_WC_GENERAL_ERR"\nprobability = "2 %"\n'

    log, again = replayed(hosts, tmp_path, faults, seed)

    assert sorted(log.splitlines()) == sorted(again.splitlines())
    assert '"what": "IBV_WC_GENERAL_ERR"' in log


@pytest.mark.parametrize("seed", SEEDS)
def test_a_replay_treats_the_same_packets_alike(hosts: Hosts, tmp_path: Path, seed: int) -> None:
    # A ping-pong has one message on its way, so the order of what arrives is always the same.
    faults = "".join(
        f'[[fault]]\npacket = "send"\naction = "{action}"\nprobability = "5 %"\ntimes = 3\n{more}\n'
        for action, more in (("lose", ""), ("delay", 'delay = "2 ms"'), ("corrupt", ""))
    )

    log, again = replayed(hosts, tmp_path, faults, seed)

    assert log == again
    assert log.count("\n") == 9
    assert '"what": "delay", "delay_us": 2000}' in log


def test_a_log_that_was_cut_short_is_refused_with_its_line(hosts: Hosts, tmp_path: Path) -> None:
    log = tmp_path / "noted.jsonl"
    log.write_text('{"fault": 1, "occurrence": 1, "call": "ibv_reg_mr", "what": "ENOMEM"}\n{"fa')

    refused = replace(hosts, options=[*hosts.options, "--replay", str(log)]).run(LISTENER, PINGPONG)

    assert refused.returncode == 2
    assert refused.stdout == (
        f"lanewise rdma run: {log}:2: this line is not JSON; name a log as --fault-log wrote it\n"
    )


def test_a_listener_that_rejects_once_is_called_in_vain(hosts: Hosts, tmp_path: Path) -> None:
    if shutil.which("rping") is None:
        pytest.skip("no rping here; install rdmacm-utils")
    (rping,) = (client for client in CLIENTS if client.name == "rping")
    script = tmp_path / "faults.toml"
    script.write_text('[[fault]]\nconnection = "request"\naction = "reject"\ntimes = 1\n')
    rejecting = replace(hosts, options=[*hosts.options, "--faults", str(script)], caller=LISTENER)
    assert "RDMA_CM_EVENT_REJECTED, error 8" in try_client(rejecting, rping)
