# SPDX-License-Identifier: BSD-3-Clause
"""What a parser returns, and what all parsers need: numbers, sizes, formulas in reverse."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from lanewise.suite.parity import PARITIES, Formula, Parity

MESSAGE_BYTES_MAX = 2**63 - 1
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
WHOLE = re.compile(r"\d{1,19}", re.ASCII)
US = 1e-6
FLOAT_BYTES = 4


class PrintedError(ValueError):
    """A line that does not follow its format; the text says what and what to do."""

    def __init__(self, line: int, sentence: str) -> None:
        super().__init__(sentence)
        self.line = line


@dataclass(frozen=True)
class Line:
    """One line of a file, and which one it is."""

    number: int
    text: str

    @property
    def words(self) -> list[str]:
        """Return the columns."""
        return self.text.split()


@dataclass(frozen=True)
class Printed:
    """One row: NaN or None is what the tool did not print; `ranks` is 0 where it did not say.

    `launch` is the run of the tool that printed it, counted from 1 in its text.
    """

    operation: str
    message_bytes: int
    ranks: int = 0
    mean_s: float = math.nan
    median_s: float = math.nan
    min_s: float | None = None
    max_s: float | None = None
    pure_s: float | None = None
    work_s: float | None = None
    repetitions: int = 0
    samples_s: tuple[float, ...] = ()
    launch: int = 1


@dataclass
class Output:
    """All that a file holds; `number` says what `mean_s` is.

    A text may hold several runs of a benchmark, each of which started its ranks anew: `launch` is
    the one that is being read.
    """

    tool: str
    version: str = ""
    number: str = "average"
    points: list[Printed] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    launch: int = 1
    runs: Counter[str] = field(default_factory=Counter)

    def begin(self, benchmark: str) -> None:
        """Count a run of a benchmark whose rows come next."""
        self.runs[benchmark] += 1
        self.launch = self.runs[benchmark]

    def add(self, row: Printed) -> None:
        """Add a row of the run that is being read."""
        self.points.append(replace(row, launch=self.launch))

    def note(self, sentence: str) -> None:
        """Add a sentence that the reader should know, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)


def data_lines(lines: Iterable[Line]) -> Iterator[Line]:
    """Yield the lines that are not empty."""
    return (line for line in lines if line.text.strip())


def number_in(line: Line, column: int, name: str) -> float:
    """Return a column as a finite number that is not negative."""
    word = word_in(line, column, name)
    value = float(word) if NUMBER.fullmatch(word) else math.nan
    if not (math.isfinite(value) and value >= 0):
        raise PrintedError(
            line.number,
            f"{name} is '{word[:40]}', not a number of 0 or more; "
            "take the line out, or let the tool write the file again",
        )
    return value


def whole_in(line: Line, column: int, name: str) -> int:
    """Return a column as a whole number."""
    word = word_in(line, column, name)
    if not WHOLE.fullmatch(word) or int(word) > MESSAGE_BYTES_MAX:
        raise PrintedError(
            line.number,
            f"{name} is '{word[:40]}', not a whole number; "
            "take the line out, or let the tool write the file again",
        )
    return int(word)


def word_in(line: Line, column: int, name: str) -> str:
    """Return a column as text."""
    words = line.words
    if column >= len(words):
        raise PrintedError(
            line.number,
            f"the column {name} is missing; the line is cut off, let the tool write the file again",
        )
    return words[column]


def check_width(line: Line, columns: Sequence[str]) -> None:
    """Refuse a row that has not as many columns as the headings above it."""
    if len(line.words) != len(columns):
        raise PrintedError(
            line.number,
            f"{len(line.words)} columns where the headings name {len(columns)}; "
            "let the tool write the file again",
        )


def is_row(line: Line) -> bool:
    """Tell whether a line begins with a digit, as rows of tables do."""
    return line.text.lstrip()[:1].isdecimal()


def parity_for(suites: tuple[str, ...], benchmark: str) -> Parity | None:
    """Return what benchmark of these suites it is; None where Lanewise has no such operation."""
    return next(
        (
            one
            for one in PARITIES
            if one.suite in suites and one.benchmark == benchmark and one.operation
        ),
        None,
    )


def parity_noted(
    output: Output, suites: tuple[str, ...], benchmark: str, printed: str
) -> Parity | None:
    """Return what a benchmark is here, with a note where it is nothing or something else.

    `printed` is how the file calls it.
    """
    parity = parity_for(suites, benchmark)
    if parity is None:
        output.note(f"{printed} is left out: no operation of Lanewise is known to be the same")
    elif parity.differs:
        output.note(f"{parity.operation} here: {parity.differs}")
    return parity


def sample_of_time(formula: Formula, printed_s: float) -> float:
    """Return the time of our definition from the time that a suite prints."""
    return printed_s / formula.time_over_sample


def sample_of_rate(formula: Formula, message_bytes: int, bytes_per_s: float) -> float:
    """Return the time of our definition from the rate that a suite prints; NaN for none."""
    if not (formula.moved and message_bytes and bytes_per_s > 0):
        return math.nan
    return sample_of_time(formula, formula.moved * message_bytes / bytes_per_s)


def block_of(whole_bytes: int, ranks: int, element_bytes: int) -> int | None:
    """Return one rank's block of a vector, None where it does not divide into equal ones."""
    if ranks < 1 or whole_bytes % (ranks * element_bytes):
        return None
    return whole_bytes // ranks


def size_here(
    output: Output, operation: str, printed_bytes: int, ranks: int, *, whole_vector: bool
) -> int | None:
    """Return the message size by our definition, None with a note where there is none."""
    if not whole_vector:
        return printed_bytes
    if ranks == 0:
        output.note(
            f"{operation} is left out: its sizes count the whole vector and the file does not say "
            "how many ranks share it; say so with lanewise import -n"
        )
        return None
    block = block_of(printed_bytes, ranks, FLOAT_BYTES)
    if block is None:
        output.note(f"sizes of {operation} that {ranks} ranks do not share evenly are left out")
    return block
