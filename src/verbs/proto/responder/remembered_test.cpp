// SPDX-License-Identifier: BSD-3-Clause
//
// Reads and atomics that were executed, and how long the responder can repeat their responses.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "verbs/proto/testing/peer.hpp"
#include "verbs/proto/wire/icrc.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Requests to b that are made here, as a could send them, and what b answers; a hears none of it.
struct Requests {
    explicit Requests(std::uint8_t agreed) : pair({.mtu = Mtu::b256, .read_atomic = agreed}) {
        pair.wire.tap = [&](std::size_t from, std::vector<std::byte>& bytes) {
            if (from == 1) answers.push_back(*decode(bytes).packet);
            return false;
        };
    }

    Psn first() const { return Psn(pair.a.options.send_psn[0]); }

    void send(Packet made, PacketKind kind, Psn psn) {
        made.base.opcode = opcode_of(Transport::rc, kind, Part::only, Extra::nothing);
        made.row = opcode_row(made.base.opcode);
        made.base.destination_qpn = first_qpn + 1;
        made.base.psn = psn;
        std::vector<std::byte> bytes(datagram_bytes(made.row, 0));
        encode_headers(made, bytes);
        Arrival from{.port = 1, .source_udp_port = 0xc000, .ip_id = 0};
        from.source = address_of(Family::ipv4, 0, 1);
        from.destination = address_of(Family::ipv4, 1, 1);
        seal(bytes, {from.source, from.destination, from.source_udp_port}, 0);
        pair.wire.deliver(1, bytes, from);
    }

    // Adds one to the first word of b.
    void add_one(Psn psn) {
        Packet packet;
        packet.atomic = {pair.b.address(0), pair.b.key, 1, 0};
        send(packet, PacketKind::fetch_add, psn);
    }

    void read(Psn psn, std::uint32_t bytes) {
        Packet packet;
        packet.rdma = {pair.b.address(0), large_key, bytes};
        send(packet, PacketKind::read_request, psn);
    }

    // Goes around the circle of numbers from the first but one to the first, by long reads. To ask
    // again for nothing but the last packet spares b the others.
    void go_around() {
        for (Psn psn = first() + 1; psn != first();) {
            const auto packets =
                std::min(longest_packets, (first().value() - psn.value()) & Psn::mask);
            read(psn, packets * 256);
            psn = psn + packets;
            read(psn - 1, 0);
            words();
        }
    }

    // What b answers until nothing more happens: the words that atomics found.
    std::vector<std::uint64_t> words() {
        answers.clear();
        pair.wire.run_until(idle);
        std::vector<std::uint64_t> found;
        for (const Packet& answer : answers) {
            found.push_back(answer.atomic_result);
        }
        return found;
    }

    static constexpr std::uint32_t longest_packets = 1 << 22;

    Pair pair;
    // Of a region that is larger than the memory, whose bytes nobody touches.
    std::uint32_t large_key =
        pair.b.device->memory().add({.domain = 1,
                                     .start = pair.b.memory.data(),
                                     .address = pair.b.address(0),
                                     .length_bytes = std::uint64_t{longest_packets} * 256,
                                     .access = all_access});
    std::vector<Packet> answers;  // their payloads are gone
};

void lower_agreed_reads(Peer& peer, std::uint8_t agreed) {
    Attributes wanted;
    wanted.destination_read_atomic_max = agreed;
    ASSERT_EQ(peer.modify_state(State::send_queue_drained), 0);
    ASSERT_EQ(peer.queue_pair->modify(wanted, destination_read_atomic_attribute), 0);
    ASSERT_EQ(peer.modify_state(State::ready_to_send), 0);
}

TEST(Remembered, AreNoMoreThanIsAgreedAlsoWhereThatWasLowered) {
    Requests requests(4);
    for (std::uint32_t i = 0; i < 4; ++i) {
        requests.add_one(requests.first() + i);
    }
    EXPECT_THAT(requests.words(), ElementsAre(0, 1, 2, 3));
    lower_agreed_reads(requests.pair.b, 1);
    requests.add_one(requests.first() + 4);
    EXPECT_THAT(requests.words(), ElementsAre(4));

    requests.add_one(requests.first() + 3);
    EXPECT_THAT(requests.words(), IsEmpty());
    requests.add_one(requests.first() + 4);
    EXPECT_THAT(requests.words(), ElementsAre(4));
}

TEST(Remembered, AnAtomicIsNotTakenForOneThatHasItsNumberLater) {
    Requests requests(16);
    requests.add_one(requests.first());
    EXPECT_THAT(requests.words(), ElementsAre(0));
    requests.go_around();

    requests.add_one(requests.first());
    EXPECT_THAT(requests.words(), ElementsAre(1));
    requests.add_one(requests.first());
    EXPECT_THAT(requests.words(), ElementsAre(1));
}

// Five have been executed when the numbers come again, the sixth is not yet answered.
TEST(Remembered, AReadIsNotTakenForOneThatHasItsNumberLater) {
    Requests requests(6);
    requests.read(requests.first(), 256);
    requests.go_around();

    requests.read(requests.first(), 256);
    requests.read(requests.first() + 1, 256);

    EXPECT_THAT(requests.words(), SizeIs(2));
    EXPECT_EQ(requests.pair.b.queue_pair->state(), State::ready_to_send);
}

TEST(Remembered, AreForAsLongAsAPeerWithLongReadsMayAskAgain) {
    Requests requests(16);
    requests.add_one(requests.first());
    requests.read(requests.first() + 1, Requests::longest_packets * 256);
    requests.read(requests.first() + Requests::longest_packets, 0);
    EXPECT_THAT(requests.words(), SizeIs(2));

    requests.add_one(requests.first());

    EXPECT_THAT(requests.words(), ElementsAre(0));
}

}  // namespace
}  // namespace lanewise::verbs::testing
