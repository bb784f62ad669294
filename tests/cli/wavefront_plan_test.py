# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise.wavefront.plan` says what the command's plan does."""

from __future__ import annotations

import dataclasses
import inspect
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanewise import wavefront
from lanewise.errors import RequestError

pytestmark = pytest.mark.usefixtures("sweeps_built")

Native = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.mark.parametrize(
    ("words", "order"),
    [
        ([], {}),
        (["--directions", "symmetric"], {"directions": "symmetric"}),
        (["--borders", "periodic"], {"borders": "periodic"}),
        (["--waves", "3", "--threads", "1"], {"waves": 3, "threads": 1}),
        (
            ["--read-rate", "1.5GB/s", "--write-rate", "2GB/s", "--cell-rate", "500Mcells/s"],
            {"rates": wavefront.Rates(1.5e9, 2e9, 5e8)},
        ),
    ],
)
def test_a_plan_is_that_of_the_command(
    native: Native, words: list[str], order: dict[str, object]
) -> None:
    shape = ("--rows", "1000", "--cols", "800", "--kernel", "sor", "--layout", "row-major")
    said = native("plan", *shape, "--iterations", 64, "--memory", "64MiB", *words, "--json")

    plan = wavefront.plan((1000, 800), "sor", 64, memory="64MiB", coefficients=1, **order)

    assert said.returncode == 0, said.stderr
    assert {"event": "plan", **dataclasses.asdict(plan)} == json.loads(said.stdout)


def test_a_plan_takes_what_a_run_takes() -> None:
    # What a run calls, what it looks for in the data, and where it keeps arrays change no plan.
    called = {"on_pause", "on_progress", "check_finite", "folder"}

    def parameters(function: Callable[..., object]) -> set[str]:
        return set(inspect.signature(function).parameters)

    asked = parameters(wavefront.run) - called
    assert asked - parameters(wavefront.plan) == set()
    assert asked - {"store"} - parameters(wavefront.Store.plan) == set()
    assert parameters(wavefront.Store.create) - parameters(wavefront.plan) == {
        "folder", "rows", "columns", "names",
    }  # fmt: skip
    resumed = {"memory", "threads", "waves", "rates"}
    for function in (wavefront.resume, wavefront.run_on_ranks, wavefront.resume_on_ranks):
        assert resumed <= parameters(function)


def test_a_plan_with_a_condition_is_that_of_the_run() -> None:
    def planned(**ending: Any) -> wavefront.Plan:
        return wavefront.plan((100, 80), "sor", 100, memory="64MiB", coefficients=1, **ending)

    assert planned(until="residual<1e-8") == planned(rtol=1e-8) == planned(pause_every=32)
    assert planned(until="residual<1e-8", pause_every=10).waves <= 10
    with pytest.raises(RequestError, match="residual"):
        planned(until="residul<1")


def test_a_plan_of_a_shape_has_coefficients_by_row_and_column() -> None:
    kernel = wavefront.RowKernel(12345)
    shape = {"row_coefficients": 1, "column_coefficients": 1, "memory": "64MiB"}

    found = wavefront.plan((61, 37), kernel, 2, **shape)

    assert found == wavefront.plan([np.zeros((61, 37)), np.zeros((61, 1)), np.zeros((1, 37))],
                                   kernel, 2, memory="64MiB")  # fmt: skip


@pytest.mark.parametrize(
    "memory",
    ["64M", "64MiB", "64MB", "65536k", "67108864", "67108864B", "1G",
     "64m", "64mib", "64 MiB", " 64MiB", "0.5GiB", "64MiBs", "-1", "", "\u0664M"],
)  # fmt: skip
def test_a_budget_is_read_as_by_the_command(native: Native, memory: str) -> None:
    shape = ("--rows", "100", "--cols", "80", "--kernel", "sor", "--layout", "row-major")
    said = native("plan", *shape, "--iterations", 64, f"--memory={memory}", "--json")

    def plan() -> wavefront.Plan:
        return wavefront.plan((100, 80), "sor", 64, memory=memory, coefficients=1)

    if said.returncode == 0:
        assert dataclasses.asdict(plan()).items() <= json.loads(said.stdout).items()
    else:
        with pytest.raises(RequestError, match="is not a size"):
            plan()


