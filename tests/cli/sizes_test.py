# SPDX-License-Identifier: BSD-3-Clause
"""The size grammar, through the native program's own plan."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lanewise.launch.native import MEASURE, build_for, find_builds
from lanewise.launch.registry import LAUNCHERS

UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
SLOW = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
numbers = st.integers(min_value=0, max_value=1000)
units = st.sampled_from(sorted(UNITS))
suffixes = st.sampled_from(["", "B"])


@pytest.fixture
def program() -> Path:
    build = build_for(LAUNCHERS["openmpi"], find_builds(os.environ))
    if build is None:
        pytest.skip("openmpi has no native build; make build")
    return build.program(MEASURE)


def sizes_of(program: Path, text: str) -> list[int]:
    done = subprocess.run(
        [str(program), "scatter", f"--sizes={text}", "--plan"],
        capture_output=True, text=True, check=True, timeout=30,
    )  # fmt: skip
    return list(json.loads(done.stdout)["sizes_bytes"])


@SLOW
@given(
    st.lists(st.tuples(numbers, units, suffixes), min_size=1, max_size=6, unique_by=lambda size: (
        size[0] * UNITS[size[1]]
    ))
)  # fmt: skip
def test_a_list_gives_the_sizes_that_it_names(
    program: Path, sizes: list[tuple[int, str, str]]
) -> None:
    text = ",".join(f"{number}{unit}{suffix}" for number, unit, suffix in sizes)

    assert sorted(sizes_of(program, text)) == sorted(
        number * UNITS[unit] for number, unit, _ in sizes
    )


@SLOW
@given(
    low=st.integers(min_value=1, max_value=10**6),
    growth=st.integers(min_value=1, max_value=10**6),
    factor=st.integers(min_value=2, max_value=10),
)
def test_a_geometric_range_multiplies_up_to_its_end(
    program: Path, low: int, growth: int, factor: int
) -> None:
    high = low * growth

    found = sizes_of(program, f"{low}:{high}:x{factor}")

    expected = [low]
    while expected[-1] * factor <= high:
        expected.append(expected[-1] * factor)
    assert found == expected


@SLOW
@given(
    low=st.integers(min_value=0, max_value=10**9),
    count=st.integers(min_value=0, max_value=100),
    step=st.integers(min_value=1, max_value=10**9),
    rest=st.integers(min_value=0, max_value=10**9),
)
def test_an_arithmetic_range_adds_up_to_its_end(
    program: Path, low: int, count: int, step: int, rest: int
) -> None:
    high = low + count * step + rest % step

    assert sizes_of(program, f"{low}:{high}:{step}") == list(range(low, high + 1, step))


@SLOW
@given(st.text(alphabet="0123456789KMGxB:,- .", max_size=12))
def test_any_text_is_planned_or_refused_in_one_line(program: Path, text: str) -> None:
    done = subprocess.run(
        [str(program), "scatter", f"--sizes={text}", "--plan"],
        capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip

    assert done.returncode in (0, 2)
    if done.returncode == 2:
        assert done.stderr.startswith("lanewise-measure: ")
        assert done.stderr.count("\n") == 1
