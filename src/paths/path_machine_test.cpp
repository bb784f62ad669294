// SPDX-License-Identifier: BSD-3-Clause

#include "paths/path_machine.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace lanewise::paths {
namespace {

constexpr Nanoseconds ms = 1'000'000;
constexpr MigrationRules rules{
    .policy = Policy::back, .failback_delay_ns = 100 * ms, .settle_ns = 20 * ms};

PortsUp both_up() {
    PortsUp ports{};
    ports[0] = ports[1] = true;
    return ports;
}

// Ready to send on port 1, its alternate on port 2 armed.
Machine armed(const MigrationRules& given = rules) {
    Machine machine(given, both_up());
    machine.on_communication(Communication::rtr, 1, 1, 0);
    machine.on_communication(Communication::rts, 1, 1, 0);
    machine.on_loaded(2, 0);
    machine.on_observed(PathState::armed, ms);
    return machine;
}

TEST(Machine, LoadsAsSoonAsTheQueuePairCanSend) {
    Machine machine(rules, both_up());
    machine.on_communication(Communication::rtr, 1, 1, 0);
    EXPECT_EQ(machine.next(0), Action::none);
    machine.on_communication(Communication::rts, 1, 1, 5);
    EXPECT_EQ(machine.next(5), Action::load);
}

TEST(Machine, LoadsForOneThatOnlyReceivesOnceItIsPlainThatItStaysSo) {
    Machine machine(rules, both_up());
    machine.on_communication(Communication::init, 0, 0, 0);
    machine.on_communication(Communication::rtr, 1, 1, 0);
    EXPECT_EQ(machine.next(19 * ms), Action::none);
    EXPECT_EQ(machine.next(20 * ms), Action::load);
    machine.on_loaded(2, 20 * ms);
    machine.on_observed(PathState::armed, 21 * ms);
    machine.on_communication(Communication::rts, 1, 1, 30 * ms);
    EXPECT_EQ(machine.path(), PathState::armed);
    EXPECT_EQ(machine.deadline(), never);
}

TEST(Machine, LoadsAgainWhenItCanSendWhatWasRefusedBefore) {
    Machine machine(rules, both_up());
    machine.on_communication(Communication::rtr, 1, 1, 0);
    machine.on_load_refused(20 * ms);
    EXPECT_EQ(machine.deadline(), never);
    machine.on_communication(Communication::rts, 1, 1, 30 * ms);
    EXPECT_EQ(machine.next(30 * ms), Action::load);
}

TEST(Machine, LoadsAgainWhenAddressesChangeWhatWasRefusedBefore) {
    Machine machine(rules, both_up());
    machine.on_communication(Communication::rts, 1, 1, 0);
    machine.on_load_refused(0);

    machine.on_addresses(5 * ms);

    EXPECT_EQ(machine.next(5 * ms), Action::none);
    EXPECT_EQ(machine.next(20 * ms), Action::load);
}

TEST(Machine, LeavesAnAlternateThatIsLoadedWhenAddressesChange) {
    Machine machine = armed();

    machine.on_addresses(30 * ms);

    EXPECT_EQ(machine.deadline(), never);
    EXPECT_EQ(machine.path(), PathState::armed);
}

TEST(Machine, LooksUntilItIsArmedLessAndLessOften) {
    Machine machine(rules, both_up());
    machine.on_communication(Communication::rtr, 1, 1, 0);
    machine.on_communication(Communication::rts, 1, 1, 0);
    machine.on_loaded(2, 0);
    Nanoseconds last = 0;
    Nanoseconds pause = 0;
    for (int looks = 0; looks < 5; ++looks) {
        const Nanoseconds at = machine.deadline();
        EXPECT_GT(at - last, pause);
        pause = at - last;
        last = at;
        EXPECT_EQ(machine.next(at), Action::query);
        machine.on_observed(PathState::rearm, at);
    }
    machine.on_observed(PathState::armed, last);
    EXPECT_EQ(machine.deadline(), never);
}

TEST(Machine, LooksAtOnceWhenTheAlternateHasACarrierAgain) {
    Machine machine(rules, both_up());
    machine.on_communication(Communication::rtr, 1, 1, 0);
    machine.on_communication(Communication::rts, 1, 1, 0);
    machine.on_loaded(2, 0);
    machine.on_port(2, false, ms);
    for (Nanoseconds at = 0; at < 3000 * ms; at = machine.deadline()) {
        machine.on_observed(PathState::rearm, at);
    }
    machine.on_port(2, true, 3000 * ms);
    EXPECT_LE(machine.deadline(), 3001 * ms);
}

TEST(Machine, LoadsTheNextAlternateOnlyAfterThePeerHadTimeToFollow) {
    Machine machine = armed();
    machine.on_migrated(50 * ms);
    EXPECT_EQ(machine.port(), 2);
    EXPECT_EQ(machine.next(60 * ms), Action::none);
    EXPECT_EQ(machine.next(70 * ms), Action::load);
}

TEST(Machine, ComesHomeWhenThePortHasBeenUpForTheQuietTime) {
    Machine machine = armed();
    machine.on_port(1, false, 50 * ms);
    machine.on_migrated(50 * ms);
    machine.on_load_refused(70 * ms);
    EXPECT_EQ(machine.deadline(), never);
    machine.on_port(1, true, 200 * ms);
    EXPECT_EQ(machine.next(200 * ms), Action::load);
    machine.on_loaded(1, 200 * ms);
    machine.on_observed(PathState::armed, 201 * ms);
    EXPECT_EQ(machine.next(300 * ms), Action::none);
    EXPECT_EQ(machine.next(301 * ms), Action::migrate);
    machine.on_commanded(301 * ms);
    machine.on_migrated(302 * ms);
    EXPECT_EQ(machine.port(), 1);
    EXPECT_EQ(machine.counters().returns, 1u);
}

TEST(Machine, LeavesComingHomeToTheSideThatSawThePortGo) {
    Machine machine = armed();
    machine.on_migrated(50 * ms);  // followed the peer: both ports are up here
    machine.on_loaded(1, 70 * ms);
    machine.on_observed(PathState::armed, 71 * ms);
    EXPECT_EQ(machine.deadline(), never);
}

TEST(Machine, StaysWhereThePolicySaysSo) {
    MigrationRules stay = rules;
    stay.policy = Policy::stay;
    Machine machine = armed(stay);
    machine.on_port(1, false, 50 * ms);
    machine.on_migrated(50 * ms);
    machine.on_port(1, true, 60 * ms);
    machine.on_loaded(1, 70 * ms);
    machine.on_observed(PathState::armed, 71 * ms);
    EXPECT_EQ(machine.deadline(), never);
    EXPECT_EQ(machine.home(), 2);
}

TEST(Machine, MovesToItsShareOfThePortsWhereThePolicyBalances) {
    MigrationRules balance = rules;
    balance.policy = Policy::balance;
    Machine machine(balance, both_up());
    machine.on_communication(Communication::rtr, 1, 2, 0);
    machine.on_communication(Communication::rts, 1, 2, 0);
    machine.on_loaded(2, 0);
    machine.on_observed(PathState::armed, ms);
    EXPECT_EQ(machine.next(101 * ms), Action::migrate);
}

TEST(Machine, WaitsLongerAfterAReturnThatDidNotLast) {
    Machine machine = armed();
    Nanoseconds now = 50 * ms;
    std::array<Nanoseconds, 3> waits{};
    for (Nanoseconds& wait : waits) {
        machine.on_port(1, false, now);
        machine.on_migrated(now);
        machine.on_port(1, true, now);
        machine.on_loaded(1, now += 20 * ms);
        machine.on_observed(PathState::armed, now);
        wait = machine.deadline() - now;
        now = machine.deadline();
        machine.on_commanded(now);
        machine.on_migrated(now);
        machine.on_loaded(2, now += 20 * ms);
        machine.on_observed(PathState::armed, now);
    }
    EXPECT_EQ(waits[1], 2 * waits[0]);
    EXPECT_EQ(waits[2], 4 * waits[0]);
}

TEST(Machine, WaitsForNothingWhereItsCallerDecides) {
    MigrationRules manual = rules;
    manual.initiative = Initiative::manual;
    Machine machine = armed(manual);
    machine.on_port(1, false, 50 * ms);
    machine.on_migrated(50 * ms);
    EXPECT_EQ(machine.deadline(), never);
    machine.on_port(1, true, 60 * ms);
    EXPECT_EQ(machine.deadline(), never);
    machine.on_loaded(1, 70 * ms);
    machine.on_observed(PathState::armed, 71 * ms);
    EXPECT_EQ(machine.deadline(), never);
}

TEST(Machine, SurvivesAMigrationError) {
    Machine machine = armed();
    machine.on_migration_error(10 * ms);
    EXPECT_EQ(machine.path(), PathState::armed);
    EXPECT_EQ(machine.counters().errors, 1u);
}

// A device that does what the machine asks, with a peer that follows or is late, and ports that
// fail.
class Random : public ::testing::TestWithParam<unsigned> {};

TEST_P(Random, EventsLeadHomeArmedAndQuietOncePortsStayUp) {
    std::mt19937 random(GetParam());
    Machine machine(rules, both_up());
    PortsUp ports = both_up();
    Nanoseconds now = 0;
    const auto perform = [&] {
        switch (machine.next(now)) {
            case Action::load: {
                const auto other = static_cast<std::uint8_t>(3 - machine.port());
                if (ports[other - 1U]) {
                    machine.on_loaded(other, now);
                } else {
                    machine.on_load_refused(now);
                }
                return;
            }
            case Action::query:
                machine.on_observed(random() % 2 ? PathState::armed : PathState::rearm, now);
                return;
            case Action::migrate:
                machine.on_commanded(now);
                if (random() % 4) {
                    machine.on_migrated(now);
                } else {
                    machine.on_command_refused(now);
                }
                return;
            case Action::none: return;
        }
    };
    const auto switch_port = [&](std::uint8_t port, bool up) {
        ports[port - 1U] = up;
        machine.on_port(port, up, now);
        const bool leaves = !up && machine.port() == port && machine.path() == PathState::armed;
        if (leaves && ports[machine.alternate_port() - 1U]) machine.on_migrated(now);
    };
    machine.on_communication(Communication::rtr, 1, 1, now);
    machine.on_communication(Communication::rts, 1, 1, now);
    for (int step = 0; step < 2000; ++step) {
        now += static_cast<Nanoseconds>(random() % (30 * ms));
        if (random() % 5 == 0) {
            switch_port(static_cast<std::uint8_t>(1 + random() % 2), random() % 2 == 0);
        }
        if (random() % 50 == 0) machine.on_migration_error(now);
        perform();
        ASSERT_GT(machine.deadline(), now);  // or whoever waits for it would not sleep
        ASSERT_NE(machine.port(), machine.alternate_port());
        ASSERT_GE(machine.counters().migrations, machine.counters().commanded);
    }
    switch_port(1, true);
    switch_port(2, true);
    for (int step = 0; step < 1000 && machine.deadline() != never; ++step) {
        now = std::max(now, machine.deadline());
        perform();
    }
    EXPECT_EQ(machine.port(), 1);
    EXPECT_EQ(machine.path(), PathState::armed);
    EXPECT_EQ(machine.deadline(), never);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Random, ::testing::Range(1u, 65u));

}  // namespace
}  // namespace lanewise::paths
