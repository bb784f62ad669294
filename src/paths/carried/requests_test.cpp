// SPDX-License-Identifier: BSD-3-Clause

#include "paths/carried/requests.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string_view>

namespace lanewise::paths::carried {
namespace {

const ibv_qp_cap limits{.max_send_wr = 4,
                        .max_recv_wr = 4,
                        .max_send_sge = 2,
                        .max_recv_sge = 2,
                        .max_inline_data = 16};

constexpr std::uint32_t message_bytes_max = 1U << 30;

// A work request and its pieces, which must stay where they are.
struct Work {
    std::array<ibv_sge, 3> pieces{};
    ibv_send_wr work{};

    Work(ibv_wr_opcode opcode, std::initializer_list<ibv_sge> given) {
        std::copy(given.begin(), given.end(), pieces.begin());
        work.wr_id = 9;
        work.opcode = opcode;
        work.sg_list = pieces.data();
        work.num_sge = static_cast<int>(given.size());
    }
};

TEST(RequestsTest, WhatTheQueuePairWasNotMadeForIsRefused) {
    EXPECT_TRUE(accepts(Work(IBV_WR_SEND, {{0, 1, 1}, {0, 1, 1}}).work, limits, message_bytes_max));
    EXPECT_FALSE(accepts(Work(IBV_WR_SEND, {{0, 1, 1}, {0, 1, 1}, {0, 1, 1}}).work, limits,
                         message_bytes_max));
    EXPECT_FALSE(accepts(Work(IBV_WR_LOCAL_INV, {}).work, limits, message_bytes_max));
    EXPECT_TRUE(
        accepts(Work(IBV_WR_ATOMIC_FETCH_AND_ADD, {{0, 8, 1}}).work, limits, message_bytes_max));
    EXPECT_TRUE(accepts(Work(IBV_WR_ATOMIC_CMP_AND_SWP, {{0, 4, 1}, {0, 4, 1}}).work, limits,
                        message_bytes_max));
    for (const std::uint32_t length : {0U, 4U, 16U}) {
        EXPECT_FALSE(accepts(Work(IBV_WR_ATOMIC_FETCH_AND_ADD, {{0, length, 1}}).work, limits,
                             message_bytes_max));
    }
    Work negative(IBV_WR_SEND, {});
    negative.work.num_sge = -1;
    EXPECT_FALSE(accepts(negative.work, limits, message_bytes_max));
}

TEST(RequestsTest, AMessageIsNoLongerThanThePortsTake) {
    constexpr std::uint32_t half = message_bytes_max / 2;
    EXPECT_TRUE(
        accepts(Work(IBV_WR_SEND, {{0, half, 1}, {0, half, 1}}).work, limits, message_bytes_max));
    EXPECT_FALSE(accepts(Work(IBV_WR_SEND, {{0, half, 1}, {0, half + 1, 1}}).work, limits,
                         message_bytes_max));
    // Their sum has 33 bits.
    EXPECT_FALSE(accepts(Work(IBV_WR_RDMA_WRITE, {{0, 1U << 31, 1}, {0, (1U << 31) + 8, 1}}).work,
                         limits, message_bytes_max));
}

TEST(RequestsTest, InlineDataMayBeAsLongAsTheLimitInAll) {
    Work work(IBV_WR_SEND, {{0, 8, 0}, {0, 8, 0}});
    work.work.send_flags = IBV_SEND_INLINE;
    EXPECT_TRUE(accepts(work.work, limits, message_bytes_max));
    work.pieces[1].length = 9;
    EXPECT_FALSE(accepts(work.work, limits, message_bytes_max));
    work.pieces[0].length = 0xffffffff;
    work.pieces[1].length = 0xffffffff;
    EXPECT_FALSE(accepts(work.work, limits, message_bytes_max));
}

TEST(RequestsTest, InlineDataIsCopiedAtOnce) {
    std::array<char, 6> text{'a', 'b', 'c', 'd', 'e', 'f'};
    const auto at = reinterpret_cast<std::uintptr_t>(text.data());
    Work work(IBV_WR_SEND, {{at, 2, 0}, {at + 4, 2, 0}});
    work.work.send_flags = IBV_SEND_INLINE;
    std::array<std::byte, 16> slot{};

    const Request request = request_of(work.work, Signaling::asked, slot.data());
    text.fill('x');

    EXPECT_EQ(std::string_view(reinterpret_cast<const char *>(slot.data()), 4), "abef");
    EXPECT_EQ(request.length_bytes, 4U);
    ASSERT_EQ(request.pieces.size(), 1U);
    EXPECT_TRUE(request.pieces[0].own);
}

TEST(RequestsTest, ARequestGetsACompletionIfItOrTheQueuePairAsksForOne) {
    Work work(IBV_WR_SEND, {});
    EXPECT_FALSE(request_of(work.work, Signaling::asked, nullptr).signaled);
    EXPECT_TRUE(request_of(work.work, Signaling::all, nullptr).signaled);
    work.work.send_flags = IBV_SEND_SIGNALED;
    EXPECT_TRUE(request_of(work.work, Signaling::asked, nullptr).signaled);
}

TEST(RequestsTest, ACompletionHasTheNumberAndTheKindOfItsRequest) {
    const std::pair<ibv_wr_opcode, ibv_wc_opcode> kinds[] = {
        {IBV_WR_SEND, IBV_WC_SEND},
        {IBV_WR_SEND_WITH_IMM, IBV_WC_SEND},
        {IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE},
        {IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE},
        {IBV_WR_RDMA_READ, IBV_WC_RDMA_READ},
        {IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_COMP_SWAP},
        {IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD}};
    for (const auto& [asked, done] : kinds) {
        Work work(asked, {{0, 8, 1}});
        const Request request = request_of(work.work, Signaling::all, nullptr);
        const ibv_wc completion = completion_of(request, IBV_WC_SUCCESS, 0x77);
        EXPECT_EQ(completion.opcode, done) << asked;
        EXPECT_EQ(completion.wr_id, 9U);
        EXPECT_EQ(completion.qp_num, 0x77U);
        EXPECT_EQ(completion.byte_len, 8U);
    }
}

// A region of the program from address 1000, with a key on each device.
struct Known {
    ibv_mr first{};
    ibv_mr second{};
    Regions regions;
    std::array<std::byte, 100> memory{};

