// SPDX-License-Identifier: BSD-3-Clause
//
// First arrival times in a box behind a wall with a door: the eikonal equation by fast sweeping
// from all eight corners (Zhao, A fast sweeping method for eikonal equations, 2005).
//
//     $ eikonal_3d [SIDE]
//
// A wall of infinite slowness stands across the middle plane, with a door of one cell in its
// centre. What is behind it is reached through the door alone: the time there is that to the door
// and the distance from it.

#include <lanewise/wavefront.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

namespace wavefront = lanewise::wavefront;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct first_arrival {
    static constexpr int radius = 1;
    static constexpr int dimensions = 3;
    double operator()(const auto& t, const auto& slowness) const {
        const double delay = slowness(0, 0, 0);
        if (delay == infinity) return t(0, 0, 0);
        std::array<double, 3> from{std::min(t(-1, 0, 0), t(1, 0, 0)),
                                   std::min(t(0, -1, 0), t(0, 1, 0)),
                                   std::min(t(0, 0, -1), t(0, 0, 1))};
        std::sort(from.begin(), from.end());
        return std::min(t(0, 0, 0), arrival(from, delay));
    }

    /* From the first side, from two, or from all three, as long as the next one is earlier. */
    static double arrival(const std::array<double, 3>& from, double delay) {
        double time = from[0] + delay;
        double sum = from[0];
        double squares = from[0] * from[0];
        for (int sides = 2; sides <= 3 && from[sides - 1] < time; ++sides) {
            sum += from[sides - 1];
            squares += from[sides - 1] * from[sides - 1];
            time = (sum + std::sqrt(sum * sum - sides * (squares - delay * delay))) / sides;
        }
        return time;
    }
};

int travel(std::uint64_t side) {
    const auto middle = side / 2;
    lw_wavefront_shape shape = LW_WAVEFRONT_SHAPE;
    shape.rows = side;
    shape.columns = side * side;
    shape.line_columns = side;
    shape.coefficient_count = 1;
    auto store = wavefront::store::create_in_memory(shape);
    const auto is_at = [&](std::uint64_t cell) {
        return cell / side == middle && cell % side == middle;
    };
    const auto from_plane = side / 4;
    store.fill<double>(0, [&](std::uint64_t plane, std::uint64_t cell) {
        return plane == from_plane && is_at(cell) ? 0.0 : infinity;
    });
    store.fill<double>(1, [&](std::uint64_t plane, std::uint64_t cell) {
        return plane == middle && !is_at(cell) ? infinity : 1.0;
    });

    const auto outcome =
        wavefront::run(store, first_arrival{},
                       {.iterations = 200, .tolerance = 0.0, .directions = "fast-sweeping-3d"});

    const auto t = store.read<double>(0);
    const auto at = [&](std::uint64_t plane, std::uint64_t line, std::uint64_t column) {
        return t[(plane * side + line) * side + column];
    };
    const auto through = static_cast<double>(middle - from_plane);
    double worst = 0.0;
    for (std::uint64_t plane = middle + 1; plane + 1 < side; ++plane) {
        for (std::uint64_t line = 1; line + 1 < side; ++line) {
            const auto ahead = static_cast<double>(plane - middle);
            const auto aside = static_cast<double>(line) - static_cast<double>(middle);
            const double expected = through + std::hypot(ahead, aside);
            worst = std::fmax(worst, std::fabs(at(plane, line, middle) - expected));
        }
    }
    std::printf("%s after %llu iterations, at most %.2f cells from the way through the door\n",
                outcome.converged ? "at rest" : "not at rest",
                static_cast<unsigned long long>(outcome.iterations), worst);
    // The scheme is of first order: its error grows with the logarithm of the distance.
    return outcome.converged && worst < 2.0 ? 0 : 1;
}

}  // namespace

int main(int argc, char **argv) {
    try {
        return travel(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 41);
    } catch (const wavefront::error& error) {
        std::fprintf(stderr, "eikonal_3d: %s\n", error.what());
        return 1;
    }
}
