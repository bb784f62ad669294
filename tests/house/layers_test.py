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
    "src/measure/bench.hpp": '#include "measure/harness.hpp"\n',
    "src/measure/harness.hpp": "#include <lanewise/measure.h>\n",
    "src/testing/wire.hpp": "",
    "experiments/batch.hpp": "",
    "experiments/lanes/lanes.hpp": "",
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


def test_folders_of_a_part_include_only_what_stands_below_them() -> None:
    offences = layers.inner_offences(tree.ROOT, layers.INNER_LAYERS)

    assert not offences, "\n".join(offences)


def test_what_is_pure_includes_nothing_that_asks_the_machine() -> None:
    offences = layers.purity_offences(tree.ROOT)

    assert not offences, "\n".join(offences)


def test_each_line_of_what_is_pure_names_files() -> None:
    paths = tree.files(tree.ROOT, *tree.NATIVE)

    assert [line for line in layers.PURE if not any(path.match(line) for path in paths)] == []


def test_each_permission_is_used() -> None:
    unused = layers.unused_permissions(tree.ROOT, layers.INNER_LAYERS)

    assert not unused, "\n".join(unused)


def test_the_architecture_has_the_table_of_the_layers() -> None:
    wrong = [
        *layers.cell_offences(tree.ROOT),
        *layers.row_offences(tree.ROOT),
        *layers.said_once_offences(tree.ROOT),
    ]

    assert not wrong, "\n".join(wrong)


def test_nothing_depends_on_itself() -> None:
    offences = layers.circle_offences(tree.ROOT)

    assert not offences, "\n".join(offences)


ALLOWED = {
    "below": ("src/measure/timing/root.cpp", '#include "base/units.hpp"\n'),
    "itself": ("src/measure/timing/root.cpp", '#include "measure/pairs.hpp"\n'),
    "beside": ("src/measure/timing.cpp", '#include "pairs.hpp"\n'),
    "tools see all": ("src/tools/measure.cpp", '#include "measure/pairs.hpp"\n'),
    "a test, what tests share": ("src/measure/bench_test.cpp", '#include "testing/wire.hpp"\n'),
    "experiments see the product": ("experiments/a/a.cpp", '#include "measure/pairs.hpp"\n'),
    "what experiments share": ("experiments/a/a.cpp", '#include "experiments/batch.hpp"\n'),
    "MPI in measure": ("src/measure/harness/harness.cpp", "#include <mpi.h>\n"),
    "MPI in tuned": ("src/collectives/tuned/clocks.cpp", '#include "measure/bench.hpp"\n'),
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
    "MPI through private headers": ("src/collectives/a.cpp", '#include "measure/bench.hpp"\n'),
    "what only tuned may use": ("src/collectives/a.cpp", '#include "measure/pairs.hpp"\n'),
    "MPI in pure collectives": ("src/collectives/bcast/ring.cpp", "#include <mpi.h>\n"),
    "an experiment": ("src/tools/a/main.cpp", '#include "experiments/batch.hpp"\n'),
    "another experiment": ("experiments/a/a.cpp", '#include "experiments/lanes/lanes.hpp"\n'),
    "a private header made public": ("include/lanewise/a.h", '#include "base/units.hpp"\n'),
}


@pytest.mark.parametrize(("name", "text"), FORBIDDEN.values(), ids=FORBIDDEN.keys())
def test_a_forbidden_include_is_reported_with_its_line(plant: Plant, name: str, text: str) -> None:
    (offence,) = layers.native_offences(plant({**HEADERS, name: text}))

    assert offence.startswith(f"{name}:1: ")


