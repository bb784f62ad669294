// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/responder/responder.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "verbs/proto/memory/scatter.hpp"
#include "verbs/proto/wire/bytes.hpp"

namespace lanewise::verbs {
namespace {

constexpr std::uint32_t access_for(Kind kind) {
    switch (kind) {
        case Kind::write:
            return remote_write;
        case Kind::read_request:
            return remote_read;
        case Kind::compare_swap:
        case Kind::fetch_add:
            return remote_atomic;
        default:
            return 0;
    }
}

}  // namespace

Responder::Responder(Connection& connection)
    : connection_(connection),
      queue_(connection.init.receive_requests_max, connection.init.receive_slices_max) {}

int Responder::post(const ReceiveRequest& request) {
    if (connection_.init.shared_receive_queue != nullptr || connection_.state() == State::reset) {
        return EINVAL;
    }
    return queue_.post(request);
}

void Responder::start(Psn expected) {
    expected_ = expected;
    msn_ = 0;
    close_gap();
}

void Responder::forget_everything() {
    ReceiveEntry entry;
    while (queue_.take(entry)) {
    }
    has_receive_ = false;
    assembly_ = {};
    done_.clear();
    answers_.clear();
    hurry();
    untold_bytes_ = 0;
    parting_ = false;
    close_gap();
}

void Responder::flush() {
    if (has_receive_) {
        fail_receive(Status::flushed);
    }
    while (queue_.take(receive_)) {
        fail_receive(Status::flushed);
    }
    if (!parting_) {
        answers_.clear();
    }
    assembly_ = {};
    done_.clear();
    close_gap();
    if (connection_.init.shared_receive_queue != nullptr) {
        connection_.tell(EventKind::last_request_reached);
    }
}

bool Responder::obtain_receive() {
    SharedReceiveQueue *shared = connection_.init.shared_receive_queue;
    has_receive_ =
        has_receive_ || (shared != nullptr ? shared->take(receive_) : queue_.take(receive_));
    return has_receive_;
}

void Responder::fail_receive(Status status) {
    has_receive_ = false;
    connection_.complete(connection_.init.receive_queue, {.id = receive_.id,
                                                          .status = status,
                                                          .work = CompletedWork::receive,
                                                          .qpn = connection_.init.number});
}

void Responder::complete_receive(const Packet& packet, std::uint32_t length_bytes) {
    has_receive_ = false;
    Completion completion{.id = receive_.id,
                          .work = packet.row.kind == Kind::write
                                      ? CompletedWork::receive_rdma_with_immediate
                                      : CompletedWork::receive,
                          .has_immediate = packet.row.has_immediate(),
                          .solicited = packet.base.solicited,
                          .length_bytes = length_bytes,
                          .immediate = packet.immediate,
                          .qpn = connection_.init.number,
                          .source_qpn = connection_.attributes.destination_qpn};
    connection_.complete(connection_.init.receive_queue, completion);
}

bool Responder::in_sequence(const Packet& packet) const {
    return packet.row.begins() ? assembly_.kind == Kind::unknown
                               : assembly_.kind == packet.row.kind;
}

bool Responder::has_right_length(const Packet& packet) const {
    const std::size_t bytes = packet.payload.size();
    const std::size_t mtu = connection_.mtu();
    switch (packet.row.part) {
        case Part::only:
            return bytes <= mtu;
        case Part::last:
            return bytes >= 1 && bytes <= mtu;
        default:
            return bytes == mtu;
    }
}

// The next new packet of a connection.
Responder::Verdict Responder::execute(const Packet& packet) {
    const std::uint32_t access = access_for(packet.row.kind);
    if (!in_sequence(packet) || !has_right_length(packet) ||
        (connection_.attributes.access & access) != access) {
        return Verdict::invalid;
    }
    switch (packet.row.kind) {
        case Kind::send:
            return take_send(packet);
        case Kind::write:
            return take_write(packet);
        case Kind::read_request:
            return take_read(packet);
        default:
            return take_atomic(packet);
    }
}

Responder::Verdict Responder::take_send(const Packet& packet) {
    if (!obtain_receive()) {
        return Verdict::not_ready;
    }
    const std::uint64_t offset = packet.row.begins() ? 0 : assembly_.offset;
    const Copied copied = scatter(connection_.device.memory, connection_.init.domain,
                                  receive_.slices, offset, packet.payload);
    if (copied != Copied::all) {
        return copied == Copied::too_long ? Verdict::too_long : Verdict::local;
    }
    assembly_.kind = packet.row.ends() ? Kind::unknown : Kind::send;
    assembly_.offset = offset + packet.payload.size();
    if (packet.row.ends()) {
        complete_receive(packet, static_cast<std::uint32_t>(assembly_.offset));
    }
    return Verdict::done;
}

Responder::Verdict Responder::take_write(const Packet& packet) {
    const RdmaHeader rdma = packet.row.begins() ? packet.rdma : assembly_.rdma;
    const std::uint64_t offset = packet.row.begins() ? 0 : assembly_.offset;
    const std::uint64_t end = offset + packet.payload.size();
    if (rdma.length_bytes > connection_.device.config.message_bytes_max ||
        (packet.row.ends() ? end != rdma.length_bytes : end >= rdma.length_bytes)) {
        return Verdict::invalid;
    }
    const MemoryTable& memory = connection_.device.memory;
    // The first packet asks for the whole range, so that a wrong request writes nothing at all.
    const std::uint64_t wanted = packet.row.begins() ? rdma.length_bytes : packet.payload.size();
    std::byte *to = nullptr;
    if (rdma.length_bytes > 0) {
        to = memory.find(rdma.rkey, connection_.init.domain, rdma.address + offset, wanted,
                         remote_write);
        if (to == nullptr) {
            return Verdict::access;
        }
    }
    if (packet.row.has_immediate() && !obtain_receive()) {
        return Verdict::not_ready;
    }
    if (!packet.payload.empty()) {
        std::memcpy(to, packet.payload.data(), packet.payload.size());
    }
    assembly_ = {packet.row.ends() ? Kind::unknown : Kind::write, end, rdma};
    if (packet.row.has_immediate()) {
        complete_receive(packet, rdma.length_bytes);
    }
    return Verdict::done;
}

// What is ahead shows that packets were lost, and with them the message they were part of.
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
    const bool spoken = packet.row.kind == Kind::send || packet.row.kind == Kind::write;
    const Verdict verdict = spoken ? execute(packet) : Verdict::invalid;
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

}  // namespace lanewise::verbs
