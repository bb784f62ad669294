// SPDX-License-Identifier: BSD-3-Clause
//
// The main of every MPI test: all ranks run the same tests in the same order,
// rank 0 prints, and a failure on any rank fails the program on all of them.

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>

#include "base/launcher.hpp"

#ifdef LANEWISE_SANITIZES_ADDRESSES
// Open MPI unloads its plugins when it finalizes. What they leaked could then no longer be told
// by their names from what Lanewise leaked, so under the sanitizer nothing is unloaded.
extern "C" __attribute__((visibility("default"))) int dlclose(void *) {
    return 0;
}
#endif

namespace {

constexpr int skipped = 77;

// MPICH 4.2.0 of Ubuntu 24.04: its mpiexec and its library do not speak the same PMI, and every
// process is the only rank of a job of its own.
bool is_alone_against_its_launcher() {
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const auto launched = lanewise::launched_as();
    if (ranks != 1 || !launched || launched->ranks <= 1) return false;
    if (launched->rank == 0)
        std::printf(
            "[  SKIPPED ] MPI has 1 rank where %s promises %d: this mpiexec starts "
            "processes that do not find each other\n",
            launched->ranks_variable, launched->ranks);
    return true;
}

}  // namespace

int main(int argc, char **argv) {
    ::testing::InitGoogleTest(&argc, argv);
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (is_alone_against_its_launcher()) {
        MPI_Finalize();
        return skipped;
    }
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
    const auto *results = ::testing::UnitTest::GetInstance();
    if (rank != 0) delete listeners.Release(listeners.default_result_printer());

    const int failed_here = RUN_ALL_TESTS();
    int failed = 0;
    MPI_Allreduce(&failed_here, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    // Behind all that rank 0 prints.
    if (rank != 0 && failed_here != 0) {
        for (int s = 0; s < results->total_test_suite_count(); ++s) {
            const auto *suite = results->GetTestSuite(s);
            for (int t = 0; t < suite->total_test_count(); ++t) {
                const auto& result = *suite->GetTestInfo(t)->result();
                for (int p = 0; p < result.total_part_count(); ++p) {
                    if (!result.GetTestPartResult(p).failed()) continue;
                    std::fprintf(stderr, "rank %d: %s.%s: %s\n", rank, suite->name(),
                                 suite->GetTestInfo(t)->name(),
                                 result.GetTestPartResult(p).message());
                }
            }
        }
    }
    MPI_Finalize();
    return failed;
}
