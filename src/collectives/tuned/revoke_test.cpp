// SPDX-License-Identifier: BSD-3-Clause
//
// A communicator that is revoked while ranks wait in a call of the library: they return. Needs an
// MPI that mitigates failures and is asked to.

#include <gtest/gtest.h>
#include <mpi.h>
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5
#include <mpi-ext.h>
#endif

#include "collectives/tuned/testing/prepared.hpp"

namespace lanewise::tuned {
namespace {

using testing::passed_by;
using testing::world_rank;

#if defined(OMPI_HAVE_MPI_EXT_FTMPI)
int class_of(int code) {
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    return error_class;
}

TEST(Revoked, CommunicatorsHaveNoRankWaitingInThem) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    int value = world_rank();
    ASSERT_EQ(passed_by([&] { MPI_Bcast(&value, 1, MPI_INT, 0, comm); }), 0);

    // The root never calls, so the others would wait for ever.
    const int code =
        world_rank() == 0 ? MPIX_Comm_revoke(comm) : MPI_Bcast(&value, 1, MPI_INT, 0, comm);

    EXPECT_EQ(class_of(code), world_rank() == 0 ? MPI_SUCCESS : MPIX_ERR_REVOKED);
    EXPECT_EQ(class_of(MPI_Bcast(&value, 1, MPI_INT, 0, comm)), MPIX_ERR_REVOKED);
    MPI_Comm_free(&comm);
}
#else
TEST(Revoked, CommunicatorsHaveNoRankWaitingInThem) {
    GTEST_SKIP() << "this MPI does not mitigate failures";
}
#endif

}  // namespace
}  // namespace lanewise::tuned
