# SPDX-License-Identifier: BSD-3-Clause
"""What a guest boots from: Debian's kernel, and a file system in memory with what it is to run.

The kernel's package is only unpacked, never installed, so nothing of the machine changes. The file
system holds busybox, the modules of the kernel's RDMA device in the order of their dependencies,
and the programs with all libraries that the loader would find for them here. It is written as a
cpio archive of the kind that Linux takes (Documentation/driver-api/early-userspace/
buffer-format.rst).
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

INIT = Path(__file__).with_name("programs") / "guest_init.sh"
MODULES = ("virtio_pci", "virtio_net", "crc32_generic", "ib_uverbs", "rdma_ucm", "rdma_rxe")
PROVIDERS = Path("/usr/lib/x86_64-linux-gnu/libibverbs")
# The C library loads it where a thread is cancelled, as rping does.
UNWINDER = Path("/usr/lib/x86_64-linux-gnu/libgcc_s.so.1")
DRIVERS = Path("/etc/libibverbs.d")


class MissingError(Exception):
    """Something that the guest needs is not on this machine."""


@dataclass(frozen=True)
class Kernel:
    """A kernel and the folder of its modules."""

    image: Path
    modules: Path


def unpacked_kernel(cache: Path) -> Kernel:
    """Return Debian's kernel, fetched and unpacked in `cache` unless it is there already."""
    if not (cache / "boot").is_dir():
        _unpack(_package(), cache)
    (image,) = (cache / "boot").glob("vmlinuz-*")
    (modules,) = (cache / "lib/modules").iterdir()
    return Kernel(image, modules)


def _package() -> str:
    """Return the package of the newest kernel: the one that linux-image-amd64 depends on."""
    shown = _output("apt-cache", "depends", "linux-image-amd64")
    found = re.search(r"Depends: (linux-image-\S+)", shown)
    if found is None:
        raise MissingError("apt knows no linux-image-amd64 here; the guest's kernel is Debian's")
    return found[1]


def _unpack(package: str, cache: Path) -> None:
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir(parents=True)
    done = subprocess.run(
        ["apt-get", "download", "-q", package], cwd=cache, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise MissingError(f"{package} cannot be fetched: {done.stderr.strip()}")
    (archive,) = cache.glob("*.deb")
    fresh = cache / "fresh"
    subprocess.run(["dpkg-deb", "-x", str(archive), str(fresh)], check=True)
    archive.unlink()
    shutil.move(fresh / "lib", cache / "lib")
    # Last, since its presence says that all is there.
    shutil.move(fresh / "boot", cache / "boot")
    shutil.rmtree(fresh)


def _output(*words: str) -> str:
    plain = {**os.environ, "LC_ALL": "C"}
    try:
        return subprocess.run(words, env=plain, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise MissingError(str(error)) from None


def modules_in_order(folder: Path, wanted: Iterable[str]) -> list[Path]:
    """Return modules with all that they depend on, each after what it needs."""
    files = {path.stem.replace("-", "_"): path for path in folder.rglob("*.ko")}
    order: dict[str, Path] = {}

    def add(name: str) -> None:
        path = files.get(name.replace("-", "_"))
        if path is None:
            raise MissingError(f"{folder} has no module {name}")
        if path.stem not in order:
            for needed in dependencies(path.read_bytes()):
                add(needed)
            order[path.stem] = path

    for name in wanted:
        add(name)
    return list(order.values())


def dependencies(module: bytes) -> list[str]:
    """Return the names in the `depends` field of a module."""
    found = re.search(rb"\0depends=([^\0]*)\0", module)
    return [name.decode() for name in found[1].split(b",") if name] if found else []


def libraries(program: Path) -> Iterator[Path]:
    """Yield the libraries that the loader finds for a program, and the loader."""
    for line in _output("ldd", str(program)).splitlines():
        found = re.search(r"(/\S+) \(0x", line)
        if found:
            yield Path(found[1])


@dataclass
class Archive:
    """A cpio archive that grows."""

    parts: list[bytes] = field(default_factory=list)
    names: set[str] = field(default_factory=set)

    def folder(self, path: Path) -> None:
        """Add a folder, and those that it lies in."""
        for one in reversed([path, *path.parents]):
            self._add(str(one).lstrip("/."), stat.S_IFDIR | 0o755, b"")

    def file(self, path: Path, content: bytes, mode: int = 0o755) -> None:
        """Add a file, and the folders that it lies in."""
        self.folder(path.parent)
        self._add(str(path).lstrip("/"), stat.S_IFREG | mode, content)

    def _add(self, name: str, mode: int, content: bytes) -> None:
        if not name or name in self.names:
            return
        self.names.add(name)
        self.parts.append(_entry(name, mode, content, len(self.names)))

    def to_bytes(self) -> bytes:
        """Return the archive with its trailer."""
        return b"".join([*self.parts, _entry("TRAILER!!!", 0, b"", 0)])


def _entry(name: str, mode: int, content: bytes, number: int) -> bytes:
    ended = name.encode() + b"\0"
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(ended), 0)
    head = b"070701" + b"".join(b"%08X" % one for one in fields) + ended
    return _padded(head) + _padded(content)


def _padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % 4)


def initramfs(kernel: Kernel, programs: Iterable[str]) -> bytes:
    """Return the file system of the guest."""
    archive = Archive()
    for name in ("proc", "sys", "dev", "tmp", "run"):
        archive.folder(Path("/") / name)
    archive.file(Path("/init"), INIT.read_bytes())
    archive.file(Path("/bin/busybox"), _found("busybox").read_bytes())
    order = modules_in_order(kernel.modules, MODULES)
    for path in order:
        archive.file(Path("/modules") / path.name, path.read_bytes())
    listing = "".join(f"{path.name}\n" for path in order)
    archive.file(Path("/modules/order"), listing.encode(), 0o644)
    for program in [_found(name) for name in programs] + sorted(PROVIDERS.glob("librxe-*.so")):
        archive.file(program, program.read_bytes())
        for library in libraries(program):
            archive.file(library, library.read_bytes())
    archive.file(UNWINDER, UNWINDER.read_bytes())
    driver = DRIVERS / "rxe.driver"
    archive.file(driver, driver.read_bytes(), 0o644)
    return archive.to_bytes()


def _found(name: str) -> Path:
    path = shutil.which(name, path="/usr/bin:/usr/sbin:/bin:/sbin")
    if path is None:
        raise MissingError(f"no {name} here; install it with packaging/bootstrap.sh extra")
    return Path(path)
