# SPDX-License-Identifier: BSD-3-Clause
"""What a power cut leaves of a folder, from the records of disk_recorder.c.

The model promises no more than POSIX does.  A file keeps what was written before an fsync or
fdatasync of it began that ended before the cut, and a folder the names that it had before an fsync
of the folder began.  Of everything else any part may be there or not: of names each creation,
renaming and removal by itself; of bytes each write whole, not at all or some of its sectors.
"""

from __future__ import annotations

import copy
import random
import re
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

RECORDER = Path(__file__).with_name("disk_recorder.c")

# The kinds of records and their fixed part, as in disk_recorder.c.
(FILE_CREATED, FOLDER_CREATED, NAME_CHANGED, NAME_REMOVED, FILE_CUT, FILE_GROWN, WRITE_BEGAN,
 WRITE_ENDED, SYNC_BEGAN, SYNC_ENDED) = range(1, 11)  # fmt: skip
HEAD = struct.Struct("=6Q")

# What a disk writes as a whole.
SECTOR_BYTES = 512


def build_recorder(folder: Path) -> Path:
    """Compile the recorder and return the library."""
    library = folder / "disk_recorder.so"
    words = ["cc", "-std=gnu11", "-O1", "-Wall", "-Werror", "-fPIC", "-shared", "-pthread"]
    subprocess.run([*words, "-o", library, RECORDER, "-ldl"], check=True)
    return library


class Record(NamedTuple):
    """One record; `name` is a path below the root, `data` the bytes of a write or the new name."""

    kind: int
    file: int
    number: int
    offset: int
    name: str
    data: bytes


@dataclass(frozen=True)
class Survival:
    """How much of what was not synced survives, each by itself: shares from 0 to 1."""

    names: float
    writes: float

    @staticmethod
    def draw(chance: random.Random) -> Survival:
        """Draw shares; that all of one survives and nothing of the other is likely."""
        return Survival(chance.choice((0, 0.5, 1)), chance.choice((0, 0.5, 1)))


Draw = Callable[[random.Random], Survival]


def lost(_: random.Random) -> Survival:
    """Let nothing survive that was not synced."""
    return Survival(names=0, writes=0)


def everything(_: random.Random) -> Survival:
    """Let all survive: what a program that is killed leaves."""
    return Survival(names=1, writes=1)


