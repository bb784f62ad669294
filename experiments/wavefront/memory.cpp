// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-wavefront-memory: a sweep begun from a program in C or C++.
//
//     lanewise-wavefront-memory c|cpp|cpp-vectors STORE ITERATIONS MEMORY_BYTES
//
// c runs a row function of C, cpp an update of C++ row by row, and cpp-vectors one that works on
// eight rows at once where the store is skewed. Each is given a tolerance that is never reached, so
// that changes are measured. The experiment wavefront-memory watches what the program takes.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include <lanewise/wavefront.hpp>

namespace {

namespace wavefront = lanewise::wavefront;

template <bool as_vectors>
struct Mean {
    static constexpr int radius = 1;
    static constexpr bool vectors = as_vectors;
    auto operator()(const auto& u, const auto& f) const {
        return 0.25 * ((((u(-1, 0) + u(0, -1)) + u(0, 1)) + u(1, 0)) - f(0, 0));
    }
};

void mean_of_row(void *const *updated, const void *const *data, const void *const *coefficients,
                 std::int64_t /*row*/, std::int64_t first, std::int64_t end, void * /*context*/) {
    auto *const out = static_cast<double *>(updated[0]);
    const auto *const above = static_cast<const double *>(data[0]);
    const auto *const here = static_cast<const double *>(data[1]);
    const auto *const below = static_cast<const double *>(data[2]);
    const auto *const f = static_cast<const double *>(coefficients[0]);
    for (auto j = first; j < end; ++j)
        out[j] = 0.25 * ((((above[j] + here[j - 1]) + here[j + 1]) + below[j]) - f[j]);
}

int run_c(const char *folder, std::uint64_t iterations, std::uint64_t memory_bytes) {
    lw_wavefront_kernel kernel = LW_WAVEFRONT_KERNEL;
    kernel.update = mean_of_row;
    lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    options.iterations = iterations;
    options.memory_bytes = memory_bytes;
    options.tolerance = 0.0;
    const auto report = [](void *, lw_status, const char *sentence) {
        std::fprintf(stderr, "%s\n", sentence);
    };
    lw_wavefront *store = nullptr;
    lw_status status = lw_wavefront_open(folder, report, nullptr, &store);
    if (status == LW_OK) status = lw_wavefront_run_kernel(store, &kernel, &options, nullptr);
    lw_wavefront_close(store);
    return status == LW_OK ? 0 : 1;
}

template <bool as_vectors>
int run_cpp(const char *folder, std::uint64_t iterations, std::uint64_t memory_bytes) {
    auto store = wavefront::store::open(folder);
    wavefront::run(store, Mean<as_vectors>{},
                   {.iterations = iterations, .memory_bytes = memory_bytes, .tolerance = 0.0});
    return 0;
}

}  // namespace

int main(int argc, char **argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: %s c|cpp|cpp-vectors STORE ITERATIONS MEMORY_BYTES\n",
                     argv[0]);
        return 2;
    }
    const std::string way = argv[1];
    const auto iterations = std::strtoull(argv[3], nullptr, 10);
    const auto memory_bytes = std::strtoull(argv[4], nullptr, 10);
    try {
        if (way == "c") return run_c(argv[2], iterations, memory_bytes);
        if (way == "cpp") return run_cpp<false>(argv[2], iterations, memory_bytes);
        return run_cpp<true>(argv[2], iterations, memory_bytes);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