PURITY = {
    "a clock": ("src/sums/exact_sum.cpp", "#include <chrono>\n", 1),
    "a header of the system": ("src/sums/exact_sum.cpp", "#include <sys/stat.h>\n", 1),
    "through our header": ("src/verbs/proto/wire/psn.cpp", '#include "base/log.hpp"\n', 1),
    "what computes": ("src/sums/exact_sum.cpp", '#include <cmath>\n#include "base/units.hpp"\n', 0),
    "a signal": ("src/verbs/proto/memory/place.cpp", "#include <csignal>\n", 1),
    "a lock": ("src/verbs/proto/wire/psn.cpp", "#include <mutex>\n", 1),
    "the environment": ("src/sums/exact_sum.cpp", 'bool b = std::getenv("A") != nullptr;\n', 1),
    "an open file": ("src/sums/exact_sum.cpp", 'auto* f = std::fopen("a", "r");\n', 1),
    "chance": ("src/sums/exact_sum.cpp", "std::random_device seed;\n", 1),
    "a number as text": ("src/sums/exact_sum.cpp", 'std::snprintf(a, 9, "%g", x);\n', 0),
    "what catches signals": ("src/verbs/proto/memory/guarded.cpp", "#include <csignal>\n", 0),
    "the fuzzer": ("src/verbs/proto/fuzz/fuzzer.cpp", "#include <cstdio>\nputs(a);\n", 0),
    "a test": ("src/sums/exact_sum_test.cpp", "#include <chrono>\n", 0),
    "beside what is pure": ("src/sums/mpi/ranks.cpp", "#include <chrono>\n", 0),
}


@pytest.mark.parametrize(("name", "text", "count"), PURITY.values(), ids=PURITY.keys())
def test_an_include_that_asks_the_machine_is_reported(
    plant: Plant, name: str, text: str, count: int
) -> None:
    headers = {
        "src/base/log.hpp": '#include "base/file.hpp"\n',
        "src/base/file.hpp": "",
        "src/base/units.hpp": "",
    }

    offences = layers.purity_offences(plant({**headers, name: text}))

    assert [offence.startswith(f"{name}:1: ") for offence in offences] == [True] * count


FORBIDDEN_IMPORTS = {
    "above": ("results/read.py", "from lanewise.plots import curves\n"),
    "the command": ("report/page.py", "import lanewise.cli.main\n"),
    "by name": ("launch/job.py", "from lanewise import results\n"),
    "relative": ("launch/job.py", "from ..results import read\n"),
    "inside a function": ("results/read.py", "def f():\n    from lanewise import report\n"),
    "past its package": ("launch/job.py", "from lanewise import read\n"),
    "an experiment": ("cli/measure.py", "from experiments.registry import EXPERIMENTS\n"),
    "unknown package": ("gossip/talk.py", "from lanewise.results import read\n"),
}


@pytest.mark.parametrize(("name", "text"), FORBIDDEN_IMPORTS.values(), ids=FORBIDDEN_IMPORTS.keys())
def test_an_import_is_caught(plant: Plant, name: str, text: str) -> None:
    assert len(layers.python_offences(plant({f"python/lanewise/{name}": text}))) == 1


def test_imports_downwards_and_of_the_version_are_allowed(plant: Plant) -> None:
    text = "from lanewise import __version__\nfrom ..results.read import read\nimport numpy\n"

    assert layers.python_offences(plant({"python/lanewise/report/page.py": text})) == []


CIRCLES = {
    "headers": {
        "src/base/a.hpp": '#include "base/b.hpp"\n',
        "src/base/b.hpp": '#include "base/a.hpp"\n',
    },
    "folders, by different files": {
        "src/verbs/port/a.hpp": '#include "verbs/abi/b.hpp"\n',
        "src/verbs/abi/b.hpp": "",
        "src/verbs/abi/c.hpp": '#include "verbs/port/d.hpp"\n',
        "src/verbs/port/d.hpp": "",
    },
    "modules": {
        "python/lanewise/cli/a.py": "from lanewise.cli.b import f\n",
        "python/lanewise/cli/b.py": "from lanewise.cli import a\n",
    },
    "an import inside a function": {
        "python/lanewise/cli/a.py": "import lanewise.cli.b\n",
        "python/lanewise/cli/b.py": "def f():\n    from lanewise.cli.a import g\n",
    },
}


@pytest.mark.parametrize("files", CIRCLES.values(), ids=CIRCLES.keys())
def test_a_circle_is_caught(plant: Plant, files: dict[str, str]) -> None:
    assert len(layers.circle_offences(plant(files))) == 1


