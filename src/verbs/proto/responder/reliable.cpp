// SPDX-License-Identifier: BSD-3-Clause
//
// The responder of a reliable connection: order, refusals, and requests that come twice.

#include <algorithm>

#include "verbs/proto/requester/window.hpp"
#include "verbs/proto/responder/responder.hpp"

namespace lanewise::verbs {

void Responder::on_request(const Packet& packet, Nanoseconds now) {
    const std::int32_t ahead = distance(expected_, packet.base.psn);
    if (ahead < 0) {
        ++connection_.counters.duplicates;
        repeat(packet);
        return;
    }
    if (ahead > 0) {
        on_early(packet, now);
        return;
    }
    if (accept(packet, now)) {
        accept_early(now);
    }
}

// The next new request. False where it was refused.
bool Responder::accept(const Packet& packet, Nanoseconds now) {
    gap_told_ = false;
    missed_until_ = never;
    const Psn psn = expected_;
    const Verdict verdict = execute(packet);
    if (verdict != Verdict::done) {
        early_.clear();
        refuse(verdict, psn);
        return false;
    }
    if (packet.row.kind == Kind::send || packet.row.kind == Kind::write) {
        expected_ = psn + 1;
        msn_ = (msn_ + (packet.row.ends() ? 1 : 0)) & Psn::mask;
        untold_bytes_ += weight_bytes(packet.payload.size());
        if (packet.base.ack_request) {
            acknowledge_in_company(psn, now);
        }
    }
    return true;
}

// What was kept behind the packet that has just come; the peer is told how far that led. If there
// is more behind another gap, that one has been open for as long as the first.
void Responder::accept_early(Nanoseconds now) {
    if (early_.empty()) {
        return;
    }
    while (const auto next = early_.take(expected_)) {
        if (!accept(next->packet, now)) {
            return;
        }
    }
    hurry();
    if (!early_.empty()) {
        tell_gap();
    } else if (answers_.empty() || is_plain(answers_.back())) {
        acknowledge(expected_ - 1);
    }
}

void Responder::on_early(const Packet& packet, Nanoseconds now) {
    constexpr std::size_t overtaken_by_max = 3;
    const DeviceConfig& config = connection_.device.config;
    ++connection_.counters.out_of_order;
    early_.keep(packet, config.early_bytes);
    if (gap_told_) {
        return;
    }
    if (config.reorder_ns == 0 || early_.size() >= overtaken_by_max || early_.empty()) {
        tell_gap();
    } else if (missed_until_ == never) {
        missed_until_ = now + config.reorder_ns;
    }
}

// A refusal stands for an acknowledgement of all before it.
void Responder::tell_gap() {
    gap_told_ = true;
    missed_until_ = never;
    ++connection_.counters.sequence_naks_sent;
    if (!answers_.empty() && is_plain(answers_.back())) {
        answers_.pop_back();
    }
    push_nak(expected_, syndrome(NakCode::psn_sequence));
}

void Responder::close_gap() {
    gap_told_ = false;
    missed_until_ = never;
    early_.clear();
}

void Responder::refuse(Verdict verdict, Psn psn) {
    if (verdict == Verdict::not_ready) {
        // What is already behind this packet will be sent again with it; nothing to tell.
        gap_told_ = true;
        ++connection_.counters.rnr_naks_sent;
        push_nak(psn, syndrome(Acknowledgement::rnr_nak, connection_.attributes.rnr_timer));
        return;
    }
    NakCode code = NakCode::invalid_request;
    code = verdict == Verdict::access ? NakCode::remote_access : code;
    code = verdict == Verdict::local ? NakCode::remote_operational : code;
    ++connection_.counters.error_naks_sent;
    push_nak(psn, syndrome(code));
    parting_ = true;
    if (verdict == Verdict::too_long) {
        fail_receive(Status::local_length_error);
    } else if (verdict == Verdict::local) {
        fail_receive(Status::local_protection_error);
    } else {
        connection_.tell(verdict == Verdict::access ? EventKind::qp_access_error
                                                    : EventKind::qp_request_error);
    }
    connection_.fail();
}

void Responder::acknowledge(Psn psn) {
    if (answers_.empty() || !is_plain(answers_.back())) {
        answers_.emplace_back();
    }
    answers_.back().psn = psn;
    answers_.back().msn = msn_;
}

// Much that came is told of at once, lest the peer's window closes.
void Responder::acknowledge_in_company(Psn psn, Nanoseconds now) {
    const DeviceConfig& config = connection_.device.config;
    const bool alone = answers_.empty();
    acknowledge(psn);
    if (untold_bytes_ >= config.window_bytes / 4) {
        hurry();
    } else if (alone && config.ack_delay_ns > 0) {
        waits_until_ = now + config.ack_delay_ns;
    }
}

bool Responder::waits() const {
    return waits_until_ != never && answers_.size() == 1 && is_plain(answers_.front());
}

void Responder::on_deadline(Nanoseconds now) {
    if (waits_until_ <= now) {
        hurry();
    }
    if (missed_until_ <= now) {
        tell_gap();
    }
}

void Responder::push_nak(Psn psn, std::uint8_t code) {
    answers_.push_back({.psn = psn, .msn = msn_, .syndrome = code});
}

void Responder::announce() {
    hurry();
    acknowledge(expected_ - 1);
}

std::uint32_t Responder::read_packets(std::uint64_t length_bytes) const {
    const std::uint64_t mtu = connection_.mtu();
    return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, (length_bytes + mtu - 1) / mtu));
}

