// SPDX-License-Identifier: BSD-3-Clause
//
// Messages on the wire: each field where the standard has it, and nothing that is no message.

#include "verbs/cm/message/message.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "verbs/cm/message/datagram.hpp"
#include "verbs/cm/message/ip_service.hpp"

namespace lanewise::verbs::cm {
namespace {

constexpr Address here{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 0, 1};
constexpr Address there{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 0, 2};

unsigned at(const std::array<std::byte, management_bytes>& datagram, std::size_t offset) {
    return std::to_integer<unsigned>(datagram[24 + offset]);
}

Message example(Kind kind) {
    Message made;
    made.kind = kind;
    made.transaction = 0x0102030405060708;
    made.local_id = 0x11223344;
    made.remote_id = 0x55667788;
    made.service = 0x0000000001061234;
    made.adapter_guid = 0xa1a2a3a4a5a6a7a8;
    made.qpn = 0xabcdef;
    made.psn = 0x123456;
    made.responder_resources = 4;
    made.initiator_depth = 5;
    made.retry_count = 7;
    made.rnr_retry_count = 6;
    made.path_mtu = 3;
    made.remote_response_timeout = 20;
    made.local_response_timeout = 18;
    made.retries_max = 15;
    made.ack_timeout = 14;
    made.local_gid = here;
    made.remote_gid = there;
    made.reason = 28;
    made.service_timeout = 24;
    made.private_data = {std::byte{0x77}, std::byte{0x78}};
    return made;
}

TEST(Message, ARequestHasItsFieldsWhereTheStandardHasThem) {
    const auto bytes = encode(example(Kind::request));
    EXPECT_EQ(std::to_integer<unsigned>(bytes[0]), 1U);
    EXPECT_EQ(std::to_integer<unsigned>(bytes[1]), 7U);
    EXPECT_EQ(std::to_integer<unsigned>(bytes[2]), 2U);
    EXPECT_EQ(std::to_integer<unsigned>(bytes[3]), 3U);
    EXPECT_EQ(std::to_integer<unsigned>(bytes[17]), 0x10U);
    EXPECT_EQ(at(bytes, 0), 0x11U);
    EXPECT_EQ(at(bytes, 13), 0x06U);     // the service
    EXPECT_EQ(at(bytes, 32), 0xabU);     // the queue pair
    EXPECT_EQ(at(bytes, 35), 4U);        // responder resources
    EXPECT_EQ(at(bytes, 39), 5U);        // initiator depth
    EXPECT_EQ(at(bytes, 43), 20U << 3);  // the remote response timeout, RC, no flow control
    EXPECT_EQ(at(bytes, 44), 0x12U);     // the starting PSN
    EXPECT_EQ(at(bytes, 47), 18U << 3 | 7U);
    EXPECT_EQ(at(bytes, 48), 0xffU);  // the partition key
    EXPECT_EQ(at(bytes, 50), 3U << 4 | 6U);
    EXPECT_EQ(at(bytes, 51), 15U << 4);
    EXPECT_EQ(at(bytes, 71), 1U);  // the last byte of the local GID
    EXPECT_EQ(at(bytes, 87), 2U);
    EXPECT_EQ(at(bytes, 95), 14U << 3);
    EXPECT_EQ(at(bytes, 140), 0x77U);  // private data
}

TEST(Message, AReplyHasItsFieldsWhereTheStandardHasThem) {
    const auto bytes = encode(example(Kind::reply));
    EXPECT_EQ(at(bytes, 4), 0x55U);
    EXPECT_EQ(at(bytes, 12), 0xabU);
    EXPECT_EQ(at(bytes, 20), 0x12U);
    EXPECT_EQ(at(bytes, 24), 4U);
    EXPECT_EQ(at(bytes, 26), 14U << 3);
    EXPECT_EQ(at(bytes, 27), 6U << 5);
    EXPECT_EQ(at(bytes, 28), 0xa1U);
    EXPECT_EQ(at(bytes, 36), 0x77U);
}

class EachKind : public testing::TestWithParam<int> {};

TEST_P(EachKind, IsReadAsItWasWritten) {
    const auto kind = static_cast<Kind>(GetParam());
    const auto bytes = encode(example(kind));
    const auto read = decode_message(bytes);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->kind, kind);
    EXPECT_EQ(read->transaction, 0x0102030405060708U);
    EXPECT_EQ(read->private_data.size(), private_bytes(kind));
    EXPECT_EQ(read->private_data[1], std::byte{0x78});
    EXPECT_EQ(encode(*read), bytes);
}

INSTANTIATE_TEST_SUITE_P(Message, EachKind, testing::Range(0x10, 0x19));

TEST(Message, OtherDatagramsAreNoMessages) {
    const auto bytes = encode(example(Kind::request));
    for (const std::size_t offset : {0U, 1U, 2U, 3U, 16U}) {
        auto changed = bytes;
        changed[offset] ^= std::byte{0x40};
        EXPECT_FALSE(decode_message(changed)) << offset;
    }
    EXPECT_FALSE(decode_message(std::span(bytes).first(255)));
    auto later = bytes;
    later[17] = std::byte{0x19};
    EXPECT_FALSE(decode_message(later));
}

TEST(Message, ADatagramIsReadWhereItIsIntactAndForQueuePairOne) {
    const Bytes sent = datagram_of(example(Kind::reply), {here, there}, 5);
    Arrival from;
    from.source = here;
    from.destination = there;
    from.source_udp_port = 4791;
    from.ip_id = 0;
    ASSERT_TRUE(message_of(sent, from));
    EXPECT_EQ(message_of(sent, from)->qpn, 0xabcdefU);
    for (std::size_t i = 0; i < sent.size(); ++i) {
        if (i == 4 || i == 8) continue;  // bytes that the ICRC does not cover, or are reserved
        Bytes changed = sent;
        changed[i] ^= std::byte{1};
        EXPECT_FALSE(message_of(changed, from)) << i;
    }
}

TEST(Message, AnyBytesAreReadWithoutHarm) {
    std::mt19937 random(7);
    for (int i = 0; i < 2000; ++i) {
        auto bytes = encode(example(static_cast<Kind>(0x10 + i % 9)));
        for (std::size_t at = 16; at < bytes.size(); ++at) bytes[at] = std::byte(random() & 0xff);
        bytes[16] = std::byte{0};
        bytes[17] = std::byte(0x10 + random() % 9);
        ASSERT_TRUE(decode_message(bytes));
    }
}

TEST(Message, TheIpHeaderSaysWhoCallsAndFromWhere) {
    const Bytes data = with_ip_header({here, there, 4660}, std::array{std::byte{9}});
    ASSERT_EQ(data.size(), ip_header_bytes + 1);
    EXPECT_EQ(data[1], std::byte{0x40});
    EXPECT_EQ(data[2], std::byte{0x12});
    EXPECT_EQ(data[15], std::byte{0});  // where an IPv6 address would have its 0xff
    EXPECT_EQ(data[16], std::byte{10});
    EXPECT_EQ(data[35], std::byte{2});
    const auto read = ip_header_of(data);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->source, here);
    EXPECT_EQ(read->destination, there);
    EXPECT_EQ(read->source_port, 4660);
    Bytes other = data;
    other[1] = std::byte{0x50};
    EXPECT_FALSE(ip_header_of(other));
    EXPECT_FALSE(ip_header_of(std::span(data).first(35)));
}

}  // namespace
}  // namespace lanewise::verbs::cm
