// SPDX-License-Identifier: BSD-3-Clause
//
// Packets between processes of one host. Several wires in one process behave as several processes.

#include "verbs/port/neighbours.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "verbs/port/random.hpp"
#include "verbs/port/socket.hpp"
#include "verbs/port/testing/loopback.hpp"
#include "verbs/port/wire.hpp"

namespace lanewise::verbs::port {
namespace {

const Address loopback = address_of(testing::own_loopback());
const Home home{loopback, 1};
const Origin through_socket{.source_udp_port = roce_udp_port};

bool is_readable(int descriptor) {
    pollfd one{descriptor, POLLIN, 0};
    return poll(&one, 1, 0) == 1;
}

// A ring has two mappings at each end.
std::size_t rings_mapped() {
    std::ifstream maps("/proc/self/maps");
    std::size_t found = 0;
    for (std::string line; std::getline(maps, line);) {
        found += line.find("lanewise-ring") != std::string::npos ? 1 : 0;
    }
    return found;
}

struct TwoProcesses : ::testing::Test {
    Result<Wire> a = Wire::open(std::span(&home, 1));
    Result<Wire> b = Wire::open(std::span(&home, 1));
    std::vector<std::byte> received;
    bool in_memory = false;

    // Both ask for their places when they open, and the kernel chooses which socket gets most of
    // the answers. They are read before a test begins: packets of one sender come in order, so none
    // is left behind this one.
    void SetUp() override {
        ASSERT_TRUE(a && b);
        const auto ignore = [](const Datagram&) {};
        ASSERT_EQ(send(std::byte{0}, 100, through_socket), Sent::yes);
        while (received.empty()) {
            a->receive(ignore);
            receive();
            b->receive_forwarded(
                [this](const Datagram& one) { received.push_back(one.packet[0]); });
        }
        received.clear();
    }

