# SPDX-License-Identifier: BSD-3-Clause
"""What a testbed writes for its delay lines follows the schema."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from lanewise.testbed import shipped
from lanewise.testbed.layout import make_plan
from lanewise.testbed.network import Network
from lanewise.testbed.plan import DelayLine, End, SlowWire
from lanewise.testbed.read import read

SCHEMA_FILE = Path(__file__).parents[3] / "schema" / "delay-line.schema.json"
SCHEMA = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))


def written(state: str, line: DelayLine) -> Any:
    """Return what `lanewise-delay-line` reads of the file that is written for `line`."""
    return json.loads(json.dumps(Network(Path(state)).configuration(line)))


@pytest.mark.parametrize("name", ["two-site", "three-site", "slow-node"])
def test_the_delay_lines_of_a_shipped_testbed_follow_the_schema(name: str) -> None:
    source = shipped.find(name)
    plan = make_plan(read(source.text, source.name, source.where))

    assert plan.delay_lines
    for line in plan.delay_lines:
        jsonschema.validate(written("/run/bed", line), SCHEMA)


def test_the_example_of_the_schema_is_what_a_link_becomes() -> None:
    settings = {"rate_bits_per_s": 1e9, "delay_ns": 5e6, "loss": 0.01, "queue_bytes": 1250000.0}
    ends = (End("a-router", "to-b"), End("b-router", "to-a"))
    wire = SlowWire("a-b", "tun", ends, seed=1, settings=tuple(settings.items()))

    (example,) = SCHEMA["examples"]
    jsonschema.validate(example, SCHEMA)
    assert written("/run/two-site", DelayLine("a-b", (wire,))) == example


@pytest.mark.parametrize("change", [{"kind": "wire"}, {"ends": []}, {"speed": 1}])
def test_a_link_that_the_delay_line_refuses_breaks_the_schema(change: dict[str, Any]) -> None:
    (example,) = SCHEMA["examples"]
    wrong = {**example, "links": [{**example["links"][0], **change}]}

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, SCHEMA)
