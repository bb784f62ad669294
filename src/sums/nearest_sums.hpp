// SPDX-License-Identifier: BSD-3-Clause
//
// NearestSums: the sums of a few vectors, element by element, each the number nearest to the exact
// sum. What NaN, infinities and zeros become is as ExactSum has it.
//
// Two numbers are added by the processor, which rounds once. More are added together with the
// errors of these additions, and the errors of adding these (T. Ogita, S. Rump, S. Oishi, "Accurate
// sum and dot product", SIAM J. Sci. Comput. 26(6), 2005). What is then not yet accounted for is
// most often nothing, or too little to change the rounding; where it might, ExactSum decides.

#pragma once

#include <cstddef>
#include <span>

namespace lanewise::sums {

/* `sums` may be one of the vectors. */
template <typename Real>
void add_to_nearest(std::span<const Real *const> vectors, std::size_t count, Real *sums);

}  // namespace lanewise::sums
