// SPDX-License-Identifier: BSD-3-Clause
//
// See plan.hpp.

#include "wavefront/plan/plan.hpp"

#include <algorithm>
#include <cmath>

#include "base/sizes.hpp"
#include "wavefront/plan/arithmetic.hpp"
#include "wavefront/plan/parallelograms.hpp"

namespace lanewise::wavefront {
namespace {

constexpr std::uint32_t radius_max = 8;
// One strip being read and one being written while the waves work on the others.
constexpr std::uint64_t strips_in_transfer_min = 2;
constexpr std::uint64_t strips_in_transfer = 4;
// Where no rate is known: more waves than any disk measured so far needed (18 to 90).
constexpr std::uint64_t waves_without_rates = 128;
// Waves of a group, and the rounds by which it advances: a row block then comes from memory once
// for eight waves or more. With more of them a group waits longer for the one before.
constexpr std::uint64_t group_waves_max = 16;
// Groups a thread, so that one is ready while others wait.
constexpr std::uint64_t groups_per_thread = 2;
constexpr std::uint64_t column_block_vectors_min = 16;
// From here on a budget is worth cutting rows for.
constexpr std::uint64_t long_rows_bytes = std::uint64_t{1} << 30;
// Twice the break-even leaves the disk idle half of the time: it may slow down without harm.
constexpr std::uint64_t waves_over_break_even = 2;

Failure refuse(const std::string& sentence) {
    return {LW_ERR_ARGUMENT, sentence};
}

// The widest row block of `radius` rows or more that divides a strip, eight rows where possible:
// short row blocks keep waves close together, long ones make hand-offs rare.
std::uint64_t choose_rows_per_block(const Request& request) {
    const auto& shape = request.shape;
    if (shape.layout == &layouts::skewed) return skew_lanes;
    const auto least =
        std::max<std::uint64_t>(request.radius, std::min(shape.strip_rows, skew_lanes));
    for (auto rows = least; rows < shape.strip_rows; ++rows) {
        if (shape.strip_rows % rows == 0) return rows;
    }
    return shape.strip_rows;
}

// A column block of the row blocks that a group works on fills half of the cache: the other half is
// for what comes next, and for other programs.
std::uint64_t choose_column_block(const Request& request, std::uint64_t group_waves) {
    const auto& shape = request.shape;
    const auto vector_bytes = skew_lanes * element_bytes(shape.element);
    const auto vectors =
        request.cache_bytes / 2 / ((group_waves + 2) * shape.matrix_count() * vector_bytes);
    return std::max(vectors / 8 * 8, column_block_vectors_min);
}

}  // namespace

Tiling choose_tiling(const Request& request, std::uint64_t waves, Order order) {
    if (request.parts == Parts::several) return {.groups = waves};
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

namespace {

MatrixShape stored(const Request& request) {
    return with_layout(request.shape, request.disk_layout);
}

// A strip's rows between one layout and the other.
std::uint64_t conversion_bytes(const Request& request) {
    const auto& shape = request.shape;
    if (lie_alike(stored(request), shape)) return 0;
    return shape.strip_rows * shape.columns * element_bytes(shape.element);
}

std::uint64_t memory_for(const Request& request, std::uint64_t waves, std::uint64_t rows_per_block,
                         Order order, std::uint64_t transfers) {
    const auto& shape = request.shape;
    const auto strips = std::min(strips_in_work(request, waves, rows_per_block, order) + transfers,
                                 shape.strip_count());
    const auto scratch = waves * request.scratch_rows * shape.columns *
                         element_bytes(shape.element) * shape.data_count;
    return own_memory_bytes(shape, request.threads) + scratch + conversion_bytes(request) +
           strips * shape.matrix_count() * slot_bytes(stored(request), shape);
}

std::uint64_t waves_to_hide_disk(const Request& request) {
    const auto& [read, write, cells] = request.rates;
    if (read <= 0.0 || write <= 0.0 || cells <= 0.0) return 0;
    const auto& shape = request.shape;
    const auto bytes = static_cast<double>(element_bytes(shape.element));
    const auto seconds_per_cell =
        bytes * shape.matrix_count() / read + bytes * shape.data_count / write;
    return static_cast<std::uint64_t>(std::ceil(std::max(1.0, cells * seconds_per_cell)));
}

}  // namespace

std::uint64_t wanted_waves(const Request& request) {
    const auto hiding = waves_to_hide_disk(request);
    const auto wanted =
        request.waves ? request.waves
        : hiding      ? std::max<std::uint64_t>(waves_over_break_even * hiding, request.threads)
                      : waves_without_rates;
    // A wave more than there are row blocks would wait for the others without ever working.
    return std::min({wanted, request.iterations, request.shape.rows});
}

namespace {

std::uint64_t waves_that_fit(const Request& request, std::uint64_t rows_per_block, Order order) {
    const auto useful = wanted_waves(request);
    std::uint64_t fits = 1;
    for (std::uint64_t step = useful; step > 0; step /= 2) {
        while (fits + step <= useful && memory_for(request, fits + step, rows_per_block, order,
                                                   strips_in_transfer_min) <= request.memory_bytes)
            fits += step;
    }
    return fits;
}

struct Chain {
    std::uint64_t waves;
    Order order;
};

// Tiles need room for the rounds of each group. Where that leaves too few waves to hide the disk,
// more waves in plain order win more than the cache would.
Chain choose_chain(const Request& request, std::uint64_t rows_per_block) {
    const auto tiled = waves_that_fit(request, rows_per_block, Order::tiled);
    const auto hiding = waves_to_hide_disk(request);
    const bool enough = request.waves == 0 && tiled >= (hiding ? hiding : waves_without_rates / 4);
    if (enough || tiled == wanted_waves(request)) return {tiled, Order::tiled};
    const auto plain = waves_that_fit(request, rows_per_block, Order::plain);
    return plain > tiled ? Chain{plain, Order::plain} : Chain{tiled, Order::tiled};
}

Outcome check_request(const Request& request) {
    const auto sound = check_shape(request.shape);
    if (!sound) return sound;
    if (request.iterations < 1)
        return refuse("0 iterations leave nothing to do; ask for 1 or more");
    if (request.threads < 1) return refuse("0 threads cannot work; use 1 or more");
    if (request.radius < 1 || request.radius > radius_max)
        return refuse("stencil radius " + std::to_string(request.radius) + " is not within 1 to 8");
    if (request.radius > request.shape.strip_rows)
        return refuse(
            "a stencil radius of " + std::to_string(request.radius) +
            " rows does not fit into strips of " + std::to_string(request.shape.strip_rows) +
            "; create the store with --strip-rows " + std::to_string(request.radius) + " or more");
    return Done{};
}

}  // namespace

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
    return refuse("a memory budget of " + size_text(request.memory_bytes) +
                  " is too small for this store; give it --memory " +
                  size_text(round_up_mebibyte(needed_bytes)) + " or more" +
                  (rows_are_long ? ", or cut its long rows: lanewise wavefront convert with "
                                   "--tile-columns"
                                 : ""));
}

std::uint64_t columns_a_round(const MatrixShape& shape, std::uint64_t radius) {
    if (shape.layout == &layouts::slanted) return shape.rows_per_block * shape.skew;
    const auto needed = (skew_lanes - 1) * shape.skew + radius;
    return (needed + 7) / 8 * 8;
}

std::uint64_t waves_in_pass(std::uint64_t iterations, std::uint64_t passes, std::uint64_t index) {
    return iterations / passes + (index < iterations % passes ? 1 : 0);
}

std::uint64_t sums_bytes(const MatrixShape& shape) {
    return 8 * shape.tile_count() * (shape.matrix_count() + shape.data_count);
}

std::uint64_t own_memory_bytes(const MatrixShape& shape, std::uint32_t threads) {
    constexpr std::uint64_t thread = 256 << 10;
    return program_bytes + threads * thread + sums_bytes(shape);
}

Result<Plan> make_plan(const Request& request) {
    const auto sound = check_request(request);
    if (!sound) return sound.failure();
    if (request.shape.tile_columns) return make_parallelogram_plan(request);

    Plan plan;
    plan.rows_per_block = choose_rows_per_block(request);
    const auto memory = [&](std::uint64_t waves, Order order, std::uint64_t transfers) {
        return memory_for(request, waves, plan.rows_per_block, order, transfers);
    };
    plan.memory_bytes_min = memory(1, Order::plain, strips_in_transfer_min);
    if (request.memory_bytes < plan.memory_bytes_min)
        return too_small(request, plan.memory_bytes_min);

    const auto [fitting, order] = choose_chain(request, plan.rows_per_block);
    if (request.waves > fitting && request.waves <= request.iterations &&
        request.waves <= request.shape.rows)
        return refuse(std::to_string(request.waves) + " waves need --memory " +
                      size_text(round_up_mebibyte(
                          memory(request.waves, Order::plain, strips_in_transfer_min))) +
                      "; the budget holds " + std::to_string(fitting));
    plan.passes = (request.iterations + fitting - 1) / fitting;
    // Parts end their passes at multiples of K, so that all end them at the same iterations.
    plan.waves = request.parts == Parts::several
                     ? fitting
                     : waves_in_pass(request.iterations, plan.passes, 0);
    plan.tiling = choose_tiling(request, plan.waves, order);
    plan.threads =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(request.threads, plan.tiling.groups));

    // A group leaves its row blocks block by block: transfers go on meanwhile where there is room.
    auto transfers = strips_in_transfer +
                     2 * plan.tiling.rounds * plan.rows_per_block / request.shape.strip_rows;
    while (transfers > strips_in_transfer_min &&
           memory(plan.waves, order, transfers) > request.memory_bytes)
        --transfers;
    plan.memory_bytes = memory(plan.waves, order, transfers);
    plan.buffers =
        std::min(strips_in_work(request, plan.waves, plan.rows_per_block, order) + transfers,
                 request.shape.strip_count());
    const auto strips = request.shape.strip_count();
    plan.read_bytes =
        plan.passes * strips * request.shape.matrix_count() * strip_bytes(stored(request));
    plan.written_bytes =
        plan.passes * strips * request.shape.data_count * strip_bytes(stored(request));
    estimate_time(request, plan);
    return plan;
}

}  // namespace lanewise::wavefront
