// SPDX-License-Identifier: BSD-3-Clause
//
// Poisson's equation on a square by successive over-relaxation, out of core: a cell update in
// C++, run over a store with 64 MiB of memory, until nothing changes by more than 1e-9.
//
//     $ poisson [SIDE]
//
// The result is compared with the sequential loop in memory: they agree bit for bit.

#include <lanewise/wavefront.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace wavefront = lanewise::wavefront;

namespace {

struct sor {
    static constexpr int radius = 1;
    static constexpr bool vectors = true;
    double omega;
    auto operator()(const auto& u, const auto& f) const {
        return (1 - omega) * u(0, 0) +
               omega / 4 * (u(-1, 0) + u(0, -1) + u(0, 1) + u(1, 0) - f(0, 0));
    }
};

double source(std::uint64_t row, std::uint64_t column) {
    return 1e-3 * std::sin(0.1 * static_cast<double>(row)) * static_cast<double>(column % 7);
}

std::vector<double> in_memory(std::uint64_t side, const sor& update, std::uint64_t iterations) {
    std::vector<double> u(side * side);
    for (std::uint64_t k = 0; k < iterations; ++k) {
        for (std::uint64_t i = 1; i + 1 < side; ++i) {
            for (std::uint64_t j = 1; j + 1 < side; ++j) {
                auto *cell = &u[i * side + j];
                const auto at = [&](int down, int right) {
                    return cell[down * static_cast<std::int64_t>(side) + right];
                };
                *cell = update(at, [&](int, int) { return source(i, j); });
            }
        }
    }
    return u;
}

}  // namespace

int main(int argc, char **argv) {
    const std::uint64_t side = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100;
    const auto folder = std::filesystem::temp_directory_path() /
                        ("poisson-" + std::to_string(std::filesystem::hash_value(argv[0])));
    std::filesystem::remove_all(folder);
    int status = 1;
    try {
        lw_wavefront_shape shape = LW_WAVEFRONT_SHAPE;
        shape.layout = LW_LAYOUT_SKEWED;
        shape.rows = shape.columns = side;
        shape.coefficient_count = 1;
        auto store = wavefront::store::create(folder.string(), shape);
        store.fill<double>(0, [](std::uint64_t, std::uint64_t) { return 0.0; });
        store.fill<double>(1, source);

        const sor update{1.9};
        const auto outcome = wavefront::run(
            store, update,
            {.iterations = 10000, .memory_bytes = std::uint64_t{64} << 20, .tolerance = 1e-9});

        const bool equal = store.read<double>(0) == in_memory(side, update, outcome.iterations);
        std::printf("%s after %llu iterations, the bits of the sequential loop: %s\n",
                    outcome.converged ? "at rest" : "not at rest",
                    static_cast<unsigned long long>(outcome.iterations), equal ? "yes" : "NO");
        status = outcome.converged && equal ? 0 : 1;
    } catch (const wavefront::error& error) {
        std::fprintf(stderr, "poisson: %s\n", error.what());
    }
    std::filesystem::remove_all(folder);
    return status;
}