// False where the peer has more reads and atomics under way than was agreed.
bool Responder::remember(const Done& done) {
    const std::size_t agreed = connection_.attributes.destination_read_atomic_max;
    if (agreed == 0) {
        return false;
    }
    if (done_.size() == agreed) {
        const Done& oldest = done_.front();
        const auto unsent = std::find_if(answers_.begin(), answers_.end(), [&](const Answer& a) {
            return a.kind != Kind::acknowledge && !before(a.psn, oldest.first) &&
                   !before(oldest.first + (oldest.packets - 1), a.psn);
        });
        if (unsent != answers_.end()) {
            if (!unsent->again) {
                return false;
            }
            answers_.erase(unsent);  // the peer has gone on, so it has that answer already
        }
        done_.pop();
    }
    done_.push() = done;
    return true;
}

Responder::Verdict Responder::take_read(const Packet& packet) {
    const RdmaHeader& rdma = packet.rdma;
    if (rdma.length_bytes > connection_.device.config.message_bytes_max) {
        return Verdict::invalid;
    }
    if (rdma.length_bytes > 0 &&
        connection_.device.memory.find(rdma.rkey, connection_.init.domain, rdma.address,
                                       rdma.length_bytes, remote_read) == nullptr) {
        return Verdict::access;
    }
    const std::uint32_t packets = read_packets(rdma.length_bytes);
    if (!remember({.is_read = true, .first = expected_, .packets = packets})) {
        return Verdict::invalid;
    }
    msn_ = (msn_ + 1) & Psn::mask;
    answers_.push_back({.kind = Kind::read_response,
                        .psn = expected_,
                        .msn = msn_,
                        .rdma = rdma,
                        .packets = packets});
    expected_ = expected_ + packets;
    return Verdict::done;
}

Responder::Verdict Responder::take_atomic(const Packet& packet) {
    const AtomicHeader& atomic = packet.atomic;
    std::byte *at = connection_.device.memory.find(
        atomic.rkey, connection_.init.domain, atomic.address, sizeof(std::uint64_t), remote_atomic);
    if (at == nullptr) {
        return Verdict::access;
    }
    if (reinterpret_cast<std::uintptr_t>(at) % sizeof(std::uint64_t) != 0 ||
        atomic.address % sizeof(std::uint64_t) != 0) {
        return Verdict::invalid;
    }
    if (!remember({.first = expected_})) {
        return Verdict::invalid;
    }
    auto *word = reinterpret_cast<std::uint64_t *>(at);
    std::uint64_t old = atomic.compare;
    if (packet.row.kind == Kind::compare_swap) {
        __atomic_compare_exchange_n(word, &old, atomic.swap_or_add, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
    } else {
        old = __atomic_fetch_add(word, atomic.swap_or_add, __ATOMIC_SEQ_CST);
    }
    done_.back().result = old;
    msn_ = (msn_ + 1) & Psn::mask;
    answers_.push_back(
        {.kind = Kind::atomic_acknowledge, .psn = expected_, .msn = msn_, .result = old});
    expected_ = expected_ + 1;
    return Verdict::done;
}

// A request that was done before: its answer may have been lost.
void Responder::repeat(const Packet& packet) {
    if (packet.row.kind == Kind::send || packet.row.kind == Kind::write) {
        hurry();
        acknowledge(expected_ - 1);
        return;
    }
    for (std::size_t i = 0; i < done_.size(); ++i) {
        const Done& done = done_[i];
        const std::int32_t index = distance(done.first, packet.base.psn);
        if (index < 0 || static_cast<std::uint32_t>(index) >= done.packets) {
            continue;
        }
        if (done.is_read && packet.row.kind == Kind::read_request) {
            repeat_read(packet, done);
        } else if (!done.is_read && packet.row.kind != Kind::read_request) {
            insert_again({.kind = Kind::atomic_acknowledge,
                          .psn = done.first,
                          .msn = msn_,
                          .again = true,
                          .result = done.result});
        }
        return;
    }
    ++connection_.counters.dropped;
}

void Responder::repeat_read(const Packet& packet, const Done& done) {
    const RdmaHeader& rdma = packet.rdma;
    const std::uint64_t left = std::uint64_t{done.packets} * connection_.mtu();
    const auto index = static_cast<std::uint64_t>(distance(done.first, packet.base.psn));
    const bool fits = rdma.length_bytes <= left - index * connection_.mtu();
    const bool allowed =
        rdma.length_bytes == 0 ||
        connection_.device.memory.find(rdma.rkey, connection_.init.domain, rdma.address,
                                       rdma.length_bytes, remote_read) != nullptr;
    if (!fits || !allowed) {
        ++connection_.counters.dropped;
        return;
    }
    insert_again({.kind = Kind::read_response,
                  .psn = packet.base.psn,
                  .msn = msn_,
                  .again = true,
                  .rdma = rdma,
                  .packets = read_packets(rdma.length_bytes)});
}

// Answers stand in the order of their numbers. One that is asked for again takes the place of what
// is left of the same answer.
void Responder::insert_again(Answer answer) {
    const Psn last = answer.psn + (answer.packets - 1);
    bool first_time = false;
    std::erase_if(answers_, [&](const Answer& a) {
        const bool same = a.kind != Kind::acknowledge && !before(last, a.psn) &&
                          !before(a.psn + (a.packets - 1), answer.psn);
        first_time = first_time || (same && !a.again);
        return same;
    });
    answer.again = !first_time;
    const auto place = std::find_if(answers_.begin(), answers_.end(),
                                    [&](const Answer& a) { return before(answer.psn, a.psn); });
    answers_.insert(place, answer);
}

}  // namespace lanewise::verbs
