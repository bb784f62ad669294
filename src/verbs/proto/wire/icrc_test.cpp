// SPDX-License-Identifier: BSD-3-Clause
//
// Two datagrams of others stand for the standard: one that a Linux rxe sent (a UC send), and a
// congestion notification captured from a ConnectX-4 Lx.

#include "verbs/proto/wire/icrc.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string_view>
#include <vector>

#include "verbs/proto/wire/crc32.hpp"
#include "verbs/proto/wire/crc32_folding.hpp"

namespace lanewise::verbs {
namespace {

std::vector<std::byte> bytes_of(std::string_view hexadecimal) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i + 1 < hexadecimal.size(); i += 2) {
        const std::string digits(hexadecimal.substr(i, 2));
        bytes.push_back(static_cast<std::byte>(std::stoi(digits, nullptr, 16)));
    }
    return bytes;
}

Address ipv4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
    return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d};
}

const std::vector<std::byte> rxe_send = bytes_of(
    "2460ffff000000d300cf1710"
    "4630818be28935d90e9a95505401be88"
    "5e500000"
    "78f353f3");
const Arrival from_rxe{.source_udp_port = 49152,
                       .ip_id = 1144,
                       .source = ipv4(192, 168, 0, 7),
                       .destination = ipv4(192, 168, 0, 7)};

const std::vector<std::byte> connectx_notice = bytes_of(
    "8100ffff400001180000000000000000000000000000000000000000"
    "82fd002a");
const Arrival from_connectx{.source_udp_port = 0,
                            .ip_id = 0x718c,
                            .source = ipv4(10, 0, 17, 1),
                            .destination = ipv4(10, 0, 18, 1)};

std::vector<std::byte> random_bytes(std::mt19937_64& random, std::size_t count) {
    std::vector<std::byte> bytes(count);
    for (std::byte& byte : bytes) {
        byte = static_cast<std::byte>(random());
    }
    return bytes;
}

TEST(Crc32, OfTheUsualNineDigitsIsTheUsualNumber) {
    const auto digits = bytes_of("313233343536373839");

    EXPECT_EQ(~crc32::feed(crc32::initial, digits), 0xcbf43926u);
}

using Feed = std::uint32_t (*)(std::uint32_t, std::span<const std::byte>);

void expect_as_by_tables(Feed feed, std::size_t shortest) {
    std::mt19937_64 random(1);
    const auto bytes = random_bytes(random, 1500);
    for (std::size_t length = shortest; length + 7 < bytes.size(); ++length) {
        const auto part = std::span(bytes).subspan(length % 7, length);
        const auto state = static_cast<std::uint32_t>(random());

        ASSERT_EQ(feed(state, part), crc32::feed_portably(state, part)) << length;
    }
}

TEST(Crc32, IsTheSameInTheFastestWayAndByTables) {
    expect_as_by_tables(crc32::feed, 0);
}

TEST(Crc32, IsTheSameByFoldingAndByTables) {
    if (crc32::folding_here() == crc32::Folding::none) GTEST_SKIP() << "no PCLMULQDQ";
    expect_as_by_tables(crc32::feed_folding, crc32::folding_bytes_min);
}

TEST(Crc32, IsTheSameByWideFoldingAndByTables) {
    if (crc32::folding_here() != crc32::Folding::wide) GTEST_SKIP() << "no VPCLMULQDQ";
    expect_as_by_tables(crc32::feed_folding_wide, crc32::wide_bytes_min);
}

using Copy = std::uint32_t (*)(std::uint32_t, std::byte *, std::span<const std::byte>);

// The byte behind the copy must stay.
void expect_copies_as_by_tables(Copy copy, std::size_t shortest) {
    std::mt19937_64 random(5);
    const auto bytes = random_bytes(random, 4200);
    for (std::size_t length = shortest; length + 7 < bytes.size(); ++length) {
        const auto part = std::span(bytes).subspan(length % 7, length);
        const auto state = static_cast<std::uint32_t>(random());
        std::vector<std::byte> copied(length + 1, std::byte{0x5a});

        ASSERT_EQ(copy(state, copied.data(), part), crc32::feed_portably(state, part)) << length;
        ASSERT_TRUE(std::equal(part.begin(), part.end(), copied.begin())) << length;
        ASSERT_EQ(copied.back(), std::byte{0x5a}) << length;
    }
}

TEST(Crc32, OfACopyIsThatOfItsBytesInTheFastestWay) {
    expect_copies_as_by_tables(crc32::feed_copying, 0);
}

TEST(Crc32, OfACopyIsThatOfItsBytesByFolding) {
    if (crc32::folding_here() == crc32::Folding::none) GTEST_SKIP() << "no PCLMULQDQ";
    expect_copies_as_by_tables(crc32::copy_folding, crc32::copy_folding_bytes_min);
}

TEST(Crc32, OfACopyIsThatOfItsBytesByWideFolding) {
    if (crc32::folding_here() != crc32::Folding::wide) GTEST_SKIP() << "no VPCLMULQDQ";
    expect_copies_as_by_tables(crc32::copy_folding_wide, crc32::wide_bytes_min);
}

