# SPDX-License-Identifier: BSD-3-Clause
"""How many places one touches to add a thing of each kind, shown by adding one.

Each entry of KINDS adds a throw-away thing to a temporary copy of the tree: new files, and lines
after a line that is there already.  The copy is built once with all of them, a command for each
shows that it works, and all are taken out again.  A new kind is one more entry of the table.

It runs beside the tests of installing, since it builds; a compiler cache makes it quick.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import tree

# It builds a copy of the whole tree.
pytestmark = pytest.mark.thorough

ROOT = Path(__file__).resolve().parents[2]

Command = list[str]


@dataclass(frozen=True)
class Insertion:
    """Lines that are added to a file after the one line that holds `after`."""

    path: str
    after: str
    lines: str


@dataclass(frozen=True)
class Kind:
    """A kind of thing, what adding one takes, and what shows that it works.

    In `shows`, `{copy}` is the root of the copy, `{bin}` the folder of its programs, `{python}`
    the interpreter.  The command must print `prints`.
    """

    name: str
    places_max: int
    adds: dict[str, str]
    shows: Command
    prints: str
    inserts: list[Insertion] = field(default_factory=list)
    targets: tuple[str, ...] = ("lanewise-native",)

    @property
    def files(self) -> set[str]:
        """The files that one touches."""
        return {*self.adds, *(insertion.path for insertion in self.inserts)}

    @property
    def places(self) -> set[Path]:
        """The files that one touches; those of a new folder are one place."""
        paths = map(Path, self.files)
        return {path if (ROOT / path.parent).is_dir() else path.parent for path in paths}


TIMING_METHOD = """\
// SPDX-License-Identifier: BSD-3-Clause

#include "measure/timing/timing.hpp"

namespace lanewise::measure {
namespace {

Batch run(Bench& bench, Running& running, std::size_t count) {
    bool failed = false;
    const auto readings = repeat(bench, running, count, failed, [] {});
    const std::vector<double> values(count, 1e-3);
    return keep_on_time(reduce_batch(bench, readings, values, 1e-3, failed), values);
}

}  // namespace

extern const TimingMethod throwaway_timing{.name = "throwaway", .run = run};

}  // namespace lanewise::measure
"""

START = """\
// SPDX-License-Identifier: BSD-3-Clause

#include "measure/start/start.hpp"

namespace lanewise::measure {
namespace {

Starter make(const Bench&) {
    Starter starter;
    starter.wait = [] { return true; };
    return starter;
}

}  // namespace

extern const StartMethod throwaway_start{
    .name = "throwaway", .needs_global_clock = false, .make = make};

}  // namespace lanewise::measure
"""

BENCHMARK = """\
// SPDX-License-Identifier: BSD-3-Clause

#include "measure/benchmarks/benchmark.hpp"

namespace lanewise::measure {

Entries throwaway_benchmarks() {
    return {{.name = "throwaway",
             .shape = all_ranks(Blocks::one, Blocks::none),
             .call = [](Exchange& e) { return MPI_Barrier(e.comm); }}};
}

}  // namespace lanewise::measure
"""

LAYOUT = """\
// SPDX-License-Identifier: BSD-3-Clause

#include <cstring>

#include "wavefront/layout/shape.hpp"

