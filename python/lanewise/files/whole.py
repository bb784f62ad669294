# SPDX-License-Identifier: BSD-3-Clause
"""Write a file whole or not at all, and see first that files can be written and are there."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

from lanewise.errors import RequestError, RunError, unusable_in

FULL = (errno.ENOSPC, errno.EDQUOT)
LINKS_MAX = 40  # as many as Linux follows
NAME_KEPT = 60  # letters of a name, whose 240 bytes at most leave room for an ending


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a path to write to that becomes `path` when all went well, so no half file is left.

    A link is followed.  A file that is replaced keeps its mode, and its owner and group where this
    process may give files to them, though not its hard links.  What is no regular file, such as a
    pipe, or is one that a descriptor has open, such as /dev/stdout, gets the content at the end,
    until when a temporary file has it, and is never replaced.
    Raises RequestError where the place cannot be written to, RunError where the disk is full.
    """
    require_place(path)
    as_it_is = _is_written_as_it_is(path)
    target = path if as_it_is else _led_to_by(path)
    part = _new_file(None if as_it_is else target.parent, path)
    place, other = (part.parent, "set TMPDIR to another") if as_it_is else (path, "name another")
    try:
        yield part
        place, other = path, "name another"
        if as_it_is:
            with part.open("rb") as content, os.fdopen(_open_as_it_is(path), "wb") as stream:
                shutil.copyfileobj(content, stream)
        else:
            _take_over_access(part, target)
            part.replace(target)
    except OSError as error:
        remedy = f"free space there or {other}" if error.errno in FULL else other
        raise RunError(f"{place} could not be written: {error.strerror}; {remedy}") from None
    finally:
        part.unlink(missing_ok=True)


@contextlib.contextmanager
def alone_with(path: Path) -> Iterator[None]:
    """Keep out others that read and rewrite `path` as well.

    Other hosts are kept out where the file system locks across them.  What is no regular file is
    nobody's alone.  Where files cannot be locked, nobody is kept out.
    """
    require_place(path)
    if path.exists() and not path.is_file():
        yield
        return
    target = _led_to_by(path)
    # The file itself is replaced, and a folder cannot be locked over NFS.
    beside = target.with_name(f".{target.name[:NAME_KEPT]}.lock")
    with _locked(beside):
        try:
            yield
        finally:
            with contextlib.suppress(PermissionError):  # another user's, in a folder such as /tmp
                beside.unlink(missing_ok=True)


def _locked(path: Path) -> IO[bytes]:
    """Return the file, made where it is not there, once it is locked for this process alone.

    Whoever may write in its folder may lock it.  A link there, which may lead anywhere, is refused.
    """
    while True:
        try:
            lock = os.fdopen(_open_lock(path), "rb")
        except OSError as error:
            raise RequestError(f"{path} cannot be opened: {error.strerror}; remove it") from None
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        # Whoever had it before has removed it.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock.fileno()), path.stat()):
                return lock
        lock.close()


def _open_lock(path: Path) -> int:
    """Open a lock, only to read where another user's, which is enough on most file systems."""
    flags = os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags | os.O_RDWR | os.O_CREAT, 0o666)
    except PermissionError:
        return os.open(path, flags | os.O_RDONLY)


def require_place(path: Path) -> None:
    """Raise RequestError if `path` cannot be written, so that no long work ends with that."""
    if unusable := unusable_in(str(path)):
        reason = f"its name contains {unusable}"
        raise RequestError(f"{path} cannot be written: {reason}; name another")
    try:
        if path.is_dir():
            raise RequestError(f"{path} is a folder; name a file in it")
        exists = path.exists()
        as_it_is = _is_written_as_it_is(path)
        folder = _led_to_by(path).parent
        missing = not exists and not folder.is_dir()
        there = next((one for one in (folder, *folder.parents) if one.exists()), folder)
        is_below_a_file = missing and there.exists() and not there.is_dir()
    except OSError as error:
        raise RequestError(f"{path} cannot be written: {error.strerror}; name another") from None
    if is_below_a_file:
        raise RequestError(f"{path} cannot be written: {there} is no folder; name another")
    if missing:
        raise RequestError(
            f"{path} cannot be written: {os.strerror(errno.ENOENT)}; make the folder {folder} first"
        )
    if exists and not os.access(path, os.W_OK):
        raise RequestError(f"{path} cannot be written: {os.strerror(errno.EACCES)}; name another")
    # A regular file is replaced, which its folder must allow.
    if not as_it_is and not os.access(folder, os.W_OK):
        raise RequestError(f"{path} cannot be written: you may not write in {folder}; name another")


