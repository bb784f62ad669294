// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/responder/responder.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "verbs/proto/memory/guarded.hpp"
#include "verbs/proto/queues/scatter.hpp"
#include "verbs/proto/wire/bytes.hpp"

namespace lanewise::verbs {
namespace {

constexpr std::uint32_t access_for(PacketKind kind) {
    switch (kind) {
        case PacketKind::write: return remote_write;
        case PacketKind::read_request: return remote_read;
        case PacketKind::compare_swap:
        case PacketKind::fetch_add: return remote_atomic;
        default: return 0;
    }
}

using RouteHeader = std::array<std::byte, 40>;

// RFC 1071. Programs tell by it that the header is one of IPv4.
std::uint16_t checksum(std::span<const std::byte> header) {
    std::uint32_t sum = 0;
    for (std::size_t at = 0; at < header.size(); at += 2) {
        sum += load_network<std::uint16_t>(header.data() + at);
    }
    sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<std::uint16_t>(~((sum & 0xffff) + (sum >> 16)));
}

// The header of IP with which a datagram came, behind 20 bytes where it is one of IPv4. Where its
// identification or flow label is not known, there is 0.
RouteHeader route_header(const Arrival& from, std::size_t udp_length) {
    RouteHeader header{};
    std::byte *at = header.data();
    if (is_ipv4(from.source)) {
        at += 20;
        at[0] = std::byte{0x45};
        at[1] = std::byte{from.traffic_class};
        store_network(at + 2, 20 + udp_length, 2);
        store_network(at + 4, from.ip_id <= 0xffff ? from.ip_id : 0, 2);
        at[6] = std::byte{0x40};  // do not fragment
        at[8] = std::byte{from.hop_limit};
        at[9] = std::byte{17};
        std::memcpy(at + 12, from.source.data() + 12, 4);
        std::memcpy(at + 16, from.destination.data() + 12, 4);
        store_network(at + 10, checksum({at, 20}));
        return header;
    }
    store_network(at, 0x60000000u | static_cast<std::uint32_t>(from.traffic_class) << 20);
    store_network(at + 4, udp_length, 2);
    at[6] = std::byte{17};
    at[7] = std::byte{from.hop_limit};
    std::memcpy(at + 8, from.source.data(), 16);
    std::memcpy(at + 24, from.destination.data(), 16);
    return header;
}

}  // namespace

Responder::Responder(Connection& connection)
    : connection_(connection),
      queue_(connection.init.receive_requests_max, connection.init.receive_slices_max) {}

int Responder::post(const ReceiveRequest& request) {
    if (connection_.init.shared_receive_queue != nullptr || connection_.extended() ||
        connection_.state() == State::reset) {
        return EINVAL;
    }
    return queue_.post(request);
}

void Responder::start(Psn expected) {
    expected_ = expected;
    served_at_ = 0;
    msn_ = 0;
    seen_far_away_.reset();
    reported_missing_ = {};
    reset_reassembly();
}

void Responder::reset() {
    ReceiveEntry entry;
    while (queue_.take(entry)) {
    }
    has_receive_ = false;
    assembly_ = {};
    recent_.clear();
    responses_.clear();
    cancel_ack_delay();
    lazy_ack_at_ = never;
    unacknowledged_bytes_ = 0;
    final_nak_pending_ = false;
    reset_reassembly();
}

void Responder::flush() {
    if (has_receive_) {
        fail_receive(Status::flushed);
    }
    while (queue_.take(receive_)) {
        fail_receive(Status::flushed);
    }
    if (!final_nak_pending_) {
        responses_.clear();
    }
    lazy_ack_at_ = never;
    assembly_ = {};
    recent_.clear();
    reset_reassembly();
    if (connection_.init.shared_receive_queue != nullptr) {
        connection_.report(EventKind::last_request_reached);
    }
}

// The shared queue that a request is for; of an extended connection it is the one that the packet
// names, if that is of the domain of the connection.
SharedReceiveQueue *Responder::shared_queue(std::uint32_t srqn) const {
    if (!connection_.extended()) {
        return connection_.init.shared_receive_queue;
    }
    const auto& queues = connection_.device.numbered_queues;
    const auto found = queues.find(srqn);
    return found != queues.end() &&
                   found->second->extended().xrc_domain == connection_.init.xrc_domain
               ? found->second
               : nullptr;
}

// As whom a request reaches memory. An extended connection has the domain of the shared queue.
Accessor Responder::accessor(std::uint32_t srqn) const {
    Accessor made = connection_.accessor();
    const SharedReceiveQueue *shared = shared_queue(srqn);
    if (connection_.extended() && shared != nullptr) {
        made.domain = shared->domain();
    }
    return made;
}

CompletionQueue *Responder::completions() const {
    if (!connection_.extended()) {
        return connection_.init.receive_queue;
    }
    const SharedReceiveQueue *shared = shared_queue(receive_srqn_);
    return shared != nullptr ? shared->extended().completions : nullptr;
}

bool Responder::obtain_receive(std::uint32_t srqn) {
    SharedReceiveQueue *shared = shared_queue(srqn);
    receive_srqn_ = srqn;
    if (connection_.device.lacks_receives) {
        return false;
    }
    has_receive_ =
        has_receive_ || (shared != nullptr ? shared->take(receive_) : queue_.take(receive_));
    return has_receive_;
}

void Responder::fail_receive(Status status) {
    has_receive_ = false;
    connection_.complete(completions(), {.id = receive_.id,
                                         .status = status,
                                         .work = CompletedWork::receive,
                                         .qpn = connection_.init.number});
}

void Responder::complete_receive(const Packet& packet, std::uint32_t length_bytes) {
    has_receive_ = false;
    Completion completion{.id = receive_.id,
                          .work = packet.row.kind == PacketKind::write
                                      ? CompletedWork::receive_rdma_with_immediate
                                      : CompletedWork::receive,
                          .has_immediate = packet.row.has_immediate(),
                          .solicited = packet.base.solicited,
                          .length_bytes = length_bytes,
                          .immediate = packet.immediate,
                          .invalidated_key = packet.invalidated_key,
                          .qpn = connection_.init.number,
                          .source_qpn = connection_.attributes.destination_qpn};
    connection_.complete(completions(), completion);
}

bool Responder::in_sequence(const Packet& packet) const {
    return packet.row.begins() ? assembly_.kind == PacketKind::unknown
                               : assembly_.kind == packet.row.kind && assembly_.srqn == packet.srqn;
}

bool Responder::has_right_length(const Packet& packet) const {
    const std::size_t bytes = packet.payload.size();
    const std::size_t mtu = connection_.mtu();
    switch (packet.row.part) {
        case Part::only: return bytes <= mtu;
        case Part::last: return bytes >= 1 && bytes <= mtu;
        default: return bytes == mtu;
    }
}

// Executes the next new packet of a connection.
Responder::Verdict Responder::execute(const Packet& packet) {
    const std::uint32_t access = access_for(packet.row.kind);
    const bool names_queue = !connection_.extended() || shared_queue(packet.srqn) != nullptr;
    if (!names_queue || !in_sequence(packet) || !has_right_length(packet) ||
        (connection_.attributes.access & access) != access) {
        return Verdict::invalid;
    }
    switch (packet.row.kind) {
        case PacketKind::send: return take_send(packet);
        case PacketKind::write: return take_write(packet);
        case PacketKind::read_request: return take_read(packet);
        default: return take_atomic(packet);
    }
}

Responder::Verdict Responder::take_send(const Packet& packet) {
    if (!obtain_receive(packet.srqn)) {
        return Verdict::not_ready;
    }
    MemoryTable& memory = connection_.device.memory;
    const Accessor self = accessor(packet.srqn);
    if (packet.row.invalidates() && !memory.may_invalidate(packet.invalidated_key, self)) {
        return Verdict::access;
    }
    const std::uint64_t offset = packet.row.begins() ? 0 : assembly_.offset;
    if (offset + packet.payload.size() > connection_.device.config.message_bytes_max) {
        return Verdict::invalid;
    }
    const Copied copied = scatter(memory, self.domain, receive_.slices, offset, packet.payload);
    if (copied != Copied::all) {
        return copied == Copied::too_long ? Verdict::too_long : Verdict::local;
    }
    assembly_.kind = packet.row.ends() ? PacketKind::unknown : PacketKind::send;
    assembly_.offset = offset + packet.payload.size();
    assembly_.srqn = packet.srqn;
    if (packet.row.invalidates()) {
        memory.invalidate(packet.invalidated_key, self);
    }
    if (packet.row.ends()) {
        complete_receive(packet, static_cast<std::uint32_t>(assembly_.offset));
    }
    return Verdict::done;
}

// What a key of the peer opens, of a region or of a window.
std::byte *Responder::memory_of_peer(std::uint32_t srqn, std::uint32_t rkey, std::uint64_t address,
                                     std::uint64_t length_bytes, std::uint32_t access) const {
    return connection_.device.memory.find_remote(rkey, accessor(srqn), address, length_bytes,
                                                 access);
}

Responder::Verdict Responder::take_write(const Packet& packet) {
    const RdmaHeader rdma = packet.row.begins() ? packet.rdma : assembly_.rdma;
    const std::uint64_t offset = packet.row.begins() ? 0 : assembly_.offset;
    const std::uint64_t end = offset + packet.payload.size();
    if (rdma.length_bytes > connection_.device.config.message_bytes_max ||
        (packet.row.ends() ? end != rdma.length_bytes : end >= rdma.length_bytes)) {
        return Verdict::invalid;
    }
    // The first packet checks the whole range, so that an invalid request writes nothing at all.
    const std::uint64_t wanted = packet.row.begins() ? rdma.length_bytes : packet.payload.size();
    std::byte *to = nullptr;
    if (rdma.length_bytes > 0) {
        to = memory_of_peer(packet.srqn, rdma.rkey, rdma.address + offset, wanted, remote_write);
        if (to == nullptr) {
            return Verdict::access;
        }
    }
    if (packet.row.has_immediate() && !obtain_receive(packet.srqn)) {
        return Verdict::not_ready;
    }
    if (!packet.payload.empty() &&
        !place_guarded(to, packet.payload.data(), packet.payload.size())) {
        return Verdict::access;
    }
    assembly_ = {packet.row.ends() ? PacketKind::unknown : PacketKind::write, end, rdma,
                 packet.srqn};
    if (packet.row.has_immediate()) {
        complete_receive(packet, rdma.length_bytes);
    }
    return Verdict::done;
}

bool Responder::finds_near(Psn psn) {
    const std::int32_t ahead = distance(expected_, psn);
    if (ahead > -window_packets_max && ahead < window_packets_max) {
        return true;
    }
    if (seen_far_away_ != psn - 1) {
        seen_far_away_ = psn;
        return false;
    }
    seen_far_away_.reset();
    expected_ = psn;
    assembly_ = {};
    return true;
}

// A number ahead of the expected one means that packets were lost, and with them their message.
void Responder::on_unreliable(const Packet& packet) {
    const std::int32_t ahead = distance(expected_, packet.base.psn);
    if (ahead < 0) {
        ++connection_.counters.duplicates;
        return;
    }
    if (ahead > 0) {
        ++connection_.counters.out_of_order;
        assembly_ = {};
    }
    expected_ = packet.base.psn + 1;
    if (packet.row.begins()) {
        assembly_ = {};
    }
    const bool supported =
        packet.row.kind == PacketKind::send || packet.row.kind == PacketKind::write;
    const Verdict verdict = supported ? execute(packet) : Verdict::invalid;
    if (verdict == Verdict::done) {
        return;
    }
    ++connection_.counters.dropped;
    assembly_ = {};
    if (verdict == Verdict::local) {
        fail_receive(Status::local_protection_error);
        connection_.fail();
    }
}

// Unreliable datagrams. A receive buffer begins with 40 bytes for a global route header; an IPv4
// header lies in the last 20 of them (annex A17 of IBA 1).

void Responder::on_datagram(const Packet& packet, const Arrival& from) {
    if (packet.datagram.qkey != connection_.attributes.qkey) {
        ++connection_.device.port(from.port).counters.qkey_violations;
        ++connection_.counters.dropped;
        return;
    }
    const MemoryTable& memory = connection_.device.memory;
    const ProtectionDomain domain = connection_.init.domain;
    const RouteHeader header =
        route_header(from, 8 + datagram_bytes(packet.row, packet.payload.size()));
    const std::size_t bytes = header.size() + packet.payload.size();
    if (packet.payload.size() > connection_.mtu() || !obtain_receive(0) ||
        bytes > length_bytes(receive_.slices)) {
        ++connection_.counters.dropped;  // the request waits for a datagram that fits
        return;
    }
    if (scatter(memory, domain, receive_.slices, 0, header) != Copied::all ||
        scatter(memory, domain, receive_.slices, header.size(), packet.payload) != Copied::all) {
        fail_receive(Status::local_protection_error);
        connection_.fail();
        return;
    }
    has_receive_ = false;
    connection_.complete(connection_.init.receive_queue,
                         {.id = receive_.id,
                          .work = CompletedWork::receive,
                          .has_immediate = packet.row.has_immediate(),
                          .has_grh = true,
                          .solicited = packet.base.solicited,
                          .service_level = from.service_level,
                          .source_lid = from.source_lid,
                          .length_bytes = static_cast<std::uint32_t>(bytes),
                          .immediate = packet.immediate,
                          .qpn = connection_.init.number,
                          .source_qpn = packet.datagram.source_qpn});
}

// Reliable connections: sequence, refusals, and duplicate requests.

void Responder::on_request(const Packet& packet, Nanoseconds now) {
    const std::int32_t ahead = distance(expected_, packet.base.psn);
    if (ahead < 0) {
        ++connection_.counters.duplicates;
        repeat(packet);
        return;
    }
    if (ahead > 0) {
        on_out_of_order(packet, now);
        return;
    }
    if (accept(packet, now)) {
        accept_buffered(now);
    }
}

// Executes the next new request. False if it was refused.
bool Responder::accept(const Packet& packet, Nanoseconds now) {
    sequence_nak_sent_ = false;
    nak_due_at_ = never;
    const Psn psn = expected_;
    const Verdict verdict = execute(packet);
    if (verdict != Verdict::done) {
        reassembly_.clear();
        refuse(verdict, psn);
        return false;
    }
    served_at_ = now;
    if (packet.row.kind == PacketKind::send || packet.row.kind == PacketKind::write) {
        expected_ = psn + 1;
        msn_ = (msn_ + (packet.row.ends() ? 1 : 0)) & Psn::mask;
        unacknowledged_bytes_ += socket_buffer_bytes(packet.payload.size());
        if (packet.base.ack_request) {
            acknowledge_delayed(psn, now);
        } else if (packet.row.ends()) {
            acknowledge_lazily(psn, now);
        }
    }
    forget_old();
    return true;
}

// Executes the buffered packets that follow the one that has just come, and acknowledges them. If
// more lie behind another gap, that gap has been open for as long as the first. If packet after
// packet comes that none follows, more than are ever lost in a row, the peer did not send what is
// buffered.
void Responder::accept_buffered(Nanoseconds now) {
    constexpr unsigned unfilled_max = 64;
    if (reassembly_.empty()) {
        return;
    }
    ++unfilled_in_a_row_;
    while (const auto next = reassembly_.take(expected_)) {
        unfilled_in_a_row_ = 0;
        if (!accept(next->packet, now)) {
            return;
        }
    }
    if (unfilled_in_a_row_ == unfilled_max) {
        connection_.counters.outside_window += reassembly_.size();
        reset_reassembly();
    }
    cancel_ack_delay();
    if (!reassembly_.empty()) {
        send_sequence_nak();
    } else if (responses_.empty() || is_plain(responses_.back())) {
        acknowledge(expected_ - 1);
    }
}

void Responder::on_out_of_order(const Packet& packet, Nanoseconds now) {
    constexpr std::size_t reordering_max = 3;
    const DeviceConfig& config = connection_.device.config;
    ++connection_.counters.out_of_order;
    reassembly_.insert(packet, config.reassembly_bytes);
    if (sequence_nak_sent_) {
        return;
    }
    if (config.reorder_ns == 0 || reassembly_.size() >= reordering_max || reassembly_.empty()) {
        send_sequence_nak();
    } else if (nak_due_at_ == never) {
        nak_due_at_ = now + config.reorder_ns;
    }
}

// A NAK also acknowledges everything before it.
void Responder::send_sequence_nak() {
    sequence_nak_sent_ = true;
    nak_due_at_ = never;
    ++connection_.counters.sequence_naks_sent;
    if (std::find(reported_missing_.begin(), reported_missing_.end(), expected_) ==
        reported_missing_.end()) {
        last_reported_ = (last_reported_ + 1) % reported_missing_.size();
        reported_missing_[last_reported_] = expected_;
    }
    if (!responses_.empty() && is_plain(responses_.back())) {
        responses_.pop_back();
    }
    push_nak(expected_, syndrome(NakCode::psn_sequence));
}

void Responder::reset_reassembly() {
    sequence_nak_sent_ = false;
    nak_due_at_ = never;
    unfilled_in_a_row_ = 0;
    reassembly_.clear();
}

void Responder::refuse(Verdict verdict, Psn psn) {
    if (verdict == Verdict::not_ready) {
        // The packets behind this one will be sent again with it, so they need no NAK.
        sequence_nak_sent_ = true;
        ++connection_.counters.rnr_naks_sent;
        push_nak(psn, syndrome(Acknowledgement::rnr_nak, connection_.attributes.rnr_timer));
        return;
    }
    NakCode code = NakCode::invalid_request;
    code = verdict == Verdict::access ? NakCode::remote_access : code;
    code = verdict == Verdict::local ? NakCode::remote_operational : code;
    ++connection_.counters.error_naks_sent;
    push_nak(psn, syndrome(code));
    final_nak_pending_ = true;
    if (verdict == Verdict::too_long) {
        fail_receive(Status::local_length_error);
    } else if (verdict == Verdict::local) {
        fail_receive(Status::local_protection_error);
    } else {
        connection_.report(verdict == Verdict::access ? EventKind::qp_access_error
                                                      : EventKind::qp_request_error);
    }
    connection_.fail();
}

void Responder::acknowledge(Psn psn) {
    if (responses_.empty() || !is_plain(responses_.back())) {
        responses_.emplace_back();
    }
    responses_.back().psn = psn;
    responses_.back().msn = msn_;
    lazy_ack_at_ = never;
}

// Acknowledges at once when much has come, so that the peer's window does not close.
void Responder::acknowledge_delayed(Psn psn, Nanoseconds now) {
    const DeviceConfig& config = connection_.device.config;
    const bool only_one = responses_.empty();
    acknowledge(psn);
    if (unacknowledged_bytes_ >= config.window_bytes / 4) {
        cancel_ack_delay();
    } else if (only_one && config.ack_delay_ns > 0) {
        ack_due_at_ = now + config.ack_delay_ns;
    }
}

// The acknowledgement may leave with an answer if half of the time has passed.
void Responder::acknowledge_lazily(Psn psn, Nanoseconds now) {
    const Nanoseconds lazy = connection_.device.config.lazy_ack_ns;
    if (lazy == 0) {
        return;
    }
    if (lazy_ack_at_ == never) {
        lazy_ack_at_ = now + lazy;
    } else if (now >= lazy_ack_at_ - lazy / 2) {
        acknowledge_delayed(psn, now);
    }
}

bool Responder::delays_ack() const {
    return ack_due_at_ != never && responses_.size() == 1 && is_plain(responses_.front());
}

void Responder::on_deadline(Nanoseconds now) {
    if (ack_due_at_ <= now) {
        cancel_ack_delay();
    }
    if (lazy_ack_at_ <= now) {
        acknowledge(expected_ - 1);
    }
    if (nak_due_at_ <= now) {
        send_sequence_nak();
    }
}

void Responder::push_nak(Psn psn, std::uint8_t code) {
    responses_.push_back({.psn = psn, .msn = msn_, .syndrome = code});
}

void Responder::announce() {
    cancel_ack_delay();
    acknowledge(expected_ - 1);
}

// It goes first, and what waits behind it is as it was.
void Responder::send_probe(Probe kind) {
    std::erase_if(responses_, [&](const Response& one) { return one.probe == kind; });
    responses_.insert(responses_.begin(), {.psn = expected_ - 1, .msn = msn_, .probe = kind});
}

std::uint32_t Responder::read_packets(std::uint64_t length_bytes) const {
    const std::uint64_t mtu = connection_.mtu();
    return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, (length_bytes + mtu - 1) / mtu));
}

