// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/requester/requester.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "verbs/proto/connection/migration.hpp"
#include "verbs/proto/queues/scatter.hpp"
#include "verbs/proto/requester/posting.hpp"

namespace lanewise::verbs {
namespace {

// InfiniBand counts messages, like packets, in 24 bits.
bool later_message(std::uint32_t a, std::uint32_t b) {
    return before(Psn(b), Psn(a));
}

bool is_gap(const Packet& packet) {
    return packet.row.kind == PacketKind::acknowledge &&
           packet.ack.syndrome == syndrome(NakCode::psn_sequence);
}

bool is_acknowledgement(const Packet& packet) {
    return packet.row.kind == PacketKind::acknowledge &&
           acknowledgement_of(packet.ack.syndrome) == Acknowledgement::ack;
}

Status status_of(NakCode code) {
    switch (code) {
        case NakCode::remote_access: return Status::remote_access_error;
        case NakCode::remote_operational: return Status::remote_operation_error;
        default: return Status::remote_invalid_request;
    }
}

}  // namespace

// Posting: what ibv_post_send(3) refuses, and how a request becomes an entry.

int Requester::check(const SendRequest& request, std::size_t before) const {
    const int refused = check_request(connection_, request);
    if (refused != 0) {
        return refused;
    }
    return entries_.size() + before >= connection_.init.send_requests_max ? ENOMEM : 0;
}

int Requester::post(const SendRequest& request) {
    const int refused = check(request, 0);
    if (refused != 0) {
        return refused;
    }
    SendEntry& entry = entries_.push();
    entry.take(request, connection_.mtu());
    entry.first = next_;
    next_ = next_ + entry.packets;
    sequence_ += messages_of(entry);
    entry.sequence = sequence_ & Psn::mask;
    return 0;
}

// Sending.

void Requester::start(Psn first) {
    reset();
    window_.open(connection_.device.config.window_bytes);
    rtt_ = {};
    capacity_ = {};
    answered_in_part_ = false;
    unacked_ = cursor_ = highest_ = next_ = requested_ = first;
    sequence_ = credit_limit_ = 0;
    credits_unlimited_ = false;
    retries_left_ = connection_.attributes.retry_count;
    retry_window_end_ = never;
    rnr_retries_left_ = connection_.attributes.rnr_retry;
}

void Requester::reset() {
    entries_.clear();
    reads_.clear();
    cursor_entry_ = 0;
    unrequested_ = 0;
    went_back_to_.reset();
    gap_.reset();
    rtt_.discard_sample();
    local_error_ = Status::success;
    unacked_ = cursor_ = highest_ = requested_ = next_;
    stop_timers();
}

void Requester::flush() {
    while (!entries_.empty()) {
        complete_front(Status::flushed);
    }
    reset();
}

std::uint32_t Requester::read_packets() const {
    return std::max(1u, window_.packets_max(connection_.mtu()) / 2);
}

std::uint32_t Requester::messages_of(const SendEntry& entry) const {
    if (entry.is_local()) {
        return 0;
    }
    return entry.is_read() ? (entry.packets + read_packets() - 1) / read_packets() : 1;
}

Requester::Plan Requester::plan_at(std::size_t at, Psn psn) const {
    const SendEntry& entry = entries_[at];
    Plan plan{.entry = at,
              .index = static_cast<std::uint32_t>(distance(entry.first, psn)),
              .kind = kind_of(entry.operation)};
    if (entry.is_read()) {
        // Pieces begin at multiples of a fixed length, also when a part is requested again, so that
        // the peer counts the same messages.
        const std::uint32_t end = (plan.index / read_packets() + 1) * read_packets();
        plan.packets = std::min(end, entry.packets) - plan.index;
        return plan;
    }
    if (entry.is_atomic()) {
        return plan;
    }
    const std::uint64_t offset = std::uint64_t{plan.index} * connection_.mtu();
    plan.payload_bytes = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(connection_.mtu(), entry.length_bytes - offset));
    const bool begins = plan.index == 0;
    const bool ends = plan.index + 1 == entry.packets;
    plan.part = begins ? (ends ? Part::only : Part::first) : (ends ? Part::last : Part::middle);
    plan.extra = ends ? extra_of(entry.operation) : Extra::nothing;
    return plan;
}

