// SPDX-License-Identifier: BSD-3-Clause
//
// NearestProducts: products that are the number nearest to the exact product, ties to even. They
// depend neither on the order of the factors nor on how these are dealt.
//
// The first 128 bits of a product decide in all but rare cases how it is rounded. Where they do
// not, LongProduct has twice as many, and twice as many again: it says why that comes to an end.

#pragma once

#include <cstddef>
#include <span>

namespace lanewise::sums {

/* The product of numbers; that of none is 1. */
template <typename Real>
Real nearest_product(std::span<const Real> factors);

/* The products of a few vectors, element by element. `products` may be one of the vectors. */
template <typename Real>
void multiply_to_nearest(std::span<const Real *const> vectors, std::size_t count, Real *products);

}  // namespace lanewise::sums
