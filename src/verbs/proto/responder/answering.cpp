// SPDX-License-Identifier: BSD-3-Clause
//
// The responder's packets: acknowledgements, refusals, and the data of reads and atomics.

#include <algorithm>
#include <cstring>

#include "verbs/proto/responder/responder.hpp"
#include "verbs/proto/wire/credits.hpp"

namespace lanewise::verbs {

Part Responder::part_of(const Answer& answer) const {
    const bool begins = answer.index == 0;
    const bool ends = answer.index + 1 == answer.packets;
    return begins ? (ends ? Part::only : Part::first) : (ends ? Part::last : Part::middle);
}

std::size_t Responder::payload_bytes(const Answer& answer) const {
    if (answer.kind != Kind::read_response) {
        return 0;
    }
    const std::uint64_t offset = std::uint64_t{answer.index} * connection_.mtu();
    return std::min<std::uint64_t>(connection_.mtu(), answer.rdma.length_bytes - offset);
}

// A shared queue cannot promise requests to any one peer.
std::uint8_t Responder::positive_syndrome() const {
    const bool shared = connection_.init.shared_receive_queue != nullptr;
    return syndrome(Acknowledgement::ack, shared ? credits_unlimited : credit_code(queue_.size()));
}

std::optional<Outgoing> Responder::peek() const {
    if (answers_.empty() || (!connection_.receives() && !parting_)) {
        return std::nullopt;
    }
    const Answer& answer = answers_.front();
    const OpcodeRow& row = connection_.row(answer.kind, part_of(answer), false);
    return Outgoing{datagram_bytes(row, payload_bytes(answer)),
                    &connection_.attributes.primary.address};
}

bool Responder::write_next(Batch& batch) {
    Answer& answer = answers_.front();
    Packet packet = connection_.packet(answer.kind, part_of(answer), false);
    const std::size_t bytes = payload_bytes(answer);
    packet.base.psn = answer.psn + answer.index;
    packet.base.pad_bytes = static_cast<std::uint8_t>(-bytes & 3u);
    packet.ack = {answer.syndrome != 0 ? answer.syndrome : positive_syndrome(), answer.msn};
    packet.atomic_result = answer.result;
    batch.wrote(encode_headers(packet, batch.room()));
    if (bytes > 0 && !write_data(answer, bytes, batch)) {
        const Psn psn = packet.base.psn;
        answers_.clear();
        refuse(Verdict::access, psn);
        return false;
    }
    batch.pad(packet.base.pad_bytes);
    if (++answer.index == answer.packets) {
        answers_.erase(answers_.begin());
        untold_bytes_ = 0;
    }
    hurry();
    return true;
}

// False where the memory was taken back after the request had been granted.
bool Responder::write_data(const Answer& answer, std::size_t bytes, Batch& batch) const {
    const std::uint64_t address =
        answer.rdma.address + std::uint64_t{answer.index} * connection_.mtu();
    const std::byte *from = connection_.device.memory.find(
        answer.rdma.rkey, connection_.init.domain, address, bytes, remote_read);
    if (from == nullptr) {
        return false;
    }
    if (batch.refers(bytes, 1)) {
        batch.refer({from, bytes});
    } else {
        std::memcpy(batch.room().data(), from, bytes);
        batch.wrote(bytes);
    }
    return true;
}

}  // namespace lanewise::verbs
