# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks wrote is read in little memory."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

from lanewise.bits.records import results_in

REDUCTIONS = 20_000


def test_many_reductions_take_few_bytes_each(tmp_path: Path) -> None:
    call = {"operation": "allreduce", "count": 1, "type": "MPI_DOUBLE", "op": "MPI_SUM", "ranks": 1}
    records = [
        {"world": 1},
        {"site": 0, "object": "app", "offset": 64, "symbol": "main"},
        *({**call, "number": number, "hash": f"{number * 977:016x}", "from": 0}
          for number in range(REDUCTIONS)),
        {"end": True, "unseen": 0, "between_groups": 0, "several_threads": False},
    ]  # fmt: skip
    (tmp_path / "rank-0.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in records))
    del records

    tracemalloc.start()
    found = results_in(tmp_path)
    kept_bytes, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(found[0].reductions) == REDUCTIONS
    assert kept_bytes < 32 * REDUCTIONS
    assert peak_bytes < 128 * REDUCTIONS