namespace lanewise::wavefront {
namespace {

std::uint64_t elements(const MatrixShape& shape) {
    return shape.strip_rows * shape.columns;
}

// Column by column; each has room for all rows of a strip.
template <typename Move>
void each(const MatrixShape& shape, std::uint64_t row_count, const Move& move) {
    const auto bytes = element_bytes(shape.element);
    for (std::uint64_t j = 0; j < shape.columns; ++j) {
        for (std::uint64_t i = 0; i < row_count; ++i)
            move((i * shape.columns + j) * bytes, (j * shape.strip_rows + i) * bytes, bytes);
    }
}

std::uint64_t pack(const MatrixShape& shape, const std::byte *rows, std::uint64_t row_count,
                   std::byte *strip) {
    std::memset(strip, 0, elements(shape) * element_bytes(shape.element));
    each(shape, row_count, [&](std::uint64_t in_rows, std::uint64_t in_strip, std::uint64_t n) {
        std::memcpy(strip + in_strip, rows + in_rows, n);
    });
    return elements(shape);
}

void unpack(const MatrixShape& shape, const std::byte *strip, std::uint64_t row_count,
            std::byte *rows) {
    each(shape, row_count, [&](std::uint64_t in_rows, std::uint64_t in_strip, std::uint64_t n) {
        std::memcpy(rows + in_rows, strip + in_strip, n);
    });
}

}  // namespace

namespace layouts {
extern const Layout throwaway{
    .name = "throwaway", .strip_elements = elements, .pack = pack, .unpack = unpack};
}  // namespace layouts

}  // namespace lanewise::wavefront
"""


LAUNCHER = '''\
# SPDX-License-Identifier: BSD-3-Clause
"""A launcher that is thrown away."""

from lanewise.launch.job import Job, Launcher


def command(job: Job) -> list[str]:
    """Return the line for `job`."""
    return [job.executable, "--tasks", str(job.ranks), *job.launcher_arguments, *job.program]


LAUNCHER = Launcher(
    name="throwaway",
    title="Throwaway",
    executables=("throwaway-run",),
    mpis=("openmpi",),
    package="throwaway (of your distribution)",
    mark="",
    command=command,
)
'''

IMPAIRED = r"""
printf '[[site]]\nname = "a"\nhosts = 1\n[[site]]\nname = "b"\nhosts = 1\n' > two.toml
printf '[[link]]\nbetween = ["a", "b"]\nrate = "1 Gbit/s"\nthrowaway = "5 %%"\n' >> two.toml
{python} -m lanewise testbed check two.toml
{python} -m lanewise testbed run two.toml -- echo "it crosses the link"
"""

FAILING_CALL = r"""
cc -o failing_calls tests/hca/programs/failing_calls.c -libverbs
printf '[[fault]]\ncall = "ibv_destroy_ah"\ntimes = 1\n' > faults.toml
{python} -m lanewise rdma run --ports lo --faults faults.toml -- ./failing_calls
"""

TRIED = """\
    struct ibv_ah *handle = ibv_create_ah(pd, &to);
    TRY("ibv_destroy_ah", ibv_destroy_ah(handle));"""


ALGORITHM = """\
// SPDX-License-Identifier: BSD-3-Clause
//
// A broadcast that is thrown away: the root sends to one rank after the other.

#include "collectives/algorithm.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const model::Slice vector{model::Place::receive, 0};
    if (shape.rank != shape.root) steps.receive(shape.root, vector, shape.count);
    for (int rank = 0; shape.rank == shape.root && rank < shape.ranks; ++rank) {
        if (rank != shape.root) steps.send(rank, vector, shape.count, {});
    }
    return steps.finish();
}

}  // namespace

extern const Algorithm bcast_throwaway{
    .collective = Collective::bcast,
    .name = "throwaway",
    .source = "none",
    .cost = "(n-1)(a+bM)",
    .needs = {},
    .build = build,
};

}  // namespace lanewise::collectives
"""


DEFINITION = """\
// SPDX-License-Identifier: BSD-3-Clause

#include "measure/definitions/definition.hpp"

