# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lanewise.errors import RequestError
from lanewise.measurement.request import positive


@pytest.mark.parametrize(("count", "whole"), [(None, None), (1, 1), (np.int64(4), 4)])
def test_a_count_is_a_whole_number_or_left_out(count: Any, whole: int | None) -> None:
    assert positive("ranks", count) == whole


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "ranks=0 is not 1 or more"),
        (-2, "ranks=-2 is not 1 or more"),
        ("2", "ranks='2' is not a whole number"),
        (2.0, "ranks=2.0 is not a whole number"),
    ],
)
def test_what_is_no_count_is_refused_with_its_name(count: Any, said: str) -> None:
    with pytest.raises(RequestError, match=said):
        positive("ranks", count)
