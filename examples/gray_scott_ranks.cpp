// SPDX-License-Identifier: BSD-3-Clause
//
// Two substances that react and spread, as in gray_scott.cpp, on the ranks of an MPI job: each rank
// has a part of the store on its own disk. A job that was killed goes on when it is started again.
//
//     $ lanewise wavefront create substances --rows 20000 --cols 20000 --data 2 --empty
//     $ lanewise wavefront import substances data0 u.npy
//     $ lanewise wavefront import substances data1 v.npy
//     $ lanewise wavefront split substances part.0 part.1
//     $ mpirun -n 2 gray_scott_ranks part. 500
//     $ lanewise wavefront join result part.0 part.1

#include <lanewise/wavefront_ranks.hpp>

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "gray_scott.hpp"

namespace wavefront = lanewise::wavefront;

namespace {

// Goes on with a run that was begun, or begins one.
lw_wavefront_outcome advance(wavefront::store& part, const gray_scott& update,
                             std::uint64_t steps) {
    try {
        return wavefront::resume_on_ranks(MPI_COMM_WORLD, part, update, {}, "gray-scott");
    } catch (const wavefront::error& error) {
        if (error.status != LW_ERR_NOT_FOUND) throw;
    }
    return wavefront::run_on_ranks(MPI_COMM_WORLD, part, update,
                                   {.iterations = steps, .memory_bytes = std::uint64_t{64} << 20},
                                   "gray-scott");
}

}  // namespace

int main(int argc, char **argv) {
    int provided = 0;
    int rank = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const std::string parts = argc > 1 ? argv[1] : "part.";
    const std::uint64_t steps = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 500;
    try {
        auto part = wavefront::store::open(parts + std::to_string(rank));
        const auto outcome = advance(part, gray_scott{.feed = 0.035, .kill = 0.065}, steps);
        if (rank == 0)
            std::printf("%llu steps in %llu waves per pass\n",
                        static_cast<unsigned long long>(outcome.iterations),
                        static_cast<unsigned long long>(outcome.waves));
    } catch (const wavefront::error& error) {
        std::fprintf(stderr, "gray_scott_ranks: %s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
