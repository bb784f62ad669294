# SPDX-License-Identifier: BSD-3-Clause
"""What a native program says of its options is read whole and once; what is strange is refused."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from lanewise.errors import RunError
from lanewise.launch.describe import describe, read_description
from lanewise.launch.native import find_builds

SCHEMA = Path(__file__).parents[3] / "schema" / "options.schema.json"
PROGRAMS = ("measure", "tune", "check", "fit", "predict", "schedule", "wavefront")


def description(**changes: Any) -> str:
    option = {
        "names": ["-r", "--root"],
        "type": "number",
        "metavar": "RANK",
        "default": "0",
        "help": "root rank",
        "group": "Options",
        "required": False,
        "repeatable": False,
    }
    values = {
        "schema": "lanewise-options",
        "version": 1,
        "name": "lanewise-example",
        "summary": "Does nothing.",
        "options": [option],
    }
    return json.dumps({**values, **changes})


def test_a_description_is_read_with_its_types() -> None:
    read = read_description(description())

    root = read.option("root")
    assert root == read.option("--root") == read.option("-r")
    assert (root.type, root.default, root.positional) == ("number", "0", False)
    with pytest.raises(KeyError, match="lanewise-example has no option --rank"):
        read.option("--rank")


@pytest.mark.parametrize("changes", [{"version": 2}, {"schema": "samples"}, {"options": [{}]}])
def test_a_description_of_another_version_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(RunError, match="make build"):
        read_description(description(**changes))


def test_a_program_is_asked_once_for_each_build(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho asked >>{tmp_path}/asked\necho '{description()}'\n")
    program.chmod(0o755)

    assert describe([str(program)]) is describe([str(program)])
    os.utime(program, ns=(1, 1))
    describe([str(program)])

    assert (tmp_path / "asked").read_text().count("asked") == 2


def test_a_program_that_cannot_describe_itself_is_named(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho no such option >&2\nexit 2\n")
    program.chmod(0o755)

    with pytest.raises(RunError, match="program --describe failed: no such option"):
        describe([str(program)])


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_program_describes_itself_as_the_schema_says(name: str) -> None:
    program = f"lanewise-{name}"
    real = (build for build in find_builds(os.environ) if build.mpi != "smpi")
    build = next((one for one in real if (one.programs / program).exists()), None)
    if build is None:
        pytest.skip(f"{program} is not built")
    command = build.command(program)

    described = describe(command)

    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    assert described.name == f"lanewise-{name}"
    assert described.options or described.subcommands
    jsonschema.validate(_as_printed(command), schema)


def _as_printed(command: tuple[str, ...]) -> Any:
    done = subprocess.run([*command, "--describe"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)
