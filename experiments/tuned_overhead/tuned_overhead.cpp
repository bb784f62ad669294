// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-tuned-overhead: the cost of liblanewise_tuned.so for a call for which it has no rule.
//
// The library is loaded into this program, so that MPI_ functions go through it and PMPI_ functions
// do not; batches of both alternate, so that drift of the machine affects both alike. A barrier of
// one rank, the cheapest collective, gives the time that is added to a call; an allreduce of 1 KiB
// over all ranks shows whether that is noticeable. Prints one JSON object.

#include <dlfcn.h>
#include <fmt/format.h>
#include <mpi.h>

#include <cstdio>
#include <vector>

#include "base/clock.hpp"
#include "base/json.hpp"
#include "base/statistics.hpp"

namespace {

using namespace lanewise;

constexpr int rounds = 600;
constexpr int cheap_calls = 20'000;
constexpr int real_calls = 200;
constexpr std::size_t real_doubles = 128;
constexpr std::size_t many = 64;

using Barrier = int (*)(MPI_Comm);
using Allreduce = int (*)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);

double barrier_s(Barrier barrier, const std::vector<MPI_Comm>& comms) {
    const double begin_s = monotonic_s();
    std::size_t next = 0;
    for (int i = 0; i < cheap_calls; ++i) {
        barrier(comms[next]);
        next = next + 1 < comms.size() ? next + 1 : 0;
    }
    return (monotonic_s() - begin_s) / cheap_calls;
}

double allreduce_s(Allreduce allreduce) {
    const std::vector<double> mine(real_doubles, 1.0);
    std::vector<double> sum(real_doubles);
    PMPI_Barrier(MPI_COMM_WORLD);
    const double begin_s = monotonic_s();
    for (int i = 0; i < real_calls; ++i) {
        allreduce(mine.data(), sum.data(), real_doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    return (monotonic_s() - begin_s) / real_calls;
}

/* Times with the library and without it, in pairs. */
struct Pairs {
    std::vector<double> with_s;
    std::vector<double> without_s;
};

template <typename Time, typename Function>
Pairs interleave(const Time& time, Function with, Function without) {
    Pairs pairs;
    for (int round = 0; round < rounds; ++round) {
        // The order alternates, because the first of two may find colder caches.
        const bool with_first = round % 2 == 0;
        const double first_s = time(with_first ? with : without);
        const double second_s = time(with_first ? without : with);
        pairs.with_s.push_back(with_first ? first_s : second_s);
        pairs.without_s.push_back(with_first ? second_s : first_s);
    }
    return pairs;
}

Interval added_ns(const Pairs& pairs) {
    std::vector<double> added;
    for (std::size_t i = 0; i < pairs.with_s.size(); ++i) {
        added.push_back(1e9 * (pairs.with_s[i] - pairs.without_s[i]));
    }
    return median_interval(added, 0.95);
}

Interval ratio(const Pairs& pairs) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < pairs.with_s.size(); ++i) {
        ratios.push_back(pairs.with_s[i] / pairs.without_s[i]);
    }
    return median_interval(ratios, 0.95);
}

Json object_of(const Interval& interval) {
    return {{"median", interval.center}, {"low", interval.low}, {"high", interval.high}};
}

bool is_loaded() {
    Dl_info library{};
    Dl_info mpi{};
    dladdr(dlsym(RTLD_DEFAULT, "MPI_Barrier"), &library);
    dladdr(dlsym(RTLD_DEFAULT, "PMPI_Barrier"), &mpi);
    return library.dli_fbase != mpi.dli_fbase;
}

void measure() {
    const std::vector<MPI_Comm> one{MPI_COMM_SELF};
    std::vector<MPI_Comm> several(many);
    for (auto& comm : several) PMPI_Comm_dup(MPI_COMM_SELF, &comm);
    const auto on_one = [&](Barrier barrier) { return barrier_s(barrier, one); };
    const auto on_several = [&](Barrier barrier) { return barrier_s(barrier, several); };

    const auto call = interleave(on_one, MPI_Barrier, PMPI_Barrier);
    const auto spread = interleave(on_several, MPI_Barrier, PMPI_Barrier);
    const auto real = interleave(allreduce_s, MPI_Allreduce, PMPI_Allreduce);

    int rank = 0;
    int ranks = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (auto& comm : several) PMPI_Comm_free(&comm);
    if (rank != 0) return;
    const Json result = {{"ns_per_call", object_of(added_ns(call))},
                         {"direct_ns", 1e9 * median(call.without_s)},
                         {"communicators", many},
                         {"ns_per_call_many", object_of(added_ns(spread))},
                         {"ratio", object_of(ratio(real))},
                         {"allreduce_bytes", real_doubles * sizeof(double)},
                         {"allreduce_s", median(real.without_s)},
                         {"ranks", ranks}};
    fmt::print("{}\n", result.dump());
}

}  // namespace

int main(int argc, char **argv) {
    if (!is_loaded()) {
        fmt::print(stderr,
                   "lanewise-tuned-overhead: liblanewise_tuned.so is not loaded; run me by "
                   "lanewise reproduce tuned-overhead\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    measure();
    MPI_Finalize();
    return 0;
}
