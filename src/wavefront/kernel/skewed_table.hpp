// SPDX-License-Identifier: BSD-3-Clause
//
// The skewed kernels of one instruction set, as plain function pointers.

#pragma once

#include <lanewise/wavefront/row_block.hpp>

namespace lanewise::wavefront {

/* Whether a kernel is skewed for iterations in every direction, or down and right only. */
enum class Turning { no, yes };

struct SkewedFunctions {
    const char *cell;
    Turning turning;
    StepFunction update_f32;
    StepFunction measure_f32;
    StepFunction update_f64;
    StepFunction measure_f64;
};

struct SkewedTable {
    const char *instructions;
    const SkewedFunctions *functions;
    unsigned count;
};

SkewedTable skewed_avx512();
SkewedTable skewed_avx2();
SkewedTable skewed_portable();

}  // namespace lanewise::wavefront
