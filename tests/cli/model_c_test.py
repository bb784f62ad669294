# SPDX-License-Identifier: BSD-3-Clause
"""A program in C that asks a platform gets what the command and Python get."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from lanewise import read_platform

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "build/release/lib"
RANKS, MESSAGE_BYTES = 1000, 65536

Lanewise = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def halo_time(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the example as a user would, against the headers and the library."""
    compiler = shutil.which("mpicc.openmpi") or shutil.which("mpicc")
    if compiler is None or not (LIBRARY / "liblanewise.so").exists():
        pytest.skip("no mpicc or no library; make build")
    program = tmp_path_factory.mktemp("c") / "halo_time"
    line = [
        compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}",
        str(ROOT / "examples/halo_time.c"), "-o", str(program),
        f"-L{LIBRARY}", f"-Wl,-rpath,{LIBRARY}", "-llanewise",
    ]  # fmt: skip
    subprocess.run(line, check=True, timeout=120)
    return program


def ask(program: Path, *words: object) -> subprocess.CompletedProcess[str]:
    line = [str(program), *(str(word) for word in words)]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=120)


def test_c_predicts_what_the_command_and_python_predict(
    halo_time: Path, lanewise: Lanewise, platform: Path
) -> None:
    told = ask(halo_time, platform, RANKS, MESSAGE_BYTES)
    predicted = lanewise(
        "model", "predict", "scatter", "--platform", platform, "--ranks", RANKS,
        "--sizes", MESSAGE_BYTES, "--algorithm", "linear,binomial", "--json",
    )  # fmt: skip

    assert told.returncode == 0, told.stderr
    from_c = dict(re.findall(r"^scatter (\w+): (\S+) s$", told.stdout, re.MULTILINE))
    asked = read_platform(platform)
    for candidate in json.loads(predicted.stdout)["candidates"]:
        name, (time_s,) = candidate["algorithm"], candidate["predicted_s"]
        assert float(from_c[name]) == pytest.approx(time_s, rel=1e-8)
        from_python = asked.predict("scatter", name, ranks=RANKS, message_bytes=MESSAGE_BYTES)
        assert from_python == time_s
    assert "model hockney: off by 0.0 % at 0 held-out points, best" in told.stdout


def test_a_schedule_of_ones_own_takes_its_messages_time(halo_time: Path, platform: Path) -> None:
    told = ask(halo_time, platform, RANKS, MESSAGE_BYTES)

    # By Hockney both messages of a rank leave it one after the other.
    expected_s = 2 * (1e-5 + 1e-9 * MESSAGE_BYTES)
    assert float(re.findall(r"halo exchange: (\S+) s", told.stdout)[0]) == pytest.approx(expected_s)


@pytest.mark.parametrize(
    ("ranks", "complaint"),
    [("0", "at least 1"), ("1", "the peer is another"), ("-3", "-3 ranks")],
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(
    halo_time: Path, platform: Path, ranks: str, complaint: str
) -> None:
    refused = ask(halo_time, platform, ranks, MESSAGE_BYTES)

    assert refused.returncode == 1
    assert complaint in refused.stderr