def test_a_package_that_imports_its_modules_is_no_circle(plant: Plant) -> None:
    files = {
        "python/lanewise/cli/__init__.py": "from lanewise.cli.a import f\n",
        "python/lanewise/cli/a.py": "from lanewise.cli.b import f\n",
        "python/lanewise/cli/b.py": "from lanewise.cli import __doc__\n",
    }

    assert layers.circle_offences(plant(files)) == []


INNER = {
    "verbs": {"wire": set(), "device": {"wire"}, "": {"device", "wire"}},
    "verbs/device": {"queues": set(), "ports": {"queues"}},
}
INNER_FILES = {
    "src/verbs/wire/packet.hpp": "",
    "src/verbs/device/engine.hpp": "",
    "src/verbs/device/queues/ring.hpp": "",
    "src/verbs/device/ports/port.hpp": "",
}
INNER_OFFENCES = {
    "upwards": ("src/verbs/wire/psn.cpp", '#include "verbs/device/engine.hpp"\n'),
    "upwards inside a folder": (
        "src/verbs/device/queues/ring.cpp",
        '#include "verbs/device/ports/port.hpp"\n',
    ),
    "from a folder without a line": ("src/verbs/odd/a.cpp", '#include "verbs/wire/packet.hpp"\n'),
}


@pytest.mark.parametrize(("name", "text"), INNER_OFFENCES.values(), ids=INNER_OFFENCES.keys())
def test_an_include_inside_a_part_is_caught(plant: Plant, name: str, text: str) -> None:
    (offence,) = layers.inner_offences(plant({**INNER_FILES, name: text}), INNER)

    assert offence.startswith(f"{name}:1: ")


def test_an_include_downwards_inside_a_part_is_allowed(plant: Plant) -> None:
    files = {
        "src/verbs/device/run.cpp": '#include "verbs/wire/packet.hpp"\n',
        "src/verbs/device/ports/port.cpp": '#include "verbs/device/queues/ring.hpp"\n',
    }

    assert layers.inner_offences(plant({**INNER_FILES, **files}), INNER) == []


USED = {
    "src/measure/bench_test.cpp": '#include "base/units.hpp"\n',
    "src/verbs/device/run.cpp": '#include "verbs/wire/packet.hpp"\n',
    "src/verbs/device_test.cpp": '#include "verbs/device/engine.hpp"\n',
    "python/lanewise/plots/curves.py": "from lanewise.results import read\n",
    "tests/paths/conftest.py": "from experiments.hca.hosts import Hosts\n",
}


def test_a_permission_that_nothing_uses_is_reported(plant: Plant) -> None:
    unused = layers.unused_permissions(plant({**HEADERS, **INNER_FILES, **USED}), INNER)

    assert "src: nothing of 'measure' uses 'options'" in unused
    assert "src: nothing of 'measure' uses 'base'" not in unused
    assert "src/verbs: nothing of '' uses 'device'" in unused  # a test alone does
    assert "src/verbs: nothing of 'device' uses 'wire'" not in unused
    assert "python/lanewise: nothing of 'plots' uses 'files'" in unused
    assert "python/lanewise: nothing of 'plots' uses 'results'" not in unused
    assert "experiments: nothing of 'tests/cli' uses 'wavefront.watched'" in unused
    assert "experiments: nothing of 'tests/paths' uses 'hca.hosts'" not in unused


CELLS = {
    "| `src/measure/` | loops | `base`, `options`, MPI |\n": "",
    "| `src/wavefront/` | sweeps | `base`, `options`; MPI in `ranks/` |\n": "",
    "| `src/measure/` | loops | `base`, MPI |\n": "src/measure/",
    "| `python/lanewise/plots/` | figures | `files`, `results` |\n": "",
    "| `python/lanewise/plots/` | figures | `results` |\n": "python/lanewise/plots/",
    "| `python/lanewise/bits/` | texts | nothing |\n": "",
}


