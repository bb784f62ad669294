# SPDX-License-Identifier: BSD-3-Clause
"""The folder of each testbed that is up, and how to tell one that lives from a leftover.

The supervisor holds a lock in the folder as long as it lives; the kernel releases it however it
ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from lanewise.errors import RequestError

_PREFIX = "lanewise-testbed-"
DESCRIPTION = "testbed.toml"
CONTROL = "control"
_INFO = "info.json"
_LOCK = "lock"


@dataclass(frozen=True)
class Info:
    """A testbed that is up: `shared` where `up` created it, so that others may use it.

    `supervisor` and `outer` are its processes, `own_users` tells that they are in a user namespace.
    """

    name: str
    where: str
    shared: bool
    supervisor: int = 0
    outer: int = 0
    own_users: bool = False


def base() -> Path:
    """Return the folder in which this user's testbeds have theirs: a short path, for sockets."""
    return Path(os.environ.get("LANEWISE_TESTBEDS") or f"/tmp/{_PREFIX}{os.getuid()}")


@contextlib.contextmanager
def new_folder(name: str) -> Iterator[tuple[Path, int]]:
    """Make the folder of a new testbed, and hold its lock: a process that inherits it holds it too.

    The folder gets its name only when the lock is held, so that nobody takes it for a leftover.
    """
    base().mkdir(mode=0o700, exist_ok=True)
    if base().stat().st_uid != os.getuid():
        raise RequestError(f"{base()} belongs to another user; remove it")
    hidden = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=base()))
    with (hidden / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield hidden.rename(hidden.with_name(hidden.name[1:])), lock.fileno()


def write_info(state: Path, info: Info) -> None:
    """Write who a testbed is."""
    path = state / f"{_INFO}.new"
    path.write_text(json.dumps(asdict(info)), encoding="utf-8")
    path.rename(state / _INFO)


def read_info(state: Path) -> Info | None:
    """Return who a testbed is, None where its folder does not say so."""
    try:
        return Info(**json.loads((state / _INFO).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def lives(state: Path) -> bool:
    """Tell whether a supervisor holds the lock of this folder."""
    try:
        with (state / _LOCK).open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def folders() -> list[Path]:
    """Return the folders of all testbeds of this user, living or not."""
    return sorted(path for path in base().glob("[!.]*") if path.is_dir())