std::size_t Requester::window_payload_bytes(const Plan& plan) const {
    return plan.kind == PacketKind::read_request ? connection_.mtu() : plan.payload_bytes;
}

bool Requester::fits_window(const Plan& plan) const {
    const auto ahead = static_cast<std::uint32_t>(distance(unacked_, cursor_));
    const std::size_t bytes = window_payload_bytes(plan);
    const std::uint32_t fits = window_.packets(bytes);
    if (ahead == 0 || ahead + plan.packets <= fits) {
        return true;
    }
    // What was in flight when the peer missed a packet arrives while that is sent again, so new
    // packets take its place, half as many as after that (RFC 6937 sends one for two that arrive).
    return gap_.is_open() && !before(cursor_, gap_.cursor()) &&
           static_cast<std::uint32_t>(distance(gap_.cursor(), cursor_)) + plan.packets <=
               fits / 2 &&
           ahead + plan.packets <= window_.packets_max(bytes);
}

bool Requester::may_begin(const SendEntry& entry, const Plan& plan) const {
    if (connection_.state() == State::send_queue_drained && cursor_ == highest_ &&
        plan.index == 0) {
        return false;
    }
    if (!connection_.reliable()) {
        return true;
    }
    if (plan.index == 0 && (entry.flags & fence) != 0 && !reads_.empty()) {
        return false;
    }
    if (entry.awaits_data() && reads_.size() >= connection_.attributes.read_atomic_max) {
        return false;
    }
    // One message may exceed the credits: its acknowledgement brings new ones.
    if (plan.index == 0 && entry.takes_receive() && !credits_unlimited_ &&
        later_message(entry.sequence, credit_limit_ + 1)) {
        return false;
    }
    return fits_window(plan);
}

std::optional<Requester::Plan> Requester::plan() const {
    if (!connection_.sends() || rnr_until_ != never) {
        return std::nullopt;
    }
    if (retransmission_) {
        Plan again = plan_at(retransmission_->entry, retransmission_->next);
        again.again = true;
        again.asks = retransmission_->next + again.packets == retransmission_->end;
        return again;
    }
    if (cursor_entry_ == entries_.size() || local_error_ != Status::success ||
        entries_[cursor_entry_].is_local()) {
        return std::nullopt;
    }
    const Plan plan = plan_at(cursor_entry_, cursor_);
    if (!may_begin(entries_[cursor_entry_], plan)) {
        return std::nullopt;
    }
    return plan;
}

bool Requester::peek(NextPacket& next) {
    const auto planned = plan();
    if (!planned) {
        return false;
    }
    const SendEntry& entry = entries_[planned->entry];
    const OpcodeRow& row = connection_.row(planned->kind, planned->part, planned->extra);
    next.bytes = datagram_bytes(row, planned->payload_bytes);
    next.to = connection_.connected() ? &connection_.attributes.primary.address : &entry.address;
    next.is_paced = true;
    return true;
}

// Whether somebody waits for the acknowledgement of a message: the program for its completion, or a
// later message for its place in the send queue or for credits. Else the peer acknowledges it when
// it likes, provided that the queue pair does not time out before.
bool Requester::needs_ack(const SendEntry& entry) const {
    constexpr std::uint32_t credits_low = 8;
    const Nanoseconds lazy = connection_.device.config.lazy_ack_ns;
    const bool completes = (entry.flags & signaled) != 0 || connection_.init.signal_all;
    const bool fills_queue = 2 * entries_.size() > connection_.init.send_requests_max;
    const bool lacks_credits =
        !credits_unlimited_ && later_message(entry.sequence + credits_low, credit_limit_);
    return lazy == 0 || completes || fills_queue || lacks_credits ||
           ack_timeout_ns(connection_.attributes.primary.timeout) / 8 < lazy;
}