std::vector<Responder::Response>::iterator Responder::unsent_response_to(
    const RecentRequest& done) {
    return std::find_if(responses_.begin(), responses_.end(), [&](const Response& a) {
        return a.kind != PacketKind::acknowledge && !before(a.psn, done.first) &&
               !before(done.first + (done.packets - 1), a.psn);
    });
}

// Forgets what the peer no longer asks for, since its numbers come again. (Behind half of the
// circle a distance is negative.)
void Responder::forget_old() {
    constexpr std::int32_t kept_packets = 1 << 22;
    while (!recent_.empty()) {
        const RecentRequest& oldest = recent_.front();
        const std::int32_t behind = distance(oldest.first + oldest.packets, expected_);
        const bool is_old = behind < 0 || behind > kept_packets;
        if (!is_old || unsent_response_to(oldest) != responses_.end()) {
            return;
        }
        recent_.pop();
    }
}

// False if the peer has more reads and atomics outstanding than was agreed, which may have been
// lowered since the last one.
bool Responder::remember(const RecentRequest& done) {
    const std::size_t agreed = connection_.attributes.destination_read_atomic_max;
    if (agreed == 0) {
        return false;
    }
    while (recent_.size() >= agreed) {
        const auto unsent = unsent_response_to(recent_.front());
        if (unsent != responses_.end()) {
            if (!unsent->repeated) {
                return false;
            }
            responses_.erase(unsent);  // the peer has gone on, so it has received that response
        }
        recent_.pop();
    }
    recent_.push() = done;
    return true;
}

