# SPDX-License-Identifier: BSD-3-Clause
"""Evidence that cannot be read is refused with a remedy; what it says chooses finalists."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanewise.errors import RequestError
from lanewise.tuning.evidence import finalists_file, read_evidence
from lanewise.tuning.judging_test import candidate, size_of


@pytest.mark.parametrize("line", ["{", "[" * 100_000, "1" * 5000], ids=["cut", "deep", "digits"])
def test_evidence_that_is_damaged_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "tuning.json.evidence"
    path.write_text(f"{line}\n")

    with pytest.raises(RequestError, match=r"is damaged; remove it and measure again$"):
        read_evidence(path)


@pytest.mark.parametrize(("collective", "judged"), [("scatter", 1), ("iscatter", 0)])
def test_a_nonblocking_finalist_is_faster_at_once_with_the_root_of_the_first_launch(
    collective: str, judged: int
) -> None:
    equal = candidate("lanewise", "ring", 1.0)
    size = {**size_of(1.0), "collective": collective, "roots": 2, "candidates": [equal]}
    screened = {
        **size, "record": "screening", "root": 1, "candidates": [{**equal, "median_s": 0.5}]
    }  # fmt: skip
    records = [size, *({**screened, "launch": number} for number in range(1, 5))]

    assert len(finalists_file({"margin": 0.03}, records)["points"]) == judged