Packet Requester::packet_of(const SendEntry& entry, const Plan& plan) const {
    Packet packet = connection_.packet(plan.kind, plan.part, plan.extra);
    packet.base.psn = entry.first + plan.index;
    packet.base.pad_bytes = static_cast<std::uint8_t>(-plan.payload_bytes & 3u);
    packet.immediate = entry.immediate;
    packet.invalidated_key = entry.invalidated_key;
    packet.srqn = entry.remote_srqn;
    const bool ends = plan.part == Part::only || plan.part == Part::last;
    packet.base.solicited = ends && (entry.flags & solicited) != 0;
    const std::uint64_t offset = std::uint64_t{plan.index} * connection_.mtu();
    packet.rdma = {entry.remote_address + offset, entry.rkey,
                   static_cast<std::uint32_t>(entry.length_bytes - offset)};
    if (entry.is_read()) {
        packet.rdma.length_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(
            std::uint64_t{plan.packets} * connection_.mtu(), packet.rdma.length_bytes));
    }
    const bool swaps = entry.operation == Operation::compare_swap;
    packet.atomic = {entry.remote_address, entry.rkey, swaps ? entry.swap : entry.compare_add,
                     swaps ? entry.compare_add : std::uint64_t{0}};
    if (!connection_.connected()) {
        constexpr std::uint32_t use_own = 0x80000000;
        packet.base.destination_qpn = entry.remote_qpn;
        packet.datagram = {
            (entry.remote_qkey & use_own) != 0 ? connection_.attributes.qkey : entry.remote_qkey,
            connection_.init.number};
    }
    if (connection_.reliable() && !entry.awaits_data()) {
        const std::uint32_t window = window_.packets(plan.payload_bytes);
        const auto ahead = static_cast<std::uint32_t>(distance(unacked_, packet.base.psn) + 1);
        const bool again = before(packet.base.psn, highest_);
        packet.base.ack_request = (ends && (again || needs_ack(entry))) || plan.asks ||
                                  unrequested_ + 1 >= window / 4 || ahead >= window;
    }
    return packet;
}

Status Requester::fill(const SendEntry& entry, const Plan& plan, Batch& batch) const {
    const std::uint64_t offset = std::uint64_t{plan.index} * connection_.mtu();
    const std::span<std::byte> payload = batch.room().first(plan.payload_bytes);
    if ((entry.flags & inline_data) != 0) {
        if (!payload.empty()) {
            std::memcpy(payload.data(), entry.inline_bytes.data() + offset, payload.size());
        }
        batch.wrote(payload.size());
        return Status::success;
    }
    const MemoryTable& memory = connection_.device.memory;
    const ProtectionDomain domain = connection_.init.domain;
    const std::uint32_t access = entry.awaits_data() ? std::uint32_t{local_write} : 0;
    if (plan.index == 0 && !permitted(memory, domain, entry.slices, access)) {
        return Status::local_protection_error;
    }
    const Copied copied =
        gather(memory, domain, entry.slices, offset, payload, batch.checksum_for(payload.size()));
    batch.wrote(payload.size());
    return copied == Copied::all ? Status::success : Status::local_protection_error;
}

bool Requester::gathers() const {
    constexpr std::uint32_t batch_bytes = 32 * 1024;
    if (unacked_ == cursor_ || entries_.empty()) {
        return false;
    }
    const SendEntry& newest = entries_[entries_.size() - 1];
    if (newest.awaits_data() || newest.length_bytes >= batch_bytes) {
        return false;
    }
    const auto waiting = static_cast<std::uint32_t>(distance(cursor_, next_));
    const std::size_t bytes = std::min<std::uint64_t>(newest.length_bytes, connection_.mtu());
    return waiting * socket_buffer_bytes(bytes) < batch_bytes;
}

bool Requester::write_next(Batch& batch, Nanoseconds now) {
    const auto next = plan();
    if (!next) {
        return false;
    }
    const SendEntry& entry = entries_[next->entry];
    const Packet packet = packet_of(entry, *next);
    batch.wrote(encode_headers(packet, batch.room()));
    const Status status = fill(entry, *next, batch);
    if (status != Status::success) {
        if (next->again && next->entry > 0) {  // the cursor comes to it, after all before it
            go_back();
            return false;
        }
        local_error_ = status;
        if (next->entry == 0) {
            fail_front(status);
        }
        return false;
    }
    batch.pad(packet.base.pad_bytes);
    unrequested_ = packet.base.ack_request ? 0 : unrequested_ + 1;
    if (packet.base.ack_request && before(requested_, packet.base.psn + 1)) {
        requested_ = packet.base.psn + 1;
    }
    if (packet.base.ack_request && !next->again && !before(cursor_, highest_)) {
        rtt_.on_sent(packet.base.psn, now);
    }
    sent(*next, now);
    return true;
}

