// SPDX-License-Identifier: BSD-3-Clause
//
// Messages beyond INT_MAX bytes really moved: slow, and hungry for memory, so
// only `make test-all` runs it. Marks stand where a 32-bit count would wrap.

#include <gtest/gtest.h>

#include <climits>

#include "base/host.hpp"
#include "measure/harness/operation.hpp"
#include "testing/measuring.hpp"

namespace lanewise::measure {
namespace {

using testing::operation_named;
using testing::rank_of;

constexpr std::uint64_t large_bytes = (std::uint64_t{21} << 30) / 10;
constexpr std::uint64_t places[] = {
    0, 1000, INT_MAX, std::uint64_t{INT_MAX} + 1, 1u << 30, large_bytes / 3, large_bytes - 1};

std::byte mark(std::uint64_t place) {
    return static_cast<std::byte>(1 + place % 250);
}

class LargeMessages : public ::testing::Test {
  protected:
    void SetUp() override {
        int enough = available_memory_bytes() > 8.0 * large_bytes ? 1 : 0;
        MPI_Allreduce(MPI_IN_PLACE, &enough, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        if (!enough) GTEST_SKIP() << "less than 17 GiB of memory free";
    }
};

TEST_F(LargeMessages, OfOneBlockArriveWhole) {
    const auto bcast = operation_named("bcast");
    auto running = Running::create(*bcast, MPI_COMM_WORLD, 0, large_bytes);
    ASSERT_TRUE(running) << running.failure().sentence;
    auto& exchange = running->exchange();
    ASSERT_EQ(exchange.count, 1);
    for (const auto place : places) {
        if (exchange.rank == 0) exchange.send[place] = mark(place);
    }

    ASSERT_EQ(running->execute(), 0);

    for (const auto place : places) EXPECT_EQ(exchange.send[place], mark(place)) << place;
}

// Each block fits an int, their displacements do not.
TEST_F(LargeMessages, OfManyBlocksArriveInTheirPlaces) {
    const auto gatherv = operation_named("gatherv");
    const auto block_bytes = large_bytes / 2 + 5;
    auto running = Running::create(*gatherv, MPI_COMM_WORLD, 0, block_bytes);
    ASSERT_TRUE(running) << running.failure().sentence;
    auto& exchange = running->exchange();
    exchange.send[0] = mark(static_cast<std::uint64_t>(exchange.rank));
    exchange.send[block_bytes - 1] = mark(100 + static_cast<std::uint64_t>(exchange.rank));

    ASSERT_EQ(running->execute(), 0);

    for (std::uint64_t r = 0; exchange.rank == 0 && r < 2; ++r) {
        EXPECT_EQ(exchange.receive[r * block_bytes], mark(r));
        EXPECT_EQ(exchange.receive[(r + 1) * block_bytes - 1], mark(100 + r));
    }
}

}  // namespace
}  // namespace lanewise::measure
