// SPDX-License-Identifier: BSD-3-Clause
//
// Two ends with their agreements and send logs, datagrams that get lost, doubled and late, and
// queue pairs of the hardware that fail at any moment. Time moves only when a test says so; a
// failure names the seed.

#include "paths/carried/agreement.hpp"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <map>
#include <random>
#include <vector>

#include "paths/carried/send_log.hpp"

namespace lanewise::paths::carried {
namespace {

constexpr Nanoseconds ms = 1'000'000;
constexpr std::uint32_t frame_bytes = 100;

// What the hardware carries: a message, told by the first byte that its request sends.
struct Carried {
    std::uint64_t number = 0;
    std::uint64_t request = 0;
    bool is_last = false;
};

// A queue pair of the hardware, which delivers in order, and may lose acknowledgements for ever.
struct Hardware {
    bool open = false;
    bool broken = false;
    std::deque<Carried> under_way;
};

struct End {
    explicit End(std::uint32_t seed) : agreement(AgreementRules{}, seed), log(frame_bytes) {}
    Agreement agreement;
    SendLog log;
    Hardware hardware;
    std::uint64_t received = 0;
    std::vector<std::uint64_t> delivered;  // requests of the peer, in order
    std::vector<std::uint64_t> ended;      // own requests, in order
    std::uint64_t added = 0;
    std::vector<std::uint64_t> numbered;  // of those: all but the reads
};

class World {
  public:
    explicit World(std::uint32_t seed) : random_(seed), ends_{End(seed), End(seed + 1)} {
        ends_[0].agreement.begin(Role::leader, 0, 3, now_);
        ends_[1].agreement.begin(Role::follower, 0, 3, now_);
    }

    void send(std::size_t from, std::uint32_t length_bytes, Operation operation) {
        Request request;
        request.id = ++ends_[from].added;
        request.operation = operation;
        request.length_bytes = length_bytes;
        if (operation != Operation::read) ends_[from].numbered.push_back(request.id);
        ends_[from].log.add(request);
    }

    void run(Nanoseconds duration, double loss) {
        loss_ = loss;
        for (const Nanoseconds until = now_ + duration; now_ < until; now_ += ms / 10) step();
    }

    // The queue pair of an end fails: what is under way in either direction may have arrived.
    void break_hardware(std::size_t at) {
        for (std::size_t from : {at, 1 - at}) deliver(from, random_() % 4, false);
        ends_[at].hardware.broken = true;
        ends_[at].agreement.on_trouble(now_);
    }

    // Datagrams of an end do not arrive over a device any more, or do again.
    void mute(std::size_t from, std::uint8_t device) { mute_[from] = device; }
    void unmute(std::size_t from) { mute_[from].reset(); }

    void set_ports(std::size_t at, std::uint8_t usable) {
        ends_[at].agreement.on_ports(usable, now_);
    }

    End& end(std::size_t at) { return ends_[at]; }
    bool settled() const {
        const Agreement& a = ends_[0].agreement;
        const Agreement& b = ends_[1].agreement;
        return a.stage() == Stage::open && b.stage() == Stage::open && a.epoch() == b.epoch() &&
               a.device() == b.device();
    }
    std::mt19937& random() { return random_; }

  private:
    struct Datagram {
        Nanoseconds at = 0;
        std::size_t to = 0;
        std::uint8_t device = 0;
        Statement said;
    };

    // Both ends of a connection take messages only in one and the same epoch.
    void deliver(std::size_t from, std::size_t count, bool acknowledged) {
        End& sender = ends_[from];
        End& receiver = ends_[1 - from];
        const bool connected = sender.hardware.open && receiver.hardware.open &&
                               !receiver.hardware.broken &&
                               sender.agreement.epoch() == receiver.agreement.epoch();
        while (connected && count-- > 0 && !sender.hardware.under_way.empty()) {
            const Carried carried = sender.hardware.under_way.front();
            sender.hardware.under_way.pop_front();
            if (carried.number > 0) {
                ASSERT_EQ(carried.number, receiver.received + 1);
                ++receiver.received;
                if (carried.is_last) receiver.delivered.push_back(carried.request);
            }
            if (acknowledged && !sender.hardware.broken) sender.log.on_done();
        }
    }

    void post(End& end) {
        while (end.agreement.stage() == Stage::open && end.hardware.open && !end.hardware.broken &&
               end.log.on_their_way() < 8) {
            const std::optional<Message> message = end.log.next();
            if (!message) return;
            end.hardware.under_way.push_back(
                {message->number, message->request->id, message->is_last});
            end.log.on_posted();
        }
    }

    void perform(End& end) {
        switch (end.agreement.task(now_)) {
            case Task::freeze:
                end.hardware = {};
                end.agreement.on_frozen(end.received, now_);
                return;
            case Task::open:
                end.hardware = {.open = true, .broken = false, .under_way = {}};
                end.agreement.on_opened(now_);
                return;
            case Task::start:
                ASSERT_TRUE(end.log.restart(end.agreement.peer_received()));
                end.agreement.on_started(now_);
                return;
            default: return;
        }
    }