void Requester::sent_again(const Plan& plan, Nanoseconds now) {
    if (retransmission_->is_probe && probe_) {
        ++probe_->copies;
    } else if (retransmission_->is_probe) {
        probe_ = Probe{unacked_, cursor_, now, went_back_to_ == unacked_};
    }
    rtt_.discard_sample();
    ++connection_.counters.packets_resent;
    retransmission_->next = retransmission_->next + plan.packets;
    if (retransmission_->next == retransmission_->end) {
        retransmission_.reset();
        return;
    }
    std::size_t& entry = retransmission_->entry;
    while (entries_[entry].is_local() || before(entries_[entry].last(), retransmission_->next)) {
        ++entry;
    }
}

void Requester::sent(const Plan& plan, Nanoseconds now) {
    if (plan.again) {
        sent_again(plan, now);
        return;
    }
    const SendEntry& entry = entries_[plan.entry];
    const bool reliable = connection_.reliable();
    if (reliable && entry.awaits_data()) {
        reads_.push() = cursor_ + (plan.packets - 1);
    }
    connection_.counters.packets_resent += before(cursor_, highest_) ? 1u : 0u;
    if (unacked_ == cursor_ && cursor_ == highest_) {  // nothing was in flight
        heard_at_ = now;
    }
    if (reliable && !before(cursor_, highest_) &&
        !gap_.is_open()) {  // else some may have arrived before
        capacity_.on_sent(unacked_, cursor_ + plan.packets, window_payload_bytes(plan), now);
    }
    cursor_ = cursor_ + plan.packets;
    highest_ = before(highest_, cursor_) ? cursor_ : highest_;
    const bool ends = plan.index + plan.packets == entry.packets;
    cursor_entry_ += ends ? 1 : 0;
    if (reliable && timeout_at_ == never) {
        restart_timers(now);
    }
    if (!reliable) {
        unacked_ = cursor_;
        if (ends) {
            complete_front(Status::success);
        }
    }
}

// Work that sends nothing: windows are bound and invalidated where the cursor comes to it, so that
// a request behind it finds them changed, and once, also where the cursor comes again.

bool Requester::may_begin_local(const SendEntry& entry) const {
    const bool waits_for_reads =
        connection_.reliable() && (entry.flags & fence) != 0 && !reads_.empty();
    return entry.is_done || (connection_.state() == State::ready_to_send && !waits_for_reads);
}

bool Requester::change_window(const SendEntry& entry) {
    MemoryTable& memory = connection_.device.memory;
    const Accessor self = connection_.accessor();
    return entry.operation == Operation::bind_window
               ? memory.bind(entry.binding, self)
               : memory.invalidate(entry.invalidated_key, self);
}

bool Requester::do_local_work() {
    bool has_done = false;
    while (connection_.sends() && local_error_ == Status::success &&
           cursor_entry_ < entries_.size() && entries_[cursor_entry_].is_local() &&
           may_begin_local(entries_[cursor_entry_])) {
        SendEntry& entry = entries_[cursor_entry_];
        has_done = true;
        if (!entry.is_done && !change_window(entry)) {
            local_error_ = Status::window_bind_error;
            if (cursor_entry_ == 0) {
                fail_front(local_error_);
            }
            break;
        }
        entry.is_done = true;
        ++cursor_entry_;
        if (cursor_entry_ == 1) {  // all before it is acknowledged
            complete_front(Status::success);
        }
    }
    return has_done;
}

// Responses: acknowledgements, refusals, data of reads and atomics (IBA 1, 9.7.5 and 9.9.2). A
// response with number n acknowledges everything before n as well, except that a read or atomic is
// done only when its data have arrived: a response to a later packet shows that they were lost.

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
    if (retransmission_ && retransmission_->entry > 0) {
        --retransmission_->entry;
    }
    if (wanted || status != Status::success) {
        connection_.complete(connection_.init.send_queue, completion);
    }
}

// After this error RC fails as a whole; the other transports lose only their send queue, unless the
// completion does not fit.
void Requester::fail_front(Status status) {
    complete_front(status);
    stop_timers();
    if (connection_.state() != State::error) {
        connection_.attributes.state =
            connection_.reliable() ? State::error : State::send_queue_error;
    }
}

