// SPDX-License-Identifier: BSD-3-Clause
//
// Measure: one number of the data between two iterations, such as the norm of their residual.
//
// The residual of an in-place kernel is what it would change if every cell were updated from
// the data as they are: G(u) - u, u being a solution where that is zero. Sums go row by row,
// and rows in order, so that a measure has the same bits for every layout and budget.

#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "wavefront/kernel/kernel.hpp"
#include "wavefront/store/store.hpp"

namespace lanewise::wavefront {

enum class Measure { residual, norm, sum, max, min };

/* A run ends once `measure` is below `value`; of the first one, where it is relative. With `atol`
 * it ends once the measure is no more than the larger of that and the value, as the solvers of
 * SciPy do. */
struct Until {
    Measure measure = Measure::residual;
    double value = 0.0;
    bool relative = false; /* to the measure before the first iteration of the run */
    std::optional<double> atol{};
};

Result<Measure> measure_named(const std::string& name);
const char *measure_name(Measure measure);
/* "residual<1e-8", "residual<1e-8*first", or "residual<=max(1e-8*first,1e-12)". */
Result<Until> parse_until(const std::string& text);
std::string until_text(const Until& until);
/* The condition of a residual within the tolerances, of which at least one is above 0. */
Result<Until> until_within(double rtol, double atol);
/* Whether the condition holds; `first` is the first measure, where it is relative. */
bool is_met(const Until& until, double measured, const std::optional<double>& first);

/* Whether a store of `shape` under `kernel` can be measured. */
Outcome check_measured(const MatrixShape& shape, const Kernel& kernel);
/* Of all data matrices of `store`, which has no other data than `kernel` updates; a strip whose
 * checksum is wrong is named. `iteration` is what a kernel is told that asks for it. Fails once
 * `stop` is true. */
Result<double> measure(const Store& store, const Kernel& kernel, Measure what,
                       std::uint64_t iteration, const std::atomic<bool> *stop = nullptr);
/* Bytes of memory that it takes. */
std::uint64_t measure_bytes(const MatrixShape& stored, std::uint32_t radius);

}  // namespace lanewise::wavefront
