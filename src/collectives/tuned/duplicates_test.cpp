// SPDX-License-Identifier: BSD-3-Clause
//
// Duplicates that cannot be begun, where reductions shall have the same bits.

#include "collectives/tuned/duplicates.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include "collectives/execute/progress.hpp"

// Each compiler says it in its own way.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LANEWISE_SEES_FREED_MEMORY
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define LANEWISE_SEES_FREED_MEMORY
#endif
#if defined(LANEWISE_SEES_FREED_MEMORY)
#include <sanitizer/asan_interface.h>
#endif

namespace lanewise::tuned {
namespace {

int world_rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

/* Only a build with the sanitizers can tell. */
bool is_known_freed([[maybe_unused]] const void *memory) {
#if defined(LANEWISE_SEES_FREED_MEMORY)
    return __asan_address_is_poisoned(memory) != 0;
#else
    return false;
#endif
}

TEST(Duplicates, OneThatTheMpiRefusesLeavesTheMemoryThatThePrivateOneIsWrittenTo) {
    if (collectives::progress_here() != collectives::Progress::in_any_call) {
        GTEST_SKIP() << "the MPI's own";
    }
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm made = comm;
    MPI_Request request = MPI_REQUEST_NULL;
    const MPI_Comm *written = nullptr;
    // No rank can have the private one before the last has begun it.
    if (world_rank() == 0) MPI_Recv(nullptr, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

    const int code = duplicate_later(comm, &made, &request, [&](MPI_Comm *given, MPI_Request *) {
        written = given;
        return MPI_ERR_OTHER;
    });

    EXPECT_EQ(code, MPI_ERR_OTHER);
    EXPECT_NE(written, &made) << "a private one is begun";
    EXPECT_EQ(made, comm);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    if (world_rank() == 1) {
        EXPECT_FALSE(is_known_freed(written));
        MPI_Send(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    // What goes on meanwhile ends, and the next duplicate has same bits like any other. Open MPI
    // 4.1 now and then waits for ever where a communicator, here the private one, is duplicated
    // twice at the same time.
    MPI_Barrier(comm);
#if !defined(OMPI_MAJOR_VERSION) || OMPI_MAJOR_VERSION >= 5
    EXPECT_EQ(MPI_Comm_idup(comm, &made, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_NE(made, comm);
    MPI_Comm_free(&made);
#endif
    MPI_Comm_free(&comm);
}

}  // namespace
}  // namespace lanewise::tuned
