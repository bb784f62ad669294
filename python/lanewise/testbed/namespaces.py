# SPDX-License-Identifier: BSD-3-Clause
"""The system calls that Python 3.10 has no name for: unshare, setns, mount, prctl.

Each failure is a NamespaceError that knows what was tried; `explain` says which right is missing.
"""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

PRIVATE_MOUNTS = "a mount namespace"

_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_BIND = 2, 4, 8, 4096
_MS_REC, _MS_PRIVATE = 16384, 1 << 18
_PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)


class NamespaceError(Exception):
    """A system call was refused; `what` is what was tried."""

    def __init__(self, what: str, number: int) -> None:
        super().__init__(f"{what}: {os.strerror(number)}")
        self.what = what
        self.number = number


def _check(result: int, what: str) -> None:
    if result != 0:
        raise NamespaceError(what, ctypes.get_errno())


def unshare(flags: int, what: str) -> None:
    """Leave the namespaces in `flags` for new ones."""
    _check(_libc.unshare(flags), what)


def become_root_of_own() -> None:
    """Enter a user namespace in which this user is root."""
    user, group = os.getuid(), os.getgid()
    unshare(CLONE_NEWUSER, "a user namespace")
    try:
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1", encoding="ascii")
    except OSError as error:
        raise NamespaceError("a user namespace", error.errno or errno.EPERM) from None


def mount(kind: str, target: Path, options: str = "") -> None:
    """Mount a file system of a kind without devices, such as tmpfs or proc."""
    flags = _MS_NOSUID | _MS_NODEV | (_MS_NOEXEC if kind == "proc" else 0)
    given = (kind.encode(), str(target).encode(), kind.encode(), flags, options.encode())
    _check(_libc.mount(*given), f"mounting {kind} on {target}")


def bind(source: Path, target: Path) -> None:
    """Show `source` at `target`."""
    given = (str(source).encode(), str(target).encode(), None, _MS_BIND, None)
    _check(_libc.mount(*given), f"mounting {source} on {target}")


def keep_mounts_private() -> None:
    """Let what is mounted from now on be seen in this mount namespace alone."""
    _check(_libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None), PRIVATE_MOUNTS)


def die_with_parent(signal_number: int) -> None:
    """Get a signal when the parent dies."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal_number, 0, 0, 0), "prctl")


def explain(what: str, number: int, user_id: int) -> str:
    """Return what to do about a refusal: which right is missing, and who gives it."""
    return f"{what} is refused: {os.strerror(number)}" + _remedy(what, number, user_id)


def _remedy(what: str, number: int, user_id: int) -> str:
    refused = number in (errno.EPERM, errno.EACCES)
    remedy = ""
    if number == errno.EMFILE:
        remedy = "; raise the hard limit, as root with: ulimit -n 65536"
    elif what == "/dev/net/tun" and number == errno.ENOENT:
        remedy = "; load it with: modprobe tun, or give the container --device /dev/net/tun"
    elif what == "/dev/net/tun":
        remedy = "; let users open it with: chmod 0666 /dev/net/tun, or be root"
    elif what == "a user namespace" and number in (errno.ENOSPC, errno.EUSERS):
        remedy = "; raise it with: sysctl user.max_user_namespaces=10000, or be root"
    elif what == PRIVATE_MOUNTS and number == errno.EINVAL:
        remedy = (
            "; / is not a mount point, as in a chroot into a plain folder: mount the folder on "
            "itself first, with mount --bind"
        )
    elif refused and what.startswith("mounting proc"):
        remedy = "; give the container --privileged, or --security-opt systempaths=unconfined"
    elif refused and user_id == 0:
        remedy = "; CAP_SYS_ADMIN is missing: give the container --privileged"
    elif refused:
        remedy = (
            "; allow it with: sysctl kernel.unprivileged_userns_clone=1 (Debian) or "
            "kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), or be root"
        )
    return remedy
