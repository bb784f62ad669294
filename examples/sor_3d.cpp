// SPDX-License-Identifier: BSD-3-Clause
//
// Laplace's equation in a box by symmetric successive over-relaxation with the seven-point formula,
// out of core: planes stream through memory as rows do in two dimensions.
//
//     $ sor_3d [SIDE]
//
// The faces have the values of x^2 + y^2 - 2 z^2, for which the formula is exact, so the cells
// inside must come to have them, too.

#include <lanewise/wavefront.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace wavefront = lanewise::wavefront;

namespace {

struct seven_points {
    static constexpr int radius = 1;
    static constexpr int dimensions = 3;
    double omega;
    double operator()(const auto& u) const {
        const double before = (u(-1, 0, 0) + u(0, -1, 0)) + u(0, 0, -1);
        const double after = (u(0, 0, 1) + u(0, 1, 0)) + u(1, 0, 0);
        return (1 - omega) * u(0, 0, 0) + omega / 6 * (before + after);
    }
};

struct box {
    std::uint64_t side;
    std::uint64_t lines() const { return side - 3; }
    std::uint64_t columns() const { return side + 2; }
    double exact(std::uint64_t plane, std::uint64_t cell) const {
        const auto at = [this](std::uint64_t index) {
            return static_cast<double>(index) / static_cast<double>(side);
        };
        const double x = at(plane), y = at(cell / columns()), z = at(cell % columns());
        return x * x + y * y - 2 * z * z;
    }
    bool is_face(std::uint64_t plane, std::uint64_t cell) const {
        const auto line = cell / columns(), column = cell % columns();
        return plane == 0 || plane + 1 == side || line == 0 || line + 1 == lines() || column == 0 ||
               column + 1 == columns();
    }
};

int solve(const std::string& folder, const box& of) {
    lw_wavefront_shape shape = LW_WAVEFRONT_SHAPE;
    shape.rows = of.side;
    shape.columns = of.lines() * of.columns();
    shape.line_columns = of.columns();
    auto store = wavefront::store::create(folder, shape);
    store.fill<double>(0, [&](std::uint64_t plane, std::uint64_t cell) {
        return of.is_face(plane, cell) ? of.exact(plane, cell) : 0.0;
    });

    const auto outcome = wavefront::run(store, seven_points{1.6},
                                        {.iterations = 400,
                                         .memory_bytes = std::uint64_t{64} << 20,
                                         .tolerance = 1e-12,
                                         .directions = "symmetric-3d"});

    const auto u = store.read<double>(0);
    double worst = 0.0;
    for (std::uint64_t i = 0; i < u.size(); ++i) {
        const double exact = of.exact(i / shape.columns, i % shape.columns);
        worst = std::fmax(worst, std::fabs(u[i] - exact));
    }
    std::printf("%s after %llu iterations, at most %.0e from the solution\n",
                outcome.converged ? "at rest" : "not at rest",
                static_cast<unsigned long long>(outcome.iterations), worst);
    return outcome.converged && worst < 1e-10 ? 0 : 1;
}

}  // namespace

int main(int argc, char **argv) {
    const box of{argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 24};
    const std::string name = "sor-3d-" + std::to_string(std::hash<std::string>()(argv[0]));
    const auto folder = std::filesystem::temp_directory_path() / name;
    std::filesystem::remove_all(folder);
    int status = 1;
    try {
        status = solve(folder.string(), of);
    } catch (const wavefront::error& error) {
        std::fprintf(stderr, "sor_3d: %s\n", error.what());
    }
    std::filesystem::remove_all(folder);
    return status;
}
