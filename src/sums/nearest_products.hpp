// SPDX-License-Identifier: BSD-3-Clause
//
// NearestProducts: products that are the number nearest to the exact product, ties to even. They
// depend neither on the order of the factors nor on how these are dealt.
//
// The first 128 bits of a product decide in all but rare cases how it is rounded. Where they do
// not, LongProduct has twice as many, and twice as many again: it says why that comes to an end.
// LongComplexProduct does the same for both parts of complex numbers.

#pragma once

#include <cstddef>
#include <span>

namespace lanewise::sums {

/* The product of doubles, floats, or complex numbers of these; that of none is 1. */
template <typename Number>
Number nearest_product(std::span<const Number> factors);

/* The products of a few vectors, element by element. `products` may be one of the vectors. */
template <typename Number>
void multiply_to_nearest(std::span<const Number *const> vectors, std::size_t count,
                         Number *products);

}  // namespace lanewise::sums
