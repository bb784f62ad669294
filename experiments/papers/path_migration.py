# SPDX-License-Identifier: BSD-3-Clause
"""Automatic path migration (2007): eight figures, whose numbers are in the text where they are."""

from __future__ import annotations

from experiments.experiment import Target
from experiments.papers.item import (
    Chart,
    Condition,
    Finding,
    Here,
    Item,
    Lines,
    Quantity,
    Told,
    between,
    figure,
    number,
    ratio,
    words,
)

_FEW = Quantity(
    "1 queue pair: migrating over arming", number(1.30), "§4.2.1",
    ratio("armed_migrated_us_1", "migrated_armed_us_1"),
)  # fmt: skip
_MANY = Quantity(
    "512 queue pairs: migrating over arming", number(1.16), "§4.2.1",
    ratio("armed_migrated_us_512", "migrated_armed_us_512"),
)  # fmt: skip
_LINEAR = words("“linear trend”", 1.0)
_STRAIGHT = Chart(
    "R² of the line through all numbers of queue pairs", "share",
    (
        Quantity("MIGRATED to ARMED", _LINEAR, "§4.2.1", figure("migrated_armed_r2")),
        Quantity("ARMED to MIGRATED", _LINEAR, "§4.2.1", figure("armed_migrated_r2")),
    ),
)  # fmt: skip
_FLAT = words("“almost … a flat curve”", 1.0)
_SAME = words("“remains almost same”", 1.0)
# Where the paper calls a curve flat, at most this factor up or down.
_FLAT_WITHIN = 2.0
_SAME_WITHIN = 1.5
_ARMING_MANY = Quantity(
    "while arming, 512 queue pairs over 1", _FLAT, "§4.2.2",
    ratio("arming_us_512_queue_pairs", "arming_us_1_queue_pairs"),
)  # fmt: skip
_MIGRATING_MANY = Quantity(
    "while migrating, 512 queue pairs over 1", _FLAT, "§4.2.2",
    ratio("migrating_us_512_queue_pairs", "migrating_us_1_queue_pairs"),
)  # fmt: skip
_MIGRATING_SIZES = Quantity(
    "while migrating, 1024 bytes over 32", _SAME, "§4.2.2",
    ratio("migrating_us_1024_bytes", "migrating_us_32_bytes"),
)  # fmt: skip
_PICTURE = "The execution times; the text has no more than what is stated here."
_HARDWARE = (
    "The paper pulls a cable of InfiniBand adapters, which migrate each queue pair when it is used "
    "next, in runs of 4 x 2 processes; here two ranks use a software device that sees the loss of "
    "the carrier."
)


def _application(label: str, paper: Told | None, place: str, key: str) -> Quantity:
    return Quantity(label, paper, place, figure(f"{key}_wall_slowdown_percent"))


_SORT_SHORT = _application(
    "a short integer sort", words("“very significant”"), "§4.3, Fig. 9", "integer_sort_short"
)
_SORT_SHORT_MPICH = _application("the same with MPICH", None, "", "mpich_integer_sort")
_SORT_LONG = _application(
    "a longer integer sort", words("less than for class A"), "§4.3, Fig. 10", "integer_sort"
)
_LESS_THAN_SHORT = Condition(
    "the loss of the longer sort minus that of the short one",
    Here(
        ("integer_sort_wall_slowdown_percent", "integer_sort_short_wall_slowdown_percent"),
        lambda longer, short: longer - short,
    ),
    Target("<=", 0.0),
)
_FT = _application(
    "FT class B; here 128 x 128 x 64", between(5, 7), "abstract, §6", "fourier_transform"
)
_LU = _application("LU class B; here SSOR on 64³", between(5, 7), "abstract, §6", "ssor")


def within(factor: float) -> Target:
    """Return the bound of a ratio that stays near 1: up or down by a factor at most."""
    return Target(">=", 1 / factor, at_most=factor)


def _slower(*quantities: Quantity) -> tuple[Chart, ...]:
    return (Chart("Slower with a cable pulled, time of mpirun", "%", quantities),)


