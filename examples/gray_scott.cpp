// SPDX-License-Identifier: BSD-3-Clause
//
// Two substances that react and spread (Gray and Scott 1984; Pearson, Complex patterns in a simple
// system, 1993), out of core: an update in C++ that changes two matrices at once, with walls that
// nothing crosses.
//
//     $ gray_scott [SIDE [STEPS]]
//
// The result is compared with the sequential loop in memory: they agree bit for bit.

#include <lanewise/wavefront.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "gray_scott.hpp"

namespace wavefront = lanewise::wavefront;

namespace {

// A square of both substances in the middle of the first one.
double start_of(std::uint32_t substance, std::uint64_t side, std::uint64_t i, std::uint64_t j) {
    const bool inside =
        i >= side * 2 / 5 && i < side * 3 / 5 && j >= side * 2 / 5 && j < side * 3 / 5;
    if (substance == 0) return inside ? 0.5 : 1.0;
    return inside ? 0.25 : 0.0;
}

using fields = std::array<std::vector<double>, 2>;

// A wall at each side: the cells on the border are as those beside them.
void set_borders(std::vector<double>& c, std::uint64_t side) {
    for (std::uint64_t i = 1; i + 1 < side; ++i) {
        c[i * side] = c[i * side + 1];
        c[i * side + side - 1] = c[i * side + side - 2];
    }
    for (std::uint64_t j = 0; j < side; ++j) {
        c[j] = c[side + j];
        c[(side - 1) * side + j] = c[(side - 2) * side + j];
    }
}

fields in_memory(std::uint64_t side, const gray_scott& update, std::uint64_t steps) {
    fields now{std::vector<double>(side * side), std::vector<double>(side * side)};
    for (const std::uint32_t m : {0u, 1u}) {
        for (std::uint64_t at = 0; at < side * side; ++at)
            now[m][at] = start_of(m, side, at / side, at % side);
        set_borders(now[m], side);
    }
    for (std::uint64_t step = 0; step < steps; ++step) {
        const auto before = now;
        for (std::uint64_t i = 1; i + 1 < side; ++i) {
            for (std::uint64_t j = 1; j + 1 < side; ++j) {
                const auto around = [&](const std::vector<double>& c) {
                    return [cell = &c[i * side + j], side](int down, int right) {
                        return cell[down * static_cast<std::int64_t>(side) + right];
                    };
                };
                const auto next = update(around(before[0]), around(before[1]));
                now[0][i * side + j] = next[0];
                now[1][i * side + j] = next[1];
            }
        }
        for (auto& c : now) set_borders(c, side);
    }
    return now;
}

}  // namespace

int main(int argc, char **argv) {
    const std::uint64_t side = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100;
    const std::uint64_t steps = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 500;
    const auto folder = std::filesystem::temp_directory_path() /
                        ("gray-scott-" + std::to_string(std::filesystem::hash_value(argv[0])));
    std::filesystem::remove_all(folder);
    int status = 1;
    try {
        lw_wavefront_shape shape = LW_WAVEFRONT_SHAPE;
        shape.rows = shape.columns = side;
        shape.data_count = 2;
        auto store = wavefront::store::create(folder.string(), shape);
        for (const std::uint32_t m : {0u, 1u})
            store.fill<double>(
                m, [&](std::uint64_t i, std::uint64_t j) { return start_of(m, side, i, j); });

        const gray_scott update{.feed = 0.035, .kill = 0.065};
        const auto outcome = wavefront::run(
            store, update,
            {.iterations = steps, .memory_bytes = std::uint64_t{64} << 20, .borders = "neumann"});

        const auto expected = in_memory(side, update, steps);
        const bool equal =
            store.read<double>(0) == expected[0] && store.read<double>(1) == expected[1];
        std::printf("%llu steps, the bits of the sequential loop: %s\n",
                    static_cast<unsigned long long>(outcome.iterations), equal ? "yes" : "NO");
        status = equal ? 0 : 1;
    } catch (const wavefront::error& error) {
        std::fprintf(stderr, "gray_scott: %s\n", error.what());
    }
    std::filesystem::remove_all(folder);
    return status;
}