    void step() {
        for (std::size_t at : {0U, 1U}) {
            End& end = ends_[at];
            perform(end);
            post(end);
            deliver(at, random_() % 3, true);
            while (const auto ended = end.log.take_ended()) end.ended.push_back(ended->id);
            if (end.agreement.must_speak(now_)) say(at);
        }
        for (std::size_t i = 0; i < datagrams_.size();) {
            if (datagrams_[i].at > now_) {
                ++i;
                continue;
            }
            const Datagram one = datagrams_[i];
            datagrams_.erase(datagrams_.begin() + static_cast<std::ptrdiff_t>(i));
            ends_[one.to].agreement.on_statement(one.said, one.device, now_);
        }
    }

    void say(std::size_t from) {
        for (const std::uint8_t device : {std::uint8_t{0}, std::uint8_t{1}}) {
            const auto copies = random_() % 8 == 0 ? 2 : 1;
            for (int copy = 0; copy < copies; ++copy) {
                if (std::bernoulli_distribution(loss_)(random_)) continue;
                if (mute_[from] == device) continue;
                const Nanoseconds late = static_cast<Nanoseconds>(random_() % 30) * ms / 10;
                datagrams_.push_back(
                    {now_ + late, 1 - from, device, ends_[from].agreement.statement()});
            }
        }
    }