def test_a_store_its_folder_and_its_arrays_have_one_plan(tmp_path: Path) -> None:
    u, f = np.zeros((2, 300, 200))
    with wavefront.Store.create(tmp_path / "s", u.shape, coefficients=1) as store:
        plans = [
            wavefront.plan(u.shape, "sor", 7, coefficients=1),
            wavefront.plan([u, f], "sor", 7),
            wavefront.plan(store, "sor", 7),
            wavefront.plan(tmp_path / "s", "sor", 7),
            store.plan("sor", 7),
        ]
        store.write(0, u)
        store.write(1, f)
        outcome = wavefront.run(store, "sor", 7)

    assert plans == plans[:1] * 5
    assert outcome.read_bytes == plans[0].read_bytes
    assert outcome.written_bytes == plans[0].written_bytes


def test_a_kernel_of_ones_own_is_planned_and_not_called() -> None:
    numba = pytest.importorskip("numba")

    @numba.cfunc(wavefront.row_signature())
    def mean(updated, data, coefficients, row, first, end, context):  # noqa: PLR0917
        for j in range(first, end):
            updated[0][j] = coefficients[0][0] * (data[1][j - 1] + data[1][j + 1])

    u, weights = np.zeros((300, 200)), np.ones((300, 1))

    plan = wavefront.plan([u, weights], mean, 9, directions="down-right")

    assert plan.passes * plan.waves >= 9
    with pytest.raises(RequestError, match="mean goes down and right only"):
        wavefront.plan([u, weights], mean, 9, directions="symmetric")


def test_a_budget_that_is_too_small_is_refused_with_the_least_that_does() -> None:
    with pytest.raises(RequestError, match=r"too small for this store; give it --memory \d+MiB"):
        wavefront.plan((1000, 800), "sor", 64, memory="1MiB", coefficients=1)


def test_what_cannot_be_planned_is_refused() -> None:
    with pytest.raises(RequestError, match="1 coefficient matri"):
        wavefront.plan((1000, 800), "sor", 64)
    with pytest.raises(RequestError, match="a store has two sides or three"):
        wavefront.plan((10, 10, 10, 10), "sor", 64)


def test_a_plan_reads_as_a_few_lines() -> None:
    rates = wavefront.Rates(1e9, 1e9, 1e8)

    text = str(wavefront.plan((1000, 800), "sor", 64, coefficients=1, rates=rates))

    assert [line.split()[0] for line in text.splitlines()] == ["passes", "memory", "disk", "time"]
    assert "limited by the kernel" in text


@pytest.mark.parametrize(
    ("option", "most"),
    [("iterations", 2**63), ("waves", 2**63), ("pause_every", 2**63), ("threads", 2**32)],
)
def test_counts_that_the_library_cannot_hold_are_refused(option: str, most: int) -> None:
    u, f = np.random.default_rng(1).random((2, 9, 9))

    for count in (-1, most, 2**70, 2.5):
        options: dict[str, Any] = {"iterations": 3, option: count}
        says = f"{option} is a whole number from 0 to {most - 1}, not {count}$"
        with pytest.raises(RequestError, match=says):
            wavefront.run([u, f], "sor", **options)
        with pytest.raises(RequestError, match=says):
            wavefront.plan((9, 9), "sor", coefficients=1, **options)


@pytest.mark.parametrize("memory", [-1, 2**63, "9000000000GiB", "9" * 400])
def test_a_memory_that_the_library_cannot_hold_is_refused(
    memory: str | int, tmp_path: Path
) -> None:
    says = f"memory is (a whole number of bytes, such as .*, not -1|at most {2**63 - 1})"
    with pytest.raises(RequestError, match=says):
        wavefront.plan((9, 9), "sor", 3, coefficients=1, memory=memory)
    with (
        wavefront.Store.create(tmp_path / "s", 9, 9) as store,
        pytest.raises(RequestError, match=says),
    ):
        store.convert(tmp_path / "t", memory=memory)