    std::uint32_t number() const { return first_number(b->slot()) + 3; }
    bool reaches_in_memory(const Route& route) {
        bool found = false;
        for (std::uint64_t i = 0; i <= Neighbours::uses_before_offer; ++i) {
            found = a->origin(route, number()).in_memory;
            while (b->receive_forwarded([](const Datagram&) {})) {
            }
        }
        return found;
    }
    Sent send(std::byte value, std::size_t bytes = 100) {
        const Route around{loopback, loopback, 1};
        return send(value, bytes, a->origin(around, number()));
    }
    Sent send(std::byte value, std::size_t bytes, const Origin& origin) {
        std::vector<std::byte> packet(bytes, value);
        packet[5] = static_cast<std::byte>(number() >> 16);
        packet[6] = static_cast<std::byte>(number() >> 8);
        packet[7] = static_cast<std::byte>(number());
        const Route around{loopback, loopback, 1};
        const iovec piece{packet.data(), packet.size()};
        return a->send({.route = around,
                        .origin = origin,
                        .segment_bytes = 0,
                        .pieces = std::span(&piece, 1)});
    }
    bool receive() {
        return b->receive([this](const Datagram& one) {
            received.push_back(one.packet.back());
            in_memory = one.in_memory;
            EXPECT_EQ(one.source, loopback);
        });
    }
};

TEST_F(TwoProcesses, OfOneUserMeetInMemory) {
    ASSERT_TRUE(reaches_in_memory({loopback, loopback, 1}));
    EXPECT_EQ(send(std::byte{1}), Sent::yes);
    EXPECT_EQ(send(std::byte{2}), Sent::yes);
    while (receive()) {
    }
    EXPECT_EQ(received, (std::vector{std::byte{1}, std::byte{2}}));
    EXPECT_TRUE(in_memory);
}

// The descriptor of one that has died stays readable, and who waits for it would never sleep.
TEST_F(TwoProcesses, SleepAgainWhenTheOtherHasDiedAndAllOfItIsRead) {
    ASSERT_TRUE(reaches_in_memory({loopback, loopback, 1}));
    ASSERT_EQ(send(std::byte{1}), Sent::yes);
    { const Wire gone = std::move(*a); }
    const auto awakes = [&] {
        b->sleep();
        const bool is_awake = is_readable(b->socket());
        b->wake();
        return is_awake;
    };
    EXPECT_TRUE(awakes());
    EXPECT_TRUE(b->drop_ended());
    EXPECT_TRUE(awakes());
    EXPECT_TRUE(receive());
    EXPECT_FALSE(b->drop_ended());
    EXPECT_FALSE(awakes());
    EXPECT_EQ(received, std::vector{std::byte{1}});
}

// Somebody who polls without a pause never sleeps.
TEST_F(TwoProcesses, ForgetAWriterThatHasDiedAlthoughTheyNeverSleep) {
    const std::size_t before = rings_mapped();
    ASSERT_TRUE(reaches_in_memory({loopback, loopback, 1}));
    EXPECT_FALSE(is_readable(b->ended()));
    { const Wire gone = std::move(*a); }
    EXPECT_TRUE(is_readable(b->ended()));
    EXPECT_FALSE(b->drop_ended());
    EXPECT_FALSE(is_readable(b->ended()));
    EXPECT_EQ(rings_mapped(), before);
}

// The next process that has the slot would never see what is written there.
TEST_F(TwoProcesses, WriteNoLongerToOneThatHasDied) {
    const std::size_t before = rings_mapped();
    const Route around{loopback, loopback, 1};
    ASSERT_TRUE(reaches_in_memory(around));
    const std::uint32_t of_gone = number();
    EXPECT_FALSE(is_readable(a->ended()));
    { const Wire gone = std::move(*b); }
    EXPECT_TRUE(is_readable(a->ended()));
    EXPECT_FALSE(a->drop_ended());
    EXPECT_FALSE(a->origin(around, of_gone).in_memory);
    EXPECT_EQ(rings_mapped(), before);
}

TEST_F(TwoProcesses, OfferNoRingSoonToOneThatRefusesThem) {
    const std::size_t before = rings_mapped();
    const Route around{loopback, loopback, 1};
    b->keep_to_sockets();
    for (std::uint64_t i = 0; i < Neighbours::uses_before_offer; ++i) a->origin(around, number());
    EXPECT_GT(rings_mapped(), before);
    while (b->receive_forwarded([](const Datagram&) {})) {
    }
    EXPECT_TRUE(is_readable(a->ended()));
    EXPECT_FALSE(a->drop_ended());
    EXPECT_EQ(rings_mapped(), before);
    EXPECT_FALSE(reaches_in_memory(around));
    EXPECT_EQ(rings_mapped(), before);
}

// Another host may have a process with the same slot.
TEST_F(TwoProcesses, DoNotMeetWhereTheAddressIsThatOfAnotherHost) {
    const Address elsewhere = address_of(in_addr{htonl(0x7f000009)});
    EXPECT_FALSE(reaches_in_memory({loopback, elsewhere, 1}));
}

TEST_F(TwoProcesses, MeetLaterWhereTheOtherWasTooBusyToTakeWhatWasOffered) {
    const Route around{loopback, loopback, 1};
    for (std::uint64_t i = 0; i < 2 * Neighbours::uses_before_refused; ++i) {
        EXPECT_FALSE(a->origin(around, number()).in_memory);
    }
    bool found = false;
    for (std::uint64_t i = 0; i < 64 * Neighbours::uses_before_refused && !found; ++i) {
        while (b->receive_forwarded([](const Datagram&) {})) {
        }
        found = a->origin(around, number()).in_memory;
    }
    ASSERT_TRUE(found);
    EXPECT_EQ(send(std::byte{1}), Sent::yes);
    EXPECT_TRUE(receive());
    EXPECT_TRUE(in_memory);
}

TEST_F(TwoProcesses, KeepToSocketsWhereTold) {
    b->keep_to_sockets();
    EXPECT_FALSE(reaches_in_memory({loopback, loopback, 1}));
}

TEST_F(TwoProcesses, WaitForRoomAndGoOn) {
    ASSERT_TRUE(reaches_in_memory({loopback, loopback, 1}));
    std::size_t sent = 0;
    while (send(std::byte{7}, 60'000) == Sent::yes) ++sent;
    EXPECT_EQ(a->full_socket(), Wire::no_socket);
    EXPECT_TRUE(receive());
    EXPECT_EQ(send(std::byte{8}, 60'000), Sent::yes);
    while (receive()) {
    }
    EXPECT_EQ(received.size(), sent + 1);
}

TEST_F(TwoProcesses, LookAtSocketsTheMoreSeldomTheLongerNothingComesThere) {
    ASSERT_TRUE(reaches_in_memory({loopback, loopback, 1}));
    const auto taker = [this](const Datagram& one) { in_memory = one.in_memory; };
    const auto polls_until_it_comes = [&] {
        unsigned polls = 1;
        while (!b->receive_likely(taker) && polls < 1000) ++polls;
        return polls;
    };
    ASSERT_EQ(send(std::byte{1}), Sent::yes);
    EXPECT_EQ(polls_until_it_comes(), 1U);
    for (int poll = 0; poll < 600; ++poll) EXPECT_FALSE(b->receive_likely(taker));
    ASSERT_EQ(send(std::byte{2}, 100, through_socket), Sent::yes);
    EXPECT_LE(polls_until_it_comes(), 64U);
    EXPECT_FALSE(in_memory);

    ASSERT_EQ(send(std::byte{3}), Sent::yes);
    polls_until_it_comes();
    EXPECT_TRUE(in_memory);
    ASSERT_EQ(send(std::byte{4}, 100, through_socket), Sent::yes);
    EXPECT_LE(polls_until_it_comes(), 8U);
    EXPECT_FALSE(in_memory);
}

TEST_F(TwoProcesses, UseMemoryOnlyForReliableQueuePairsOfThatProcess) {
    ASSERT_TRUE(reaches_in_memory({loopback, loopback, 1}));
    EXPECT_TRUE(a->origin({loopback, loopback, 1}, number()).in_memory);
    const std::uint32_t other = first_number(a->slot());
    EXPECT_FALSE(a->origin({loopback, loopback, 1}, other).in_memory);
    EXPECT_FALSE(a->origin({loopback, loopback, 1}, 0).in_memory);
}

// Has the name of a slot of which nobody on this host has queue pairs, as another user may, and
// takes what is offered there. It ends when the other end of `talk` is closed.
[[noreturn]] void pose_as_another_user(std::uint32_t slot, int talk) {
    constexpr uid_t nobody = 65534;
    if (setresuid(nobody, nobody, nobody) != 0) _exit(1);
    const Descriptor mailbox = claim_name(mailbox_name(slot));
    const char ready = mailbox ? 1 : 0;
    pollfd letters{mailbox.number(), POLLIN, 0};
    if (write(talk, &ready, 1) != 1 || poll(&letters, 1, 10'000) != 1) _exit(1);
    RingOffer offer;
    Control control{};
    iovec place{&offer, sizeof offer};
    msghdr message{};
    message.msg_iov = &place;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    recvmsg(mailbox.number(), &message, 0);
    std::vector<Descriptor> got = descriptors_of(message);
    if (got.size() != 2) _exit(1);
    auto ring = SharedRing::map(std::move(got[0]), std::move(got[1]));
    if (!ring) _exit(1);
    ring->accept();
    char end = 0;
    _exit(write(talk, &ready, 1) == 1 && read(talk, &end, 1) == 0 ? 0 : 1);
}

TEST(ProcessOfAnotherUser, GetsNoPackets) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can start a process of another user";
    std::array<int, 2> ends{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    // The name is free again at once.
    const std::uint32_t slot = claim_slot(random_number() % slots_max)->number;
    const pid_t other = fork();
    if (other == 0) {
        close(ends[0]);
        pose_as_another_user(slot, ends[1]);
    }
    close(ends[1]);
    char ready = 0;
    ASSERT_TRUE(read(ends[0], &ready, 1) == 1 && ready == 1);
    Result<Wire> wire = Wire::open(std::span(&home, 1));
    ASSERT_TRUE(wire);
    bool in_memory = false;
    for (std::uint64_t i = 0; i < 2 * Neighbours::uses_before_offer; ++i) {
        if (i == Neighbours::uses_before_offer) {
            ASSERT_EQ(read(ends[0], &ready, 1), 1);
        }
        in_memory |= wire->origin({loopback, loopback, 1}, first_number(slot)).in_memory;
    }
    EXPECT_FALSE(in_memory);
    close(ends[0]);
    int status = 0;
    waitpid(other, &status, 0);
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace lanewise::verbs::port