void Requester::advance_to(Psn psn, Nanoseconds now) {
    if (!before(unacked_, psn)) {
        return;
    }
    answered_in_part_ = answered_in_part_ && probe_;  // without one, the peer answers what arrives
    rtt_.on_acknowledged(psn, now);
    capacity_.on_acknowledged(psn, now, rtt_.shortest_ns());
    window_.on_progress(psn, static_cast<std::uint32_t>(distance(unacked_, psn)),
                        connection_.mtu());
    unacked_ = psn;
    while (!reads_.empty() && before(reads_.front(), unacked_)) {
        reads_.pop();
    }
    while (!entries_.empty() && before(entries_.front().last(), unacked_) &&
           (entries_.front().is_done || !entries_.front().is_local())) {
        complete_front(Status::success);
    }
    if (before(cursor_, unacked_)) {  // acknowledged before it was sent again
        cursor_ = unacked_;
        cursor_entry_ = 0;
    }
    if (retransmission_ && !before(unacked_, retransmission_->end)) {
        retransmission_.reset();
    } else if (retransmission_ && before(retransmission_->next, unacked_)) {
        retransmission_->next = unacked_;
        retransmission_->entry = 0;
    }
    retries_left_ = connection_.attributes.retry_count;
    retry_window_end_ = never;
    rnr_retries_left_ = connection_.attributes.rnr_retry;
    went_back_to_.reset();
    restart_timers(now);
    if (local_error_ != Status::success && cursor_entry_ == 0 && !entries_.empty() &&
        connection_.state() != State::error) {
        fail_front(local_error_);
    }
}

