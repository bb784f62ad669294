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
import re
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from lanewise.errors import RequestError

_PREFIX = "lanewise-testbed-"
DESCRIPTION = "testbed.toml"
CONTROL = "control"
_INFO = "info.json"
_LOCK = "lock"
# What the folder of a testbed has before its name until the lock is held.
_UNFINISHED = ".unfinished."
# What tempfile adds to the name of a testbed.
_NAMED = re.compile(r"(?:\.unfinished\.)?(.+)\.[a-z0-9_]{8}", re.DOTALL)
# Making a folder and taking its lock takes less by far.
_ABANDONED_S = 60.0
_SHARED_MEMORY = Path("/dev/shm")
# The kernel takes 107 bytes.
_SOCKET_PATH_MAX = 107
# A path with room for shorter names than this one is too long itself.
_NAME_ROOM_MIN = 20


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
    return Path(os.environ.get("LANEWISE_TESTBEDS") or f"/tmp/{_PREFIX}{os.getuid()}").absolute()


def why_unsafe(folder: Path) -> str:
    """Return why others could have put something into `base()`; empty where they could not."""
    # In /tmp a link is somebody's trap. Where the user names a folder, it is the user's own.
    is_named = bool(os.environ.get("LANEWISE_TESTBEDS"))
    status = folder.stat() if is_named else folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        return f"{folder} is not a folder; remove it, or name another in LANEWISE_TESTBEDS"
    if status.st_uid != os.getuid():
        return f"{folder} belongs to another user; name another folder in LANEWISE_TESTBEDS"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others may write to {folder}; forbid it: chmod go-w {folder}"
    return ""


def make_base() -> Path:
    """Make `base()` unless it is there; RequestError where it is of no use."""
    folder = base()
    if re.search(r"[\s:]", str(folder)):
        raise RequestError(
            f"'{folder}' has a blank or a colon, at which Open MPI cuts the path of its launch "
            "agent; name another folder in LANEWISE_TESTBEDS"
        )
    require_visible(folder, "name another folder in LANEWISE_TESTBEDS")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        unsafe = why_unsafe(folder)
    except OSError as error:
        raise RequestError(
            f"{folder} cannot be used: {(error.strerror or 'error').lower()}; "
            "name another folder in LANEWISE_TESTBEDS"
        ) from None
    if unsafe:
        raise RequestError(unsafe)
    return folder


def require_visible(folder: Path, remedy: str) -> None:
    """Refuse a folder in /dev/shm: a testbed has its own there, and what runs in it sees no other.

    `remedy` says what to do instead.
    """
    if folder.resolve().is_relative_to(_SHARED_MEMORY.resolve()):
        raise RequestError(f"{folder} is in /dev/shm, which is another in a testbed; {remedy}")


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Keep other processes that do the same out, so that a name that is free stays free."""
    folder = os.open(make_base(), os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


@contextlib.contextmanager
def new_folder(info: Info) -> Iterator[tuple[Path, int]]:
    """Make the folder of a new testbed, and hold its lock: a process that inherits it holds it too.

    The folder gets its name only when the lock is held, so that nobody takes it for a leftover.
    """
    folder = make_base()
    require_room(folder, info.name)
    unfinished = Path(tempfile.mkdtemp(prefix=f"{_UNFINISHED}{info.name}.", dir=folder))
    with (unfinished / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        write_info(unfinished, info)
        finished = unfinished.with_name(unfinished.name.removeprefix(_UNFINISHED))
        yield unfinished.rename(finished), lock.fileno()


def require_room(folder: Path, name: str) -> None:
    """Refuse a name or a folder that makes the paths of sockets longer than the kernel takes."""
    around = folder / ".12345678" / CONTROL
    room = _SOCKET_PATH_MAX - len(os.fsencode(around))
    if len(os.fsencode(name)) <= room:
        return
    if room < _NAME_ROOM_MIN:
        raise RequestError(
            f"{folder} is too long a path for a socket; name another in LANEWISE_TESTBEDS"
        )
    raise RequestError(
        f"'{name}' is too long a name for a testbed, which has at most {room} characters here; "
        "rename the file"
    )


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


def is_ready(state: Path) -> bool:
    """Tell whether all of a testbed is there: its supervisor listens once it has made the rest."""
    return (state / CONTROL).exists()


def name_of(folder: Path) -> str:
    """Return the name of the testbed that has this folder, empty where none can have it."""
    named = _NAMED.fullmatch(folder.name)
    return named[1] if named else ""


def is_of_a_testbed(path: Path) -> bool:
    """Tell whether a testbed made this folder, and not the user."""
    info = read_info(path) if path.is_dir() and (path / _LOCK).is_file() else None
    return info is not None and info.name == name_of(path)


def folders() -> list[Path]:
    """Return the folders of all testbeds of this user, living or not.

    Raises RequestError where others could have put something there.
    """
    return sorted(filter(is_of_a_testbed, _entries("[!.]*")))


def abandoned() -> list[Path]:
    """Return the folders of testbeds whose making ended before they had their name."""
    return sorted(filter(_is_abandoned, _entries(f"{_UNFINISHED}*")))


def _is_abandoned(path: Path) -> bool:
    try:
        made_s = path.lstat().st_mtime
    except OSError:
        return False
    old = made_s < time.time() - _ABANDONED_S
    return old and path.is_dir() and name_of(path) != "" and not lives(path)


def _entries(pattern: str) -> list[Path]:
    folder = base()
    try:
        unsafe = why_unsafe(folder)
    except OSError:
        return []
    if unsafe:
        raise RequestError(unsafe)
    return list(folder.glob(pattern))