    std::mt19937 random_;
    std::array<End, 2> ends_;
    Nanoseconds now_ = ms;
    double loss_ = 0;
    std::array<std::optional<std::uint8_t>, 2> mute_;
    std::vector<Datagram> datagrams_;
};

std::vector<std::uint64_t> first_numbers(std::uint64_t count) {
    std::vector<std::uint64_t> made;
    for (std::uint64_t i = 1; i <= count; ++i) made.push_back(i);
    return made;
}

TEST(AgreementTest, BothEndsOpenTheHomeDeviceFirst) {
    World world(1);
    world.run(20 * ms, 0);
    EXPECT_TRUE(world.settled());
    EXPECT_EQ(world.end(0).agreement.device(), 0);
    EXPECT_EQ(world.end(0).agreement.epoch(), 1U);
}

TEST(AgreementTest, APortThatGoesDownAtEitherEndLeadsToTheOtherDeviceAndBack) {
    for (const std::size_t at : {0U, 1U}) {
        World world(2);
        world.run(20 * ms, 0);
        world.set_ports(at, 2);
        world.run(20 * ms, 0);
        EXPECT_TRUE(world.settled());
        EXPECT_EQ(world.end(0).agreement.device(), 1) << at;
        world.set_ports(at, 3);
        world.run(900 * ms, 0);
        EXPECT_EQ(world.end(0).agreement.device(), 1) << at;
        world.run(400 * ms, 0);
        EXPECT_TRUE(world.settled());
        EXPECT_EQ(world.end(0).agreement.device(), 0) << at;
    }
}

TEST(AgreementTest, BothEndsKeepToTheLessOfWhatTheyOfferAsTheEpochBegins) {
    World world(1);
    world.end(0).agreement.offer({.mtu = 5, .reads = 4});
    world.end(1).agreement.offer({.mtu = 3, .reads = 16});
    world.run(20 * ms, 0);
    world.end(1).agreement.offer({.mtu = 2, .reads = 1});
    for (const std::size_t at : {0U, 1U}) {
        EXPECT_EQ(world.end(at).agreement.terms(), (Terms{.mtu = 3, .reads = 4}));
    }
    world.set_ports(0, 2);
    world.run(20 * ms, 0);
    for (const std::size_t at : {0U, 1U}) {
        EXPECT_EQ(world.end(at).agreement.terms(), (Terms{.mtu = 2, .reads = 1}));
    }
}

TEST(AgreementTest, AnEndThatDoesNotSayWhatItOffersTakesWhatItsPeerDoes) {
    World world(1);
    world.end(0).agreement.offer({.mtu = 5, .reads = 4});
    world.run(20 * ms, 0);
    EXPECT_EQ(world.end(0).agreement.terms(), (Terms{.mtu = 5, .reads = 4}));
}

TEST(AgreementTest, ItDoesNotReturnToADeviceThatCarriesDatagramsInOneDirectionOnly) {
    for (const std::size_t from : {0U, 1U}) {
        World world(7);
        world.run(20 * ms, 0);
        world.set_ports(0, 2);
        world.run(20 * ms, 0);
        world.mute(from, 0);
        world.set_ports(0, 3);
        world.run(3'000 * ms, 0);
        EXPECT_EQ(world.end(0).agreement.epoch(), 2U) << from;
        world.unmute(from);
        world.run(1'300 * ms, 0);
        EXPECT_EQ(world.end(0).agreement.device(), 0) << from;
    }
}

// Answers the tasks of a queue pair that is connected to itself, and lets it hear itself.
void run_alone(Agreement& alone, Nanoseconds from, Nanoseconds until, std::uint64_t received) {
    for (Nanoseconds now = from; now < until; now += ms) {
        if (alone.must_speak(now)) {
            const Statement said = alone.statement();
            for (std::uint8_t device = 0; device < device_count; ++device) {
                if ((said.usable >> device & 1U) != 0) alone.on_statement(said, device, now);
            }
        }
        for (Task task = alone.task(now); task != Task::none; task = alone.task(now)) {
            ASSERT_NE(task, Task::fail);
            if (task == Task::freeze) alone.on_frozen(received, now);
            if (task == Task::open) alone.on_opened(now);
            if (task == Task::start) {
                EXPECT_EQ(alone.peer_psn(), alone.psn());
                EXPECT_EQ(alone.peer_received(), alone.epoch() == 1 ? 0 : received);
                alone.on_started(now);
            }
        }
    }
}

TEST(AgreementTest, AQueuePairThatIsItsOwnPeerFollowsItsPortsAndReturns) {
    Agreement alone(AgreementRules{}, 5);
    alone.on_work(1, 0);
    alone.begin(Role::alone, 0, 3, 0);
    run_alone(alone, 0, 20 * ms, 0);
    EXPECT_EQ(alone.stage(), Stage::open);
    EXPECT_EQ(alone.epoch(), 1U);
    alone.on_ports(2, 20 * ms);
    run_alone(alone, 20 * ms, 40 * ms, 7);
    EXPECT_EQ(alone.stage(), Stage::open);
    EXPECT_EQ(alone.device(), 1);
    alone.on_ports(3, 40 * ms);
    run_alone(alone, 40 * ms, 900 * ms, 9);
    EXPECT_EQ(alone.device(), 1);
    run_alone(alone, 900 * ms, 1'400 * ms, 9);
    EXPECT_EQ(alone.stage(), Stage::open);
    EXPECT_EQ(alone.device(), 0);
    EXPECT_EQ(alone.epoch(), 3U);
}

TEST(AgreementTest, WithoutAPeerItGivesUpAfterTheRetryWindowOnlyIfTheProgramWaits) {
    Agreement alone(AgreementRules{}, 3);
    alone.begin(Role::leader, 0, 3, ms);
    EXPECT_EQ(alone.task(60'000 * ms), Task::none);
    alone.on_work(1, 60'000 * ms);
    EXPECT_EQ(alone.task(69'999 * ms), Task::none);
    EXPECT_EQ(alone.task(70'001 * ms), Task::fail);
}

TEST(AgreementTest, WithHardwareThatDoesNotReturnItsWorkItGivesUpAfterTheRetryWindow) {
    World world(6);
    world.run(20 * ms, 0);
    Agreement& one = world.end(0).agreement;
    one.on_work(1, 20 * ms);
    one.on_trouble(30 * ms);
    EXPECT_EQ(one.task(10'029 * ms), Task::freeze);
    EXPECT_EQ(one.task(10'031 * ms), Task::fail);
}

TEST(AgreementTest, AStatementOfAnOlderEpochIsIgnored) {
    World world(4);
    world.run(20 * ms, 0);
    const Statement old = world.end(1).agreement.statement();
    world.set_ports(1, 2);
    world.run(20 * ms, 0);
    Statement trouble = old;
    trouble.stage = Stage::trouble;
    world.end(0).agreement.on_statement(trouble, 0, 50 * ms);
    EXPECT_EQ(world.end(0).agreement.epoch(), 2U);
    EXPECT_EQ(world.end(0).agreement.stage(), Stage::open);
}

TEST(AgreementTest, WhateverFailsEachMessageArrivesOnceAndInOrder) {
    for (std::uint32_t seed = 1; seed <= 50; ++seed) {
        SCOPED_TRACE(seed);
        World world(seed);
        for (int round = 0; round < 40; ++round) {
            for (int i = 0; i < 5; ++i) {
                const std::uint32_t length = world.random()() % 500;
                constexpr std::array operations{Operation::send, Operation::write,
                                                Operation::announced_write, Operation::read};
                const std::size_t from = world.random()() % 2;
                world.send(from, length, operations[world.random()() % 4]);
            }
            world.run(static_cast<Nanoseconds>(world.random()() % 8) * ms, 0.3);
            const std::size_t at = world.random()() % 2;
            if (world.random()() % 2 == 0) world.break_hardware(at);
            if (world.random()() % 4 == 0) {
                world.set_ports(at, static_cast<std::uint8_t>(world.random()() % 4));
            }
        }
        world.set_ports(0, 3);
        world.set_ports(1, 3);
        world.run(3000 * ms, 0.3);
        ASSERT_TRUE(world.settled());
        for (const std::size_t at : {0U, 1U}) {
            EXPECT_EQ(world.end(at).ended, first_numbers(world.end(at).added));
            EXPECT_EQ(world.end(1 - at).delivered, world.end(at).numbered);
            EXPECT_TRUE(world.end(at).log.empty());
        }
    }
}

}  // namespace
}  // namespace lanewise::paths::carried
