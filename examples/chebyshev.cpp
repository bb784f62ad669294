// SPDX-License-Identifier: BSD-3-Clause
//
// Successive over-relaxation with Chebyshev's acceleration: the factor changes with the iteration,
// from 1 to the best one of the long run, so that the error shrinks from the beginning.
//
//     $ chebyshev [SIDE]
//
// With rho, the spectral radius of Jacobi's iteration, the factors of the half sweeps of a
// red-black order are 1, 1 / (1 - rho^2 / 2) and 1 / (1 - rho^2 omega / 4) from then on (Golub and
// Varga, Chebyshev semi-iterative methods, Numerische Mathematik 3, 1961, part I). The program runs
// this and the best constant factor on stores in memory, for Laplace's equation whose solution is
// zero: the norm of the data is then that of the error, and is shown on the way.

#include <lanewise/wavefront.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <vector>

namespace wavefront = lanewise::wavefront;

namespace {

constexpr std::uint64_t iterations_max = 4000;
constexpr std::uint64_t asked_every = 8;
constexpr std::uint64_t shown_every = 128;

std::vector<double> chebyshev_factors(double rho) {
    std::vector<double> factors{1.0, 1 / (1 - rho * rho / 2)};
    while (factors.size() < iterations_max)
        factors.push_back(1 / (1 - rho * rho * factors.back() / 4));
    return factors;
}

struct accelerated {
    static constexpr int radius = 1;
    static constexpr bool knows_place = true;
    const double *factors; /* of each iteration */
    double operator()(const auto& u, const wavefront::place& at) const {
        if ((at.row + at.column + at.iteration) % 2 != 0) return u(0, 0);
        const double omega = factors[at.iteration];
        const double mean = 0.25 * ((u(-1, 0) + u(1, 0)) + (u(0, -1) + u(0, 1)));
        return u(0, 0) + omega * (mean - u(0, 0));
    }
};

/* From an error of 1 in each cell inside; returns the iterations until its norm is a millionth. */
std::uint64_t solve(std::uint64_t side, const std::vector<double>& factors) {
    lw_wavefront_shape shape = LW_WAVEFRONT_SHAPE;
    shape.rows = side;
    shape.columns = side;
    auto store = wavefront::store::create_in_memory(shape);
    const auto is_inside = [side](std::uint64_t at) { return at > 0 && at + 1 < side; };
    store.fill<double>(0, [&](std::uint64_t row, std::uint64_t column) {
        return is_inside(row) && is_inside(column) ? 1.0 : 0.0;
    });
    const auto show = [](std::uint64_t iterations, double norm) {
        if (iterations % shown_every == 0)
            std::printf("  %5llu %.1e\n", static_cast<unsigned long long>(iterations), norm);
    };
    wavefront::options options;
    options.iterations = iterations_max;
    options.until = "norm<1e-6*first";
    options.pause_every = asked_every;
    options.paused = show;
    const auto outcome = wavefront::run(store, accelerated{factors.data()}, options);
    return outcome.converged ? outcome.iterations : iterations_max;
}

}  // namespace

int main(int argc, char **argv) {
    const std::uint64_t side = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 130;
    const double rho = std::cos(std::numbers::pi / static_cast<double>(side - 1));
    const double best = 2 / (1 + std::sqrt(1 - rho * rho));
    try {
        std::printf("constant factor %.4f\n", best);
        const auto constant = solve(side, std::vector<double>(iterations_max, best));
        std::printf("Chebyshev's factors\n");
        const auto changing = solve(side, chebyshev_factors(rho));
        std::printf("%llu half sweeps with a constant factor, %llu with Chebyshev's\n",
                    static_cast<unsigned long long>(constant),
                    static_cast<unsigned long long>(changing));
        return changing < constant && constant < iterations_max ? 0 : 1;
    } catch (const wavefront::error& error) {
        std::fprintf(stderr, "chebyshev: %s\n", error.what());
        return 1;
    }
}
