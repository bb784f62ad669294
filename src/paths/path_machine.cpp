// SPDX-License-Identifier: BSD-3-Clause

#include "paths/path_machine.hpp"

#include <algorithm>

namespace lanewise::paths {
namespace {

// No event reports that a path is armed. The machine asks, less and less often.
constexpr Nanoseconds query_pause_min_ns = 500'000;
constexpr Nanoseconds query_pause_max_ns = 1'000'000'000;
constexpr Nanoseconds failback_delay_max_ns = 64'000'000'000;
// What came home and was driven out again so soon was not home yet.
constexpr Nanoseconds short_stay_ns = 10'000'000'000;

}  // namespace

bool Machine::up(std::uint8_t port) const {
    return port >= 1 && port <= ports_max && ports_[port - 1U];
}

void Machine::enter(PathState state, Nanoseconds now) {
    path_ = state;
    since_ = now;
    load_at_ = query_at_ = return_at_ = never;
}

bool Machine::is_connected() const {
    return communication_ == Communication::rtr || communication_ == Communication::rts;
}

void Machine::on_communication(Communication state, std::uint8_t port, std::uint8_t home,
                               Nanoseconds now) {
    const bool ran = communication_ == Communication::rts || communication_ == Communication::sqd ||
                     communication_ == Communication::sqe;
    const bool begins = state == Communication::rts && !ran;
    communication_ = state;
    if (state == Communication::reset || state == Communication::init) {
        enter(PathState::migrated, now);
        alternate_ = port_ = 0;
        returns_ = commanded_ = false;
    }
    if (!is_connected()) return;
    if (port_ == 0) {
        port_ = port;
        home_ = home;
        returns_ = home != port;
        failback_delay_ = rules_.failback_delay_ns;
        enter(PathState::migrated, now);
        plan_load(now + rules_.settle_ns);
    }
    if (begins && path_ == PathState::migrated) plan_load(now);
}

void Machine::on_loaded(std::uint8_t port, Nanoseconds now) {
    ++counters_.loads;
    alternate_ = port;
    enter(PathState::rearm, now);
    plan_query(now);
}

void Machine::plan_query(Nanoseconds now) {
    query_pause_ = query_pause_min_ns;
    query_at_ = now + query_pause_;
}

void Machine::on_load_refused(Nanoseconds now) {
    ++counters_.loads_refused;
    alternate_ = 0;
    since_ = now;
    load_at_ = never;  // until a port comes up, or addresses change
}

void Machine::on_observed(PathState state, Nanoseconds now) {
    if (path_ != PathState::rearm) return;
    if (state == PathState::armed) {
        ++counters_.armed;
        enter(PathState::armed, now);
        plan_return(now);
        return;
    }
    // MIGRATED: it has left already, and the event is on its way.
    query_pause_ = std::min(2 * query_pause_, query_pause_max_ns);
    query_at_ = now + query_pause_;
}

void Machine::plan_load(Nanoseconds at) {
    load_at_ = rules_.initiative == Initiative::automatic ? at : never;
}

void Machine::plan_return(Nanoseconds now) {
    const bool automatic = rules_.initiative == Initiative::automatic;
    const bool wanted = automatic && rules_.policy != Policy::stay && returns_ &&
                        path_ == PathState::armed && alternate_ == home_ && port_ != home_ &&
                        up(home_);
    return_at_ = wanted ? now + failback_delay_ : never;
}

void Machine::on_commanded(Nanoseconds) {
    commanded_ = true;
    return_at_ = never;
}

void Machine::on_command_refused(Nanoseconds now) {
    commanded_ = false;
    plan_return(now);
}

void Machine::on_migrated(Nanoseconds now) {
    ++counters_.migrations;
    if (commanded_) ++counters_.commanded;
    const bool leaves_home = port_ == home_;
    std::swap(port_, alternate_);
    if (rules_.policy == Policy::stay) home_ = port_;
    if (port_ == home_ && !leaves_home) {
        ++counters_.returns;
        returns_ = false;
        home_at_ = now;
    } else if (leaves_home) {
        returns_ = commanded_ || !up(home_);
        const bool short_stay = home_at_ != never && now - home_at_ < short_stay_ns;
        failback_delay_ = short_stay ? std::min(2 * failback_delay_, failback_delay_max_ns)
                                     : rules_.failback_delay_ns;
    }
    commanded_ = false;
    enter(PathState::migrated, now);
    plan_load(now + rules_.settle_ns);
}

void Machine::on_migration_error(Nanoseconds now) {
    ++counters_.errors;
    commanded_ = false;
    if (path_ == PathState::rearm) query_at_ = now;
    plan_return(now);
}

void Machine::on_port(std::uint8_t port, bool up_now, Nanoseconds now) {
    if (port < 1 || port > ports_max) return;
    ports_[port - 1U] = up_now;
    if (!up_now && port == home_ && port_ != home_) returns_ = true;
    if (up_now) on_addresses(now);
    if (!is_connected()) return;
    if (up_now && path_ == PathState::rearm && port == alternate_) plan_query(now);
    if (path_ == PathState::armed) plan_return(now);
}

void Machine::on_addresses(Nanoseconds now) {
    if (!is_connected() || path_ != PathState::migrated || load_at_ != never) return;
    plan_load(std::max(now, since_ + rules_.settle_ns));
}

Action Machine::next(Nanoseconds now) const {
    if (!is_connected()) return Action::none;
    if (path_ == PathState::migrated && load_at_ <= now) return Action::load;
    if (path_ == PathState::rearm && query_at_ <= now) return Action::query;
    if (path_ == PathState::armed && return_at_ <= now && !commanded_) return Action::migrate;
    return Action::none;
}

Nanoseconds Machine::deadline() const {
    if (!is_connected()) return never;
    return std::min({load_at_, query_at_, return_at_});
}

}  // namespace lanewise::paths
