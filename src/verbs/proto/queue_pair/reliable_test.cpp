// SPDX-License-Identifier: BSD-3-Clause
//
// A reliable connection without faults: sends, writes, reads and atomics arrive as they were
// posted.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "verbs/proto/testing/peer.hpp"

namespace lanewise::verbs::testing {
namespace {

void fill(std::span<std::byte> bytes, unsigned start) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::byte>(start + i * 7 + i / 251);
    }
}

bool same(const Peer& a, std::size_t at_a, const Peer& b, std::size_t at_b, std::size_t bytes) {
    return std::memcmp(a.memory.data() + at_a, b.memory.data() + at_b, bytes) == 0;
}

TEST(Reliable, ASendArrivesInTheBufferThatWaits) {
    Pair pair;
    fill(pair.a.memory, 1);
    ASSERT_EQ(pair.b.post_receive(5, 4096, 10000), 0);

    ASSERT_EQ(pair.a.post_send(9, 100, 5001), 0);
    pair.wire.run_until([] { return false; });

    const auto sent = pair.a.sends();
    const auto received = pair.b.receives();
    ASSERT_EQ(sent.size(), 1u);
    ASSERT_EQ(received.size(), 1u);
    EXPECT_EQ(sent[0].id, 9u);
    EXPECT_EQ(sent[0].status, Status::success);
    EXPECT_EQ(received[0].id, 5u);
    EXPECT_EQ(received[0].length_bytes, 5001u);
    EXPECT_TRUE(same(pair.a, 100, pair.b, 4096, 5001));
}

TEST(Reliable, AWriteAndAReadMoveTheSameBytes) {
    Pair pair;
    fill(pair.a.memory, 1);

    ASSERT_EQ(pair.a.post(Operation::write, 1, pair.a.slice(3, 300000), pair.b, 77), 0);
    ASSERT_EQ(pair.a.post(Operation::read, 2, pair.a.slice(500000, 300000), pair.b, 77), 0);
    pair.wire.run_until([] { return false; });

    const auto done = pair.a.sends();
    ASSERT_EQ(done.size(), 2u);
    EXPECT_EQ(done[0].status, Status::success);
    EXPECT_EQ(done[1].status, Status::success);
    EXPECT_TRUE(same(pair.a, 3, pair.b, 77, 300000));
    EXPECT_TRUE(same(pair.a, 500000, pair.b, 77, 300000));
}

TEST(Reliable, AtomicsReturnWhatWasThere) {
    Pair pair;
    auto *word = reinterpret_cast<std::uint64_t *>(pair.b.memory.data());
    *word = 40;

    ASSERT_EQ(pair.a.post(Operation::fetch_add, 1, pair.a.slice(0, 8), pair.b, 0, 2), 0);
    ASSERT_EQ(pair.a.post(Operation::compare_swap, 2, pair.a.slice(8, 8), pair.b, 0, 42, 7), 0);
    ASSERT_EQ(pair.a.post(Operation::compare_swap, 3, pair.a.slice(16, 8), pair.b, 0, 42, 8), 0);
    pair.wire.run_until([] { return false; });

    const auto *results = reinterpret_cast<const std::uint64_t *>(pair.a.memory.data());
    EXPECT_EQ(pair.a.sends().size(), 3u);
    EXPECT_EQ(*word, 7u);
    EXPECT_THAT((std::vector{results[0], results[1], results[2]}),
                ::testing::ElementsAre(40, 42, 7));
}

}  // namespace
}  // namespace lanewise::verbs::testing