namespace lanewise::measure {
namespace {

Calls ten(std::uint64_t, double) {
    return {.warm_up = 1, .timed = 10};
}

constexpr Loop loop{.calls = ten};

const Loop *loop_of(const std::string& operation) {
    return operation == "bcast" ? &loop : nullptr;
}

}  // namespace

extern const Definition throwaway_definition{
    .name = "throwaway",
    .tool = "Throwaway 1",
    .window = 1,
    .loop_of = loop_of,
};

}  // namespace lanewise::measure
"""


READ_BACK = r"""
{python} -m lanewise measure bcast -n 2 --sizes 8 --launches 1 --as throwaway -o looped.jsonl -q
{python} -m lanewise report --format text looped.jsonl --as throwaway
"""


TRANSPORT = """\
# SPDX-License-Identifier: BSD-3-Clause
schema = "lanewise-transport"
version = 1
title = "A transport that is thrown away"
mpi = "openmpi"
arguments = ["--mca", "btl", "self,throwaway"]
"""


EXPERIMENT = '''\
# SPDX-License-Identifier: BSD-3-Clause
"""An experiment that is thrown away: it asks its native program for a number."""

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row
from experiments.workspace import Workspace
from lanewise.plots import Bar, draw_bars


def run(workspace: Workspace) -> Outcome:
    """Ask for the number."""
    answer = float(workspace.ask("lanewise-throwaway")["answer"])
    drawn = draw_bars([("Answer", [Bar("here", answer, "here")])], str)
    files = workspace.save(drawn, "throwaway")
    return Outcome({"answer": answer}, [Row("answer", "not told", f"{answer:g}")], {}, files)


EXPERIMENT = Experiment(
    name="throwaway",
    paper="000 §1",
    summary="a number that is thrown away",
    run=run,
    figures=(
        Figure("answer", "ratio", Estimator("it is asked for", 1, 1, "question"), "none is needed"),
    ),
)
'''

EXPERIMENT_PROGRAM = r"""// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-throwaway: prints the number of an experiment that is thrown away.

#include <cstdio>

int main() {
    std::puts("{\"answer\": 42}");
}
"""


def two_ranks(*arguments: str) -> Command:
    """Return a measurement on two ranks by the copy's own program, printed as a table."""
    launch = ["mpirun", "--oversubscribe", "-n", "2", "{bin}/lanewise-measure"]
    return [*launch, "--sizes", "8", "--repetitions", "10", *arguments]


