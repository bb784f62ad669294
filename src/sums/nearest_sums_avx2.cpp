// SPDX-License-Identifier: BSD-3-Clause
//
// The loops of nearest_loops.hpp for processors with AVX2.

#include "sums/nearest_loops.hpp"

namespace lanewise::sums {

constinit const NearestLoops nearest_loops_avx2{add_row<double>, add_row<float>};

}  // namespace lanewise::sums