def require_new(path: Path) -> None:
    """Raise RequestError if there is something at `path`, or if that cannot be written."""
    require_place(path)
    if path.exists():
        raise RequestError(f"{path} exists; name another file")


def require_places(*paths: Path | None) -> None:
    """Raise RequestError if one of these files, those that are named, cannot be written."""
    for path in paths:
        if path is not None:
            require_place(path)


def require_apart(outputs: Mapping[str, Path | None], *others: Path | None) -> None:
    """Raise RequestError if an output is another one, or one of the files that are read.

    `outputs` are those that are named, by their options.
    """
    taken = [path for path in others if path is not None]
    for option, path in outputs.items():
        if path is None:
            continue
        if any(_is_one_file(path, other) for other in taken):
            raise RequestError(
                f"{option} {path} is another file of this command; name one that is not"
            )
        taken.append(path)


def _is_one_file(one: Path, other: Path) -> bool:
    """Tell whether two paths lead to one regular file, which may be missing so far.

    What is no regular file, such as /dev/null, may be named several times.
    """
    try:
        return one.samefile(other) and one.is_file()
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def require_there(path: Path, maker: str) -> None:
    """Raise RequestError with the command that writes it if `path`, which will be read, is not."""
    if not path.exists():
        raise RequestError(f"{path} does not exist; {maker} -o {path} writes it")


def write_whole(path: Path, text: str) -> None:
    """Write `text` to a file in place of what is there.

    Names of files need not be text; "?" stands for what is none.
    """
    with whole_file(path) as part:
        part.write_text(text, encoding="utf-8", errors="replace")


def current_umask() -> int:
    """Return this process's umask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _led_to_by(path: Path) -> Path:
    """Return where the links of a path lead; RequestError where they lead back to themselves."""
    # Python before 3.13 raises RuntimeError; later ones stop at one of the links.
    with contextlib.suppress(RuntimeError):
        target = path.resolve()
        if not target.is_symlink():
            return target
    raise RequestError(f"{path} cannot be written: {os.strerror(errno.ELOOP)}; name another")


def _is_written_as_it_is(path: Path) -> bool:
    """Tell whether a path leads to what must not be replaced."""
    return path.exists() and (not path.is_file() or _link_to_open_file(path) is not None)


def _open_as_it_is(path: Path) -> int:
    """Open what there is at `path` to write at its end, and return the descriptor.

    A descriptor of this process is duplicated, so that what the process, or another with the same
    open file, writes later comes after it.
    """
    link = _link_to_open_file(path)
    if link is not None and Path("/proc/self").resolve() in link.parents:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()  # what was printed before comes first
        return os.dup(int(link.name))
    return os.open(path, os.O_WRONLY | os.O_APPEND)


def _link_to_open_file(path: Path) -> Path | None:
    """Return the link of /proc to what a descriptor has open, where a path leads to one."""
    for _ in range(LINKS_MAX):
        if not path.is_symlink():
            return None
        folder = path.parent.resolve()
        if folder.parts[1:2] == ("proc",) and folder.name == "fd":
            return folder / path.name
        path = folder / path.readlink()
    return None


def _take_over_access(part: Path, target: Path) -> None:
    """Give a new file the owner, group and mode of the one that it replaces, if there is one.

    Where the group cannot be kept, another one may do what others may.
    """
    try:
        before = target.stat()
    except FileNotFoundError:
        part.chmod(0o666 & ~current_umask())
        return
    mode = before.st_mode & 0o777
    if not _keeps_group(part, before):
        mode = mode & 0o707 | (mode & 0o007) << 3
    part.chmod(mode)


def _keeps_group(part: Path, before: os.stat_result) -> bool:
    """Give a file to a former owner and group, or to the group alone; tell if the group has it."""
    for owner in (before.st_uid, -1):
        with contextlib.suppress(OSError):
            os.chown(part, owner, before.st_gid)
            return True
    return False


def _new_file(folder: Path | None, named: Path) -> Path:
    """Return a new empty file in a folder, else in that for temporary files.

    It is called like `named` as far as names may be long.
    """
    try:
        handle, name = tempfile.mkstemp(prefix=f".{named.name[:NAME_KEPT]}.", dir=folder)
    except OSError as error:
        if folder is None:
            within = f" in {Path(error.filename).parent}" if error.filename else ""
            raise RequestError(
                f"no temporary file can be made{within}: {error.strerror}; "
                "set TMPDIR to a folder that can be written"
            ) from None
        raise RequestError(
            f"{named} cannot be written: {error.strerror}; name a file in a folder that can"
        ) from None
    os.close(handle)
    return Path(name)
