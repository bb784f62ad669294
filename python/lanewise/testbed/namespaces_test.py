# SPDX-License-Identifier: BSD-3-Clause
"""A refusal names the right that is missing, and who can give it."""

import errno

import pytest

from lanewise.testbed.namespaces import explain


@pytest.mark.parametrize(
    ("what", "number", "user_id", "named"),
    [
        ("a user namespace", errno.EPERM, 1000, ["Debian", "Ubuntu", "apparmor", "root"]),
        ("a user namespace", errno.ENOSPC, 1000, ["user.max_user_namespaces"]),
        ("a namespace for processes", errno.EPERM, 0, ["CAP_SYS_ADMIN", "--privileged"]),
        ("a mount namespace", errno.EINVAL, 0, ["chroot", "mount --bind"]),
        ("mounting proc on /proc", errno.EPERM, 0, ["systempaths"]),
        ("/dev/net/tun", errno.ENOENT, 0, ["modprobe tun"]),
        ("/dev/net/tun", errno.EACCES, 1000, ["chmod"]),
        ("a step", errno.EMFILE, 0, ["Too many open files", "ulimit -n"]),
        ("anything", errno.EIO, 0, ["anything", "Input/output error"]),
    ],
)
def test_a_refusal_names_the_missing_right(
    what: str, number: int, user_id: int, named: list[str]
) -> None:
    sentence = explain(what, number, user_id)

    assert sentence.startswith(f"{what} is refused: ")
    assert all(word in sentence for word in named), sentence
