// SPDX-License-Identifier: BSD-3-Clause
//
// Sums and products by <lanewise/sum.hpp>: of an array on every rank, and of what all ranks have.
#include <lanewise/sum.hpp>

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

static std::uint64_t bits(double value) {
    std::uint64_t made = 0;
    std::memcpy(&made, &value, sizeof made);
    return made;
}

static std::uint32_t bits(float value) {
    std::uint32_t made = 0;
    std::memcpy(&made, &value, sizeof made);
    return made;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::vector<double> values;
    std::vector<float> floats;
    std::vector<std::complex<double>> pairs;
    std::vector<double> factors;
    lanewise::accumulator halves[2];
    lanewise::product parts[2];
    for (int i = 1; i <= 1000; ++i) {
        values.push_back(std::ldexp(i * 7919 % 1009 - 504, i * 37 % 120 - 60));
        floats.push_back(static_cast<float>(values.back()));
        pairs.emplace_back(values.back(), -values.back());
        factors.push_back(std::ldexp(i * 7919 % 1009 + 1008, i * 37 % 120 - 70));
        if (i % ranks == rank) halves[i % 2] += values.back();
        if (i % ranks == rank) parts[i % 2] *= factors.back();
    }
    lanewise::accumulator total = halves[0];
    total += halves[1];
    total.allreduce(MPI_COMM_WORLD);
    lanewise::product weight = parts[0];
    weight *= parts[1];
    weight.allreduce(MPI_COMM_WORLD);
    if (rank == 0) {
        const auto pair = lanewise::sum(pairs);
        std::printf("%016" PRIX64 "\n%016" PRIX64 "\n%08" PRIX32 "\n%016" PRIX64 "%016" PRIX64 "\n",
                    bits(lanewise::sum(values)), bits(total.value()), bits(lanewise::sum(floats)),
                    bits(pair.real()), bits(pair.imag()));
        std::printf("%016" PRIX64 "\n%016" PRIX64 "\n", bits(lanewise::prod(factors)),
                    bits(weight.value()));
        // A little above the middle between two floats, which the nearest double is.
        lanewise::accumulator above_half;
        lanewise::product above_half_too;
        for (const double one : {1.0, 0x1p-24, 0x1p-60}) above_half += one;
        for (const double one : {1 + 0x1p-24, 1 + 0x1p-20, 1 - 0x1p-20 + 0x1p-40})
            above_half_too *= one;
        std::printf("%08" PRIX32 "%08" PRIX32 "\n", bits(above_half.value_f32()),
                    bits(above_half_too.value_f32()));
        std::vector<std::complex<double>> wide;
        std::vector<std::complex<float>> narrow;
        for (int i = 1; i <= 9; ++i) {
            wide.emplace_back(values[i - 1], factors[i - 1]);
            narrow.emplace_back(1000.0F + i, 1.0F);
        }
        const auto turned = lanewise::prod(wide);
        const auto turned_narrow = lanewise::prod(narrow);
        std::printf("%016" PRIX64 "%016" PRIX64 "\n%08" PRIX32 "%08" PRIX32 "\n",
                    bits(turned.real()), bits(turned.imag()), bits(turned_narrow.real()),
                    bits(turned_narrow.imag()));
    }
    MPI_Finalize();
}