KINDS = [
    Kind(
        "collective algorithm",
        places_max=2,
        adds={"src/collectives/bcast/throwaway.cpp": ALGORITHM},
        inserts=[
            Insertion(
                "src/collectives/registry.cpp",
                after="X(bcast_split_binary)",
                lines="    X(bcast_throwaway) \\",
            )
        ],
        shows=[
            *("{bin}/lanewise-schedule", "--collective", "bcast", "--algorithm", "throwaway"),
            *("--ranks", "3", "--root", "1", "--size", "1K"),
        ],
        prints='"kind":"receive"',
    ),
    Kind(
        "timing method",
        places_max=3,
        adds={"src/measure/timing/throwaway.cpp": TIMING_METHOD},
        inserts=[
            Insertion(
                "src/measure/timing/registry.cpp",
                after="X(tasks_timing)",
                lines="    X(throwaway_timing) \\",
            )
        ],
        shows=two_ranks("pingpong", "--method", "throwaway"),
        prints="method throwaway",
    ),
    Kind(
        "start",
        places_max=3,
        adds={"src/measure/start/throwaway.cpp": START},
        inserts=[
            Insertion(
                "src/measure/start/registry.cpp",
                after="X(round_time_start)",
                lines="    X(throwaway_start) \\",
            )
        ],
        shows=two_ranks("pingpong", "--start", "throwaway"),
        prints="start throwaway",
    ),
    Kind(
        "benchmark",
        places_max=2,
        adds={"src/measure/benchmarks/throwaway.cpp": BENCHMARK},
        inserts=[
            Insertion(
                "src/measure/benchmarks/registry.cpp",
                after="X(thread_pairs_benchmarks)",
                lines="    X(throwaway_benchmarks) \\",
            )
        ],
        shows=two_ranks("throwaway"),
        prints="# throwaway",
    ),
    Kind(
        "loop of another tool",
        places_max=5,
        adds={"src/measure/definitions/throwaway.cpp": DEFINITION},
        inserts=[
            Insertion(
                "src/measure/definitions/registry.cpp",
                after="X(osu_definition)",
                lines="    X(throwaway_definition) \\",
            ),
            Insertion("schema/samples.schema.json", after='"netpipe",', lines='"throwaway",'),
            Insertion(
                "python/lanewise/suite/parity.py",
                after='Parity("NetPIPE", "NPmpi"',
                lines='    Parity("Throwaway", "tw_bcast", "bcast"),',
            ),
            Insertion(
                "python/lanewise/suite/printed_as.py",
                after='"osu": (osu_heading, osu_row),',
                lines='    "throwaway": (osu_heading, osu_row),',
            ),
        ],
        shows=["sh", "-ec", READ_BACK],
        prints="# tw_bcast v",
    ),
    Kind(
        "transport",
        places_max=1,
        adds={"python/lanewise/suite/files/throwaway.toml": TRANSPORT},
        shows=[
            *("{python}", "-m", "lanewise", "measure", "bcast", "-n", "2"),
            *("--transport", "throwaway", "--print-command"),
        ],
        prints="--mca btl self,throwaway",
    ),
    Kind(
        "wavefront layout",
        places_max=2,
        adds={"src/wavefront/layout/throwaway.cpp": LAYOUT},
        inserts=[
            Insertion(
                "src/wavefront/layout/registry.cpp",
                after="LAYOUT(frontier)",
                lines="    LAYOUT(throwaway) \\",
            )
        ],
        shows=[
            "bash",
            "-c",
            "set -e; for layout in throwaway skewed; do "
            "{bin}/lanewise-wavefront create {copy}/$layout --rows 90 --cols 50 --layout $layout; "
            "{bin}/lanewise-wavefront run {copy}/$layout --iterations 4; "
            "{bin}/lanewise-wavefront export {copy}/$layout data {copy}/$layout.raw; done; "
            "cmp {copy}/throwaway.raw {copy}/skewed.raw; "
            "{bin}/lanewise-wavefront info {copy}/throwaway",
        ],
        prints="throwaway, strips of",
    ),
    Kind(
        "launcher",
        places_max=2,
        adds={"python/lanewise/launch/launchers/throwaway.py": LAUNCHER},
        inserts=[
            Insertion(
                "python/lanewise/launch/registry.py", after='"flux",', lines='    "throwaway",'
            )
        ],
        shows=[
            *("{python}", "-m", "lanewise", "measure", "bcast", "-n", "2"),
            *("--launcher", "throwaway", "--print-command"),
        ],
        prints="throwaway-run --tasks 2",
    ),
    Kind(
        "impairment of a link",
        places_max=3,
        adds={},
        inserts=[
            Insertion(
                "python/lanewise/testbed/impairments.py",
                after='Impairment("loss"',
                lines='    Impairment("throwaway", "throwaway", SHARE, "share", "throwaway {}"),',
            ),
            Insertion(
                "src/testbed/settings.hpp",
                after="double loss = 0;",
                lines="    double throwaway = 0;",
            ),
            Insertion(
                "src/testbed/settings.hpp",
                after='{"loss", &LinkSettings::loss, 1},',
                lines='    {"throwaway", &LinkSettings::throwaway, 1},',
            ),
            Insertion(
                "src/testbed/line.cpp",
                after="counters_.offered += shape.segments;",
                lines="    if (settings_.throwaway >= 1) return;",
            ),
        ],
        shows=["sh", "-ec", IMPAIRED],
        prints="throwaway 5 %\nit crosses the link",
    ),
    Kind(
        "fault of the RDMA device",
        places_max=3,
        adds={},
        inserts=[
            Insertion(
                "src/verbs/abi/address.cpp",
                after="int ibv_destroy_ah(ibv_ah *ah) {",
                lines='    if (const int e = planned_error("ibv_destroy_ah", ah)) return e;',
            ),
            Insertion(
                "python/lanewise/hca/faults.py",
                after='"ibv_create_ah": (',
                lines='    "ibv_destroy_ah": ("EINVAL",),',
            ),
            Insertion(
                "tests/hca/programs/failing_calls.c",
                after='TRY("ibv_create_ah", ',
                lines=TRIED,
            ),
        ],
        targets=("lanewise-native", "lanewise_verbs", "lanewise_rdmacm", "lanewise_device_node"),
        shows=["sh", "-ec", FAILING_CALL],
        prints="ibv_destroy_ah 22 0\n",
    ),
    Kind(
        "experiment",
        places_max=1,
        adds={
            "experiments/throwaway/experiment.py": EXPERIMENT,
            "experiments/throwaway/throwaway.cpp": EXPERIMENT_PROGRAM,
            "experiments/throwaway/CMakeLists.txt": "lw_add_experiment(lanewise-throwaway MPI none "
            "SOURCES throwaway.cpp)\n",
        },
        targets=("lanewise-throwaway",),
        shows=[
            *("{python}", "-m", "lanewise", "reproduce", "throwaway"),
            *("--folder", "{copy}/reproduced", "--results", "{copy}/kept"),
        ],
        prints="no target for answer: none is needed",
    ),
]


