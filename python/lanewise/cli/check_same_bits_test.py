# SPDX-License-Identifier: BSD-3-Clause
"""What `lanewise check same-bits` says of reductions that it has not compared."""

import pytest

from lanewise.bits.compare import Run
from lanewise.bits.records import RankResults
from lanewise.cli.check_same_bits import Compared, sentences_on


@pytest.mark.parametrize(
    ("ranks", "reason"),
    [
        (2, "the result could not be read"),
        (3, "not over all ranks, or rank 0 has another part of the result, or none, or it could "
            "not be read"),
    ],
)  # fmt: skip
def test_reductions_on_as_many_ranks_are_left_out_only_where_they_could_not_be_read(
    ranks: int, reason: str
) -> None:
    runs = [Run(name, n, "", {0: RankResults([], [], world=n)})
            for name, n in (("first", 2), ("other", ranks))]  # fmt: skip
    one = Compared(runs[1], runs[0], None, "", output_differs=False, not_compared=1)

    assert sentences_on(one) == [f"other: 1 reduction was not compared with first: {reason}"]
