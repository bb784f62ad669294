# SPDX-License-Identifier: BSD-3-Clause
"""Exact sums and products of numpy arrays, against fractions."""

from __future__ import annotations

import copy
import math
import pickle
import random
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lanewise
from lanewise.errors import RequestError, RunError
from lanewise.sums.ranks import Share

WAIT_S = 10  # for a call that another rank does not make
FINITE = st.floats(allow_nan=False, allow_infinity=False)


def nearest(exact: Fraction) -> float:
    """Round a fraction to a float64; infinite beyond it."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


@pytest.mark.parametrize("kind", [lanewise.Accumulator, lanewise.Product])
def test_what_grows_can_be_copied_and_pickled(kind: Any) -> None:
    grown = kind()
    (grown.add if kind is lanewise.Accumulator else grown.multiply)(np.array([0.1, 0.2, 3.0]))

    for other in (copy.copy(grown), copy.deepcopy(grown), pickle.loads(pickle.dumps(grown))):
        other.merge(grown)
        assert float(other) != float(grown)
        assert type(other) is kind


class Named:
    """What a program adds to a sum or a product of its own: an argument, and something to keep."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class NamedSum(Named, lanewise.Accumulator):
    pass


class NamedProduct(Named, lanewise.Product):
    pass


@pytest.mark.parametrize("kind", [NamedSum, NamedProduct])
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_what_is_derived_can_be_copied_and_pickled_with_what_it_keeps(
    kind: Any, protocol: int
) -> None:
    grown = kind("energy")
    (grown.add if kind is NamedSum else grown.multiply)(np.array([0.1, 0.2, 3.0]))

    pickled = pickle.loads(pickle.dumps(grown, protocol))
    for other in (copy.copy(grown), copy.deepcopy(grown), pickled):
        assert (type(other), other.name, float(other)) == (kind, "energy", float(grown))
        other.merge(grown)
        assert float(other) != float(grown)


def test_a_product_that_is_derived_is_multiplied_by_those_of_other_ranks() -> None:
    others = [lanewise.Product().multiply([3.0]).words, lanewise.Product().multiply([5.0]).words]

    product = NamedProduct("energy")
    product.multiply([2.0]).allreduce(Ranks(others))

    assert float(product) == 30.0


@pytest.mark.parametrize("order", "<>")
def test_numbers_may_have_their_bytes_in_either_order(order: str) -> None:
    for kind in ("f8", "f4", "c16", "c8", "i8"):
        values = np.array([2, 3, 7], dtype=order + kind)

        for result, expected in ((lanewise.sum(values), 12), (lanewise.prod(values), 42)):
            assert result == expected
            assert result.dtype.isnative

    for kind in ("f8", "f4"):
        values = np.array([[2, 3], [5, 7]], dtype=order + kind)[:, 0]
        assert lanewise.Accumulator().add(values).value(order + kind) == 7
        assert lanewise.Product().multiply(values).value(order + kind) == 10


def test_what_grows_takes_only_its_own_kind() -> None:
    with pytest.raises(TypeError, match="Product is no Accumulator"):
        lanewise.Accumulator().merge(lanewise.Product())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Accumulator is no Product"):
        lanewise.Product().merge(lanewise.Accumulator())  # type: ignore[arg-type]


def test_masked_values_are_no_numbers() -> None:
    masked = np.ma.masked_greater(np.array([1.0, 2.0, 100.0]), 50)

    for call in (lanewise.sum, lanewise.prod, lanewise.Accumulator().add,
                 lanewise.Product().multiply):  # fmt: skip
        with pytest.raises(TypeError, match="values are masked"):
            call(masked)
    assert lanewise.sum(masked.compressed()) == 3
    assert lanewise.sum(np.ma.masked_array([1.0, 2.0])) == 3


@settings(max_examples=200, derandomize=True)
@given(st.lists(FINITE, max_size=60))
def test_a_sum_is_the_number_nearest_to_the_exact_one(values: list[float]) -> None:
    exact = sum((Fraction(value) for value in values), Fraction(0))

    assert lanewise.sum(np.array(values, dtype=np.float64)) == nearest(exact)


@settings(max_examples=100, derandomize=True)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), max_size=60))
def test_a_sum_of_float32_is_rounded_once(values: list[float]) -> None:
    total = lanewise.sum(np.array(values, dtype=np.float32))
    exact = sum((Fraction(value) for value in values), Fraction(0))

    assert total.dtype == np.float32
    if math.isinf(total):
        assert abs(exact) > Fraction(float(np.finfo(np.float32).max))
        return
    near = [np.nextafter(total, np.float32(side)) for side in (-np.inf, np.inf)]
    own = abs(Fraction(float(total)) - exact)
    assert all(math.isinf(other) or abs(Fraction(float(other)) - exact) >= own for other in near)