// Acknowledges everything before `psn`. False if that would skip read data that did not arrive;
// then they are requested again.
bool Requester::acknowledge_before(Psn psn, Nanoseconds now) {
    for (std::size_t i = 0; i < entries_.size() && before(entries_[i].first, psn); ++i) {
        const SendEntry& entry = entries_[i];
        if (entry.awaits_data()) {
            const Psn missing = before(unacked_, entry.first) ? entry.first : unacked_;
            if (missing == psn) {
                break;
            }
            advance_to(missing, now);
            retry_once(now);
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

// A NAK may be for the packet that comes next: then it only acknowledges those before it.
bool Requester::is_plausible(const Packet& response) const {
    const Psn psn = response.base.psn;
    return distance(unacked_, psn) >= -window_packets_max &&
           before(psn, highest_ + (is_gap(response) ? 1 : 0));
}

void Requester::on_response(const Packet& packet, Nanoseconds now) {
    const Psn psn = packet.base.psn;
    if (before(psn, unacked_ - 1)) {
        ++connection_.counters.duplicates;
        if (is_acknowledgement(packet)) {
            window_.on_arrived_twice(psn);
        }
        return;
    }
    heard_at_ = now;
    const std::optional<Probe> probe = probe_;
    switch (packet.row.kind) {
        case PacketKind::read_response: on_read_data(packet, now); break;
        case PacketKind::atomic_acknowledge: on_atomic_data(packet, now); break;
        default: on_acknowledge(packet, now);
    }
    if (probe && rtt_.may_be_answered(probe->sent, now)) {
        on_probe_answered(*probe, packet, now);
    }
}

// The response to a probe, or one that was late. If it covers the probe alone, of several packets,
// all that followed was lost; if there was a gap, or is one, a packet was lost twice. Any other may
// be to what was sent before, on a path whose round trip takes longer than was known (RFC 5682).
// What it does not cover is sent again then as well, but tells nothing of the path, unless nothing
// comes until the next probe, which is answered so as well: then the path loses most of what is
// sent at once, such as where a queue holds only a few packets.
void Requester::on_probe_answered(const Probe& probe, const Packet& response, Nanoseconds now) {
    const bool covers_it_alone = response.row.kind == PacketKind::acknowledge &&
                                 unacked_ == probe.psn + 1 && before(unacked_, probe.cursor);
    const bool leaves_some = before(unacked_, probe.cursor) && before(unacked_, cursor_);
    const bool in_part = leaves_some && before(probe.psn, unacked_);
    const bool was_needed =
        is_gap(response) || probe.of_gap || covers_it_alone || (in_part && answered_in_part_);
    answered_in_part_ = answered_in_part_ || in_part;
    if (was_needed && probe.copies == 1) {
        rtt_.on_needed_probe(now - probe.sent);
    }
    if (!leaves_some) {
        return;
    }
    if (was_needed) {
        window_.on_loss_of_many(highest_, connection_.mtu(), capacity_.bytes());
    }
    if (!is_gap(response) && !probe_ && connection_.sends() && rnr_until_ == never &&
        reads_.empty()) {
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
        on_nak(static_cast<NakCode>(value), now);
    }
}

void Requester::on_nak(NakCode code, Nanoseconds now) {
    if (code == NakCode::psn_sequence) {
        ++connection_.counters.sequence_naks_received;
        if (!idle()) {
            retransmit_gap(now);
        }
        return;
    }
    ++connection_.counters.error_naks_received;
    if (code <= NakCode::invalid_rd_request && !entries_.empty() &&
        connection_.state() != State::error) {
        fail_front(status_of(code));
    }
}

// If the acknowledgement ends where what was sent again ends, the next packet is missing as well.
void Requester::on_gap_filled(Psn acknowledged) {
    if (!gap_.is_open() || before(acknowledged + 1, gap_.end())) {
        return;
    }
    const bool more_missing = acknowledged + 1 == gap_.end() && before(unacked_, gap_.cursor());
    gap_.adapt(more_missing);
    if (!more_missing || !connection_.sends()) {
        gap_.close();
        return;
    }
    went_back_to_ = unacked_;
    retransmit(gap_packets());
    gap_.extend(retransmission_->end);
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
    gap_.close_if_filled(unacked_);
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
    gap_.close_if_filled(unacked_);
}

// Retransmission, and when the requester gives up (IBA 1, 9.7.5.1, 9.7.6). A timeout, a sequence
// NAK and a lost read response each use up one retry; any progress restores all of them. A queue
// pair without retries left migrates to its alternate path if it is armed, and fails otherwise.

void Requester::restart_timers(Nanoseconds now) {
    probe_.reset();
    rnr_until_ = never;
    if (unacked_ == cursor_) {
        stop_timers();
        return;
    }
    const Nanoseconds timeout = ack_timeout_ns(connection_.attributes.primary.timeout);
    timeout_at_ = timeout == never ? never : now + timeout;
    const DeviceConfig& config = connection_.device.config;
    const Nanoseconds lazy = before(unacked_, requested_) ? 0 : config.lazy_ack_ns;
    probe_at_ = config.probe_ns == 0 ? never : now + rtt_.probe_timeout_ns(config.probe_ns) + lazy;
}

void Requester::stop_timers() {
    timeout_at_ = rnr_until_ = probe_at_ = never;
    probe_.reset();
    retransmission_.reset();
}

Nanoseconds Requester::deadline() const {
    return std::min({timeout_at_, rnr_until_, probe_at_});
}

void Requester::on_deadline(Nanoseconds now) {
    if (rnr_until_ <= now) {
        rnr_until_ = never;
        heard_at_ = now;  // the peer had asked for this silence
    }
    constexpr Nanoseconds silence_max_ns = 250'000'000;
    const bool waits = std::min(timeout_at_, probe_at_) <= now;
    if (waits && now - heard_at_ >= silence_max_ns && leaves_silent_path(connection_) &&
        !is_retry_window_over(now)) {
        give_up(MigrationCause::silence);
        return;
    }
    if (timeout_at_ <= now) {
        on_timeout(now);
        return;
    }
    if (probe_at_ <= now) {
        retransmit(1);
        if (retransmission_) {
            retransmission_->is_probe = true;
        }
        gap_.reset();  // an acknowledgement of the probe says nothing of later packets
        window_.keep_cuts();
        ++connection_.counters.probes;
        rtt_.on_probe();
        probe_at_ = now + rtt_.probe_timeout_ns(connection_.device.config.probe_ns);
    }
}

void Requester::on_other_path() {
    rtt_ = {};
    capacity_ = {};
    answered_in_part_ = false;
    retries_left_ = connection_.attributes.retry_count;
    go_back();
}

void Requester::go_back() {
    cursor_ = unacked_;
    cursor_entry_ = 0;
    reads_.clear();
    gap_.close();
    rtt_.discard_sample();
    window_.keep_cuts();
    local_error_ = Status::success;
    went_back_to_.reset();
    stop_timers();
}

// Uses up a retry. False where none was left: then the queue pair has left its path, or failed.
// While the retry window is open, a queue pair that has no other path has one more.
bool Requester::use_retry(Nanoseconds now) {
    const bool must_stay =
        connection_.device.config.retry_window_ns != 0 && !may_migrate(connection_);
    if (retries_left_ == 0 && must_stay && !is_retry_window_over(now)) {
        retries_left_ = 1;
    }
    if (retries_left_ == 0) {
        give_up(MigrationCause::retries);
        return false;
    }
    --retries_left_;
    return true;
}

void Requester::retry(Nanoseconds now) {
    if (!use_retry(now)) {
        return;
    }
    on_loss();
    go_back();
}

void Requester::on_loss() {
    window_.on_loss(unacked_, highest_, connection_.mtu(), window_bytes_kept());
}

// How large the window stays after a loss. A queue that overflows mostly loses packets in a row, so
// packets that are lost one by one say little of congestion. Then the window stays at twice what
// the path is known to carry, as with BBR (Cardwell et al., ACM Queue 14(5), 2016): a round trip in
// which a process waited for a core shows less than there is room for.
std::uint32_t Requester::window_bytes_kept() const {
    return gap_.losses_are_single() ? 2 * capacity_.bytes() : capacity_.bytes();
}

// Each response behind a gap may report it; only the first makes the requester go back.
void Requester::retry_once(Nanoseconds now) {
    if (went_back_to_ != unacked_) {
        retry(now);
        went_back_to_ = unacked_;
    }
}

// The peer lacks the oldest packet. If that was sent again for the gap before, it is on its way: a
// peer like ours reports the next missing packet at once. A peer that drops what is out of order
// means that it was lost again, which only a probe or the timeout tells apart.
void Requester::retransmit_gap(Nanoseconds now) {
    if (went_back_to_ == unacked_ || unacked_ == cursor_) {
        return;
    }
    if (gap_.is_open() && before(unacked_, gap_.end())) {
        went_back_to_ = unacked_;
        return;
    }
    if (!use_retry(now)) {
        return;
    }
    on_loss();
    went_back_to_ = unacked_;
    if (gap_.is_open()) {
        gap_.adapt(unacked_ == gap_.end());
    }
    retransmit(gap_packets());
    gap_.open(retransmission_->end, cursor_);
}

std::uint32_t Requester::gap_packets() const {
    return std::min(gap_.packets(), window_.packets(connection_.mtu()));
}

// From the oldest on, up to the cursor or a request for data; of such a request, the piece that is
// missing.
void Requester::retransmit(std::uint32_t packets) {
    if (unacked_ == cursor_) {
        return;
    }
    const bool awaits_data = entries_.front().awaits_data();
    Psn end = unacked_ + (awaits_data ? plan_at(0, unacked_).packets : packets);
    if (before(cursor_, end)) {
        end = cursor_;
    }
    for (std::size_t i = 1; i < entries_.size() && before(entries_[i].first, end); ++i) {
        if (entries_[i].awaits_data()) {
            end = entries_[i].first;
        }
    }
    retransmission_ = Retransmission{.next = unacked_, .end = end};
}

// The retry window (DeviceConfig) begins when the retries are used up first, or the path is silent,
// and only progress ends it: a peer that is gone is gone on each path.
bool Requester::is_retry_window_over(Nanoseconds now) {
    const Nanoseconds window = connection_.device.config.retry_window_ns;
    if (window == 0) {
        return false;
    }
    if (retry_window_end_ == never) {
        retry_window_end_ = now + window;
    }
    return now >= retry_window_end_;
}

void Requester::on_timeout(Nanoseconds now) {
    ++connection_.counters.timeouts;
    if (retries_left_ == 0 && is_retry_window_over(now)) {
        fail();
        return;
    }
    retry(now);
}

void Requester::fail() {
    if (!entries_.empty() && connection_.state() != State::error) {
        fail_front(Status::retry_exceeded);
    }
}

void Requester::give_up(MigrationCause cause) {
    if (entries_.empty() || connection_.state() == State::error || !may_migrate(connection_)) {
        fail();
        return;
    }
    migrate(connection_, cause);
    on_other_path();
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