    Known() {
        first.lkey = 10;
        first.rkey = 11;
        second.lkey = 20;
        second.rkey = 21;
        regions.add({&first, &second, memory.data(), 1000, memory.size(), 0});
    }
};

TEST(RequestsTest, AFrameCarriesItsPartOfTheMemoryWithTheKeysOfTheDevice) {
    Known known;
    Request request;
    request.length_bytes = 50;
    request.pieces = {{1000, 20, 10}, {1040, 30, 10}};
    const Message message{.request = &request, .offset_bytes = 15, .length_bytes = 25};
    for (const unsigned device : {0U, 1U}) {
        const DeviceView view{.device = device, .regions = known.regions, .head = {1, 48, 5}};
        std::vector<ibv_sge> pieces;
        const ibv_send_wr work = work_of(message, view, pieces);

        EXPECT_EQ(work.opcode, IBV_WR_SEND);
        EXPECT_EQ(work.wr_id, send_mark);
        ASSERT_EQ(work.num_sge, 3);
        EXPECT_EQ(pieces[0].lkey, 5U);
        EXPECT_EQ(pieces[1].addr, 1015U);
        EXPECT_EQ(pieces[1].length, 5U);
        EXPECT_EQ(pieces[2].addr, 1040U);
        EXPECT_EQ(pieces[2].length, 20U);
        EXPECT_EQ(pieces[1].lkey, device == 0 ? 10U : 20U);
    }
}

TEST(RequestsTest, OnTheSecondDeviceAKeyOfNoRegionNamesNothing) {
    Known known;
    Request request;
    request.pieces = {{1000, 8, 99}};
    const Message message{.request = &request, .length_bytes = 8};
    std::vector<ibv_sge> pieces;
    work_of(message, {.device = 1, .regions = known.regions}, pieces);
    EXPECT_EQ(pieces.back().lkey, 0U);
}

TEST(RequestsTest, AWriteTellsItsNumberAndAReadNone) {
    Known known;
    Request request;
    request.remote_address = 5000;
    request.fenced = true;
    std::vector<ibv_sge> pieces;
    Message message{.kind = Message::Kind::write, .request = &request, .number = 0x1'0000'0003};
    const DeviceView view{.regions = known.regions, .remote_key = 77};

    const ibv_send_wr write = work_of(message, view, pieces);
    EXPECT_EQ(write.opcode, IBV_WR_RDMA_WRITE_WITH_IMM);
    EXPECT_EQ(write.imm_data, 3U);
    EXPECT_EQ(write.wr.rdma.remote_addr, 5000U);
    EXPECT_EQ(write.wr.rdma.rkey, 77U);
    EXPECT_TRUE(write.send_flags & IBV_SEND_FENCE);
    message.kind = Message::Kind::read;
    EXPECT_EQ(work_of(message, view, pieces).opcode, IBV_WR_RDMA_READ);
}

}  // namespace
}  // namespace lanewise::paths::carried
