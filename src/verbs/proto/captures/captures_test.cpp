// SPDX-License-Identifier: BSD-3-Clause
//
// What our device and that of Linux 6.1 (rdma_rxe) said to each other when programs of rdma-core
// and perftest ran between them (tests/hca/record_captures.py), played again: the engine
// understands every packet of the other, and says in our place what was said.

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "verbs/proto/testing/replay.hpp"
#include "verbs/proto/wire/icrc.hpp"

namespace lanewise::verbs::testing {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::SizeIs;

constexpr Address place_of_ours{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 9, 0, 1};

std::vector<std::filesystem::path> captures() {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(LANEWISE_CAPTURES)) {
        if (entry.path().extension() == ".pcap") {
            found.push_back(entry.path());
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

class Captures : public ::testing::TestWithParam<std::filesystem::path> {
  protected:
    std::vector<Heard> heard = read_capture(GetParam());
};

TEST_P(Captures, HoldPacketsWithTheRightChecksum) {
    ASSERT_FALSE(heard.empty());
    for (const Heard& one : heard) {
        EXPECT_TRUE(decode(one.datagram).packet);
        EXPECT_TRUE(intact(one.datagram, one.from));
    }
}

bool is_acknowledgement(const Packet& packet) {
    return packet.row.kind == PacketKind::acknowledge;
}

using Datagrams = std::vector<std::vector<std::byte>>;

// Sealed as if each had been sent alone: in a batch of another size the identifications of IPv4
// differ. Answers also report how many requests wait at an end.
Datagrams comparable(const std::vector<std::span<const std::byte>>& datagrams) {
    Datagrams made;
    for (const auto& datagram : datagrams) {
        made.emplace_back(datagram.begin(), datagram.end());
        const Packet packet = decode(made.back()).packet.value();
        const bool counts = (packet.row.extensions & has_aeth) != 0 &&
                            acknowledgement_of(packet.ack.syndrome) == Acknowledgement::ack;
        if (counts) {
            made.back()[bth_bytes] &= std::byte{0xe0};
        }
        seal(made.back(), {place_of_ours, place_of_ours, 0}, 0);
    }
    return made;
}

struct Halves {
    std::vector<std::span<const std::byte>> data;
    std::vector<std::span<const std::byte>> acknowledgements;

    void add(std::span<const std::byte> datagram) {
        const Packet packet = decode(datagram).packet.value();
        auto& half = is_acknowledgement(packet) ? acknowledgements : data;
        const bool again = std::any_of(half.begin(), half.end(), [&](const auto& before) {
            const Packet other = decode(before).packet.value();
            return other.base.psn == packet.base.psn &&
                   other.row.is_response() == packet.row.is_response();
        });
        if (!again) {
            half.push_back(datagram);
        }
    }
};

TEST_P(Captures, AreAnsweredAsTheyWere) {
    ASSERT_FALSE(heard.empty());
    Replay replay(heard, place_of_ours);
    replay.play();
    Halves captured;
    for (const Said& one : replay.said()) {
        if (one.ours) {
            captured.add(one.datagram);
        }
    }
    Halves played;
    for (const auto& datagram : replay.played()) {
        played.add(datagram);
    }

    EXPECT_EQ(comparable(played.data), comparable(captured.data));
    // Acknowledgements wait for data to the same peer, so how many are left out is a matter of
    // time.
    const Datagrams ours = comparable(played.acknowledgements);
    for (const auto& one : comparable(captured.acknowledgements)) {
        EXPECT_THAT(ours, ::testing::Contains(one));
    }
    EXPECT_EQ(captured.acknowledgements.empty(), ours.empty());
}

TEST_P(Captures, BringAllDataAndFinishAllWork) {
    ASSERT_FALSE(heard.empty());
    Replay replay(heard, place_of_ours);
    replay.play();

    EXPECT_EQ(replay.astray(), 0u);
    EXPECT_THAT(replay.completions(), SizeIs(replay.work()));
    EXPECT_THAT(replay.completions(), Each(Field(&Completion::status, Status::success)));
    EXPECT_EQ(replay.counters().icrc_errors, 0u);
    EXPECT_EQ(replay.counters().malformed, 0u);
}

INSTANTIATE_TEST_SUITE_P(OfRxe, Captures, ::testing::ValuesIn(captures()),
                         [](const auto& one) { return one.param.stem().string(); });

}  // namespace
}  // namespace lanewise::verbs::testing
