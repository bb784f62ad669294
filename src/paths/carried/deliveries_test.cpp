// SPDX-License-Identifier: BSD-3-Clause
//
// What a virtual peer sends, as frames in slots, and what the program gets of it.
#include "paths/carried/deliveries.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "paths/carried/requests.hpp"

namespace lanewise::paths::carried {
namespace {

constexpr std::uint32_t slot_payload_bytes = 64;
constexpr std::uint64_t start_address = 10'000;  // of the region, as requests name it
constexpr std::uint32_t own_lkey = 3;
constexpr std::uint32_t own_rkey = 4;

// The program: a region, receives, and what has been delivered.
struct Program {
    alignas(8) std::array<std::byte, 1 << 14> memory{};
    ibv_pd domain{};
    ibv_mr handle{};
    Regions known;
    DomainRegions regions{known, &domain};
    Receives receives{256, 16};
    Deliveries deliveries{receives, regions};
    std::vector<ibv_wc> done;
    std::vector<std::uint32_t> freed;

    explicit Program(unsigned access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC) {
        handle.lkey = own_lkey;
        handle.rkey = own_rkey;
        handle.pd = &domain;
        known.add({&handle, nullptr, memory.data(), start_address, memory.size(), access});
    }
    void post(std::uint64_t id, std::vector<ibv_sge> pieces) {
        ibv_recv_wr work{id, nullptr, pieces.data(), static_cast<int>(pieces.size())};
        ASSERT_EQ(receives.add(work), 0);
    }
    void take() {
        while (const auto one = deliveries.next()) {
            if (one->slot) freed.push_back(*one->slot);
            if (one->completion) done.push_back(*one->completion);
        }
    }
};

// The peer: its log cuts requests into messages, which come into slots one after the other.
struct VirtualPeer {
    SendLog log{slot_payload_bytes};
    std::vector<std::vector<std::byte>> slots;

