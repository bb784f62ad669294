# SPDX-License-Identifier: BSD-3-Clause
"""The table of files in ARCHITECTURE.md names each schema, and says which files have none."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import tree

Plant = Callable[[dict[str, str]], Path]

_TABLE = re.compile(r"^\| file \| contents \| schema \|\n\|[-|]+\n((?:\|.*\n)+)", re.MULTILINE)


def table_offences(root: Path) -> list[str]:
    """Return the schemas that the table lacks, and the rows without a schema or a reason."""
    table = _TABLE.search((root / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    rows = [row.strip("|").split("|") for row in table[1].splitlines()] if table else []
    schemas = {path.name.partition(".")[0] for path in (root / "schema").glob("*.schema.json")}
    cells = {file.strip(): cell.strip(" `") for file, _, cell in rows}
    found = [
        f"schema/{name}.schema.json: no row has it"
        for name in sorted(schemas - set(cells.values()))
    ]
    found += [
        f"{file}: name its schema, or say 'none: ' and why"
        for file, cell in cells.items()
        if cell not in schemas and not cell.startswith("none: ")
    ]
    return found


def test_the_architecture_names_the_schema_of_each_file() -> None:
    offences = table_offences(tree.ROOT)

    assert not offences, "\n".join(offences)


HEAD = "| file | contents | schema |\n|---|---|---|\n"
TREE = {"schema/run.schema.json": "{}", "schema/suite.schema.json": "{}"}


def test_a_schema_without_a_row_is_reported(plant: Plant) -> None:
    root = plant({**TREE, "ARCHITECTURE.md": HEAD + "| a | b | `suite` |\n"})

    assert table_offences(root) == ["schema/run.schema.json: no row has it"]


def test_a_row_without_a_schema_or_a_reason_is_reported(plant: Plant) -> None:
    sound = "| a | b | `suite` |\n| c | d | `run` |\n| e | f | none: g |\n"
    page = HEAD + sound + "| h | i |  |\n| k | l | `m` |\n"

    offences = table_offences(plant({**TREE, "ARCHITECTURE.md": page}))

    assert [offence.partition(":")[0] for offence in offences] == ["h", "k"]
