// SPDX-License-Identifier: BSD-3-Clause
//
// Poisson's equation by red-black successive over-relaxation, out of core: the cells of a
// chessboard's red fields are updated in one iteration, those of the black ones in the next.
//
//     $ red_black [SIDE]
//
// The update asks for its place, which tells its colour. All cells of a colour depend on the other
// colour alone, so that their order does not matter: the result is compared bit for bit with loops
// in memory that go backwards.

#include <lanewise/wavefront.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace wavefront = lanewise::wavefront;

namespace {

bool is_turn_of(std::uint64_t row, std::uint64_t column, std::uint64_t iteration) {
    return (row + column + iteration) % 2 == 0;
}

double relaxed(double omega, double here, double around, double f) {
    return (1 - omega) * here + omega / 4 * (around - f);
}

struct red_black {
    static constexpr int radius = 1;
    static constexpr bool knows_place = true;
    double omega;
    double operator()(const auto& u, const auto& f, const wavefront::place& at) const {
        const auto number = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
        if (!is_turn_of(number(at.row), number(at.column), number(at.iteration))) return u(0, 0);
        return relaxed(omega, u(0, 0), (u(-1, 0) + u(1, 0)) + (u(0, -1) + u(0, 1)), f(0, 0));
    }
};

double source(std::uint64_t row, std::uint64_t column) {
    return 1e-3 * static_cast<double>((3 * row + 5 * column) % 11);
}

std::vector<double> backwards_in_memory(std::uint64_t side, double omega,
                                        std::uint64_t iterations) {
    std::vector<double> u(side * side);
    for (std::uint64_t k = 0; k < iterations; ++k) {
        for (std::uint64_t i = side - 1; --i > 0;) {
            for (std::uint64_t j = side - 1; --j > 0;) {
                double *const at = &u[i * side + j];
                if (is_turn_of(i, j, k))
                    *at = relaxed(omega, *at, (*(at - side) + at[side]) + (*(at - 1) + at[1]),
                                  source(i, j));
            }
        }
    }
    return u;
}

int solve(const std::string& folder, std::uint64_t side) {
    lw_wavefront_shape shape = LW_WAVEFRONT_SHAPE;
    shape.rows = side;
    shape.columns = side;
    shape.coefficient_count = 1;
    auto store = wavefront::store::create(folder, shape);
    store.fill<double>(0, [](std::uint64_t, std::uint64_t) { return 0.0; });
    store.fill<double>(1, source);

    const double omega = 1.9;
    wavefront::options options;
    options.iterations = 20000;
    options.memory_bytes = std::uint64_t{64} << 20;
    options.rtol = 1e-8;
    options.pause_every = 50;
    const auto outcome = wavefront::run(store, red_black{omega}, options);

    const bool equal =
        store.read<double>(0) == backwards_in_memory(side, omega, outcome.iterations);
    std::printf("%s after %llu half sweeps, the bits of the loops: %s\n",
                outcome.converged ? "solved" : "not solved",
                static_cast<unsigned long long>(outcome.iterations), equal ? "yes" : "NO");
    return outcome.converged && equal ? 0 : 1;
}

}  // namespace

int main(int argc, char **argv) {
    const std::uint64_t side = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100;
    const std::string name = "red-black-" + std::to_string(std::hash<std::string>()(argv[0]));
    const auto folder = std::filesystem::temp_directory_path() / name;
    std::filesystem::remove_all(folder);
    int status = 1;
    try {
        status = solve(folder.string(), side);
    } catch (const wavefront::error& error) {
        std::fprintf(stderr, "red_black: %s\n", error.what());
    }
    std::filesystem::remove_all(folder);
    return status;
}
