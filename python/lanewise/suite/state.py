# SPDX-License-Identifier: BSD-3-Clause
"""State of a suite: suite.json in its folder, written anew after each launch.

It says what was asked for, which transports started, what became of each launch and which
benchmarks an MPI lacks, so that an interrupted suite can be resumed and a report knows its gaps.
Its schema is schema/suite.schema.json.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lanewise.errors import RequestError
from lanewise.files.schemas import has_version, object_in, require
from lanewise.files.whole import write_whole

SCHEMA_NAME = "lanewise-suite"
SCHEMA_VERSION = 2
FILE = "suite.json"
# The folder beside it, with one file per launch.
SAMPLES = "samples"


@dataclass(frozen=True)
class Asked:
    """What was asked for: two runs that differ in it do not belong together.

    `digests` are those of the transports; suites from before there were any have none.
    """

    ranks: int
    effort: str
    transports: tuple[str, ...]
    benchmarks: tuple[str, ...]
    window: int
    seed: int
    rounds: int
    testbed: str = ""
    validate: bool = False
    buffers: str = ""
    digests: tuple[str, ...] = ()


@dataclass(frozen=True)
class TransportState:
    """What became of one transport: `why` it does not start, empty where it does."""

    title: str
    why: str = ""
    library: str = ""
    took_s: float = 0.0
    lacks: Mapping[str, str] = field(default_factory=dict)


@dataclass
class State:
    """The whole state; `launches` are those that ended, with the reason of those that failed."""

    asked: Asked
    started: str
    transports: dict[str, TransportState] = field(default_factory=dict)
    launches: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    elapsed_s: float = 0.0

    def failed(self) -> dict[str, str]:
        """Return the launches that failed with their reasons."""
        return {name: why for name, why in self.launches.items() if why}


def save(state: State, folder: Path) -> None:
    """Write the state beside its place and move it there."""
    values = {"schema": SCHEMA_NAME, "version": SCHEMA_VERSION, **asdict(state)}
    write_whole(folder / FILE, json.dumps(values, indent=1) + "\n")


def load(folder: Path) -> State:
    """Read the state of a folder; RequestError for what is not one, naming a key not known."""
    path = folder / FILE
    again = "measure into another folder"
    values = object_in(path, missing="name the folder of a lanewise suite", damaged=again)
    if values.get("schema") != SCHEMA_NAME:
        raise RequestError(f"{path} is no {SCHEMA_NAME} file")
    if has_version(values, 1):
        values = as_version_2(values)
    require(values, "suite", str(path), remedy=again)
    return state_of(values)


def as_version_2(values: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a version 1, which had other names for transports and benchmarks."""
    names = {"fabrics": "transports", "kernels": "benchmarks"}
    renamed = {names.get(key, key): value for key, value in values.items()}
    asked = renamed.get("asked")
    if isinstance(asked, dict):
        renamed["asked"] = {names.get(key, key): value for key, value in asked.items()}
    return {**renamed, "version": SCHEMA_VERSION}


def state_of(values: dict[str, Any]) -> State:
    """Make a state of its plain data."""
    del values["schema"], values["version"]
    asked: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in values.pop("asked").items()
    }
    transports = {name: TransportState(**found) for name, found in values.pop("transports").items()}
    return State(asked=Asked(**asked), transports=transports, **values)


def require_same(before: Asked, now: Asked, folder: Path) -> None:
    """Raise RequestError that names the first thing in which two requests differ."""
    old, new = asdict(before), asdict(now)
    for key, value in new.items():
        if key != "digests" and old[key] != value:
            raise RequestError(
                f"{folder} was begun with {key} {shown(old[key])}, not {shown(value)}; "
                "name another folder, or ask for the same"
            )
    digests = before.digests or now.digests
    for name, was, is_now in zip(now.transports, digests, now.digests, strict=False):
        if was != is_now:
            raise RequestError(
                f"{folder} was begun with another file of transport {name}; "
                "name another folder, or change the file back"
            )


def shown(value: Any) -> str:
    """Write a value of a request as a person would."""
    return ", ".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)
