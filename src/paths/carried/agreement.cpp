// SPDX-License-Identifier: BSD-3-Clause

#include "paths/carried/agreement.hpp"

#include <algorithm>
#include <utility>

namespace lanewise::paths::carried {
namespace {

constexpr Nanoseconds millisecond = 1'000'000;
constexpr Nanoseconds first_interval_ns = 2 * millisecond;
constexpr Nanoseconds interval_max_ns = 100 * millisecond;
// An epoch that fails sooner counts as one of a series, and the next ones come more slowly.
constexpr Nanoseconds soon_ns = 100 * millisecond;
constexpr Nanoseconds pause_max_ns = 200 * millisecond;
// The leader tries the other device if the follower does not open its queue pair for so long.
constexpr Nanoseconds answer_timeout_ns = 500 * millisecond;
constexpr Nanoseconds probe_ns = 50 * millisecond;
constexpr Nanoseconds relapse_ns = 10'000 * millisecond;
constexpr Nanoseconds failback_max_ns = 64'000 * millisecond;

// Of an end that does not say nothing is known.
constexpr std::uint8_t lesser(std::uint8_t mine, std::uint8_t theirs) {
    return theirs == 0 ? mine : std::min(mine, theirs);
}

}  // namespace

std::uint32_t Agreement::draw() {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 17;
    random_ ^= random_ << 5;
    return random_ & psn_mask;
}

// Of the epoch that begins, on its device.
std::uint32_t Agreement::first_psn() {
    std::uint32_t& next = next_psn_[device_];
    next = (next + psn_gap) & psn_mask;
    return next;
}

bool Agreement::is_usable(std::uint8_t device) const {
    return ((usable_ & peer_usable_) >> device & 1U) != 0;
}

bool Agreement::is_away() const {
    return leads_ && rules_.returns && stage_ == Stage::open && device_ != home_;
}

void Agreement::speak_soon(Nanoseconds now) {
    repeat_at_ = now;
    interval_ns_ = first_interval_ns;
}

void Agreement::begin(Role role, std::uint8_t home, std::uint8_t usable, Nanoseconds now) {
    begun_ = true;
    leads_ = role != Role::follower;
    is_alone_ = role == Role::alone;
    home_ = home;
    usable_ = usable;
    device_ = home;
    failback_ns_ = rules_.failback_delay_ns;
    unsettled_since_ = now;
    speak_soon(now);
}

// The leader begins the next epoch.
void Agreement::propose(std::uint8_t device, Nanoseconds now) {
    planned_device_.reset();
    propose_at_ = never;
    if (is_settled()) unsettled_since_ = now;
    ++epoch_;
    device_ = device;
    stage_ = Stage::proposed;
    agreed_ = false;
    may_open_ = may_start_ = false;
    psn_ = first_psn();
    own_terms_ = offered_;
    is_freezing_ = is_live_;
    proposed_at_ = now;
    home_since_ = never;
    if (is_alone_ && !is_freezing_) answer_itself();
    speak_soon(now);
}

Terms Agreement::terms() const {
    return {lesser(own_terms_.mtu, peer_terms_.mtu), lesser(own_terms_.reads, peer_terms_.reads)};
}

void Agreement::answer_itself() {
    peer_psn_ = psn_;
    peer_terms_ = own_terms_;
    peer_received_ = received_;
    may_open_ = true;
}

void Agreement::plan_proposal(std::uint8_t device, Nanoseconds now) {
    if (now - proposed_at_ > soon_ns) failed_epochs_ = 0;
    const Nanoseconds pause =
        failed_epochs_ == 0
            ? 0
            : std::min<Nanoseconds>(first_interval_ns << failed_epochs_, pause_max_ns);
    failed_epochs_ = std::min(failed_epochs_ + 1, 10U);
    planned_device_ = device;
    propose_at_ = now + pause;
    advance(now);
}

// What time alone brings about.
void Agreement::advance(Nanoseconds now) {
    if (planned_device_ && now >= propose_at_) propose(*planned_device_, now);
    const bool waits_for_peer = leads_ && stage_ == Stage::open && !agreed_;
    if (waits_for_peer && !planned_device_ && now - proposed_at_ > answer_timeout_ns)
        on_trouble(now);
}

void Agreement::on_trouble(Nanoseconds now) {
    if (!begun_ || epoch_ == 0) return;
    if (is_settled()) unsettled_since_ = now;
    if (!leads_) {
        if (stage_ == Stage::trouble) return;
        if (stage_ == Stage::open) unsettled_since_ = now;
        stage_ = Stage::trouble;
        may_open_ = may_start_ = false;
        is_freezing_ = is_live_;
        speak_soon(now);
        return;
    }
    if (planned_device_) return;
    const bool relapsed =
        device_ == home_ && returned_at_ != never && now - returned_at_ < relapse_ns;
    failback_ns_ =
        relapsed ? std::min(2 * failback_ns_, failback_max_ns) : rules_.failback_delay_ns;
    returned_at_ = never;
    const bool stays = !is_usable(other(device_)) && is_usable(device_);
    is_freezing_ = is_live_;
    plan_proposal(stays ? device_ : other(device_), now);
}

void Agreement::on_ports(std::uint8_t usable, Nanoseconds now) {
    const bool went_down = (usable_ >> device_ & 1U) != 0 && (usable >> device_ & 1U) == 0;
    const bool changed = usable != usable_;
    usable_ = usable;
    if (!begun_ || !changed) return;
    if (is_settled() && !went_down) {
        repeat_at_ = std::min(repeat_at_, now + settle_ns);
        return;
    }
    speak_soon(now);
    if (went_down && epoch_ > 0) on_trouble(now);
}

void Agreement::lead(const Statement& heard, Nanoseconds now) {
    if (epoch_ == 0) {
        const bool home_first = is_usable(home_) || !is_usable(other(home_));
        propose(home_first ? home_ : other(home_), now);
        return;
    }
    if (heard.epoch != epoch_ || planned_device_ || is_alone_) return;
    if (heard.stage == Stage::trouble) {
        on_trouble(now);
        return;
    }
    const bool answers = heard.stage == Stage::ready || heard.stage == Stage::open;
    if (stage_ == Stage::proposed && answers && !is_freezing_) {
        peer_psn_ = heard.psn;
        peer_terms_ = heard.terms;
        peer_received_ = heard.received;
        may_open_ = true;
    }
    if (stage_ == Stage::open && heard.stage == Stage::open && !agreed_) {
        agreed_ = true;
        repeat_at_ = is_away() ? now + probe_ns : never;
        if (device_ == home_ && epoch_ > 1) returned_at_ = now;
    }
}

void Agreement::follow(const Statement& heard, Nanoseconds now) {
    if (heard.epoch < epoch_ || heard.epoch == 0) return;
    if (heard.epoch == epoch_) {
        if (stage_ == Stage::ready && heard.stage == Stage::open) may_start_ = true;
        // The leader asks until it is answered, and when it looks whether a device works again.
        repeat_at_ = now;
        return;
    }
    if (heard.stage != Stage::proposed && heard.stage != Stage::open) return;
    if (stage_ == Stage::open) unsettled_since_ = now;
    epoch_ = heard.epoch;
    device_ = heard.device & 1U;
    stage_ = Stage::ready;
    psn_ = first_psn();
    own_terms_ = offered_;
    peer_psn_ = heard.psn;
    peer_terms_ = heard.terms;
    peer_received_ = heard.received;
    may_start_ = false;
    is_freezing_ = is_live_;
    may_open_ = !is_live_;
    repeat_at_ = never;
    if ((usable_ >> device_ & 1U) == 0) on_trouble(now);
}

// How long the home device has been carrying datagrams in both directions: the peer answers on it
// what it has heard on it.
void Agreement::look_home(const Statement& heard, std::uint8_t heard_on, Nanoseconds now) {
    const bool peer_hears = !(heard.heard & tells_heard) || (heard.heard >> home_ & 1U) != 0;
    if (heard_on != home_ || !peer_hears || !is_usable(home_)) return;
    if (home_since_ == never || now - home_heard_ > std::max(4 * probe_ns, failback_ns_ / 2))
        home_since_ = now;
    home_heard_ = now;
    if (now - home_since_ >= failback_ns_) propose(home_, now);
}

void Agreement::on_statement(const Statement& heard, std::uint8_t device, Nanoseconds now) {
    peer_usable_ = heard.usable;
    heard_at_[device & 1U] = now;
    if (!begun_) return;
    if (leads_) {
        lead(heard, now);
        if (is_away() && agreed_) look_home(heard, device, now);
    } else {
        follow(heard, now);
    }
}

void Agreement::on_frozen(std::uint64_t received, Nanoseconds now) {
    if (!is_freezing_) return;
    is_freezing_ = is_live_ = false;
    received_ = received;
    if (stage_ == Stage::ready) may_open_ = true;
    if (is_alone_ && stage_ == Stage::proposed) answer_itself();
    speak_soon(now);
}

void Agreement::on_opened(Nanoseconds now) {
    may_open_ = false;
    is_live_ = true;
    if (leads_) may_start_ = true;
    speak_soon(now);
}

void Agreement::on_started(Nanoseconds now) {
    may_start_ = false;
    stage_ = Stage::open;
    if (!leads_ || is_alone_) agreed_ = true;
    if (is_alone_ && device_ == home_ && epoch_ > 1) returned_at_ = now;
    speak_soon(now);
}

void Agreement::on_work(std::size_t requests, Nanoseconds now) {
    if (requests == 0) {
        waits_since_ = never;
    } else if (waits_since_ == never) {
        waits_since_ = now;
    }
}

Task Agreement::task(Nanoseconds now) const {
    if (!begun_) return Task::none;
    const bool gives_up = !is_settled() && waits_since_ != never &&
                          now - std::max(waits_since_, unsettled_since_) > rules_.retry_window_ns;
    if (gives_up) return Task::fail;
    if (is_freezing_) return Task::freeze;
    if (may_open_) return Task::open;
    return may_start_ ? Task::start : Task::none;
}

// How many messages have been received is not known before the old queue pair is out of service,
// and an end is ready when the new one is in service.
bool Agreement::is_mute() const {
    if (!begun_ || planned_device_) return true;
    return stage_ != Stage::trouble && (is_freezing_ || (stage_ == Stage::ready && !is_live_));
}

bool Agreement::must_speak(Nanoseconds now) {
    advance(now);
    if (is_mute() || now < repeat_at_) return false;
    told_ = 0;
    for (std::uint8_t device = 0; device < device_count; ++device) {
        const auto at = heard_at_[device];
        if (at != never && now - at <= 2 * probe_ns) told_ |= 1U << device;
    }
    if (is_settled()) {
        repeat_at_ = is_away() ? now + probe_ns : never;
        return true;
    }
    repeat_at_ = now + interval_ns_;
    interval_ns_ = std::min(2 * interval_ns_, interval_max_ns);
    return true;
}

Statement Agreement::statement() const {
    Statement made;
    made.epoch = epoch_;
    made.stage = stage_;
    made.device = device_;
    made.usable = usable_;
    made.heard = told_ | tells_heard;
    made.psn = psn_;
    made.terms = own_terms_;
    made.received = received_;
    return made;
}

Nanoseconds Agreement::deadline() const {
    if (!begun_) return never;
    const Nanoseconds at = is_mute() ? propose_at_ : std::min(repeat_at_, propose_at_);
    if (is_settled() || waits_since_ == never) return at;
    return std::min(at, std::max(waits_since_, unsettled_since_) + rules_.retry_window_ns + 1);
}

}  // namespace lanewise::paths::carried
