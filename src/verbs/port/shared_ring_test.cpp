// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/port/shared_ring.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace lanewise::verbs::port {
namespace {

struct Rings : ::testing::Test {
    std::optional<SharedRing::Ends> ends = SharedRing::make();
    std::optional<SharedRing> reader;

    void SetUp() override {
        ASSERT_TRUE(ends);
        reader =
            SharedRing::map(Descriptor(dup(ends->writer.memory())), std::move(ends->reader_bell));
        ASSERT_TRUE(reader);
    }
    bool write(std::size_t bytes, std::byte value) {
        std::vector<std::byte> packet(bytes, value);
        const iovec piece{packet.data(), packet.size()};
        return ends->writer.write({.bytes = static_cast<std::uint32_t>(bytes)},
                                  std::span(&piece, 1));
    }
    // The value of all bytes of the next record, and how many they are.
    std::pair<std::size_t, std::byte> read() {
        RingRecord record;
        const auto packet = reader->front(record);
        if (!packet) return {0, {}};
        for (const std::byte one : *packet) EXPECT_EQ(one, packet->front());
        const std::pair got{packet->size(), packet->front()};
        reader->pop();
        return got;
    }
};

TEST_F(Rings, HandOverRecordsInOrderPastTheirEnd) {
    std::mt19937 random(1);
    for (unsigned i = 0; i < 200; ++i) {
        const std::size_t bytes = 1 + random() % 60'000;
        ASSERT_TRUE(write(bytes, static_cast<std::byte>(i)));
        ASSERT_EQ(read(), std::pair(bytes, static_cast<std::byte>(i)));
    }
    EXPECT_TRUE(reader->empty());
}

TEST_F(Rings, HaveRoomForSoMuchAndNoMore) {
    std::size_t written = 0;
    while (write(60'000, std::byte{1})) ++written;
    constexpr std::size_t of_lines = (8 + 60'000 + 127) / 128 * 128;
    EXPECT_EQ(written, (SharedRing::data_bytes - 128) / of_lines);
    read();
    EXPECT_TRUE(write(60'000, std::byte{2}));
    EXPECT_FALSE(write(60'000, std::byte{3}));
}

TEST_F(Rings, TellTheAddressesOfEachRecord) {
    const Address one{1};
    const Address other{2};
    const std::byte packet{7};
    const iovec piece{const_cast<std::byte *>(&packet), 1};
    const std::vector<std::pair<Address, Address>> routes{
        {one, other}, {one, other}, {other, other}, {other, one}, {one, other}, {}};
    for (const auto& [source, destination] : routes) {
        ASSERT_TRUE(ends->writer.write({1, 0, source, destination}, std::span(&piece, 1)));
    }
    for (const auto& route : routes) {
        RingRecord record;
        const auto read = reader->front(record);
        ASSERT_TRUE(read);
        EXPECT_EQ(read->front(), packet);
        EXPECT_EQ(std::pair(record.source, record.destination), route);
        reader->pop();
    }
}

TEST_F(Rings, WakeAReaderThatSleepsAndNoOther) {
    pollfd bell{reader->bell(), POLLIN, 0};
    ASSERT_TRUE(write(10, std::byte{1}));
    EXPECT_EQ(poll(&bell, 1, 0), 0);
    EXPECT_TRUE(reader->sleep());  // there is something already
    read();
    EXPECT_FALSE(reader->sleep());
    ASSERT_TRUE(write(10, std::byte{2}));
    EXPECT_EQ(poll(&bell, 1, 0), 1);
    reader->wake();
    EXPECT_EQ(poll(&bell, 1, 0), 0);
}

TEST_F(Rings, AreQuietAfterAWriterThatWasStoppedBeforeItRang) {
    pollfd bell{reader->bell(), POLLIN, 0};
    reader->sleep();
    ASSERT_TRUE(write(10, std::byte{1}));
    char ring = 0;
    ASSERT_EQ(::read(reader->bell(), &ring, 1), 1);  // as if it had not been sent yet
    reader->wake();
    read();
    ASSERT_EQ(::write(ends->writer.bell(), &ring, 1), 1);

    EXPECT_FALSE(reader->sleep());
    EXPECT_EQ(poll(&bell, 1, 0), 1);
    reader->wake();
    EXPECT_FALSE(reader->sleep());
    EXPECT_EQ(poll(&bell, 1, 0), 0);
}

TEST_F(Rings, TellThatTheOtherEndHasDied) {
    EXPECT_FALSE(reader->is_left());
    ends.reset();
    EXPECT_TRUE(reader->is_left());
}

TEST_F(Rings, EndWhereTheWriterWritesNonsense) {
    ASSERT_TRUE(write(10, std::byte{1}));
    RingRecord record;
    const auto packet = reader->front(record);
    ASSERT_TRUE(packet);
    const std::uint64_t word = std::uint64_t{1} << 63 | (SharedRing::record_bytes_max + 1);
    std::memcpy(const_cast<std::byte *>(packet->data()) - sizeof word, &word, sizeof word);
    EXPECT_FALSE(reader->front(record));
    EXPECT_TRUE(reader->empty());
}

TEST(Ring, IsNotMadeOfWhatMayShrink) {
    std::optional<SharedRing::Ends> ends = SharedRing::make();
    ASSERT_TRUE(ends);
    Descriptor other(memfd_create("other", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(ftruncate(other.number(), 4096 + SharedRing::data_bytes), 0);
    EXPECT_FALSE(SharedRing::map(std::move(other), std::move(ends->reader_bell)));
}

TEST_F(Rings, CarryAStreamBetweenTwoThreadsWithoutLossWhileTheReaderSleeps) {
    constexpr unsigned count = 2000;
    std::thread writer([&] {
        for (unsigned i = 0; i < count; ++i) {
            while (!write(1 + i % 5000, static_cast<std::byte>(i))) std::this_thread::yield();
        }
    });
    for (unsigned i = 0; i < count; ++i) {
        std::pair<std::size_t, std::byte> got;
        while ((got = read()).first == 0) {
            if (reader->sleep()) continue;
            pollfd bell{reader->bell(), POLLIN, 0};
            ASSERT_EQ(poll(&bell, 1, 10'000), 1) << "nobody woke the reader";
            reader->wake();
        }
        ASSERT_EQ(got, std::pair(std::size_t{1 + i % 5000}, static_cast<std::byte>(i)));
    }
    writer.join();
}

TEST_F(Rings, AreNotEmptyForAnotherThreadWhileOneReadsAndThereIsMore) {
    ASSERT_TRUE(write(60'000, std::byte{0}));
    std::atomic<bool> ends_now = false;
    std::atomic<unsigned> seen_empty = 0;
    std::thread looks([&] {
        while (!ends_now) seen_empty += reader->sleep() ? 0 : 1;
    });
    for (unsigned i = 1; i < 2000; ++i) {
        EXPECT_TRUE(write(60'000, static_cast<std::byte>(i)));
        EXPECT_EQ(read(), std::pair(std::size_t{60'000}, static_cast<std::byte>(i - 1)));
    }
    ends_now = true;
    looks.join();
    EXPECT_EQ(seen_empty, 0);
}

}  // namespace
}  // namespace lanewise::verbs::port
