// SPDX-License-Identifier: BSD-3-Clause
//
// The loops of combine_loops.hpp for processors with AVX2.

#include "sums/combine_loops.hpp"

namespace lanewise::sums {

constinit const AddLoops add_loops_avx2{add_numbers<double>, add_numbers<float>};

}  // namespace lanewise::sums
