// SPDX-License-Identifier: BSD-3-Clause
//
// Going back: when the requester sends again, and when it gives up (IBA 1, 9.7.5.1, 9.7.6). A retry
// is used up by a timeout, a sequence NAK and a lost read; any progress gives all of them back. A
// queue pair that has used them up leaves for its alternate path if it is armed, and fails if not.

#include <algorithm>

#include "verbs/proto/connection/migration.hpp"
#include "verbs/proto/requester/requester.hpp"

namespace lanewise::verbs {

void Requester::restart_timers(Nanoseconds now) {
    probes_ = 0;
    probe_wanted_ = false;
    rnr_until_ = never;
    if (unacked_ == cursor_) {
        stop_timers();
        return;
    }
    const Nanoseconds timeout = ack_timeout_ns(connection_.attributes.primary.timeout);
    timeout_at_ = timeout == never ? never : now + timeout;
    const Nanoseconds probe = connection_.device.config.probe_ns;
    probe_at_ = probe == 0 ? never : now + round_trip_.patience_ns(probe);
}

void Requester::stop_timers() {
    timeout_at_ = rnr_until_ = probe_at_ = never;
    probes_ = 0;
    probe_wanted_ = false;
}

Nanoseconds Requester::deadline() const {
    return std::min({timeout_at_, rnr_until_, probe_at_});
}

void Requester::on_deadline(Nanoseconds now) {
    if (rnr_until_ <= now) {
        rnr_until_ = never;
    }
    if (timeout_at_ <= now) {
        ++connection_.counters.timeouts;
        stay_patient(now);
        retry();
        return;
    }
    if (probe_at_ <= now) {
        constexpr unsigned doublings_max = 8;
        probe_wanted_ = true;
        mended_.reset();  // an answer to the probe says nothing of what was sent behind it
        ++connection_.counters.probes;
        probes_ = std::min(probes_ + 1, doublings_max);
        probe_at_ = now + (round_trip_.patience_ns(connection_.device.config.probe_ns) << probes_);
    }
}

void Requester::go_back() {
    cursor_ = unacked_;
    cursor_entry_ = 0;
    reads_.clear();
    mended_.reset();
    round_trip_.forget();
    local_error_ = Status::success;
    went_back_to_.reset();
    stop_timers();
}

void Requester::retry() {
    if (retries_left_ == 0) {
        exhausted(Status::retry_exceeded);
        return;
    }
    --retries_left_;
    window_.on_loss(unacked_, highest_, connection_.mtu());
    go_back();
}

// One gap may be told of many times, by each answer behind it.
void Requester::retry_once() {
    if (went_back_to_ != unacked_) {
        retry();
        went_back_to_ = unacked_;
    }
}

// The peer misses the oldest packet.
void Requester::send_missing_again() {
    if (peer_drops_early_) {
        retry_once();
        return;
    }
    if (went_back_to_ == unacked_) {
        return;
    }
    if (retries_left_ == 0) {
        exhausted(Status::retry_exceeded);
        return;
    }
    --retries_left_;
    window_.on_loss(unacked_, highest_, connection_.mtu());
    went_back_to_ = unacked_;
    probe_wanted_ = true;
    mended_ = Mended{unacked_, cursor_};
}

// With a time of grace the last retry is given back until it has passed.
void Requester::stay_patient(Nanoseconds now) {
    const Nanoseconds grace = connection_.device.config.grace_ns;
    if (grace == 0 || retries_left_ > 0 || may_leave(connection_)) {
        return;
    }
    if (patient_until_ == never) {
        patient_until_ = now + grace;
    }
    retries_left_ = now < patient_until_ ? 1 : 0;
}

void Requester::exhausted(Status status) {
    if (entries_.empty() || connection_.state() == State::error) {
        return;
    }
    if (may_leave(connection_)) {
        migrate(connection_);
        retries_left_ = connection_.attributes.retry_count;
        go_back();
        return;
    }
    fail_front(status);
}

void Requester::on_receiver_not_ready(std::uint8_t timer, Nanoseconds now) {
    constexpr std::uint8_t for_ever = 7;
    ++connection_.counters.rnr_naks_received;
    if (rnr_until_ != never) {
        return;
    }
    if (rnr_retries_left_ == 0) {
        if (!entries_.empty() && connection_.state() != State::error) {
            fail_front(Status::rnr_retry_exceeded);
        }
        return;
    }
    rnr_retries_left_ -= connection_.attributes.rnr_retry == for_ever ? 0 : 1;
    go_back();
    rnr_until_ = now + rnr_timer_ns(timer);
}

}  // namespace lanewise::verbs
