# SPDX-License-Identifier: BSD-3-Clause
"""The tests of pyverbs, which rdma-core's developers run on their cards, on the software device.

Those that are skipped need another vendor's device, or something that the device does not have;
each says which, and the reasons are counted. Three map huge pages, which are reserved for them
where that is allowed.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import tempfile
from collections import Counter
from pathlib import Path

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row, Target
from experiments.hca.hosts import LISTENER, Hosts
from experiments.huge_pages import reserved
from experiments.workspace import Workspace, failing_as_run
from lanewise.errors import RunError
from lanewise.plots import Bar, draw_bars
from lanewise.testbed import bed, shipped

TESTS = Path("/usr/share/doc/rdma-core/tests")
PACKAGES = "python3-pyverbs rdma-core"
PASSED_MIN = 135
_HUGE_PAGES = 8  # more than three tests map at once
_SYSTEM_PYTHON = "/usr/bin/python3"
# Newer tests look for a port's interface with `rdma link show -j`, which asks the kernel.
_LINKS = [
    {"ifname": "lanewise0", "port": port, "netdev": netdev}
    for port, netdev in ((1, "lan0"), (2, "lan1"))
]
# What a test prints itself stands between its name and its ending.
_ENDING = re.compile(r"(?:^|\.\.\. )(ok|FAIL|ERROR|skipped (?:'.*'|\".*\"))$", re.MULTILINE)


def endings_on(hosts: Hosts) -> tuple[Counter[str], str]:
    """Run the tests; return how often each ending occurred, and the output."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "tests"
        folder.mkdir()
        for path in TESTS.iterdir():
            if path.suffix == ".gz":
                (folder / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
            else:
                shutil.copy(path, folder)
        # Python 3.12 takes the pattern by its name only.
        loads = folder / "__init__.py"
        loads.write_text(loads.read_text().replace("(mod, pattern)", "(mod, pattern=pattern)"))
        rdma = Path(name) / "rdma"
        rdma.write_text(f"#!/bin/sh\necho '{json.dumps(_LINKS)}'\n")
        rdma.chmod(0o755)
        with_rdma = ["env", f"PATH={name}:{os.environ['PATH']}"]
        words = [_SYSTEM_PYTHON, str(folder / "run_tests.py"), "--dev", "lanewise0", "-v"]
        said = hosts.run(LISTENER, [*with_rdma, *words]).stdout
    return endings_of(said), said


def endings_of(said: str) -> Counter[str]:
    """Count the endings of tests in what they printed."""
    return Counter(_ENDING.findall(said))


def run(workspace: Workspace) -> Outcome:
    """Run the tests on a host of a testbed, and count how they end."""
    if not TESTS.is_dir():
        raise RunError(f"no tests of pyverbs here; install them with: apt-get install {PACKAGES}")
    with (
        failing_as_run(), reserved(_HUGE_PAGES) as huge_pages,
        bed.created(shipped.find("two-port")) as raised,
    ):  # fmt: skip
        workspace.say("the tests of pyverbs")
        endings, said = endings_on(Hosts(raised))
    reasons = {
        ending.removeprefix("skipped ")[1:-1]: count
        for ending, count in endings.most_common()
        if ending.startswith("skipped ")
    }
    failed = endings["FAIL"] + endings["ERROR"]
    skipped = sum(reasons.values())
    bars = [
        Bar("passed", endings["ok"], "passed"), Bar("failed", failed, "failed"),
        Bar("skipped", skipped, "skipped"),
    ]  # fmt: skip
    return Outcome(
        figures={"passed": endings["ok"], "failed": failed, "skipped": skipped},
        rows=[
            Row("passed", "-", str(endings["ok"])),
            Row("failed", "-", str(failed)),
            *(Row(f"skipped: {why}", "-", str(count)) for why, count in reasons.items()),
        ],
        conditions={"skipped": reasons, "huge_pages": huge_pages},
        files=workspace.save(
            draw_bars([("Tests of pyverbs", bars)], lambda value: f"{value:.0f}"), "hca-pyverbs"
        ),
        notes=[line for line in said.splitlines() if line.startswith(("FAIL:", "ERROR:"))],
    )  # fmt: skip


_ONCE = Estimator("tests with this ending", 1, 1, "run of all tests")

EXPERIMENT = Experiment(
    name="hca-pyverbs",
    paper="003 §2",
    summary="the tests of pyverbs on the software device",
    run=run,
    figures=(
        Figure("passed", "tests", _ONCE, Target(">=", PASSED_MIN)),
        Figure("failed", "tests", _ONCE, Target("<=", 0)),
        Figure(
            "skipped", "tests", _ONCE,
            "many need the device of a vendor; those that pass are counted",
        ),
    ),
)  # fmt: skip
