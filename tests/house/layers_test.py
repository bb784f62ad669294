# SPDX-License-Identifier: BSD-3-Clause
"""The layers hold, and a file that breaks them is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import layers
import pytest
import tree

Plant = Callable[[dict[str, str]], Path]

HEADERS = {
    "src/base/units.hpp": "",
    "src/measure/pairs.hpp": "",
    "src/testing/wire.hpp": "",
    "include/lanewise/status.h": "",
    "include/lanewise/operation.h": "#include <mpi.h>\n",
    "include/lanewise/measure.h": "#include <lanewise/operation.h>\n",
}


def test_native_parts_include_only_what_stands_below_them() -> None:
    offences = layers.native_offences(tree.ROOT)

    assert not offences, "\n".join(offences)


def test_python_packages_import_only_what_stands_below_them() -> None:
    offences = layers.python_offences(tree.ROOT)

    assert not offences, "\n".join(offences)


ALLOWED = {
    "below": ("src/measure/timing/root.cpp", '#include "base/units.hpp"\n'),
    "itself": ("src/measure/timing/root.cpp", '#include "measure/pairs.hpp"\n'),
    "beside": ("src/measure/timing.cpp", '#include "pairs.hpp"\n'),
    "tools see all": ("src/tools/measure/main.cpp", '#include "measure/pairs.hpp"\n'),
    "a test, what tests share": ("src/measure/bench_test.cpp", '#include "testing/wire.hpp"\n'),
    "MPI in measure": ("src/measure/harness.cpp", "#include <mpi.h>\n"),
    "public without MPI": ("src/base/status.cpp", "#include <lanewise/status.h>\n"),
}


@pytest.mark.parametrize(("name", "text"), ALLOWED.values(), ids=ALLOWED.keys())
def test_an_include_is_allowed(plant: Plant, name: str, text: str) -> None:
    assert layers.native_offences(plant({**HEADERS, name: text})) == []


FORBIDDEN = {
    "above": ("src/base/clock.cpp", '#include "measure/pairs.hpp"\n'),
    "above, from beside": ("src/base/clock.cpp", '#include "../measure/pairs.hpp"\n'),
    "what tests share": ("src/measure/bench.cpp", '#include "testing/wire.hpp"\n'),
    "sideways": ("src/verbs/port.cpp", '#include "measure/pairs.hpp"\n'),
    "unknown part": ("src/gossip/talk.cpp", '#include "base/units.hpp"\n'),
    "outside": ("src/base/clock.cpp", '#include "boost/any.hpp"\n'),
    "MPI in base": ("src/base/clock.cpp", "#include <mpi.h>\n"),
    "MPI through a public header": ("src/base/clock.cpp", "#include <lanewise/measure.h>\n"),
    "MPI in pure collectives": ("src/collectives/bcast/ring.cpp", "#include <mpi.h>\n"),
    "a private header made public": ("include/lanewise/a.h", '#include "base/units.hpp"\n'),
}


@pytest.mark.parametrize(("name", "text"), FORBIDDEN.values(), ids=FORBIDDEN.keys())
def test_an_include_is_caught(plant: Plant, name: str, text: str) -> None:
    (offence,) = layers.native_offences(plant({**HEADERS, name: text}))

    assert offence.startswith(f"{name}:1: ")


FORBIDDEN_IMPORTS = {
    "above": ("results/read.py", "from lanewise.plots import curves\n"),
    "the command": ("report/page.py", "import lanewise.cli.main\n"),
    "by name": ("launch/job.py", "from lanewise import results\n"),
    "relative": ("launch/job.py", "from ..results import read\n"),
    "inside a function": ("results/read.py", "def f():\n    from lanewise import report\n"),
    "past its package": ("launch/job.py", "from lanewise import read\n"),
    "unknown package": ("gossip/talk.py", "from lanewise.results import read\n"),
}


@pytest.mark.parametrize(("name", "text"), FORBIDDEN_IMPORTS.values(), ids=FORBIDDEN_IMPORTS.keys())
def test_an_import_is_caught(plant: Plant, name: str, text: str) -> None:
    assert len(layers.python_offences(plant({f"python/lanewise/{name}": text}))) == 1


def test_imports_downwards_and_of_the_version_are_allowed(plant: Plant) -> None:
    text = "from lanewise import __version__\nfrom ..results.read import read\nimport numpy\n"

    assert layers.python_offences(plant({"python/lanewise/report/page.py": text})) == []