Responder::Verdict Responder::take_read(const Packet& packet) {
    const RdmaHeader& rdma = packet.rdma;
    if (rdma.length_bytes > connection_.device.config.message_bytes_max) {
        return Verdict::invalid;
    }
    if (rdma.length_bytes > 0 && memory_of_peer(packet.srqn, rdma.rkey, rdma.address,
                                                rdma.length_bytes, remote_read) == nullptr) {
        return Verdict::access;
    }
    const std::uint32_t packets = read_packets(rdma.length_bytes);
    if (!remember({.is_read = true, .first = expected_, .packets = packets})) {
        return Verdict::invalid;
    }
    msn_ = (msn_ + 1) & Psn::mask;
    responses_.push_back({.kind = PacketKind::read_response,
                          .psn = expected_,
                          .msn = msn_,
                          .srqn = packet.srqn,
                          .rdma = rdma,
                          .packets = packets});
    expected_ = expected_ + packets;
    return Verdict::done;
}

Responder::Verdict Responder::take_atomic(const Packet& packet) {
    const AtomicHeader& atomic = packet.atomic;
    std::byte *at = memory_of_peer(packet.srqn, atomic.rkey, atomic.address, sizeof(std::uint64_t),
                                   remote_atomic);
    if (at == nullptr) {
        return Verdict::access;
    }
    if (reinterpret_cast<std::uintptr_t>(at) % sizeof(std::uint64_t) != 0 ||
        atomic.address % sizeof(std::uint64_t) != 0) {
        return Verdict::invalid;
    }
    auto *word = reinterpret_cast<std::uint64_t *>(at);
    if (!remember({.first = expected_})) {
        return Verdict::invalid;
    }
    std::uint64_t old = atomic.compare;
    const auto change = packet.row.kind == PacketKind::compare_swap ? swap_guarded : add_guarded;
    if (!change(word, atomic.swap_or_add, old)) {
        recent_.pop_back();
        return Verdict::access;
    }
    recent_.back().result = old;
    msn_ = (msn_ + 1) & Psn::mask;
    responses_.push_back(
        {.kind = PacketKind::atomic_acknowledge, .psn = expected_, .msn = msn_, .result = old});
    expected_ = expected_ + 1;
    return Verdict::done;
}