def test_neither_order_nor_parts_matter() -> None:
    numbers = random.Random(25)
    values = [math.ldexp(numbers.uniform(-1, 1), numbers.randrange(-900, 900)) for _ in range(500)]
    total = lanewise.sum(values)
    numbers.shuffle(values)
    parts = lanewise.Accumulator().add(values[:77])
    parts.merge(lanewise.Accumulator().add(values[77:]))

    assert lanewise.sum(values) == total
    assert float(parts) == total


class Ranks:
    """Stands for a communicator: what its ranks give is there already."""

    def __init__(self, others: list[Any]) -> None:
        self.others = others

    def Is_inter(self) -> bool:  # noqa: N802
        return False

    def allreduce(self, words: Any) -> Any:
        if isinstance(words, Share):
            return words  # the others have the same
        return sum(self.others, words)

    def allgather(self, words: Any) -> Any:
        return [*self.others[:1], words, *self.others[1:]]


class Rank:
    """A communicator of threads; a call that one does not make is an error of the others."""

    def __init__(self, rank: int, given: list[Any], barrier: threading.Barrier) -> None:
        self.rank, self.given, self.barrier = rank, given, barrier

    def Is_inter(self) -> bool:  # noqa: N802
        return False

    def allgather(self, value: Any) -> Any:
        self.given[self.rank] = pickle.loads(pickle.dumps(value))
        self.barrier.wait()
        all_given = list(self.given)
        self.barrier.wait()
        return all_given

    def allreduce(self, value: Any) -> Any:
        first, *others = self.allgather(value)
        return sum(others, first)


def on_ranks(function: Callable[..., Any], *values: Any, **options: Any) -> list[Any]:
    """Call the function once for each of `values`, all over one communicator; results or errors."""
    given = [None] * len(values)
    barrier = threading.Barrier(len(values), timeout=WAIT_S)

    def call(rank: int) -> Any:
        try:
            return function(values[rank], comm=Rank(rank, given, barrier), **options)
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(values)) as threads:
        return list(threads.map(call, range(len(values))))


@pytest.mark.parametrize("ranks", [1, 2, 3, 16, 64])
def test_numbers_may_be_dealt_among_ranks_in_any_way(ranks: int) -> None:
    numbers = random.Random(ranks)
    values = np.array([numbers.gauss(0, 1) * 10.0 ** numbers.randrange(30) for _ in range(640)])
    owners = np.array([numbers.randrange(ranks) for _ in values])
    others = [lanewise.Accumulator().add(values[owners == r]).words for r in range(1, ranks)]

    total = lanewise.sum(values[owners == 0], comm=Ranks(others))

    assert total == float(sum(map(Fraction, values.tolist())))


@pytest.mark.parametrize(
    ("first", "second", "total"),
    [
        ([1 + 2j], [], np.complex128(1 + 2j)),
        ([], [np.float32(0.1)], np.float32(0.1)),
        (np.array([0.1], dtype=np.float32), [0.5], np.float64(np.float32(0.1)) + 0.5),
        (np.array([1], dtype=np.complex64), [2.0], np.complex128(3)),
        (np.array([1], dtype=np.int32), np.array([2], dtype=np.float32), np.float64(3)),
        (np.array([], dtype=np.float32), np.array([], dtype=np.float32), np.float32(0)),
    ],
    ids=["nothing", "nothing first", "wider", "both parts", "integers", "nothing at all"],
)
def test_ranks_agree_on_a_format_that_holds_the_numbers_of_all(
    first: Any, second: Any, total: Any
) -> None:
    for result in on_ranks(lanewise.sum, first, second):
        assert result == total
        assert result.dtype == total.dtype


def test_a_rank_whose_values_are_refused_leaves_no_other_waiting() -> None:
    masked = np.ma.masked_greater(np.array([1.0, 100.0]), 50)

    for function in (lanewise.sum, lanewise.prod):
        mine, other = on_ranks(function, masked, [1.0])
        assert isinstance(mine, TypeError)
        assert isinstance(other, RunError)
        assert "a rank cannot take part: values are masked" in str(other)
    for error in on_ranks(lanewise.prod, [1j], [1.0]):
        assert "no exact product over ranks" in str(error)


def test_ranks_whose_results_have_other_shapes_are_refused_on_all_of_them() -> None:
    first, second = np.ones((3, 4)), np.ones((2, 4))

    assert [one.tolist() for one in on_ranks(lanewise.sum, first, second, axis=0)] == [[5] * 4] * 2
    for error in on_ranks(lanewise.sum, first, second, axis=1):
        assert isinstance(error, RunError)
        assert "have the shapes (2,) and (3,)" in str(error)


class TwoGroups(Ranks):
    """Stands for an intercommunicator, by which each group gets what the other gives."""

    def Is_inter(self) -> bool:  # noqa: N802
        return True