@pytest.mark.parametrize(("row", "named"), CELLS.items())
def test_a_row_of_the_architecture_says_what_the_table_does(
    plant: Plant, row: str, named: str
) -> None:
    offences = layers.cell_offences(plant({"ARCHITECTURE.md": row}))

    assert [offence.split(":")[0] for offence in offences] == ([named] if named else [])


def test_a_part_without_a_row_in_the_architecture_is_reported(plant: Plant) -> None:
    text = (tree.ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    lacking = [line for line in text.splitlines() if not line.startswith("| `src/verbs/`")]

    offences = layers.row_offences(plant({"ARCHITECTURE.md": "\n".join(lacking)}))

    assert offences == ["src/verbs/: give it a row"]


SAID_ONCE = "Every Python package may also use `errors`, and {} also `interrupts`.\n"
OTHERS = {
    "`launch`, `testbed`, `rdma` and `wavefront`": 0,
    "`launch`, `testbed` and `rdma`": 1,
    "`launch`, `testbed`, `rdma`, `hca` and `wavefront`": 1,
}


@pytest.mark.parametrize(("others", "count"), OTHERS.items())
def test_the_architecture_says_of_interrupts_what_the_table_does(
    plant: Plant, others: str, count: int
) -> None:
    root = plant({"ARCHITECTURE.md": SAID_ONCE.format(others)})

    assert len(layers.said_once_offences(root)) == count


def test_includes_keep_their_line_and_their_kind() -> None:
    text = '#include <mpi.h>\n\n  #  include "base/units.hpp"\n// #include "no.hpp"\n'

    assert layers.includes(text) == [
        layers.Include(1, "mpi.h", quoted=False),
        layers.Include(3, "base/units.hpp", quoted=True),
    ]


def test_the_command_that_reproduces_may_import_experiments(plant: Plant) -> None:
    text = "from experiments.registry import EXPERIMENTS\n"

    assert layers.python_offences(plant({"python/lanewise/cli/reproduce.py": text})) == []


def test_tests_and_examples_import_of_experiments_what_the_table_names() -> None:
    offences = layers.borrowing_offences(tree.ROOT)

    assert not offences, "\n".join(offences)


BORROWED = {
    "from experiments.hca.hosts import ADDRESS\n": 0,
    "from experiments.hca import hosts as hca_hosts\n": 0,
    "import experiments.hca.hosts\n": 0,
    "from experiments.hca import pyverbs\n": 1,
    "from experiments.hca.hosts_of_others import ADDRESS\n": 1,
    "from experiments import registry\n": 1,
}


@pytest.mark.parametrize(("text", "count"), BORROWED.items())
def test_a_test_imports_of_experiments_what_its_folder_may(
    plant: Plant, text: str, count: int
) -> None:
    root = plant({"tests/paths/faults_test.py": text})

    assert len(layers.borrowing_offences(root)) == count


def test_an_example_imports_nothing_of_experiments(plant: Plant) -> None:
    root = plant({"examples/jacobi.py": "from experiments.hca import hosts\n"})

    assert layers.borrowing_offences(root) == [
        "examples/jacobi.py:1: examples may not import experiments.hca.hosts"
    ]


OF_EXPERIMENTS = {
    "from experiments.workspace import Workspace\nfrom lanewise.results.read import read\n": 0,
    "from experiments.a.sizes import SIZES\n": 0,
    "from experiments.results import append\n": 0,
    "from experiments.lanes.sites import Sites\n": 1,
    "from experiments.lanes import sites\n": 1,
    "from experiments.lanes.experiment import EXPERIMENTS as OTHERS\n": 1,
}


@pytest.mark.parametrize(("text", "count"), OF_EXPERIMENTS.items())
def test_an_experiment_imports_the_product_and_what_all_share(
    plant: Plant, text: str, count: int
) -> None:
    shared = {"experiments/workspace.py": "", "experiments/results.py": ""}
    kept = {"experiments/results/a.jsonl": ""}
    root = plant({**HEADERS, **shared, **kept, "experiments/a/experiment.py": text})

    assert len(layers.python_offences(root)) == count