// What a NAK asked for has come twice: as it was first sent, and again. The acknowledgement of all
// that has come follows behind.
void Responder::report_late(Psn psn) {
    const auto reported = std::find(reported_missing_.begin(), reported_missing_.end(), psn);
    if (reported != reported_missing_.end()) {
        reported->reset();
        responses_.push_back({.psn = psn, .msn = msn_, .of_late_packet = true});
    }
}

// A request that was executed before: its response may have been lost.
void Responder::repeat(const Packet& packet) {
    if (packet.row.kind == PacketKind::send || packet.row.kind == PacketKind::write) {
        cancel_ack_delay();
        report_late(packet.base.psn);
        acknowledge(expected_ - 1);
        return;
    }
    for (std::size_t i = recent_.size(); i-- > 0;) {
        const RecentRequest& done = recent_[i];
        const std::int32_t index = distance(done.first, packet.base.psn);
        if (index < 0 || static_cast<std::uint32_t>(index) >= done.packets) {
            continue;
        }
        if (done.is_read && packet.row.kind == PacketKind::read_request) {
            repeat_read(packet, done);
        } else if (!done.is_read && packet.row.kind != PacketKind::read_request) {
            insert_repeated({.kind = PacketKind::atomic_acknowledge,
                             .psn = done.first,
                             .msn = msn_,
                             .repeated = true,
                             .result = done.result});
        }
        return;
    }
    ++connection_.counters.dropped;
}

