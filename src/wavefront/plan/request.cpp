// SPDX-License-Identifier: BSD-3-Clause
//
// See request.hpp.

#include "wavefront/plan/request.hpp"

#include <algorithm>
#include <cmath>

#include "base/sizes.hpp"

namespace lanewise::wavefront {
namespace {

// Waves of a group, and the rounds by which it advances: a row block then comes from memory once
// for eight waves or more. With more of them a group waits longer for the one before.
constexpr std::uint64_t group_waves_max = 16;
// Groups per thread, so that one is ready while others wait.
constexpr std::uint64_t groups_per_thread = 2;
constexpr std::uint64_t column_block_vectors_min = 16;
// A budget from here on is worth cutting rows for.
constexpr std::uint64_t long_rows_bytes = std::uint64_t{1} << 30;
// Twice the break-even leaves the disk idle half of the time: it may slow down without harm.
constexpr std::uint64_t waves_over_break_even = 2;

// The column block that a group works on fills half of the cache; the other half is for what comes
// next and for other programs.
std::uint64_t choose_column_block(const Request& request, std::uint64_t group_waves) {
    const auto& shape = request.shape;
    const auto vector_bytes = skew_lanes * element_bytes(shape.element);
    const auto vectors =
        request.cache_bytes / 2 / ((group_waves + 2) * shape.matrix_count() * vector_bytes);
    return std::max(vectors / 8 * 8, column_block_vectors_min);
}

}  // namespace

Tiling choose_tiling(const Request& request, std::uint64_t waves, Order order) {
    if (request.domain == Domain::part) return {.groups = waves};
    const auto threads = std::min<std::uint64_t>(request.threads, waves);
    if (order == Order::plain || request.cache_bytes == 0) return {.groups = threads};
    const auto per_group =
        std::clamp<std::uint64_t>(waves / (groups_per_thread * threads), 1, group_waves_max);
    return {.groups = (waves + per_group - 1) / per_group,
            .rounds = per_group,
            .column_block = choose_column_block(request, per_group)};
}

std::uint64_t strips_in_work(const Request& request, std::uint64_t waves,
                             std::uint64_t rows_per_block, Order order) {
    const auto row_blocks_per_strip = request.shape.strip_rows / rows_per_block;
    const auto tiling = choose_tiling(request, waves, order);
    return 2 + (waves + tiling.groups * tiling.rounds - 1) / row_blocks_per_strip;
}

std::uint64_t waves_to_hide_disk(const Request& request) {
    const auto& [read, write, cells] = request.rates;
    if (read <= 0.0 || write <= 0.0 || cells <= 0.0) return 0;
    const auto& shape = request.shape;
    const auto bytes = static_cast<double>(element_bytes(shape.element));
    const auto seconds_per_cell =
        bytes * shape.matrix_count() / read + bytes * shape.data_count / write;
    constexpr double rounding = 1e-12;
    const auto waves = cells * seconds_per_cell * (1.0 - rounding);
    return static_cast<std::uint64_t>(std::ceil(std::max(1.0, waves)));
}

std::uint64_t wanted_waves(const Request& request) {
    const auto hiding = waves_to_hide_disk(request);
    const auto wanted =
        request.waves ? request.waves
        : hiding      ? std::max<std::uint64_t>(waves_over_break_even * hiding, request.threads)
                      : waves_without_rates;
    // Waves in excess of the rows would wait for the others without ever working.
    return std::min({wanted, course_of(request).longest_chain(), request.shape.rows});
}

void estimate_time(const Request& request, Plan& plan) {
    const auto& shape = request.shape;
    plan.waves_to_hide_disk = waves_to_hide_disk(request);
    if (plan.waves_to_hide_disk == 0) return;
    const auto cells = static_cast<double>(shape.rows) * static_cast<double>(shape.columns);
    const auto disk_s = static_cast<double>(plan.read_bytes) / request.rates.read_bytes_per_s +
                        static_cast<double>(plan.written_bytes) / request.rates.write_bytes_per_s;
    const auto kernel_s =
        static_cast<double>(request.iterations) * cells / request.rates.cells_per_s;
    plan.time_s = std::max(disk_s, kernel_s);
    plan.disk_bound = disk_s > kernel_s;
}

Failure too_small(const Request& request, std::uint64_t needed_bytes) {
    const bool rows_are_long = request.shape.tile_columns == 0 &&
                               request.shape.columns > request.shape.rows &&
                               needed_bytes > long_rows_bytes;
    return Failure{LW_ERR_ARGUMENT,
                   "a memory budget of " + size_text(request.memory_bytes) +
                       " is too small for this store; give it --memory " +
                       size_text(round_up_mebibyte(needed_bytes)) + " or more" +
                       (rows_are_long ? ", or cut its long rows: lanewise wavefront convert with "
                                        "--tile-columns"
                                      : "")};
}

std::uint64_t columns_a_round(const MatrixShape& shape, std::uint64_t radius) {
    if (shape.layout == &layouts::slanted) return shape.rows_per_block * shape.skew;
    const auto needed = (skew_lanes - 1) * shape.skew + radius;
    return (needed + 7) / 8 * 8;
}

Course course_of(const Request& request) {
    return {request.directions, request.iterations_done, request.iterations,
            request.shape.tile_columns ? Rows::tiled : Rows::whole,
            iterations_of_pass(request.borders, request.pause_every)};
}

void divide_into_passes(const Request& request, std::uint64_t waves, Plan& plan) {
    const auto course = course_of(request);
    plan.passes = course.passes(waves);
    // Parts end their passes at multiples of K, so that all end them at the same iterations.
    plan.waves = request.domain == Domain::part ? waves : course.waves_of_longest_pass(waves);
    const auto longest = course.longest_chain();
    plan.chain = longest < request.iterations ? longest : 0;
}

std::uint64_t sums_bytes(const MatrixShape& shape) {
    return 8 * shape.tile_count() * (shape.matrix_count() + shape.data_count);
}

std::uint64_t own_memory_bytes(const MatrixShape& shape, std::uint32_t threads) {
    constexpr std::uint64_t thread = 256 << 10;
    return program_bytes + threads * thread + sums_bytes(shape) + vectors_bytes(shape);
}

std::uint64_t thread_rows_bytes(const Request& request, std::uint64_t columns) {
    return request.thread_rows * request.threads * columns * element_bytes(request.shape.element);
}

// Of each neighbour: received ahead of its use, sent since the last commit and before it, and on
// the way to it.
std::uint64_t halo_bytes(const Request& request, std::uint64_t waves, std::uint64_t columns) {
    if (request.domain == Domain::whole) return 0;
    constexpr std::uint64_t copies = 4;
    constexpr std::uint64_t neighbours = 2;
    return neighbours * copies * (waves + 2) * request.radius * columns *
           element_bytes(request.shape.element);
}

}  // namespace lanewise::wavefront