def test_nothing_is_added_over_an_intercommunicator() -> None:
    comm, one = TwoGroups([]), np.ones(3)

    for call in (
        lambda: lanewise.sum(one, comm=comm),
        lambda: lanewise.prod(one, comm=comm),
        lambda: lanewise.Accumulator().add(one).allreduce(comm),
        lambda: lanewise.Product().multiply(one).allreduce(comm),
    ):
        with pytest.raises(RequestError, match=r"is an intercommunicator; merge .* comm\.Merge"):
            call()


def test_complex_numbers_and_axes_are_added_by_parts() -> None:
    values = np.array([[1e16 + 1e16j, 1 + 2j], [-1e16, 3], [1, -1e16j]])

    assert lanewise.sum(values) == 5 + 2j
    assert lanewise.sum(values[:, 0]) == 1 + 1e16j
    assert lanewise.sum(values, axis=0).tolist() == [1 + 1e16j, 4 + (2 - 1e16) * 1j]
    assert lanewise.sum(values, comm=Ranks([])) == 5 + 2j
    assert lanewise.sum(np.ones((3, 4), dtype=np.float32), axis=1).tolist() == [4, 4, 4]


@pytest.mark.parametrize(
    "axis", [None, 0, 2, -1, (0,), (0, 1), (2, 0), (-1, 1), (0, 1, 2), ()], ids=str
)
def test_axes_are_those_of_numpy(axis: int | tuple[int, ...] | None) -> None:
    values = np.arange(24.0).reshape(2, 3, 4)

    sums = np.sum(values, axis=axis)
    assert np.array_equal(lanewise.sum(values, axis=axis), sums)
    assert type(lanewise.sum(values, axis=axis)) is type(sums)
    products = np.prod(values + 1, axis=axis)
    assert np.allclose(lanewise.prod(values + 1, axis=axis), products, rtol=1e-14)


@pytest.mark.parametrize("axis", [3, (0, 3), (0, 0)], ids=str)
def test_axes_that_do_not_exist_are_refused(axis: int | tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"axis|axes"):
        lanewise.sum(np.ones((2, 3, 4)), axis=axis)


@pytest.mark.parametrize("kind", [lanewise.Accumulator, lanewise.Product])
@pytest.mark.parametrize("dtype", [np.float64, np.uint64, np.complex128], ids=str)
def test_words_are_integers(
    kind: type[lanewise.Accumulator | lanewise.Product], dtype: type[np.generic]
) -> None:
    made = kind()
    words = made.words

    with pytest.raises(TypeError, match="are int64"):
        made.words = words.astype(dtype)

    if kind is lanewise.Accumulator:  # the words of a product take 64 bits
        made.words = words.astype(np.int32)
    made.words = words.tolist()
    assert made.words.tolist() == words.tolist()


@pytest.mark.parametrize("kind", [lanewise.Accumulator, lanewise.Product])
def test_words_of_nothing_are_refused(kind: type[lanewise.Accumulator | lanewise.Product]) -> None:
    made = kind()
    words = made.words
    words[-1] = -1

    with pytest.raises(ValueError, match=r"these are no words of a (sum|product)"):
        made.words = words
    assert made.words.tolist() == kind().words.tolist()


def test_what_is_no_number_and_what_is_zero_is_defined() -> None:
    assert math.isnan(lanewise.sum([math.inf, -math.inf]))
    assert lanewise.sum([1e308, 1e308, -1e308]) == 1e308
    assert math.copysign(1, lanewise.sum([-0.0, -0.0])) == -1
    assert math.copysign(1, lanewise.sum([-0.0, 0.0])) == 1
    assert lanewise.sum([]) == 0.0
    assert lanewise.sum([5e-324, 5e-324]) == 1e-323


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_integers_that_are_no_float64_are_refused_and_others_are_exact(dtype: str) -> None:
    for value in (2**53 + 1, 2**62 + 1, 2**63 - 1):
        for function in (lanewise.sum, lanewise.prod):
            with pytest.raises(ValueError, match=r"beyond 2\^53"):
                function(np.array([value, 1], dtype=dtype))
    assert lanewise.sum(np.array([2**53, 2**62], dtype=dtype)) == 2**53 + 2**62
    assert lanewise.prod(np.array([2**60, 2], dtype=dtype)) == 2**61


@pytest.mark.parametrize(
    "values",
    [
        [2**53 + 1, -(2.0**53)],
        [2**63 + 1, -(2**63)],
        [np.int64(2**53 + 1), 0.5],
        [[1.0, 2.0], (3.5, 2**53 + 1)],
        [np.array([2**53 + 1, 1]), [0.5, 0.5]],
        deque([2**53 + 1, 0.5]),
        [2**53 + 1, 1j],
    ],
    ids=str,
)
def test_an_integer_beside_floats_is_refused_where_it_would_be_rounded(values: Any) -> None:
    for call in (lanewise.sum, lanewise.prod):
        with pytest.raises(ValueError, match=r"beyond 2\^53 and no float64"):
            call(values)


