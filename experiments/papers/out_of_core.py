# SPDX-License-Identifier: BSD-3-Clause
"""Out-of-core wavefront (2008): a table and three figures."""

from __future__ import annotations

from experiments.experiment import Target
from experiments.papers.item import (
    Chart,
    Finding,
    Item,
    Lines,
    Quantity,
    figure,
    number,
    ratio,
    words,
)

_EQUAL = Quantity(
    "share of the block sizes that add as much as in the paper", number(1.0), "Table 1",
    figure("equal_to_paper"),
)  # fmt: skip
_REWRITTEN = Quantity(
    "making the frontier layout over making the block layout",
    words("overhead of reading vertical frontiers"), "§4, Fig. 4",
    ratio("block_preprocess_over_copy", "frontier_preprocess_over_copy"),
)  # fmt: skip
_UNDONE = Quantity(
    "back from the frontier layout over back from block", words("“almost the same”", 1.0),
    "§4, Fig. 4", ratio("block_postprocess_over_copy", "frontier_postprocess_over_copy"),
)  # fmt: skip
_GAIN = Quantity(
    "block over frontier, best sizes", number(1.20), "§6", figure("frontier_gain_over_block")
)
_WAVES = Quantity(
    "two waves in one pass, over one", number(1.20), "§6", figure("speedup_k2_over_k1")
)
_CHAINED = Quantity(
    "the paper's algorithm, waves chained over flushed", number(1.20), "§6",
    figure("chained_gain_over_flushed"), "wavefront-blocks",
)  # fmt: skip

ITEMS = (
    Item(
        paper="002",
        item="Table 1",
        title="Space that the frontier layout adds",
        experiment="wavefront-overhead",
        finding=Finding(
            "The doubled corners add 512 bytes to 128 MiB, by the size of blocks.",
            _EQUAL, "share", Target(">=", 1.0), "the paper's",
        ),
        charts=(
            Chart(
                "Bytes added to a matrix of 2 GiB, by block size", "bytes",
                tuple(
                    Quantity(f"{side} x {side}", number(extra), "Table 1",
                             figure(f"overhead_bytes_{side}"))
                    for side, extra in
                    ((4096, 512), (512, 32 << 10), (64, 2 << 20), (8, 128 << 20))
                ),
                "log",
            ),
        ),
        difference="The numbers do not differ, because they are arithmetic, done here by the code "
        "that places every element; runs that were kept before December 2026 have six digits of "
        "them.",
    ),
    Item(
        paper="002",
        item="Fig. 4",
        title="Rewriting a matrix in another layout and back",
        experiment="wavefront-preprocess",
        finding=Finding(
            "Rewriting costs almost the same for both layouts, except, in the paper, for creating "
            "the frontier layout.",
            _REWRITTEN, "ratio", Target("<=", 1.25), "ours",
        ),
        charts=(Chart("Time over that of the block layout", "ratio", (_REWRITTEN, _UNDONE)),),
        difference="The paper reads vertical frontiers from the row-major file in small pieces; "
        "here whole rows of blocks are read and rearranged in memory, so that no layout costs much "
        "more than a copy.",
        unread="The processing times of each operation.",
    ),
    Item(
        paper="002",
        item="Fig. 7a",
        title="One iteration in three layouts over block sizes",
        experiment="wavefront-blocks",
        finding=Finding(
            "At the best block sizes, the frontier layout is 20 % faster than the block layout.",
            _GAIN, "ratio", Target(">=", 1.20), "the paper's",
        ),
        charts=(
            Chart(
                "Times over each other", "ratio",
                (
                    _GAIN,
                    Quantity("row-major at best over the sequential loop",
                             words("“at best ten times worse”", 10.0), "§6",
                             figure("row_major_over_sequential")),
                ),
            ),
        ),
        difference="The matrices are smaller than the paper's, and up to a quarter of their "
        "192 MiB stays in memory, so that the many small reads of the row-major layout cost less "
        "than on the paper's disk.",
        unread="The times over block size; the text has the ratios at the best sizes.",
        lines=(Lines("One iteration here, by layout", "layouts/", "columns of a block", "s"),),
    ),
    Item(
        paper="002",
        item="Fig. 7b",
        title="Wave chaining",
        experiment="wavefront-chaining",
        finding=Finding(
            "A second wave that starts before the first has ended saves time, 20 % in the paper.",
            _WAVES, "ratio", Target(">=", 1.20), "the paper's",
        ),
        charts=(Chart("Gain in the time of an iteration", "ratio", (_WAVES, _CHAINED)),),
        difference="The paper's waves each read the disk and save the pause between them, while "
        "two waves over strips share one pass over the disk; the second bar is the paper's own "
        "algorithm on the disk here.",
        unread="The times of an iteration by block size and number of iterations.",
        lines=(Lines("An iteration here, by waves in a pass", "waves/", "waves", "s"),),
    ),
)  # fmt: skip
