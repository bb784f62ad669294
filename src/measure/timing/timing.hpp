// SPDX-License-Identifier: BSD-3-Clause
//
// What timing methods share: the loop over the repetitions, and the one
// reduction after it that gives every rank the same batch. A method is one file of
// this folder and one line in registry.cpp.

#pragma once

#include <span>
#include <vector>

#include "measure/bench.hpp"

namespace lanewise::measure {

/* One execution of the loop body on this rank. */
struct Reading {
    double begin_s = 0.0;
    double end_s = 0.0;
    bool late = false;
};

/*
 * Runs `count` repetitions and returns the readings of this rank. `finish` runs
 * after the operation and before the second reading. `failed` is set when the
 * operation returns non-zero; this rank executes it to the end of the batch all
 * the same, since the others wait for what it sends.
 */
template <typename Finish>
std::vector<Reading> repeat(Bench& bench, Running& running, std::size_t count, bool& failed,
                            Finish&& finish) {
    std::vector<Reading> readings(count);
    const auto length = bench.options().pipeline_length;
    for (auto& reading : readings) {
        reading.late = !bench.begin(running);
        reading.begin_s = bench.clock().now_s();
        for (std::uint32_t i = 0; i < length; ++i) failed |= running.execute() != 0;
        finish();
        reading.end_s = bench.clock().now_s();
    }
    return readings;
}

/* What all ranks know of a batch after its one reduction. */
struct ReducedBatch {
    std::vector<double> rows;         /* elementwise maxima over the ranks */
    std::vector<std::size_t> on_time; /* repetitions that no rank began late */
    double elapsed_s = 0.0;
    bool failed = false;
};
ReducedBatch reduce_batch(const Bench& bench, std::span<const Reading> readings,
                          std::span<const double> rows, double elapsed_s, bool failed);

/* The batch with those of `values_s`, one a repetition, that are on time. */
Batch keep_on_time(const ReducedBatch& reduced, std::span<const double> values_s);

}  // namespace lanewise::measure
