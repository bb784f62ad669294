// SPDX-License-Identifier: BSD-3-Clause
//
// Blocks beyond INT_MAX bytes: slow, and hungry for memory, so only
// `make test-all` runs it. Marks stand where a 32-bit offset would wrap, and
// where a message is cut.

#include <gtest/gtest.h>

#include <climits>
#include <memory>

#include "base/host.hpp"
#include "collectives/execute/execute.hpp"
#include "collectives/execute/prepare.hpp"

namespace lanewise::collectives {
namespace {

constexpr std::int64_t unit_bytes = std::int64_t{1} << 20;
constexpr std::int64_t units = 2051;
constexpr std::int64_t block_bytes = units * unit_bytes;
constexpr std::int64_t places[] = {0,
                                   INT_MAX,
                                   std::int64_t{INT_MAX} + 1,
                                   (1 << 30) - 1,
                                   1 << 30,
                                   block_bytes / 3,
                                   block_bytes - 1};

std::byte mark(std::int64_t place) {
    return static_cast<std::byte>(1 + place % 250);
}

class LargeCalls : public ::testing::Test {
  protected:
    void SetUp() override {
        int enough = available_memory_bytes() > 7.0 * block_bytes ? 1 : 0;
        MPI_Allreduce(MPI_IN_PLACE, &enough, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        if (!enough) GTEST_SKIP() << "less than 15 GiB of memory free";
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Type_contiguous(unit_bytes, MPI_BYTE, &unit_);
        MPI_Type_commit(&unit_);
    }
    void TearDown() override {
        if (unit_ != MPI_DATATYPE_NULL) MPI_Type_free(&unit_);
    }

    int rank_ = 0;
    MPI_Datatype unit_ = MPI_DATATYPE_NULL;
};

TEST_F(LargeCalls, AScatteredBlockBeyondTwoGibibytesArrivesWhole) {
    const auto *linear = find_algorithm(Collective::scatter, "linear");
    // Memory that nobody writes is never given out, so a whole buffer costs only what is touched.
    std::unique_ptr<std::byte[]> send(rank_ == 0 ? new std::byte[2 * block_bytes] : nullptr);
    std::unique_ptr<std::byte[]> receive(new std::byte[block_bytes]);
    for (const auto place : places) {
        if (rank_ == 0) send[static_cast<std::size_t>(block_bytes + place)] = mark(place);
    }
    const Call call{.collective = Collective::scatter,
                    .send = send.get(),
                    .send_count = units,
                    .send_type = unit_,
                    .receive = receive.get(),
                    .receive_count = units,
                    .receive_type = unit_,
                    .root = 0,
                    .comm = MPI_COMM_WORLD};
    bool served = false;

    ASSERT_EQ(execute(call, {linear, 0, 1}, served), MPI_SUCCESS);

    ASSERT_TRUE(served);
    if (rank_ != 1) return;
    for (const auto place : places) {
        EXPECT_EQ(receive[static_cast<std::size_t>(place)], mark(place)) << place;
    }
}

/* One element of two blocks beyond INT_MAX bytes in all, with a unit between them. */
class LargeElement : public LargeCalls {
  protected:
    void SetUp() override {
        LargeCalls::SetUp();
        if (IsSkipped()) return;
        set_scratch_limit(8 * block_bytes);
        const int lengths[] = {1000, units - 1000};
        const int origins[] = {0, 1001};
        MPI_Type_indexed(2, lengths, origins, unit_, &element_);
        MPI_Type_commit(&element_);
    }
    void TearDown() override {
        if (element_ != MPI_DATATYPE_NULL) MPI_Type_free(&element_);
        set_scratch_limit(std::int64_t{256} << 20);
        LargeCalls::TearDown();
    }

    // Where a byte of the element lies.
    static std::size_t at(std::int64_t place) {
        return static_cast<std::size_t>(place < 1000 * unit_bytes ? place : place + unit_bytes);
    }

    // From `sender` to the other rank, which is the only one that gets an element.
    void move(Collective collective, const char *algorithm, int sender) {
        const int receiver = 1 - sender;
        std::unique_ptr<std::byte[]> memory(new std::byte[block_bytes + unit_bytes]);
        const bool sends = rank_ == sender;
        for (const auto place : places) memory[at(place)] = sends ? mark(place) : std::byte{};
        const bool from_root = collective == Collective::scatterv;
        const int counts[] = {(from_root ? receiver : sender) == 0 ? 1 : 0,
                              (from_root ? receiver : sender) == 1 ? 1 : 0};
        const int displacements[] = {0, 0};
        const Call call{.collective = collective,
                        .send = memory.get(),
                        .send_count = rank_ == sender ? 1 : 0,
                        .send_type = element_,
                        .receive = rank_ == receiver ? memory.get() : spare_.get(),
                        .receive_count = rank_ == receiver ? 1 : 0,
                        .receive_type = element_,
                        .counts = counts,
                        .displacements = displacements,
                        .root = from_root ? sender : receiver,
                        .comm = MPI_COMM_WORLD};
        bool served = false;

        ASSERT_EQ(execute(call, {find_algorithm(collective, algorithm), 0, 1}, served),
                  MPI_SUCCESS);

        ASSERT_TRUE(served);
        if (rank_ != receiver) return;
        for (const auto place : places) EXPECT_EQ(memory[at(place)], mark(place)) << place;
    }

    MPI_Datatype element_ = MPI_DATATYPE_NULL;
    std::unique_ptr<std::byte[]> spare_{new std::byte[block_bytes + unit_bytes]};
};

TEST_F(LargeElement, IsScatteredWhole) {
    move(Collective::scatterv, "linear", 0);
}

TEST_F(LargeElement, IsGatheredWhole) {
    move(Collective::gatherv, "linear", 1);
}

TEST_F(LargeElement, IsGatheredWholeByAll) {
    move(Collective::allgatherv, "ring", 1);
}

}  // namespace
}  // namespace lanewise::collectives
