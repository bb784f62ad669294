// SPDX-License-Identifier: BSD-3-Clause
//
// What comes back to the requester: acknowledgements, refusals, data of reads and atomics (IBA 1,
// 9.7.5 and 9.9.2). An answer with number n stands for all before n as well, except that a read or
// atomic is done only when its data are here: an answer behind it says that they were lost.

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "verbs/proto/memory/scatter.hpp"
#include "verbs/proto/requester/requester.hpp"
#include "verbs/proto/wire/credits.hpp"

namespace lanewise::verbs {
namespace {

CompletedWork completed_work(Operation operation) {
    switch (operation) {
        case Operation::write:
        case Operation::write_immediate:
            return CompletedWork::rdma_write;
        case Operation::read:
            return CompletedWork::rdma_read;
        case Operation::compare_swap:
            return CompletedWork::compare_swap;
        case Operation::fetch_add:
            return CompletedWork::fetch_add;
        default:
            return CompletedWork::send;
    }
}

bool is_gap(const Packet& packet) {
    return packet.row.kind == Kind::acknowledge &&
           packet.ack.syndrome == syndrome(NakCode::psn_sequence);
}

Status status_of(NakCode code) {
    switch (code) {
        case NakCode::remote_access:
            return Status::remote_access_error;
        case NakCode::remote_operational:
            return Status::remote_operation_error;
        default:
            return Status::remote_invalid_request;
    }
}

}  // namespace

void Requester::complete_front(Status status) {
    const SendEntry& entry = entries_.front();
    const bool wanted = (entry.flags & signaled) != 0 || connection_.init.signal_all;
    const Completion completion{.id = entry.id,
                                .status = status,
                                .work = completed_work(entry.operation),
                                .length_bytes = static_cast<std::uint32_t>(entry.length_bytes),
                                .qpn = connection_.init.number};
    entries_.pop();
    cursor_entry_ -= cursor_entry_ > 0 ? 1 : 0;
    if (wanted || status != Status::success) {
        connection_.complete(connection_.init.send_queue, completion);
    }
}

// The queue pair cannot go on: RC fails as a whole, the others lose only their send queue.
void Requester::fail_front(Status status) {
    complete_front(status);
    stop_timers();
    connection_.attributes.state = connection_.reliable() ? State::error : State::send_queue_error;
}

void Requester::advance_to(Psn psn, Nanoseconds now) {
    if (!before(unacked_, psn)) {
        return;
    }
    round_trip_.on_answer(psn, now);
    window_.on_progress(static_cast<std::uint32_t>(distance(unacked_, psn)), connection_.mtu());
    unacked_ = psn;
    while (!reads_.empty() && before(reads_.front(), unacked_)) {
        reads_.pop();
    }
    while (!entries_.empty() && before(entries_.front().last(), unacked_)) {
        complete_front(Status::success);
    }
    if (before(cursor_, unacked_)) {  // answered before it was sent again
        cursor_ = unacked_;
        cursor_entry_ = 0;
    }
    retries_left_ = connection_.attributes.retry_count;
    patient_until_ = never;
    rnr_retries_left_ = connection_.attributes.rnr_retry;
    went_back_to_.reset();
    restart_timers(now);
    if (local_error_ != Status::success && cursor_entry_ == 0 && !entries_.empty() &&
        connection_.state() != State::error) {
        fail_front(local_error_);
    }
}

// Takes all before `psn` as done. False where that would skip data of a read that did not come;
// then they are asked for again.
bool Requester::acknowledge_before(Psn psn, Nanoseconds now) {
    for (std::size_t i = 0; i < entries_.size() && before(entries_[i].first, psn); ++i) {
        const SendEntry& entry = entries_[i];
        if (entry.awaits_data()) {
            const Psn missing = before(unacked_, entry.first) ? entry.first : unacked_;
            if (missing == psn) {
                break;
            }
            advance_to(missing, now);
            retry_once();
            return false;
        }
    }
    advance_to(psn, now);
    return true;
}

void Requester::take_credits(const AckHeader& ack) {
    const std::uint8_t code = value_of(ack.syndrome);
    if (code == credits_unlimited) {
        credits_unlimited_ = true;
        return;
    }
    const Psn limit(ack.msn + credits_of(code));
    if (before(Psn(credit_limit_), limit)) {
        credit_limit_ = limit.value();
    }
}

void Requester::on_response(const Packet& packet, Nanoseconds now) {
    const Psn psn = packet.base.psn;
    if (before(psn, unacked_ - 1) || !before(psn, highest_)) {
        ++connection_.counters.duplicates;
        return;
    }
    const bool answered_probe = probes_ > 0 && !is_gap(packet);
    switch (packet.row.kind) {
        case Kind::read_response:
            on_read_data(packet, now);
            break;
        case Kind::atomic_acknowledge:
            on_atomic_data(packet, now);
            break;
        default:
            on_acknowledge(packet, now);
    }
    // Nothing came for long, and then this: what it does not cover was lost on the way.
    if (answered_probe && probes_ == 0 && connection_.sends() && rnr_until_ == never &&
        before(unacked_, cursor_) && reads_.empty()) {
        go_back();
    }
}

void Requester::on_acknowledge(const Packet& packet, Nanoseconds now) {
    const Psn psn = packet.base.psn;
    const std::uint8_t value = value_of(packet.ack.syndrome);
    const Acknowledgement what = acknowledgement_of(packet.ack.syndrome);
    if (what == Acknowledgement::ack) {
        take_credits(packet.ack);
        if (acknowledge_before(psn + 1, now)) {
            on_gap_filled(psn);
        }
        return;
    }
    if (before(psn, unacked_) || !acknowledge_before(psn, now)) {
        return;
    }
    if (what == Acknowledgement::rnr_nak) {
        on_receiver_not_ready(value, now);
    } else if (what == Acknowledgement::nak) {
        on_nak(static_cast<NakCode>(value));
    }
}

void Requester::on_nak(NakCode code) {
    if (code == NakCode::psn_sequence) {
        ++connection_.counters.sequence_naks_received;
        send_missing_again();
        return;
    }
    ++connection_.counters.error_naks_received;
    if (code <= NakCode::invalid_rd_request && !entries_.empty() &&
        connection_.state() != State::error) {
        fail_front(status_of(code));
    }
}

// An answer to the one packet that was sent again, and to nothing behind it: the next one is
// missing as well, or the peer keeps nothing that comes early, which shows when it goes on like
// that.
void Requester::on_gap_filled(Psn answered) {
    constexpr unsigned in_a_row = 3;
    if (!mended_ || before(answered, mended_->psn)) {
        return;
    }
    const bool nothing_behind = answered == mended_->psn && before(unacked_, mended_->cursor);
    if (!nothing_behind || !connection_.sends()) {
        mended_.reset();
        return;
    }
    if (++mended_->alone == in_a_row) {
        peer_drops_early_ = true;
        go_back();
        return;
    }
    mended_->psn = unacked_;
    went_back_to_ = unacked_;
    probe_wanted_ = true;
}

void Requester::on_read_data(const Packet& packet, Nanoseconds now) {
    const Psn psn = packet.base.psn;
    if (before(psn, unacked_) || !acknowledge_before(psn, now) || entries_.empty() ||
        connection_.state() == State::error) {
        return;
    }
    const SendEntry& entry = entries_.front();
    if (!entry.is_read() || psn != unacked_) {
        ++connection_.counters.dropped;
        return;
    }
    const std::uint64_t offset =
        std::uint64_t{connection_.mtu()} * static_cast<std::uint64_t>(distance(entry.first, psn));
    const std::uint64_t expected =
        std::min<std::uint64_t>(connection_.mtu(), entry.length_bytes - offset);
    if (packet.payload.size() != expected) {
        fail_front(Status::bad_response);
        return;
    }
    const Copied copied = scatter(connection_.device.memory, connection_.init.domain, entry.slices,
                                  offset, packet.payload);
    if (copied != Copied::all) {
        fail_front(Status::local_protection_error);
        return;
    }
    if ((packet.row.extensions & has_aeth) != 0) {
        take_credits(packet.ack);
    }
    advance_to(psn + 1, now);
}

void Requester::on_atomic_data(const Packet& packet, Nanoseconds now) {
    const Psn psn = packet.base.psn;
    if (before(psn, unacked_) || !acknowledge_before(psn, now) || entries_.empty() ||
        connection_.state() == State::error) {
        return;
    }
    const SendEntry& entry = entries_.front();
    if (!entry.is_atomic() || psn != unacked_) {
        ++connection_.counters.dropped;
        return;
    }
    const auto value = std::bit_cast<std::array<std::byte, 8>>(packet.atomic_result);
    if (scatter(connection_.device.memory, connection_.init.domain, entry.slices, 0, value) !=
        Copied::all) {
        fail_front(Status::local_protection_error);
        return;
    }
    take_credits(packet.ack);
    advance_to(psn + 1, now);
}

}  // namespace lanewise::verbs
