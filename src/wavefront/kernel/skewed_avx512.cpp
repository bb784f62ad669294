// SPDX-License-Identifier: BSD-3-Clause
//
// Skewed kernels in AVX-512: a vector of eight doubles is one register.

#include "wavefront/kernel/skewed_set.hpp"

namespace lanewise::wavefront {
namespace {

struct Isa {};

}  // namespace

SkewedTable skewed_avx512() {
    return skewed_table<Isa>("avx512");
}

}  // namespace lanewise::wavefront