# An editable install finds the packages of its own tree before PYTHONPATH can name another one.
COPY_FIRST = """\
import sys

others = [one for one in sys.meta_path if "_editable" not in type(one).__module__]
sys.meta_path[:] = others
"""


@dataclass(frozen=True)
class Copy:
    """A temporary copy of the tree and its build."""

    root: Path

    @property
    def build_folder(self) -> Path:
        """The build tree; it lies as deep as everyday ones, for the compiler cache."""
        return self.root / "build" / "release"

    def run(self, command: Command) -> str:
        """Run `command` in the copy and return what it printed."""
        words = {
            "copy": self.root,
            "bin": self.build_folder / "bin",
            "python": sys.executable,
        }
        environment = {
            **os.environ,
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "PYTHONPATH": str(self.root / "python"),
        }
        ran = subprocess.run(
            [word.format(**words) for word in command],
            cwd=self.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout
        return ran.stdout

    def build(self, targets: set[str]) -> None:
        """Configure, and build `targets`."""
        options = [f"-DLANEWISE_{part}=OFF" for part in ("TESTS", "EXAMPLES", "BENCHMARKS")]
        self.run(["cmake", "--preset", "release", *options])
        self.run(["cmake", "--build", "{copy}/build/release", "--target", *sorted(targets)])


def copy_tree(root: Path) -> Copy:
    """Copy all files but those that git would ignore; there need not be a clone."""
    for name in tree.everything(ROOT):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, root / name)
    (root / "python" / "sitecustomize.py").write_text(COPY_FIRST, encoding="utf-8")
    return Copy(root)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    """A copy of the tree with a thing of each kind, built; then they are taken out again."""
    made = copy_tree(tmp_path_factory.mktemp("copy"))
    with contextlib.ExitStack() as stack:
        for kind in KINDS:
            stack.enter_context(added(made, kind))
        made.build({target for kind in KINDS for target in kind.targets})
        yield made
    for name in {name for kind in KINDS for name in kind.files}:
        there, here = made.root / name, ROOT / name
        assert there.exists() == here.exists(), name
        assert not here.exists() or there.read_bytes() == here.read_bytes(), name


@contextlib.contextmanager
def added(copy: Copy, kind: Kind) -> Iterator[None]:
    """Add the thing to the copy, and take it out again."""
    before: dict[Path, str] = {}
    try:
        for name, text in kind.adds.items():
            path = copy.root / name
            assert not path.exists(), f"{name} is there already"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        for insertion in kind.inserts:
            path = copy.root / insertion.path
            before.setdefault(path, path.read_text(encoding="utf-8"))
            insert(path, insertion)
        yield
    finally:
        for path, text in before.items():
            path.write_text(text, encoding="utf-8")
        for name in kind.adds:
            (copy.root / name).unlink(missing_ok=True)


def insert(path: Path, insertion: Insertion) -> None:
    """Add the lines after the one line that holds `after`."""
    lines = path.read_text(encoding="utf-8").splitlines()
    found = [i for i, line in enumerate(lines) if insertion.after in line]
    assert len(found) == 1, f"{insertion.path}: {len(found)} lines hold '{insertion.after}'"
    lines.insert(found[0] + 1, insertion.lines)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_files_compiled_together_are_named_alike_in_every_copy(copy: Copy) -> None:
    """What names the folder of the copy is not found in the compiler's cache again."""
    texts = {path.name: path.read_text() for path in copy.build_folder.rglob("*_unity.cpp")}

    assert "lw_model_unity.cpp" in texts
    assert not [name for name, text in texts.items() if str(copy.root) in text]


@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
def test_a_throw_away_one_takes_few_places_and_works(copy: Copy, kind: Kind) -> None:
    """Adding one of a kind touches at most so many files, and then it can be used."""
    assert len(kind.places) <= kind.places_max

    assert kind.prints in copy.run(kind.shows)
