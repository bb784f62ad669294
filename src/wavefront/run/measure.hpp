// SPDX-License-Identifier: BSD-3-Clause
//
// Measure: one number of the data between two iterations, such as the norm of their residual.
//
// The residual of an in-place kernel is what it would change if every cell were updated from
// the data as they are: G(u) - u, u being a solution where that is zero. Sums go row by row,
// and rows in order, so that a measure has the same bits for every layout and budget.

#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "wavefront/kernel/kernel.hpp"
#include "wavefront/store/store.hpp"

namespace lanewise::wavefront {

enum class Measure { residual, norm, sum, max, min };

/* A run ends once `measure` is below `value`; of the first one, where it is relative. */
struct Until {
    Measure measure = Measure::residual;
    double value = 0.0;
    bool relative = false; /* to the measure before the first iteration of the run */
};

const std::vector<std::string>& measure_names();
Result<Measure> measure_named(const std::string& name);
const char *measure_name(Measure measure);
/* "residual<1e-8", or "residual<1e-8*first". */
Result<Until> parse_until(const std::string& text);
std::string until_text(const Until& until);

/* Of all data matrices of `store`, which has no other data than `kernel` updates; a strip whose
 * checksum is wrong is named. `iteration` is what a kernel is told that asks for it. Fails once
 * `stop` is true. */
Result<double> measure(const Store& store, const Kernel& kernel, Measure what,
                       std::uint64_t iteration, const std::atomic<bool> *stop = nullptr);
/* Bytes of memory that it takes. */
std::uint64_t measure_bytes(const MatrixShape& stored, std::uint32_t radius);

}  // namespace lanewise::wavefront
