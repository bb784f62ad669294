// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-wavefront-mmap: Livermore loop 23 over mapped files, as one would write it without
// Lanewise. It is a yardstick for the experiment wavefront-peers.
//
//     lanewise-wavefront-mmap FOLDER SIDE ITERATIONS
//
// FOLDER holds data.raw, zb.raw, zv.raw, zu.raw, zr.raw and zz.raw, each SIDE x SIDE doubles;
// data.raw is updated in place. Prints one JSON object.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/clock.hpp"

namespace {

constexpr int matrix_count = 6;
constexpr const char *names[matrix_count] = {"data", "zb", "zv", "zu", "zr", "zz"};

void *map_file(const std::string& path, std::size_t bytes) {
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return nullptr;
    void *mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    return mapped == MAP_FAILED ? nullptr : mapped;
}

void sweep(double *const *m, std::size_t n) {
    double *d = m[0];
    for (std::size_t i = 1; i + 1 < n; ++i) {
        for (std::size_t k = i * n + 1; k < i * n + n - 1; ++k) {
            const double q = d[k - n] * m[1][k] + d[k - 1] * m[2][k] + d[k + 1] * m[3][k] +
                             d[k + n] * m[4][k] + m[5][k] - d[k];
            d[k] += 0.175 * q;
        }
    }
}

}  // namespace

int main(int argc, char **argv) {
    if (argc != 4) {
        std::fputs("lanewise-wavefront-mmap: say FOLDER SIDE ITERATIONS\n", stderr);
        return 2;
    }
    const std::string folder = argv[1];
    const std::size_t side = std::strtoull(argv[2], nullptr, 10);
    const auto iterations = std::strtoull(argv[3], nullptr, 10);
    const std::size_t bytes = side * side * sizeof(double);
    double *matrices[matrix_count];
    for (int m = 0; m < matrix_count; ++m) {
        const auto path = folder + "/" + names[m] + ".raw";
        matrices[m] = static_cast<double *>(map_file(path, bytes));
        if (matrices[m]) continue;
        std::fprintf(stderr, "lanewise-wavefront-mmap: cannot map %s: %s\n", path.c_str(),
                     std::strerror(errno));
        return 1;
    }
    const double began_s = lanewise::monotonic_s();
    for (unsigned long long i = 0; i < iterations; ++i) sweep(matrices, side);
    if (::msync(matrices[0], bytes, MS_SYNC) != 0) return 1;
    std::printf("{\"elapsed_s\": %.6f}\n", lanewise::monotonic_s() - began_s);
    return 0;
}
