# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise.tune` for real, on a few small messages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lanewise
from lanewise.errors import RequestError, RunError
from lanewise.measurement import tune as tuning
from lanewise.tuning.write import values_of


def test_a_tuning_has_what_was_measured_and_writes_what_run_reads(
    launcher: str, tmp_path: Path
) -> None:
    path = tmp_path / "tuning.json"

    found = lanewise.tune(
        "scatter", "barrier", ranks=2, sizes=8, repetitions=(10, 40),
        launches=1 if launcher == "smpi" else 2, launcher=launcher, output=path,
    )  # fmt: skip

    assert found.complete
    assert found.collectives == ("barrier", "scatter")
    measured = found.frame
    assert sorted(set(measured.message_bytes)) == [0, 8]
    assert set(measured[measured.algorithm == "default"].origin) == {"mpi"}
    assert (measured.median_s > 0).all()
    assert values_of(lanewise.TuningResult.load(path).tuning) == values_of(found.tuning)
    assert [left.name for left in tmp_path.iterdir()] == ["tuning.json"]


def test_a_budget_that_is_used_up_leaves_what_was_measured_until_then(smpi: str) -> None:
    found = lanewise.tune(
        "scatter", ranks=4, sizes="1:64K:x2", launches=1, launcher=smpi, budget_s=3,
        repetitions=4000,
    )  # fmt: skip

    assert not found.complete
    assert "the budget was used up" in str(found)
    assert len(found.frame) > 0


@pytest.mark.parametrize("error", [RunError("the disk is full"), KeyboardInterrupt()], ids=repr)
def test_what_was_measured_is_kept_beside_the_output_until_that_is_written(
    smpi: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    output, evidence = tmp_path / "tuning.json", tmp_path / "tuning.json.evidence"

    def fail(*_arguments: object) -> None:
        raise error

    with monkeypatch.context() as patched, pytest.raises(type(error)) as raised:
        patched.setattr(tuning, "save", fail)
        lanewise.tune(
            "scatter", ranks=2, sizes=8, repetitions=(10, 40), launches=1, launcher=smpi,
            output=output,
        )  # fmt: skip

    assert '"record":"point"' in evidence.read_text(encoding="utf-8")
    assert isinstance(error, KeyboardInterrupt) or f"is kept in {evidence}; " in str(raised.value)
    with pytest.raises(RequestError, match=r"tuning\.json\.evidence exists; .* --resume"):
        lanewise.tune("scatter", ranks=2, launcher=smpi, output=output)
    words = ["scatter", "-n", "2", "--sizes", "8", "--repetitions", "10:40", "--launches", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "lanewise", "tune", *words, "--launcher", smpi, "-o", output,
         "--resume"], capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [left.name for left in tmp_path.iterdir()] == ["tuning.json"]


@pytest.mark.parametrize(
    ("options", "instead"),
    [({"budget": 60}, "give budget_s=, in seconds"), ({"collectives": "bcast"}, "by themselves")],
    ids=str,
)
def test_an_option_that_tune_has_an_argument_for_is_refused(
    options: dict[str, Any], instead: str
) -> None:
    with pytest.raises(TypeError, match=instead):
        lanewise.tune("scatter", **options)
    with pytest.raises(RequestError, match="sizes is empty"):
        lanewise.tune("scatter", sizes=[])


def test_what_cannot_be_tuned_is_refused(smpi: str, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="did you mean scatter"):
        lanewise.tune("scater", ranks=2, launcher=smpi)
    with pytest.raises(TypeError, match="did you mean margin"):
        lanewise.tune("scatter", ranks=2, launcher=smpi, marginn=0.1)
    with pytest.raises(RequestError, match="launches=0"):
        lanewise.tune("scatter", launches=0, launcher=smpi)
    (tmp_path / "tuning.json").write_text("{}", encoding="utf-8")
    with pytest.raises(RequestError, match="exists"):
        lanewise.tune("scatter", launcher=smpi, output=tmp_path / "tuning.json")


def test_a_rank_launches_no_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMI_RANK", "0")

    with pytest.raises(RequestError, match="without an MPI launcher"):
        lanewise.tune("scatter")
