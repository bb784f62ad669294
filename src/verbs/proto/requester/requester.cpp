// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/requester/requester.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "verbs/proto/memory/scatter.hpp"
#include "verbs/proto/requester/window.hpp"

namespace lanewise::verbs {
namespace {

Kind kind_of(Operation operation) {
    switch (operation) {
        case Operation::write:
        case Operation::write_immediate:
            return Kind::write;
        case Operation::read:
            return Kind::read_request;
        case Operation::compare_swap:
            return Kind::compare_swap;
        case Operation::fetch_add:
            return Kind::fetch_add;
        default:
            return Kind::send;
    }
}

bool carries_immediate(Operation operation) {
    return operation == Operation::send_immediate || operation == Operation::write_immediate;
}

// InfiniBand counts messages, like packets, in 24 bits.
bool later_message(std::uint32_t a, std::uint32_t b) {
    return before(Psn(b), Psn(a));
}

}  // namespace

void Requester::start(Psn first) {
    forget_everything();
    window_.open(connection_.device.config.window_bytes);
    peer_drops_early_ = false;
    unacked_ = cursor_ = highest_ = next_ = first;
    sequence_ = credit_limit_ = 0;
    credits_unlimited_ = false;
    retries_left_ = connection_.attributes.retry_count;
    patient_until_ = never;
    rnr_retries_left_ = connection_.attributes.rnr_retry;
}

void Requester::forget_everything() {
    entries_.clear();
    reads_.clear();
    cursor_entry_ = 0;
    unrequested_ = 0;
    went_back_to_.reset();
    mended_.reset();
    round_trip_.forget();
    local_error_ = Status::success;
    unacked_ = cursor_ = highest_ = next_;
    stop_timers();
}

void Requester::flush() {
    while (!entries_.empty()) {
        complete_front(Status::flushed);
    }
    forget_everything();
}

std::uint32_t Requester::read_packets() const {
    return std::max(1u, window_.packets_max(connection_.mtu()) / 2);
}

std::uint32_t Requester::messages_of(const SendEntry& entry) const {
    return entry.is_read() ? (entry.packets + read_packets() - 1) / read_packets() : 1;
}

Requester::Plan Requester::plan_at(std::size_t at, Psn psn) const {
    const SendEntry& entry = entries_[at];
    Plan plan{.entry = at,
              .index = static_cast<std::uint32_t>(distance(entry.first, psn)),
              .kind = kind_of(entry.operation)};
    if (entry.is_read()) {
        // Pieces begin at multiples of a fixed length, also when a part is asked for again, so that
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
    plan.immediate = ends && carries_immediate(entry.operation);
    return plan;
}

bool Requester::fits_window(const Plan& plan) const {
    const auto ahead = static_cast<std::uint32_t>(distance(unacked_, cursor_));
    const std::size_t bytes =
        plan.kind == Kind::read_request ? connection_.mtu() : plan.payload_bytes;
    return ahead == 0 || ahead + plan.packets <= window_.packets(bytes);
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
    // One message may go beyond the credits: its answer brings new ones.
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
    if (probe_wanted_ && unacked_ != cursor_) {
        Plan probe = plan_at(0, unacked_);
        probe.probe = true;
        return probe;
    }
    if (cursor_entry_ == entries_.size() || local_error_ != Status::success) {
        return std::nullopt;
    }
    const Plan plan = plan_at(cursor_entry_, cursor_);
    if (!may_begin(entries_[cursor_entry_], plan)) {
        return std::nullopt;
    }
    return plan;
}

std::optional<Outgoing> Requester::peek() {
    const auto next = plan();
    if (!next) {
        return std::nullopt;
    }
    const SendEntry& entry = entries_[next->entry];
    const OpcodeRow& row = connection_.row(next->kind, next->part, next->immediate);
    const AddressVector *to =
        connection_.connected() ? &connection_.attributes.primary.address : &entry.address;
    return Outgoing{datagram_bytes(row, next->payload_bytes), to};
}

Packet Requester::packet_of(const SendEntry& entry, const Plan& plan) const {
    Packet packet = connection_.packet(plan.kind, plan.part, plan.immediate);
    packet.base.psn = entry.first + plan.index;
    packet.base.pad_bytes = static_cast<std::uint8_t>(-plan.payload_bytes & 3u);
    packet.immediate = entry.immediate;
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
        packet.base.ack_request =
            ends || plan.probe || unrequested_ + 1 >= window / 4 || ahead >= window;
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
    Copied copied = Copied::all;
    if (batch.refers(payload.size(), entry.slices.size())) {
        copied = borrow(memory, domain, entry.slices, offset, payload.size(), batch);
    } else {
        copied = gather(memory, domain, entry.slices, offset, payload);
        batch.wrote(payload.size());
    }
    return copied == Copied::all ? Status::success : Status::local_protection_error;
}

bool Requester::gathers() const {
    constexpr std::uint32_t batch_bytes = 32 * 1024;
    if (unacked_ == cursor_ || entries_.empty()) {
        return false;
    }
    const SendEntry& newest = entries_[entries_.size() - 1];
    if (newest.awaits_data()) {
        return false;
    }
    const auto waiting = static_cast<std::uint32_t>(distance(cursor_, next_));
    const std::size_t bytes = std::min<std::uint64_t>(newest.length_bytes, connection_.mtu());
    return waiting * weight_bytes(bytes) < batch_bytes;
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
        local_error_ = status;
        if (next->entry == 0) {
            fail_front(status);
        }
        return false;
    }
    batch.pad(packet.base.pad_bytes);
    unrequested_ = packet.base.ack_request ? 0 : unrequested_ + 1;
    if (packet.base.ack_request && !next->probe && !before(cursor_, highest_)) {
        round_trip_.on_sent(packet.base.psn, now);
    }
    sent(*next, now);
    return true;
}

void Requester::sent(const Plan& plan, Nanoseconds now) {
    if (plan.probe) {
        probe_wanted_ = false;
        round_trip_.forget();
        ++connection_.counters.packets_resent;
        return;
    }
    const SendEntry& entry = entries_[plan.entry];
    const bool reliable = connection_.reliable();
    if (reliable && entry.awaits_data()) {
        reads_.push() = cursor_ + (plan.packets - 1);
    }
    connection_.counters.packets_resent += before(cursor_, highest_) ? 1u : 0u;
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

}  // namespace lanewise::verbs
