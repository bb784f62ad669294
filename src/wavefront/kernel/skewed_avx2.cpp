// SPDX-License-Identifier: BSD-3-Clause
//
// Skewed kernels in AVX2: a vector of eight doubles is two registers.

#include "wavefront/kernel/skewed_set.hpp"

namespace lanewise::wavefront {
namespace {

struct Isa {};

}  // namespace

SkewedTable skewed_avx2() {
    return skewed_table<Isa>("avx2");
}

}  // namespace lanewise::wavefront