def test_integers_beside_floats_are_exact() -> None:
    assert lanewise.sum([2**53 + 2, -(2.0**53)]) == 2
    assert lanewise.sum([2**63, -(2**63), True, 0.5]) == 1.5
    assert lanewise.sum([range(3), [0.5, 0, 0]]) == 3.5
    for call in (lanewise.Accumulator().add, lanewise.Product().multiply):
        call([2, 0.5])
        with pytest.raises(ValueError, match=r"beyond 2\^53"):
            call([2**53 + 1, 0.5])


def test_masked_values_in_a_list_are_no_numbers() -> None:
    masked = np.ma.masked_greater(np.array([1.0, 100.0]), 50)
    lists: list[Any] = [[masked, [3.0, 4.0]], [1.0, np.ma.masked], [[1, 2], [3, np.ma.masked]]]

    for values in lists:
        with pytest.raises(TypeError, match="values are masked"):
            lanewise.sum(values)


def test_other_formats_are_refused() -> None:
    with pytest.raises(TypeError, match="has no exact sum"):
        lanewise.sum(np.ones(3, dtype=np.longdouble))
    with pytest.raises(TypeError, match="neither float64 nor float32"):
        lanewise.Accumulator().add(np.ones(3, dtype=np.int64))
    with pytest.raises(ValueError, match="those of a sum are 75"):
        lanewise.Accumulator().words = [1, 2]
    assert lanewise.sum([1, 2, 3]) == 6


@settings(max_examples=200, derandomize=True)
@given(st.lists(FINITE.filter(bool), min_size=1, max_size=30))
def test_a_product_is_the_number_nearest_to_the_exact_one(factors: list[float]) -> None:
    exact = math.prod(map(Fraction, factors), start=Fraction(1))

    assert lanewise.prod(factors) == nearest(exact)
    assert lanewise.prod(factors, comm=Ranks([])) == nearest(exact)


@pytest.mark.parametrize("ranks", [1, 2, 3, 16, 64])
def test_factors_may_be_dealt_among_ranks_in_any_way(ranks: int) -> None:
    numbers = random.Random(ranks)
    factors = np.array([numbers.uniform(-2, 2) * 10.0 ** numbers.randrange(-9, 10)
                        for _ in range(640)])  # fmt: skip
    owners = np.array([numbers.randrange(ranks) for _ in factors])
    others = [lanewise.Product().multiply(factors[owners == r]).words for r in range(1, ranks)]

    product = lanewise.prod(factors[owners == 0], comm=Ranks(others))

    exact = math.prod(map(Fraction, factors.tolist()), start=Fraction(1))
    assert product == nearest(exact)
    assert product == lanewise.prod(factors)


@settings(max_examples=100, derandomize=True)
@given(st.lists(st.tuples(FINITE, FINITE), min_size=1, max_size=12))
def test_both_parts_of_a_complex_product_are_nearest_to_the_exact_ones(
    parts: list[tuple[float, float]],
) -> None:
    real, imaginary = Fraction(1), Fraction(0)
    for a, b in parts:
        c, d = Fraction(a), Fraction(b)
        real, imaginary = real * c - imaginary * d, real * d + imaginary * c

    product = lanewise.prod([complex(a, b) for a, b in parts])

    assert (product.real, product.imag) == (nearest(real), nearest(imaginary))
    assert lanewise.prod(np.array([1 + 1j, 1 - 1j], dtype=np.complex64)) == 2


def test_only_the_product_itself_may_be_beyond_the_format() -> None:
    assert lanewise.prod([1e200, 1e200, 1e-200]) == nearest(Fraction(1e200) ** 2 * Fraction(1e-200))
    assert lanewise.prod(np.array([[2, 3], [5, 7]], dtype=np.float32), axis=0).tolist() == [10, 21]
    assert lanewise.prod([]) == 1
    assert math.isnan(lanewise.prod([0.0, math.inf, 2]))
    assert math.copysign(1, lanewise.prod([-0.0, 1e300])) == -1


def test_products_of_other_formats_are_refused() -> None:
    with pytest.raises(TypeError, match="has no exact product; convert"):
        lanewise.prod(np.ones(3, dtype=np.longdouble))
    with pytest.raises(TypeError, match="complex128 has no exact product over ranks here; gather"):
        lanewise.prod(np.ones(3, dtype=np.complex128), comm=Ranks([]))
    with pytest.raises(TypeError, match="neither float64 nor float32"):
        lanewise.Product().multiply(np.ones(3, dtype=np.int64))
    with pytest.raises(ValueError, match="those of a product are 19"):
        lanewise.Product().words = [1, 2]