@dataclass
class Change:
    """A change of a file: `data` at `offset`, or where there is none, a size of `offset` bytes."""

    offset: int
    data: bytes = b""
    shrinks: bool = False
    ended: bool = True

    def apply(self, content: bytearray) -> None:
        """Make all of the change."""
        if self.shrinks:
            del content[self.offset :]
        grown = self.offset + len(self.data) - len(content)
        content.extend(bytes(max(grown, 0)))
        if self.data:
            content[self.offset : self.offset + len(self.data)] = self.data

    def apply_some(self, content: bytearray, chance: random.Random) -> None:
        """Make a part of the change: some of the sectors."""
        if not self.data:
            return self.apply(content)
        first = self.offset // SECTOR_BYTES
        for sector in range(first, (self.offset + len(self.data) - 1) // SECTOR_BYTES + 1):
            if chance.random() < 0.5:
                begin = max(sector * SECTOR_BYTES, self.offset)
                data = self.data[begin - self.offset : (sector + 1) * SECTOR_BYTES - self.offset]
                Change(begin, data).apply(content)
        return None


@dataclass
class File:
    """A file: what is on the disk for certain, and what has changed since."""

    kept: bytearray = field(default_factory=bytearray)
    changes: list[Change] = field(default_factory=list)

    def after_cut(self, survival: Survival, chance: random.Random) -> bytes:
        """Return what the file holds."""
        content = bytearray(self.kept)
        for change in self.changes:
            if survival.writes == 1 or chance.random() < survival.writes:
                change.apply(content)
            elif survival.writes > 0 and chance.random() < 0.5:
                change.apply_some(content, chance)
        return bytes(content)


@dataclass
class Folder:
    """A folder: its names as programs see them, as kept for certain, and what is between the two.

    A change gives one name to a file or folder (none: takes it away) and may take away another.
    """

    names: dict[str, Node] = field(default_factory=dict)
    kept: dict[str, Node] = field(default_factory=dict)
    changes: list[tuple[str, Node | None, str | None]] = field(default_factory=list)

    def change(self, name: str, node: Node | None, former: str | None = None) -> None:
        """Change names, not yet for certain."""
        self.changes.append((name, node, former))
        _rename(self.names, *self.changes[-1])

    def keep(self, count: int) -> None:
        """Make the first `count` changes certain."""
        for change in self.changes[:count]:
            _rename(self.kept, *change)
        del self.changes[:count]

    def after_cut(self, survival: Survival, chance: random.Random) -> dict[str, Node]:
        """Return the names that the folder has."""
        names = dict(self.kept)
        for change in self.changes:
            if survival.names == 1 or chance.random() < survival.names:
                _rename(names, *change)
        return names


Node = File | Folder


def _rename(names: dict[str, Node], name: str, node: Node | None, former: str | None) -> None:
    if former is not None:
        names.pop(former, None)
    if node is None:
        names.pop(name, None)
    else:
        names[name] = node


class Disk:
    """A folder and all below it, as records change it."""

    def __init__(self, inode: int) -> None:
        """Begin with an empty folder of this inode."""
        self.root = Folder()
        self.nodes: dict[int, Node] = {inode: self.root}
        self.writes: dict[int, tuple[File, Change]] = {}
        self.syncs: dict[int, tuple[Folder, int] | tuple[File, list[Change]]] = {}
        self.unsynced: re.Pattern[str] | None = None

    @staticmethod
    def holding(root: Path) -> Disk:
        """Return a disk on which what is in `root` is for certain."""
        disk = Disk(root.stat().st_ino)
        disk._read(root, disk.root)
        return disk

    def _read(self, path: Path, folder: Folder) -> None:
        for entry in path.iterdir():
            inner = Folder() if entry.is_dir() else File(bytearray(entry.read_bytes()))
            folder.kept[entry.name] = self.nodes[entry.stat().st_ino] = inner
            if isinstance(inner, Folder):
                self._read(entry, inner)
        folder.names = dict(folder.kept)

    def _folder_of(self, name: str) -> tuple[Folder, str]:
        *above, last = name.split("/")
        folder = self.root
        for part in above:
            inner = folder.names[part]
            assert isinstance(inner, Folder)
            folder = inner
        return folder, last

    def file(self, inode: int) -> File:
        """Return the file that has the inode now."""
        file = self.nodes[inode]
        assert isinstance(file, File)
        return file

    def apply(self, record: Record) -> None:
        """Make the change that a record names."""
        if record.kind in {FILE_CREATED, FOLDER_CREATED}:
            node: Node = File() if record.kind == FILE_CREATED else Folder()
            self.nodes[record.file] = node
            folder, name = self._folder_of(record.name)
            folder.change(name, node)
        elif record.kind == NAME_CHANGED:
            folder, name = self._folder_of(record.name)
            target, new_name = self._folder_of(record.data.decode())
            assert target is folder, "a name moved to another folder"
            folder.change(new_name, folder.names[name], name)
        elif record.kind == NAME_REMOVED:
            folder, name = self._folder_of(record.name)
            folder.change(name, None)
        elif record.kind in {FILE_CUT, FILE_GROWN}:
            shrinks = record.kind == FILE_CUT
            self.file(record.file).changes.append(Change(record.offset, shrinks=shrinks))
        elif record.kind == WRITE_BEGAN:
            change = Change(record.offset, record.data, ended=False)
            self.file(record.file).changes.append(change)
            self.writes[record.number] = self.file(record.file), change
        elif record.kind == WRITE_ENDED:
            self._end_write(record)
        elif record.kind == SYNC_BEGAN:
            self._begin_sync(record)
        else:
            self._end_sync(record)

    def _end_write(self, record: Record) -> None:
        _, change = self.writes.pop(record.number)
        change.data = change.data[: record.offset]
        change.ended = True

    def _begin_sync(self, record: Record) -> None:
        node = self.nodes[record.file]
        if self.unsynced and self.unsynced.fullmatch(record.name):
            self.syncs[record.number] = Folder(), 0
        elif isinstance(node, Folder):
            self.syncs[record.number] = node, len(node.changes)
        else:
            covered = [change for change in node.changes if change.ended]
            self.syncs[record.number] = node, covered

    def _end_sync(self, record: Record) -> None:
        node, covered = self.syncs.pop(record.number)
        if record.offset:  # it failed
            return
        if isinstance(node, Folder):
            assert isinstance(covered, int)
            node.keep(covered)
            return
        assert isinstance(covered, list)
        for change in covered:
            change.apply(node.kept)
        kept = {id(change) for change in covered}
        node.changes = [change for change in node.changes if id(change) not in kept]

    def after_cut(self, draw: Draw, chance: random.Random) -> Iterator[tuple[str, bytes | None]]:
        """Yield each path and its bytes, none for a folder; a folder before what is in it.

        What is not synced survives as `draw` says, for each folder of the root by itself: they may
        lie on disks of their own.
        """
        for name, node in self.root.after_cut(draw(chance), chance).items():
            yield from _below(name, node, draw(chance), chance)


def _below(
    path: str, node: Node, survival: Survival, chance: random.Random
) -> Iterator[tuple[str, bytes | None]]:
    if isinstance(node, File):
        yield path, node.after_cut(survival, chance)
        return
    yield path, None
    for name, inner in node.after_cut(survival, chance).items():
        yield from _below(f"{path}/{name}", inner, survival, chance)


class Recording:
    """What programs do to a folder from now on."""

    def __init__(self, root: Path, recorder: Path, log: Path) -> None:
        """Begin with what is in `root`; the log is a new file outside of it."""
        self.root, self.recorder, self.log = root, recorder, log
        self._disk = Disk.holding(root)

    def environment(self) -> dict[str, str]:
        """Return the variables with which a program is recorded."""
        return {
            "LD_PRELOAD": str(self.recorder),
            "DISK_RECORDER_ROOT": str(self.root),
            "DISK_RECORDER_LOG": str(self.log),
        }

    def records(self) -> list[Record]:
        """Return what has been recorded so far."""
        return list(_parse(self.log.read_bytes())) if self.log.exists() else []

    def disks(self, points: list[int], unsynced: str = "") -> Iterator[tuple[int, Disk]]:
        """Yield each point, in their order, and the disk when so many records had been made.

        Syncs of files and folders whose path matches `unsynced` are left out, as if the program
        had not made them.
        """
        records, disk = self.records(), copy.deepcopy(self._disk)
        disk.unsynced = re.compile(unsynced) if unsynced else None
        done = 0
        for point in sorted(points):
            for record in records[done:point]:
                disk.apply(record)
            done = point
            yield point, disk


def _parse(log: bytes) -> Iterator[Record]:
    at = 0
    while at < len(log):
        kind, file, number, offset, name_bytes, data_bytes = HEAD.unpack_from(log, at)
        begin = at + HEAD.size
        at = begin + name_bytes + data_bytes
        name = log[begin : begin + name_bytes].decode()
        yield Record(kind, file, number, offset, name, log[begin + name_bytes : at])


def put(root: Path, contents: Iterator[tuple[str, bytes | None]]) -> None:
    """Make `root` hold these contents and nothing else."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for name, content in contents:
        if content is None:
            (root / name).mkdir()
        else:
            (root / name).write_bytes(content)


def contents_of(root: Path) -> dict[str, bytes | None]:
    """Return each path below `root` with its bytes, none for a folder."""
    return {
        path.relative_to(root).as_posix(): None if path.is_dir() else path.read_bytes()
        for path in root.rglob("*")
    }