void Responder::repeat_read(const Packet& packet, const RecentRequest& done) {
    const RdmaHeader& rdma = packet.rdma;
    const std::uint64_t left = std::uint64_t{done.packets} * connection_.mtu();
    const auto index = static_cast<std::uint64_t>(distance(done.first, packet.base.psn));
    const bool fits = rdma.length_bytes <= left - index * connection_.mtu();
    const bool allowed =
        rdma.length_bytes == 0 || memory_of_peer(packet.srqn, rdma.rkey, rdma.address,
                                                 rdma.length_bytes, remote_read) != nullptr;
    if (!fits || !allowed) {
        ++connection_.counters.dropped;
        return;
    }
    insert_repeated({.kind = PacketKind::read_response,
                     .psn = packet.base.psn,
                     .msn = msn_,
                     .repeated = true,
                     .srqn = packet.srqn,
                     .rdma = rdma,
                     .packets = read_packets(rdma.length_bytes)});
}

// Responses are kept in the order of their sequence numbers. One that is requested again replaces
// what is left of the same response.
void Responder::insert_repeated(Response response) {
    const Psn last = response.psn + (response.packets - 1);
    bool first_time = false;
    std::erase_if(responses_, [&](const Response& a) {
        const bool same = a.kind != PacketKind::acknowledge && !before(last, a.psn) &&
                          !before(a.psn + (a.packets - 1), response.psn);
        first_time = first_time || (same && !a.repeated);
        return same;
    });
    response.repeated = !first_time;
    const auto place = std::find_if(responses_.begin(), responses_.end(),
                                    [&](const Response& a) { return before(response.psn, a.psn); });
    responses_.insert(place, response);
}

