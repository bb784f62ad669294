# SPDX-License-Identifier: BSD-3-Clause
"""What ARCHITECTURE.md walks through is where it says, and what is not is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import tree
import walks

Plant = Callable[[dict[str, str]], Path]

TREE = {
    "src/verbs/port/wire.cpp": "bool Wire::receive(const Taker& to) {\n    return poll(to);\n}\n",
    "src/verbs/port/wire.hpp": "class Wire {\n  public:\n    int count() { return 1; }\n};\n",
    "src/verbs/port/listener.cpp": (
        "Listener *listen(const Taker& to) {\n"
        "    if (poll(to)) {\n        to.stop();\n    }\n"
        "    while (is_open() &&\n           is_ready && take(to)) {\n    }\n"
        "    run_each(names(), [&] { to.stop(); });\n"
        "    return Manager::get(to);\n}\n"
        "std::pair<const char *, int> Taker::next() {\n    return {};\n}\n"
    ),
    "src/measure/bench.cpp": "int main() {\n    return run_all(\n        1);\n}\nint put(int);\n",
    "python/lanewise/cli/gate.py": "class GateRun:\n    def run(self) -> None:\n        pass\n",
}


def test_every_name_in_the_walks_exists() -> None:
    offences = walks.walk_offences(tree.ROOT)

    assert not offences, "\n".join(offences)


SOUND = [
    "`Wire::receive` (`verbs/port/wire.cpp`)",
    "`Wire` (`verbs/port`)",
    "`Wire`\n(`port/wire`)",
    "`count` (`port/w*`)",
    "`listen` (`port/listener.cpp`)",
    "`Taker::next` (`port/listener.cpp`)",
    "`Taker` (`port/listener.cpp`)",
    "`cli/gate.py: GateRun`",
    "`run` (`cli/gate.py`), in `bench.cpp`",
    "`run` (`cli/gate.py`)\n\n## Builds\n\n`build/release`",
]


@pytest.mark.parametrize("text", SOUND)
def test_nothing_is_said_of_a_walk_that_is_right(plant: Plant, text: str) -> None:
    assert walks.walk_offences(plant({**TREE, "ARCHITECTURE.md": f"## Walks\n\n{text}\n"})) == []


WRONG = [
    "nothing",
    "`receive` (`measure/bench.cpp`)",
    "`run_all` (`measure/bench.cpp`)",
    "`put` (`measure/bench.cpp`)",
    "`poll` (`port/wire.cpp`)",
    "`poll` (`port/listener.cpp`)",
    "`take` (`port/listener.cpp`)",
    "`run_each` (`port/listener.cpp`)",
    "`Manager` (`port/listener.cpp`)",
    "`Manager::get` (`port/listener.cpp`)",
    "`cli/gate.py: gate_run`",
    "`main` (`bench.cpp`), then `measure/nowhere`",
    "`main` (`bench.cpp`), then `harness.hpp`",
]


@pytest.mark.parametrize("text", WRONG)
def test_a_walk_that_leads_astray_is_named(plant: Plant, text: str) -> None:
    root = plant({**TREE, "ARCHITECTURE.md": f"## Walks\n\n{text}\n"})

    assert len(walks.walk_offences(root)) == 1
