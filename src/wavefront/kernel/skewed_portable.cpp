// SPDX-License-Identifier: BSD-3-Clause
//
// Skewed kernels in whatever vectors every machine of this kind has.

#include "wavefront/kernel/skewed_set.hpp"

namespace lanewise::wavefront {
namespace {

struct Isa {};

}  // namespace

SkewedTable skewed_portable() {
    return skewed_table<Isa>("portable");
}

}  // namespace lanewise::wavefront
