# SPDX-License-Identifier: BSD-3-Clause
"""Evidence that cannot be read is refused with a remedy, whatever is wrong in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanewise.errors import RequestError
from lanewise.tuning.evidence import read_evidence


@pytest.mark.parametrize("line", ["{", "[" * 100_000, "1" * 5000], ids=["cut", "deep", "digits"])
def test_evidence_that_is_damaged_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "tuning.json.evidence"
    path.write_text(f"{line}\n")

    with pytest.raises(RequestError, match=r"is damaged; remove it and measure again$"):
        read_evidence(path)