TEST(Crc32, ProductsAreTheSameByFoldingAndByBits) {
    if (crc32::folding_here() == crc32::Folding::none) GTEST_SKIP() << "no PCLMULQDQ";
    std::mt19937_64 random(4);
    for (int round = 0; round < 10'000; ++round) {
        const auto a = static_cast<std::uint32_t>(random());
        const auto b = static_cast<std::uint32_t>(random());
        ASSERT_EQ(crc32::shifted_product_folding(a, b), crc32::shifted_product_portably(a, b));
    }
}

TEST(Crc32, AShiftedProductIsMultipliedByX32) {
    const std::uint32_t power = crc32::x_to_the(100);
    EXPECT_EQ(crc32::shifted_product(power, crc32::x_to_the(-32)), power);
}

TEST(Crc32, PowersOfXHaveInverses) {
    for (const std::int64_t exponent : {0, 1, 8, 544, 40000}) {
        EXPECT_EQ(crc32::multiply(crc32::x_to_the(exponent), crc32::x_to_the(-exponent)),
                  crc32::x_to_the(0));
    }
}

TEST(Icrc, HoldsForTheDatagramOfRxe) {
    EXPECT_TRUE(intact(rxe_send, from_rxe));
}

TEST(Icrc, HoldsForTheDatagramOfConnectX) {
    EXPECT_TRUE(intact(connectx_notice, from_connectx));
}

TEST(Icrc, HoldsWithoutKnowingTheIdentification) {
    Arrival from = from_connectx;
    from.ip_id = Arrival::unknown_id;

    EXPECT_TRUE(intact(connectx_notice, from));
}

TEST(Icrc, FailsWithTheWrongIdentification) {
    Arrival from = from_rxe;
    from.ip_id = 1145;

    EXPECT_FALSE(intact(rxe_send, from));
}

TEST(Icrc, SealsWhatItFindsIntact) {
    std::vector<std::byte> datagram = rxe_send;
    std::fill_n(datagram.end() - 4, 4, std::byte{0});

    seal(datagram, {from_rxe.source, from_rxe.destination, from_rxe.source_udp_port}, 1144);

    EXPECT_EQ(datagram, rxe_send);
}

TEST(Icrc, IsTheSameWithAPayloadThatWasCheckedBefore) {
    std::mt19937_64 random(6);
    for (std::size_t bytes = 1; bytes <= 4096; ++bytes) {
        const std::size_t at = 12 + 4 * (random() % 11);
        auto datagram = random_bytes(random, at + bytes + bytes % 4 + 4);
        auto again = datagram;
        const auto state = crc32::feed_portably(0, std::span(datagram).subspan(at, bytes));

        seal(datagram, {from_rxe.source, from_rxe.destination, 0xc000}, 7);
        seal(again, {from_rxe.source, from_rxe.destination, 0xc000}, 7, {at, bytes, state});

        ASSERT_EQ(again, datagram) << bytes;
    }
}

// The reserved byte of the base header may change on the way; that is how routers mark congestion.
TEST(Icrc, SeesEveryFlippedBitSaveTheMaskedByte) {
    Arrival unknown = from_rxe;
    unknown.ip_id = Arrival::unknown_id;
    for (std::size_t bit = 0; bit < rxe_send.size() * 8; ++bit) {
        std::vector<std::byte> datagram = rxe_send;
        datagram[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);

        ASSERT_EQ(intact(datagram, from_rxe), bit / 8 == 4) << bit;
        ASSERT_EQ(intact(datagram, unknown), bit / 8 == 4) << bit;
    }
}

TEST(Icrc, OfIpv6CoversTheAddresses) {
    std::mt19937_64 random(2);
    Arrival from{.source_udp_port = 0xc001};
    from.source[0] = from.destination[0] = 0xfd;
    from.destination[15] = 1;
    for (std::size_t length : {16u, 32u, 1040u, 4120u}) {
        auto datagram = random_bytes(random, length);
        seal(datagram, {from.source, from.destination, from.source_udp_port}, 0);
        Arrival other = from;
        other.source[15] = 9;

        EXPECT_TRUE(intact(datagram, from));
        EXPECT_FALSE(intact(datagram, other));
    }
}

TEST(Icrc, HoldsForAnyIdentificationOfAnyDatagram) {
    std::mt19937_64 random(3);
    for (int round = 0; round < 2000; ++round) {
        auto datagram = random_bytes(random, 16 + random() % 4100);
        const auto ip_id = static_cast<std::uint16_t>(random());
        seal(datagram, {from_rxe.source, from_rxe.destination, 0xc000}, ip_id);
        Arrival from = from_rxe;
        from.source_udp_port = 0xc000;
        from.ip_id = Arrival::unknown_id;

        ASSERT_TRUE(intact(datagram, from)) << datagram.size();
        ASSERT_EQ(likely_ip_id(datagram, from), ip_id);
    }
}

}  // namespace
}  // namespace lanewise::verbs
