// SPDX-License-Identifier: BSD-3-Clause
//
// See plan.hpp.

#include "wavefront/plan/plan.hpp"

#include <algorithm>

#include "base/sizes.hpp"
#include "wavefront/plan/parallelograms.hpp"

namespace lanewise::wavefront {
namespace {

constexpr std::uint32_t radius_max = 8;
constexpr std::uint64_t iterations_max = std::uint64_t{1} << 40;
constexpr std::uint32_t threads_max = 4096;
// One strip being read and one being written while the waves work on the others.
constexpr std::uint64_t strips_in_transfer_min = 2;
constexpr std::uint64_t strips_in_transfer_max = 4;
// The widest row block of `radius` rows or more that divides a strip, eight rows where possible:
// short row blocks keep waves close together, long ones make hand-offs rare.
std::uint64_t choose_rows_per_block(const Request& request) {
    const auto& shape = request.shape;
    if (shape.layout == &layouts::skewed) return skew_lanes;
    const auto needed = are_fixed(request.borders) ? request.radius : 2 * request.radius;
    const auto least = std::max<std::uint64_t>(needed, std::min(shape.strip_rows, skew_lanes));
    for (auto rows = least; rows < shape.strip_rows; ++rows) {
        if (shape.strip_rows % rows == 0) return rows;
    }
    return shape.strip_rows;
}

MatrixShape stored(const Request& request) {
    auto shape = with_layout(request.shape, request.disk_layout);
    shape.facing = {};
    return shape;
}

// The buffer for a strip's rows while they are converted between layouts.
std::uint64_t conversion_bytes(const Request& request) {
    const auto& shape = request.shape;
    if (lie_alike(stored(request), shape)) return 0;
    return shape.strip_rows * shape.columns * element_bytes(shape.element);
}

// As many as keep the disks busy.
std::uint64_t strips_in_transfer(const Request& request) {
    const auto strip = request.shape.matrix_count() * strip_bytes(stored(request));
    const auto wanted = (request.disks * bytes_that_fill_disk + strip - 1) / strip;
    return std::clamp(wanted, strips_in_transfer_min, strips_in_transfer_max);
}

// Strips may be staggered: whether the file system takes that is known when they are open.
std::uint64_t buffer_bytes(const Request& request) {
    return slots_of(stored(request), request.shape, Placement::staggered).buffer_bytes;
}

std::uint64_t memory_for(const Request& request, std::uint64_t waves, std::uint64_t rows_per_block,
                         Order order, std::uint64_t transfers) {
    const auto& shape = request.shape;
    const auto strips = std::min(strips_in_work(request, waves, rows_per_block, order) + transfers,
                                 shape.strip_count());
    const auto scratch = waves * request.scratch_rows * shape.columns *
                         element_bytes(shape.element) * shape.data_count;
    return own_memory_bytes(shape, request.threads) + request.pause_bytes + scratch +
           conversion_bytes(request) + thread_rows_bytes(request, shape.columns) +
           halo_bytes(request, waves, shape.columns) +
           edges_bytes(request.borders, stored(request), request.radius) +
           (strips + held_strips(request.borders, shape)) * buffer_bytes(request);
}

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

// Tiled order needs memory for the rounds of each group. Where that leaves too few waves to hide
// the disk, more waves in plain order gain more than the cache would.
Chain choose_chain(const Request& request, std::uint64_t rows_per_block) {
    const auto tiled = waves_that_fit(request, rows_per_block, Order::tiled);
    const auto hiding = waves_to_hide_disk(request);
    const bool enough = request.waves == 0 && tiled >= (hiding ? hiding : waves_without_rates / 4);
    if (enough || tiled == wanted_waves(request)) return {tiled, Order::tiled};
    const auto plain = waves_that_fit(request, rows_per_block, Order::plain);
    return plain > tiled ? Chain{plain, Order::plain} : Chain{tiled, Order::tiled};
}

// Strips that stay in memory when the direction turns are not read again. More memory than the pass
// needs takes about as long to get as the strips in it to read: it pays from the second turn on.
// A part never turns; a strip that is converted has not the bytes for the next pass.
void keep_strips(const Request& request, Plan& plan) {
    const auto turns = course_of(request).turns();
    if (turns == 0 || !are_fixed(request.borders) || !lie_alike(stored(request), request.shape))
        return;
    const auto strip = buffer_bytes(request);
    const auto more = turns < 2 ? 0
                                : std::min((request.memory_bytes - plan.memory_bytes) / strip,
                                           request.shape.strip_count() - plan.buffers);
    plan.buffers += more;
    plan.memory_bytes += more * strip;
    plan.kept_strips = plan.buffers;
    plan.read_bytes -=
        turns * plan.kept_strips * request.shape.matrix_count() * strip_bytes(stored(request));
}

Outcome check_request(const Request& request) {
    const auto sound = check_shape(request.shape);
    if (!sound) return sound;
    if (request.iterations < 1)
        return bad_argument("0 iterations leave nothing to do; ask for 1 or more");
    if (request.iterations > iterations_max)
        return bad_argument(std::to_string(request.iterations) +
                            " iterations are too many; ask for at most 2^40");
    if (request.threads < 1) return bad_argument("0 threads cannot work; use 1 or more");
    if (request.threads > threads_max)
        return bad_argument(std::to_string(request.threads) +
                            " threads are too many; use at most " + std::to_string(threads_max));
    if (request.radius < 1 || request.radius > radius_max)
        return bad_argument("stencil radius " + std::to_string(request.radius) +
                            " is not within 1 to 8");
    if (request.radius > request.shape.strip_rows)
        return bad_argument(
            "a stencil radius of " + std::to_string(request.radius) +
            " rows does not fit into strips of " + std::to_string(request.shape.strip_rows) +
            "; create the store with --strip-rows " + std::to_string(request.radius) + " or more");
    return Done{};
}

}  // namespace

Result<Plan> make_plan(const Request& request) {
    const auto sound = check_request(request);
    if (!sound) return sound.failure();
    if (request.shape.tile_columns) return make_parallelogram_plan(request);

    Plan plan;
    plan.rows_per_block = choose_rows_per_block(request);
    const auto memory = [&](std::uint64_t waves, Order order, std::uint64_t transfers) {
        return memory_for(request, waves, plan.rows_per_block, order, transfers);
    };
    const auto least_bytes = memory(1, Order::plain, strips_in_transfer_min);
    if (request.memory_bytes < least_bytes) return too_small(request, least_bytes);

    const auto [fitting, order] = choose_chain(request, plan.rows_per_block);
    const auto wanted = wanted_waves(request);
    if (request.waves && wanted > fitting)
        return bad_argument(
            std::to_string(wanted) + " waves need --memory " +
            size_text(round_up_mebibyte(memory(wanted, Order::plain, strips_in_transfer_min))) +
            "; the budget holds " + std::to_string(fitting));
    divide_into_passes(request, fitting, plan);
    plan.memory_bytes_min = request.waves ? memory(std::min(request.waves, fitting), Order::plain,
                                                   strips_in_transfer_min)
                                          : least_bytes;
    plan.tiling = choose_tiling(request, plan.waves, order);
    plan.threads =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(request.threads, plan.tiling.groups));

    // A group leaves several row blocks at once: with more buffers, transfers go on meanwhile.
    auto transfers = strips_in_transfer(request) +
                     2 * plan.tiling.rounds * plan.rows_per_block / request.shape.strip_rows;
    while (transfers > strips_in_transfer_min &&
           memory(plan.waves, order, transfers) > request.memory_bytes)
        --transfers;
    plan.memory_bytes = memory(plan.waves, order, transfers);
    plan.buffers =
        std::min(strips_in_work(request, plan.waves, plan.rows_per_block, order) + transfers,
                 request.shape.strip_count());
    plan.held_strips = held_strips(request.borders, request.shape);
    const auto strips = request.shape.strip_count();
    plan.read_bytes =
        plan.passes * strips * request.shape.matrix_count() * strip_bytes(stored(request));
    plan.written_bytes =
        plan.passes * strips * request.shape.data_count * strip_bytes(stored(request));
    keep_strips(request, plan);
    estimate_time(request, plan);
    return plan;
}

}  // namespace lanewise::wavefront