// Responses: acknowledgements, refusals, and the data of reads and atomics.

Part Responder::part_of(const Response& response) const {
    const bool begins = response.index == 0;
    const bool ends = response.index + 1 == response.packets;
    return begins ? (ends ? Part::only : Part::first) : (ends ? Part::last : Part::middle);
}

std::size_t Responder::payload_bytes(const Response& response) const {
    if (response.kind != PacketKind::read_response) {
        return 0;
    }
    const std::uint64_t offset = std::uint64_t{response.index} * connection_.mtu();
    return std::min<std::uint64_t>(connection_.mtu(), response.rdma.length_bytes - offset);
}

// A shared receive queue cannot promise requests to any one peer.
std::uint8_t Responder::positive_syndrome() const {
    const bool shared = connection_.extended() || connection_.init.shared_receive_queue != nullptr;
    return syndrome(Acknowledgement::ack, shared ? credits_unlimited : credit_code(queue_.size()));
}

Packet Responder::acknowledgement() const {
    Packet packet = connection_.packet(PacketKind::acknowledge, Part::only, Extra::nothing);
    packet.base.psn = expected_ - 1;
    packet.ack = {positive_syndrome(), msn_};
    return packet;
}

bool Responder::peek(NextPacket& next) const {
    if (responses_.empty() || (!connection_.receives() && !final_nak_pending_)) {
        return false;
    }
    const Response& response = responses_.front();
    const OpcodeRow& row = connection_.row(response.kind, part_of(response), Extra::nothing);
    const Attributes& attributes = connection_.attributes;
    const bool elsewhere =
        response.probe == Probe::question || response.probe == Probe::answer_on_alternate;
    const Path& path = elsewhere ? attributes.alternate : attributes.primary;
    next.bytes = datagram_bytes(row, payload_bytes(response));
    next.to = &path.address;
    next.is_paced = response.kind == PacketKind::read_response;
    return true;
}

