// SPDX-License-Identifier: BSD-3-Clause
//
// The loops of combine_loops.hpp for processors with AVX-512 F, VL and DQ.

#include "sums/combine_loops.hpp"

namespace lanewise::sums {

constinit const AddLoops add_loops_avx512{add_many_numbers<double>, add_many_numbers<float>};

}  // namespace lanewise::sums