ITEMS = (
    Item(
        paper="003",
        item="Fig. 5",
        title="Time of the transitions, small numbers of queue pairs",
        experiment="migration-transitions",
        finding=Finding(
            "For few queue pairs, migrating takes longer than arming, by 30 % at most.",
            _FEW, "ratio", Target(">=", 1.0, at_most=1.30), "the paper's",
        ),
        charts=(Chart("Time of one transition over the other", "ratio", (_FEW,)), _STRAIGHT),
        difference="The paper's adapter makes both transitions by itself; the device here is "
        "software that shares two cores with the program, so that the time of a single transition "
        "depends on when its thread runs.",
        unread="The times; the text has the ratio of the two lines.",
        lines=(Lines("Transitions here, few queue pairs", "few/", "queue pairs", "s", "linear"),),
    ),
    Item(
        paper="003",
        item="Fig. 6",
        title="Time of the transitions, large numbers of queue pairs",
        experiment="migration-transitions",
        finding=Finding(
            "For many queue pairs, migrating takes longer than arming, by 16 % at most.",
            _MANY, "ratio", Target(">=", 1.0, at_most=1.16), "the paper's",
        ),
        charts=(Chart("Time of one transition over the other", "ratio", (_MANY,)), _STRAIGHT),
        difference="The software device arms a queue pair when its peer has answered on the "
        "alternate path, a round trip for each, and migrates without asking, so that migrating "
        "many of them is the cheaper transition here.",
        unread="The times; the text has the ratio of the two lines.",
        lines=(Lines("Transitions here, many queue pairs", "many/", "queue pairs", "s", "linear"),),
    ),
    Item(
        paper="003",
        item="Fig. 7",
        title="Latency of 128 bytes while paths change, by queue pairs",
        experiment="migration-latency",
        finding=Finding(
            "The latency while queue pairs are armed or migrate hardly depends on how many there "
            "are.",
            _ARMING_MANY, "ratio", within(_FLAT_WITHIN), "ours",
            (Condition(_MIGRATING_MANY.label, _MIGRATING_MANY.here, within(_FLAT_WITHIN)),),
        ),
        charts=(
            Chart(
                "Latency with 512 queue pairs over that with one", "ratio",
                (_ARMING_MANY, _MIGRATING_MANY),
                "log",
            ),
        ),
        difference="The paper's adapter works beside the processor; the software device shares two "
        "cores with the program that writes, so that a write waits while other queue pairs make "
        "their transitions.",
        unread="The latencies; the text says that the curves are flat.",
        lines=(Lines("A write of 128 bytes here", "queue_pairs/", "queue pairs", "s"),),
    ),
    Item(
        paper="003",
        item="Fig. 8",
        title="Latency of small messages on 512 queue pairs while paths change",
        experiment="migration-latency",
        finding=Finding(
            "What a network fault adds to the latency remains almost the same for larger messages.",
            _MIGRATING_SIZES, "ratio", within(_SAME_WITHIN), "ours",
        ),
        charts=(
            Chart(
                "Latency of 1024 bytes over that of 32", "ratio",
                (
                    _MIGRATING_SIZES,
                    Quantity("while arming, 1024 bytes over 32", _SAME, "§4.2.2",
                             ratio("arming_us_1024_bytes", "arming_us_32_bytes")),
                ),
            ),
        ),
        difference="Here the migration is requested and no cable is pulled (migration-failover "
        "does that); a migration of 512 queue pairs takes milliseconds, against which the size of "
        "a message does not count.",
        unread="The latencies; the text says that the overhead is the same at all sizes.",
        lines=(Lines("A write on one of 512 queue pairs here", "sizes/", "bytes", "s"),),
    ),
    Item(
        paper="003",
        item="Fig. 9",
        title="Integer sort, class A, with a network fault",
        experiment="migration-mpi",
        finding=Finding(
            "A fault costs a short sort at most 7 %, which is what it costs long runs in the "
            "paper; the paper's short sort loses far more.",
            _SORT_SHORT, "%", Target("<=", 7.0), "ours",
        ),
        charts=_slower(_SORT_SHORT, _SORT_SHORT_MPICH),
        difference=_HARDWARE + " The sort runs with Open MPI, and with MPICH besides, which is not "
        "judged.",
        unread=_PICTURE,
    ),
    Item(
        paper="003",
        item="Fig. 10",
        title="Integer sort, class B, with a network fault",
        experiment="migration-mpi",
        finding=Finding(
            "A fault costs a longer sort less than a short one, at most 7 %.",
            _SORT_LONG, "%", Target("<=", 7.0), "ours", (_LESS_THAN_SHORT,),
        ),
        charts=_slower(_SORT_LONG),
        difference=_HARDWARE,
        unread=_PICTURE,
    ),
    Item(
        paper="003",
        item="Fig. 11",
        title="FT, class B, with a network fault",
        experiment="migration-mpi",
        finding=Finding(
            "A fault costs FT 7 % at most; the paper has 5 to 7 %.",
            _FT, "%", Target("<=", 7.0), "the paper's",
        ),
        charts=_slower(_FT),
        difference=_HARDWARE + " A Fourier transform that we wrote ourselves, which solves the "
        "equation of FT on a smaller grid, runs for seconds and not minutes.",
        unread=_PICTURE,
    ),
    Item(
        paper="003",
        item="Fig. 12",
        title="LU, class B, with a network fault",
        experiment="migration-mpi",
        finding=Finding(
            "A fault costs LU 7 % at most; the paper has 5 to 7 % of a run of 256 s.",
            _LU, "%", Target("<=", 7.0), "the paper's",
        ),
        charts=_slower(_LU),
        difference=_HARDWARE + " An SSOR solver that we wrote ourselves, which sends the messages "
        "of LU for a simpler equation on a smaller grid, runs for seconds and not minutes.",
        unread=_PICTURE,
    ),
)  # fmt: skip
