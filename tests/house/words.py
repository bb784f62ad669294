# SPDX-License-Identifier: BSD-3-Clause
"""Words that are retired: each has a word of the field in its place (docs/glossary.md).

A retired word is looked for in the names and in the text of every file, in any case and in parts
of identifiers.  Where an old name must still be read or accepted, the file is listed with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import tree


@dataclass(frozen=True)
class Retired:
    """A pattern, what to say instead, and the files (by prefix) that may still have to know it."""

    pattern: str
    instead: str
    known_to: tuple[str, ...] = ()

    @property
    def expression(self) -> re.Pattern[str]:
        """Return the compiled pattern; `_` counts as the end of a word."""
        return re.compile(rf"(?<![A-Za-z])(?:{self.pattern})(?![a-z])", re.IGNORECASE)


RETIRED = (
    Retired("whereabouts", "placement"),
    Retired("rehears(?:e|ed|al)", "cached call"),
    Retired("attend(?:ed|s)?", "intercept"),
    Retired("chill(?:ed|s)?", "cold caches, evict"),
    Retired("lessons?", "a plain noun"),
    Retired("wish(?:es)?", "options, settings"),
    Retired("bur(?:y|ied)", "remove, destroy"),
    Retired("stay_patient|patience", "timeout, retry window"),
    Retired("on_lull|lull", "idle"),
    Retired("mended_", "reassembled"),
    Retired("meetings?", "pair rounds, rendezvous"),
    Retired(
        "fabrics?",
        "launcher, or transport",
        known_to=(
            "docs/reference/files/",
            "python/lanewise/files/",
            "python/lanewise/report/tables.py",
            "python/lanewise/results/read",
            "python/lanewise/suite/state",
            "python/lanewise/suite/transport.py",
            "schema/platform",
            "schema/samples",
            "src/measure/session/records",
            "src/model/",
            "src/tune/session.cpp",
            "experiments/registry_test.py",
            "experiments/transports/transports.py",
        ),
    ),
    Retired(
        "personalit(?:y|ies)",
        "link layer",
        (
            "python/lanewise/cli/rdma/run.py",
            "python/lanewise/hca/config",
            "python/lanewise/suite/transport.py",
            "src/verbs/abi/config.",
            "src/verbs/abi/device_node.c",
        ),
    ),
    # Plotly calls the width of an error bar its thickness.
    Retired("thickness|looks? far", "stencil radius", ("python/lanewise/report/",)),
    Retired("beyond doubt", "statistically significant"),
    Retired("held back", "held out"),
    Retired("becomes? the truth", "commit"),
    Retired("keepers?", "supervisor"),
    Retired("contests?", "comparison"),
    Retired("twins", "second copies"),
    Retired(r"paper 00[0-4]", "the paper's name"),
    Retired("company", "layout of ranks"),
    Retired("standing", "a bed that is up, communicator state"),
    Retired("(?:in|by) turns|wire_?turns", "interleaved, alternately"),
    Retired("super_?frames?", "GSO packet"),
    Retired("check_?outs?", "clone"),
)

# This list, its test, and the history of changes name what is retired.
NAMES_THEM = ("tests/house/words", "CHANGELOG.md", "python/lanewise/cli/renamed")


def word_offences(root: Path) -> list[str]:
    """Return the lines and file names that still have a retired word."""
    found = []
    # Few files have any of the words: one search of the whole text passes the others by.
    any_of_them = Retired("|".join(one.pattern for one in RETIRED), "").expression
    for path in tree.files(root, *tree.TEXT, ".j2", ".tex", ".cmake"):
        name = path.as_posix()
        if name.startswith(NAMES_THEM):
            continue
        lines = (name, *tree.lines(root, path))
        if not any_of_them.search("\n".join(lines)):
            continue
        rules = [(one, one.expression) for one in RETIRED if not name.startswith(one.known_to)]
        for number, line in enumerate(lines):
            for one, expression in rules:
                hit = expression.search(line)
                if hit:
                    found.append(f"{path}:{number}: '{hit[0]}' is retired; say {one.instead}")
    return found
