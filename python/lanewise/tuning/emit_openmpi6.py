# SPDX-License-Identifier: BSD-3-Clause
"""Rules for Open MPI 6: the JSON of coll_tuned_dynamic_rules_filename, version 3.

The first block whose bounds hold the communicator decides, then its first rule whose bounds hold
the message; both bounds belong to them, and where none fits Open MPI decides by itself.
"""

from __future__ import annotations

import json
from typing import Any

from lanewise.tuning.content import BYTES_MAX, Rule, Tuning
from lanewise.tuning.emit_openmpi import CHAINS, COUNTED_OVER_RANKS
from lanewise.tuning.safety import Emittable, Emitted, by_size, warning

# Where Open MPI 6 calls an algorithm otherwise than 4 and 5 do.
RENAMED = {("allgather", "bruck"): "bruck-k-fanout"}
# The radix of that one is its fan-out.  Bruck's own is 2; with 0, what a rule has that does not
# say it, the call never ends (seen with 6.0.0rc2).
BRUCK_RADIX = 2


def emittable(tuning: Tuning) -> Emittable:
    """Return the rules that the file has."""
    found = {
        name: by_size(name, content, tuning.margin) for name, content in tuning.collectives.items()
    }
    return Emittable(
        {name: rules for name, (rules, _) in found.items() if rules},
        tuple(why_not for _, why_not in found.values() if why_not),
    )


def write(tuning: Tuning) -> Emitted:
    """Return the rules file."""
    there = emittable(tuning)
    collectives = {
        name: [
            {
                "comm_size_min": tuning.ranks,
                "comm_size_max": tuning.ranks,
                "comm_rank_distribution": "any",
                "rules": [rule_values(name, rule, tuning.ranks) for rule in rules],
            }
        ]
        for name, rules in there.rules.items()
    }
    values = {"rule_file_version": 3, "module": "tuned", "collectives": collectives}
    return Emitted(json.dumps(values, indent=1) + "\n", there.left_out, warning(there))


def rule_values(name: str, rule: Rule, ranks: int) -> dict[str, Any]:
    """Return one rule; a range of all sizes is left out, so that no size is looked at."""
    values: dict[str, Any] = {}
    scale = ranks if name in COUNTED_OVER_RANKS else 1
    whole = (rule.from_bytes, rule.to_bytes) == (0, BYTES_MAX)
    if not whole and name != "barrier":
        values["msg_size_min"] = rule.from_bytes * scale
        end = rule.to_bytes
        values["msg_size_max"] = "inf" if end == BYTES_MAX else end * scale + scale - 1
    values["alg"] = RENAMED.get((name, rule.algorithm), rule.algorithm)
    if rule.algorithm == "chain":
        values["faninout"] = CHAINS
    if (name, rule.algorithm) in RENAMED:
        values["faninout"] = BRUCK_RADIX
    if rule.segment_bytes:
        values["seg_size"] = rule.segment_bytes
    return values
