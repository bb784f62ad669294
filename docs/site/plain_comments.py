# SPDX-License-Identifier: BSD-3-Clause
"""Print a header with its comments marked for Doxygen, which passes over ordinary ones.

Doxygen runs this on each header (INPUT_FILTER), so that headers keep comments as people write them.
A comment above a declaration describes it, and one at the end of a line describes what the line
declares.  Where one comment stands above several declarations, the others refer to the first.
A union without a name, which has one field under several names, is shown as its first: Doxygen
releases differ in what they call it.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

SPDX = re.compile(r"^(/\*|//) SPDX")
OPENS = re.compile(r"^(\s*)/\*(?!\*)")
SLASHES = re.compile(r"^(\s*)//(?!/)")
# A declaration or an enumerator with a comment behind it.
TRAILING = re.compile(r"^(\s*[^\s/*#].*?|#define .*?)\s*/\*(?!\*)")
# What marks functions as public is no function of the interface.
EXPORTS = re.compile(r"^#define LW_API\b")
UNION = re.compile(r"^\s*union \{$")
FUNCTION = re.compile(r"^LW_API .*?\*?(lw_\w+)\(")


def marked(text: str) -> Iterator[str]:
    """Yield the lines of a header as Doxygen is to see them."""
    first = ""  # the function that the comment above describes
    head = commented = inside = False
    for line in with_first_names(text.splitlines()):
        seen = line
        if SPDX.match(line):
            head, seen = True, ""
        elif EXPORTS.match(line):
            seen = ""
        elif inside:
            inside = "*/" not in line
        elif OPENS.match(line):
            seen = OPENS.sub(r"\1/** @file\n *" if head else r"\1/**", line)
            head, inside, commented, first = False, "*/" not in line, True, ""
        elif SLASHES.match(line):
            seen = SLASHES.sub(r"\1/// @file\n///" if head else r"\1///", line)
            head = False
        elif TRAILING.match(line):
            seen = TRAILING.sub(r"\1 /**<", line)
            inside = "*/" not in line
        function = FUNCTION.match(line)
        if function and first:
            yield f"/** See {first}(). */"
        elif function and commented:
            first = function[1]
        if not line:
            commented, first = False, ""
        yield seen


def with_first_names(lines: list[str]) -> Iterator[str]:
    """Yield the lines, and of each union without a name those of its first field."""
    inside = has_field = False
    for line in lines:
        if UNION.match(line):
            inside, has_field = True, False
        elif inside and line.strip() == "};":
            inside = False
        elif not (inside and has_field):
            yield line
            has_field = ";" in line.split("/*")[0]


if __name__ == "__main__":
    print("\n".join(marked(Path(sys.argv[1]).read_text("utf-8"))))