    void send(Program& to) {
        while (const auto message = log.next()) {
            if (message->kind == Message::Kind::frame) put(*message, to);
            log.on_posted();
        }
    }
    void put(const Message& message, Program& to) {
        const Frame frame = frame_of(message);
        std::vector<std::byte> slot(sizeof frame + message.length_bytes);
        std::memcpy(slot.data(), &frame, sizeof frame);
        const Request& request = *message.request;
        for (std::uint32_t at = 0; at < message.length_bytes; ++at) {
            const auto value = request.id + message.offset_bytes + at;
            slot[sizeof frame + at] = static_cast<std::byte>(value);
        }
        slots.push_back(std::move(slot));
        const auto number = static_cast<std::uint32_t>(slots.size() - 1);
        to.deliveries.hold(number, slots.back().data(), message.length_bytes);
    }
    void add(std::uint64_t id, std::uint32_t length_bytes) {
        Request request;
        request.id = id;
        request.length_bytes = length_bytes;
        log.add(request);
    }
};

TEST(DeliveriesTest, WhatIsHeldStaysWholeWhenItsSlotsAreGivenBack) {
    Program program;
    VirtualPeer peer;
    constexpr std::uint32_t length_bytes = 2 * slot_payload_bytes;
    peer.add(7, length_bytes);
    peer.send(program);
    EXPECT_EQ(program.deliveries.slots(), 2U);

    EXPECT_EQ(program.deliveries.give_slots_back(), (std::vector<std::uint32_t>{0, 1}));
    EXPECT_EQ(program.deliveries.slots(), 0U);
    EXPECT_TRUE(program.deliveries.give_slots_back().empty());
    for (std::vector<std::byte>& slot : peer.slots) std::ranges::fill(slot, std::byte{0xff});
    program.post(1, {{start_address, length_bytes, own_lkey}});
    program.take();

    EXPECT_TRUE(program.freed.empty());
    ASSERT_EQ(program.done.size(), 1U);
    EXPECT_EQ(program.done[0].byte_len, length_bytes);
    for (std::uint32_t at = 0; at < length_bytes; ++at) {
        ASSERT_EQ(program.memory[at], static_cast<std::byte>(7 + at)) << at;
    }
}

TEST(DeliveriesTest, SendsOfAllLengthsComeWholeAndInOrder) {
    std::mt19937 random(1);
    Program program;
    VirtualPeer peer;
    std::vector<std::uint32_t> lengths;
    for (std::uint64_t id = 0; id < 60; ++id) {
        lengths.push_back(static_cast<std::uint32_t>(random() % (3 * slot_payload_bytes)));
        peer.add(id, lengths.back());
        const std::uint64_t at = start_address + id * 200;
        program.post(id, {{at, 10, own_lkey}, {at + 10, 190, own_lkey}});
    }

    peer.send(program);
    program.take();

    ASSERT_EQ(program.done.size(), lengths.size());
    EXPECT_EQ(program.freed.size(), peer.slots.size());
    for (std::size_t id = 0; id < lengths.size(); ++id) {
        EXPECT_EQ(program.done[id].wr_id, id);
        EXPECT_EQ(program.done[id].status, IBV_WC_SUCCESS);
        EXPECT_EQ(program.done[id].byte_len, lengths[id]);
        for (std::uint32_t at = 0; at < lengths[id]; ++at) {
            ASSERT_EQ(program.memory[id * 200 + at], static_cast<std::byte>(id + at)) << id;
        }
    }
}

TEST(DeliveriesTest, WhatNoReceiveWaitsForWaits) {
    Program program;
    VirtualPeer peer;
    peer.add(1, 2 * slot_payload_bytes);
    peer.add(2, 8);
    peer.send(program);
    program.take();
    EXPECT_TRUE(program.freed.empty());

    program.post(7, {{start_address, 1000, own_lkey}});
    program.take();
    EXPECT_EQ(program.done.size(), 1U);
    EXPECT_EQ(program.freed, (std::vector<std::uint32_t>{0, 1}));
    EXPECT_FALSE(program.deliveries.empty());
}

TEST(DeliveriesTest, ASendThatIsTooLongForItsReceiveIsAnError) {
    Program program;
    VirtualPeer peer;
    peer.add(1, 100);
    program.post(7, {{start_address, 99, own_lkey}});
    peer.send(program);
    program.take();
    ASSERT_EQ(program.done.size(), 1U);
    EXPECT_EQ(program.done[0].status, IBV_WC_LOC_LEN_ERR);
}

TEST(DeliveriesTest, AReceiveOutsideOfItsRegionIsAnError) {
    for (const ibv_sge& piece :
         {ibv_sge{start_address + (1 << 14) - 4, 8, own_lkey},
          ibv_sge{start_address - 4, 8, own_lkey}, ibv_sge{start_address, 8, own_lkey + 1}}) {
        Program program;
        VirtualPeer peer;
        peer.add(1, 8);
        program.post(7, {piece});
        peer.send(program);
        program.take();
        ASSERT_EQ(program.done.size(), 1U);
        EXPECT_EQ(program.done[0].status, IBV_WC_LOC_PROT_ERR) << piece.addr << ' ' << piece.lkey;
    }
}

TEST(DeliveriesTest, AReceiveIntoARegionOfAnotherDomainIsAnError) {
    Program program;
    const ibv_pd other{};
    Deliveries deliveries{program.receives, {program.known, &other}};
    VirtualPeer peer;
    peer.add(1, 8);
    program.post(7, {{start_address, 8, own_lkey}});
    std::vector<std::byte> slot(sizeof(Frame) + 8);
    const Frame frame = frame_of(*peer.log.next());
    std::memcpy(slot.data(), &frame, sizeof frame);
    deliveries.hold(0, slot.data(), 8);
    const auto delivered = deliveries.next();
    ASSERT_TRUE(delivered && delivered->completion);
    EXPECT_EQ(delivered->completion->status, IBV_WC_LOC_PROT_ERR);
}

TEST(DeliveriesTest, TheReceiveOfASendThatHasBegunIsNotForgotten) {
    Program program;
    VirtualPeer peer;
    peer.add(1, 2 * slot_payload_bytes);
    program.post(7, {{start_address, 1000, own_lkey}});
    const auto first = peer.log.next();
    ASSERT_TRUE(first);
    peer.put(*first, program);
    program.take();

    EXPECT_EQ(program.deliveries.take_current()->id, 7U);
    EXPECT_FALSE(program.deliveries.take_current());
}

TEST(DeliveriesTest, AnnouncedWritesAndImmediateDataAreTold) {
    Program program;
    VirtualPeer peer;
    Request write;
    write.operation = Operation::announced_write;
    write.length_bytes = 5000;
    write.has_immediate = true;
    write.immediate = 0xabcd;
    write.solicited = true;
    peer.log.add(write);
    program.post(7, {});
    peer.send(program);

    const auto delivered = program.deliveries.next();
    ASSERT_TRUE(delivered && delivered->completion);
    EXPECT_EQ(delivered->completion->opcode, IBV_WC_RECV_RDMA_WITH_IMM);
    EXPECT_EQ(delivered->completion->byte_len, 5000U);
    EXPECT_EQ(delivered->completion->imm_data, 0xabcdU);
    EXPECT_EQ(delivered->waking, Waking::solicited);
}

TEST(DeliveriesTest, OnlyTheNextMessageIsTaken) {
    Frame frame;
    frame.number = 0x1'0000'0007;
    std::array<std::byte, sizeof frame> slot{};
    std::memcpy(slot.data(), &frame, sizeof frame);
    EXPECT_TRUE(read_frame(slot.data(), sizeof frame, 0x1'0000'0007));
    EXPECT_FALSE(read_frame(slot.data(), sizeof frame, 7));
    EXPECT_FALSE(read_frame(slot.data(), sizeof frame - 1, 0x1'0000'0007));
    EXPECT_TRUE(is_write_number(7, 0x1'0000'0007));
    EXPECT_FALSE(is_write_number(8, 0x1'0000'0007));
}

Frame atomic(FrameKind kind, std::uint64_t address, std::uint64_t compare_add,
             std::uint64_t swap = 0) {
    Frame frame;
    frame.kind = kind;
    frame.remote_address = address;
    frame.remote_key = own_rkey;
    frame.compare_add = compare_add;
    frame.swap = swap;
    return frame;
}

std::uint64_t word_of(const Program& program) {
    std::uint64_t word = 0;
    std::memcpy(&word, program.memory.data() + 8, sizeof word);
    return word;
}

TEST(AtomicTest, IsDoneAndAnsweredWithWhatWasThere) {
    Program program;
    constexpr unsigned granted = IBV_ACCESS_REMOTE_ATOMIC;
    const auto at = start_address + 8;
    EXPECT_EQ(
        perform_atomic(atomic(FrameKind::fetch_add, at, 5), program.regions, granted).compare_add,
        0U);
    EXPECT_EQ(word_of(program), 5U);
    EXPECT_EQ(perform_atomic(atomic(FrameKind::compare_swap, at, 4, 9), program.regions, granted)
                  .compare_add,
              5U);
    EXPECT_EQ(word_of(program), 5U);
    const Request result =
        perform_atomic(atomic(FrameKind::compare_swap, at, 5, 9), program.regions, granted);
    EXPECT_EQ(word_of(program), 9U);
    EXPECT_EQ(result.operation, Operation::result);
    EXPECT_EQ(result.refusal, 0);
}

TEST(AtomicTest, ThatThePeerMayNotDoIsRefusedAndChangesNothing) {
    constexpr unsigned granted = IBV_ACCESS_REMOTE_ATOMIC;
    const auto at = start_address + 8;
    Program program;
    Program closed(IBV_ACCESS_LOCAL_WRITE);
    Frame other_key = atomic(FrameKind::fetch_add, at, 5);
    other_key.remote_key = own_rkey + 1;

    EXPECT_EQ(perform_atomic(other_key, program.regions, granted).refusal, frame_is_refusal);
    EXPECT_EQ(perform_atomic(atomic(FrameKind::fetch_add, start_address + (1 << 14), 5),
                             program.regions, granted)
                  .refusal,
              frame_is_refusal);
    EXPECT_EQ(
        perform_atomic(atomic(FrameKind::fetch_add, ~std::uint64_t{7}, 5), program.regions, granted)
            .refusal,
        frame_is_refusal);
    EXPECT_EQ(perform_atomic(atomic(FrameKind::fetch_add, at, 5), program.regions, 0).refusal,
              frame_is_refusal);
    EXPECT_EQ(perform_atomic(atomic(FrameKind::fetch_add, at, 5), closed.regions, granted).refusal,
              frame_is_refusal);
    const ibv_pd other{};
    EXPECT_EQ(perform_atomic(atomic(FrameKind::fetch_add, at, 5), {program.known, &other}, granted)
                  .refusal,
              frame_is_refusal);
    EXPECT_EQ(word_of(program), 0U);
}

TEST(AtomicTest, AtAnAddressThatIsNotAlignedIsInvalidAndChangesNothing) {
    Program program;
    for (std::uint64_t at = start_address + 9; at < start_address + 16; ++at) {
        const Frame frame = atomic(FrameKind::fetch_add, at, 5);
        const auto result = perform_atomic(frame, program.regions, IBV_ACCESS_REMOTE_ATOMIC);
        EXPECT_EQ(result.refusal, frame_is_invalid | frame_is_refusal) << at;
    }
    EXPECT_EQ(program.memory, Program().memory);

    Frame invalid;
    invalid.flags = frame_is_invalid | frame_is_refusal;
    EXPECT_EQ(put_result(invalid, {}, program.regions), IBV_WC_REM_INV_REQ_ERR);
}

TEST(AtomicTest, AResultIsPutWhereItsRequestSays) {
    Program program;
    Request request;
    request.pieces = {{start_address + 8, 8, own_lkey}};
    Frame result;
    result.compare_add = 42;
    EXPECT_EQ(put_result(result, request, program.regions), IBV_WC_SUCCESS);
    EXPECT_EQ(word_of(program), 42U);

    request.pieces = {{start_address + 8, 4, own_lkey}, {start_address + 64, 4, own_lkey}};
    result.compare_add = 0x2b'0000'002aULL << 4;
    EXPECT_EQ(put_result(result, request, program.regions), IBV_WC_SUCCESS);
    EXPECT_EQ(word_of(program), 0x2a0U);
    result.compare_add = 42;
    request.pieces = {{start_address + 8, 8, own_lkey}};
    EXPECT_EQ(put_result(result, request, program.regions), IBV_WC_SUCCESS);

    result.flags = frame_is_refusal;
    EXPECT_EQ(put_result(result, request, program.regions), IBV_WC_REM_ACCESS_ERR);
    result.flags = 0;
    request.pieces = {{start_address + 8, 8, own_lkey + 1}};
    EXPECT_EQ(put_result(result, request, program.regions), IBV_WC_LOC_PROT_ERR);
    request.pieces = {{start_address + 8, 4, own_lkey}};
    EXPECT_EQ(put_result(result, request, program.regions), IBV_WC_LOC_PROT_ERR);
    request.pieces.clear();
    EXPECT_EQ(put_result(result, request, program.regions), IBV_WC_LOC_PROT_ERR);
    request.pieces = {{start_address + 8, 8, own_lkey}};
    const ibv_pd other{};
    EXPECT_EQ(put_result(result, request, {program.known, &other}), IBV_WC_LOC_PROT_ERR);
    EXPECT_EQ(word_of(program), 42U);
}

}  // namespace
}  // namespace lanewise::paths::carried
