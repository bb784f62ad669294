# SPDX-License-Identifier: BSD-3-Clause
from pathlib import Path

import pytest

from lanewise.errors import RequestError
from lanewise.toml import text
from lanewise.toml.text import read_text


def test_a_text_is_read_whatever_ends_its_lines(tmp_path: Path) -> None:
    file = tmp_path / "bed.toml"
    file.write_bytes("# Zürich\r\n".encode())

    assert read_text(file, "write it") == "# Zürich\n"


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    file = tmp_path / "bed.toml"
    file.write_text("a = 1\n", encoding="utf-8-sig")

    assert read_text(file, "write it") == "a = 1\n"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("missing.toml", "missing.toml cannot be read (No such file or directory); write it"),
        (".", " cannot be read (Is a directory); write it"),
        ("a\0b", "a\0b cannot be read (its name contains a NUL character); write it"),
        ("\ud800", r"(its name contains '\ud800', which cannot be encoded); write it"),
        ("latin.toml", "latin.toml cannot be read (it is not text); write it"),
    ],
)
def test_what_cannot_be_read_is_named_with_the_remedy(name: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes("# Zürich".encode("latin-1"))

    with pytest.raises(RequestError) as refused:
        read_text(tmp_path / name, "write it")

    assert str(refused.value).endswith(said)


def test_what_has_no_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "BYTES_MAX", 1 << 20)

    with pytest.raises(
        RequestError, match=r"^zeros cannot be read \(it has more than 1 MiB\); no$"
    ):
        read_text(Path("/dev/zero"), "no", called="zeros")