bool Responder::write_next(Batch& batch) {
    Response& response = responses_.front();
    Packet packet = connection_.packet(response.kind, part_of(response), Extra::nothing);
    const std::size_t bytes = payload_bytes(response);
    packet.base.psn = response.psn + response.index;
    packet.base.pad_bytes = static_cast<std::uint8_t>(-bytes & 3u);
    packet.ack = {response.syndrome != 0 ? response.syndrome : positive_syndrome(), response.msn};
    packet.atomic_result = response.result;
    if (response.probe != Probe::none) {
        packet.base.solicited = true;
        packet.base.ack_request = response.probe == Probe::question;
        batch.wrote(encode_headers(packet, batch.room()));
        responses_.erase(responses_.begin());
        return true;
    }
    batch.wrote(encode_headers(packet, batch.room()));
    if (bytes > 0 && !write_data(response, bytes, batch)) {
        const Psn psn = packet.base.psn;
        responses_.clear();
        refuse(Verdict::access, psn);
        return false;
    }
    batch.pad(packet.base.pad_bytes);
    if (++response.index == response.packets) {
        responses_.erase(responses_.begin());
        unacknowledged_bytes_ = 0;
    }
    cancel_ack_delay();
    return true;
}

// False if the memory was deregistered, or unmapped, after the request had been accepted.
bool Responder::write_data(const Response& response, std::size_t bytes, Batch& batch) const {
    const std::uint64_t address =
        response.rdma.address + std::uint64_t{response.index} * connection_.mtu();
    const std::byte *from =
        memory_of_peer(response.srqn, response.rdma.rkey, address, bytes, remote_read);
    if (from == nullptr ||
        !read_guarded(batch.room().data(), from, bytes, batch.checksum_for(bytes))) {
        return false;
    }
    batch.wrote(bytes);
    return true;
}

}  // namespace lanewise::verbs
