// SPDX-License-Identifier: BSD-3-Clause
//
// Travel times from the middle of a map: the eikonal equation |grad T| = slowness by sweeping
// (Zhao, A fast sweeping method for eikonal equations, 2005), out of core.
//
//     $ eikonal [SIDE]
//
// A cell takes the earlier of what it had and what the best neighbours of each direction allow.
// Iterations begin at each corner in turn. With slowness 1 the times are distances.

#include <lanewise/wavefront.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>

namespace wavefront = lanewise::wavefront;

namespace {

struct travel_time {
    static constexpr int radius = 1;
    double operator()(const auto& t, const auto& slowness) const {
        const double a = std::fmin(t(-1, 0), t(1, 0));
        const double b = std::fmin(t(0, -1), t(0, 1));
        const double f = slowness(0, 0);
        const double gap = a - b;
        const double arrival = std::fabs(gap) >= f ? std::fmin(a, b) + f
                                                   : (a + b + std::sqrt(2 * f * f - gap * gap)) / 2;
        return std::fmin(t(0, 0), arrival);
    }
};

}  // namespace

int main(int argc, char **argv) {
    const std::uint64_t side = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 81;
    const auto middle = side / 2;
    const auto folder = std::filesystem::temp_directory_path() /
                        ("eikonal-" + std::to_string(std::filesystem::hash_value(argv[0])));
    std::filesystem::remove_all(folder);
    int status = 1;
    try {
        lw_wavefront_shape shape = LW_WAVEFRONT_SHAPE;
        shape.rows = shape.columns = side;
        shape.coefficient_count = 1;
        auto store = wavefront::store::create(folder.string(), shape);
        store.fill<double>(0, [&](std::uint64_t row, std::uint64_t column) {
            const bool source = row == middle && column == middle;
            return source ? 0.0 : std::numeric_limits<double>::infinity();
        });
        store.fill<double>(1, [](std::uint64_t, std::uint64_t) { return 1.0; });

        const auto outcome = wavefront::run(store, travel_time{},
                                            {.iterations = 100,
                                             .memory_bytes = std::uint64_t{64} << 20,
                                             .tolerance = 0.0,
                                             .directions = "fast-sweeping"});

        const auto t = store.read<double>(0);
        double worst = 0.0;
        for (std::uint64_t i = 1; i + 1 < side; ++i) {
            for (std::uint64_t j = 1; j + 1 < side; ++j) {
                const double distance =
                    std::hypot(static_cast<double>(i) - static_cast<double>(middle),
                               static_cast<double>(j) - static_cast<double>(middle));
                worst = std::fmax(worst, std::fabs(t[i * side + j] - distance));
            }
        }
        std::printf("%s after %llu iterations, at most %.2f cells from the distance\n",
                    outcome.converged ? "at rest" : "not at rest",
                    static_cast<unsigned long long>(outcome.iterations), worst);
        // The scheme is of first order: its error grows with the logarithm of the distance.
        status = outcome.converged && worst < 2.0 ? 0 : 1;
    } catch (const wavefront::error& error) {
        std::fprintf(stderr, "eikonal: %s\n", error.what());
    }
    std::filesystem::remove_all(folder);
    return status;
}
