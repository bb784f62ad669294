# SPDX-License-Identifier: BSD-3-Clause
"""A path file follows its schema, and one that does not is refused with file and key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lanewise.errors import RequestError
from lanewise.files import paths

PORT = {"device": "mlx5_0", "port": 1, "gids": ["::ffff:10.1.0.1"]}
WHOLE = {"schema": "lanewise-paths", "version": 1, "hosts": [{"name": "a", "ports": [PORT]}]}


def written(folder: Path, values: Any) -> Path:
    path = folder / "paths.json"
    path.write_text(json.dumps(values), encoding="utf-8")
    return path


def test_a_path_file_is_read(tmp_path: Path) -> None:
    assert paths.load(written(tmp_path, WHOLE)) == WHOLE


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([], r"not a JSON object; write it again"),
        ({**WHOLE, "schema": "lanewise-tuning"}, r"not a path file; write one with"),
        ({**WHOLE, "version": 2}, r"version 2 is newer than version 1, which .*; upgrade"),
        ({**WHOLE, "hosts": {}}, r"key 'hosts' is \{\}, not a list"),
        ({**WHOLE, "hosts": [{"ports": []}]}, r"hosts\[0\]: key 'name' is missing"),
        (
            {**WHOLE, "hosts": [{"name": "a", "ports": [{**PORT, "gid": "::1"}]}]},
            r"hosts\[0\]\.ports\[0\]: unknown key 'gid'; did you mean gids\?",
        ),
    ],
)
def test_a_file_that_does_not_follow_the_schema_is_refused_by_name(
    tmp_path: Path, values: Any, said: str
) -> None:
    path = written(tmp_path, values)

    with pytest.raises(RequestError, match=said) as refused:
        paths.load(path)

    assert str(refused.value).startswith(str(path))
