# SPDX-License-Identifier: BSD-3-Clause
"""MPIBlib (2008): two figures, a table, and two things that only the text tells."""

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
    over,
    words,
)

_COSTS = (
    Quantity("scatter, global", number(28.7), "Table 1", figure("cost_scatter_global_s")),
    Quantity("scatter, maximum", number(0.8), "Table 1", figure("cost_scatter_max_s")),
    Quantity("scatter, root", number(0.8), "Table 1", figure("cost_scatter_root_s")),
    Quantity("gather, global", number(44.7), "Table 1", figure("cost_gather_global_s")),
    Quantity("gather, maximum", number(15.6), "Table 1", figure("cost_gather_max_s")),
    Quantity("gather, root", number(15.7), "Table 1", figure("cost_gather_root_s")),
)
_SEEMS = Quantity(
    "scatter of 8 B", over(1.0), "§2.2, Fig. 1", figure("isolated_over_pipelined_8B_scatter")
)
_GLOBAL = Quantity(
    "global over maximum", number((28.7 + 44.7) / (0.8 + 15.6)), "Table 1",
    figure("global_over_max_cost_ratio"),
)  # fmt: skip
_ROOT = Quantity(
    "root over maximum", number((0.8 + 15.7) / (0.8 + 15.6)), "Table 1",
    figure("root_over_max_cost_ratio"),
)  # fmt: skip
_AGREE = Quantity(
    "medians of root and global off those of maximum",
    words("“as accurate as that with global-time”"), "§5", figure("methods_agree_percent"),
)  # fmt: skip
_PAIRS = Quantity("sequential over parallel", number(3.5 / 0.5), "§5", figure("speedup_16_ranks"))
_PICKED = Quantity(
    "worst size: Opt_Scatter over the best scatter", words("the fastest at each size", 1.0),
    "§4, Opt_Scatter", figure("worst_ratio_to_best"),
)  # fmt: skip

ITEMS = (
    Item(
        paper="000",
        item="Fig. 1",
        title="A repetition in a series seems faster than one by itself",
        experiment="pipeline-effect",
        finding=Finding(
            "In a series without isolation, a scatter of a small message seems faster than it is.",
            _SEEMS, "ratio", Target(">=", 1.0), "the paper's",
        ),
        charts=(
            Chart(
                "Time of one repetition over that in a series", "ratio",
                (
                    _SEEMS,
                    Quantity(
                        "gather of 8 B", None, "", figure("isolated_over_pipelined_8B_gather")
                    ),
                    Quantity(
                        "broadcast of 8 B", None, "", figure("isolated_over_pipelined_8B_bcast")
                    ),
                ),
            ),
        ),
        difference="The paper's 16 nodes exchange messages over Ethernet, whose congestion makes "
        "gathers of medium size escalate; the ranks here share memory, where nothing escalates and "
        "only the overlap of repetitions shows.",
        unread="IMB's times over message size, for one repetition and for several.",
        lines=(
            Lines("Scatter here", "scatter/", "bytes", "s"),
            Lines("Gather here", "gather/", "bytes", "s"),
        ),
    ),
    Item(
        paper="000",
        item="Table 1",
        title="What global, maximum and root timing cost",
        experiment="timing-methods",
        finding=Finding(
            "Global timing costs several times as much as maximum timing.",
            _GLOBAL, "ratio", Target(">=", _GLOBAL.paper.low if _GLOBAL.paper else 0.0),
            "the paper's",
        ),
        charts=(
            Chart("Time of a sweep from 0 to 100 KB", "s", _COSTS, "log"),
            Chart("Both operations together", "ratio", (_GLOBAL, _ROOT)),
        ),
        difference="Messages between ranks that share memory take microseconds, so that comparing "
        "the clocks is a larger share of global timing than on the paper's network, where gathers "
        "that escalate dominate.",
    ),
    Item(
        paper="000",
        item="Fig. 2",
        title="The three timing methods agree",
        experiment="timing-methods",
        finding=Finding(
            "Maximum and root timing are as accurate as global timing.",
            _AGREE, "%", Target("<=", 10.0), "ours",
        ),
        charts=(Chart("Median over sizes of the difference to maximum timing", "%", (_AGREE,)),),
        difference="The paper lays curves over each other and gives no number; here the medians of "
        "100 repetitions at each size are compared, and what they differ by is the scatter between "
        "launches.",
        unread="The times of scatter and gather by each method over message size.",
        lines=(
            Lines("Scatter here", "scatter/", "bytes", "s", "linear"),
            Lines("Gather here", "gather/", "bytes", "s", "linear"),
        ),
    ),
    Item(
        paper="000",
        item="§5",
        title="Round trips of disjoint pairs at the same time",
        experiment="parallel-pairs",
        finding=Finding(
            "Round trips of all pairs take a seventh of the time when disjoint pairs run at once.",
            _PAIRS, "ratio", Target(">=", 7.0), "the paper's",
        ),
        charts=(
            Chart(
                "Time of 100 round trips of 4 KB between all pairs of 16", "s",
                (
                    Quantity("one after another", number(3.5), "§5",
                             figure("sequential_16_ranks_s")),
                    Quantity("disjoint pairs at once", number(0.5), "§5",
                             figure("parallel_16_ranks_s")),
                ),
                "log",
            ),
            Chart("Gain", "ratio", (_PAIRS,)),
        ),
        difference="The switch is simulated, so its round trips are not those of the paper's "
        "network; 16 ranks gain at most a factor of 8, which both come near to.",
    ),
    Item(
        paper="000",
        item="§4",
        title="Opt_Scatter picks the fastest scatter that was measured",
        experiment="opt-scatter",
        finding=Finding(
            "Measured once, the fastest scatter can be used for each size from then on.",
            _PICKED, "ratio", Target("<=", 1.03), "ours",
        ),
        charts=(
            Chart(
                "Times over those of the best", "ratio",
                (
                    _PICKED,
                    Quantity(
                        "the same on 16 simulated hosts", words("the fastest at each size", 1.0),
                        "§4, Opt_Scatter", figure("worst_ratio_to_best_simulated"),
                    ),
                    Quantity("largest gain over the MPI's own", None, "",
                             figure("best_speedup_over_default")),
                ),
            ),
        ),
        difference="The paper has the code and measures nothing; what is beyond 1 here is the "
        "difference between the launches that choose and the launches that are judged.",
        lines=(Lines("Scatter here", "scatter/", "bytes", "s"),),
    ),
)  # fmt: skip
