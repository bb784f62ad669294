// SPDX-License-Identifier: BSD-3-Clause
//
// Posting a send: what ibv_post_send(3) refuses, and how a request becomes an entry.

#include <algorithm>
#include <cerrno>

#include "verbs/proto/memory/scatter.hpp"
#include "verbs/proto/requester/requester.hpp"

namespace lanewise::verbs {
namespace {

bool speaks(const Connection& connection, Operation operation) {
    switch (operation) {
        case Operation::send:
        case Operation::send_immediate:
            return true;
        case Operation::write:
        case Operation::write_immediate:
            return connection.connected();
        case Operation::read:
        case Operation::compare_swap:
        case Operation::fetch_add:
            return connection.reliable() && connection.attributes.read_atomic_max > 0;
    }
    return false;
}

bool is_atomic(Operation operation) {
    return operation >= Operation::compare_swap;
}

std::uint64_t length_of(const SendRequest& request) {
    if (request.inline_bytes.empty()) {
        return length_bytes(request.slices);
    }
    std::uint64_t sum = 0;
    for (const auto& run : request.inline_bytes) {
        sum += run.size();
    }
    return sum;
}

int check(const Connection& connection, const SendRequest& request) {
    const State state = connection.state();
    if (state < State::ready_to_send || !speaks(connection, request.operation)) {
        return EINVAL;
    }
    const std::uint64_t length = length_of(request);
    const bool is_inline = (request.flags & inline_data) != 0;
    const bool takes_data = request.operation == Operation::read || is_atomic(request.operation);
    if (is_inline && (takes_data || length > connection.init.inline_bytes_max)) {
        return EINVAL;
    }
    if (request.slices.size() > connection.init.send_slices_max ||
        length > connection.device.config.message_bytes_max) {
        return EINVAL;
    }
    if (is_atomic(request.operation) && length != sizeof(std::uint64_t)) {
        return EINVAL;
    }
    const bool addressed = connection.connected() || request.address != nullptr;
    return addressed && (connection.connected() || length <= connection.mtu()) ? 0 : EINVAL;
}

// Inline data of slices lie in memory of the program that need not be registered.
void copy_inline(SendEntry& entry, const SendRequest& request) {
    entry.inline_bytes.clear();
    for (const auto& run : request.inline_bytes) {
        entry.inline_bytes.insert(entry.inline_bytes.end(), run.begin(), run.end());
    }
    if (!request.inline_bytes.empty()) {
        return;
    }
    for (const Slice& slice : request.slices) {
        const auto *from = reinterpret_cast<const std::byte *>(slice.address);
        entry.inline_bytes.insert(entry.inline_bytes.end(), from, from + slice.length_bytes);
    }
}

}  // namespace

int Requester::post(const SendRequest& request) {
    const int refused = check(connection_, request);
    if (refused != 0) {
        return refused;
    }
    if (entries_.size() >= connection_.init.send_requests_max) {
        return ENOMEM;
    }
    SendEntry& entry = entries_.push();
    entry.id = request.id;
    entry.operation = request.operation;
    entry.flags = request.flags;
    entry.immediate = request.immediate;
    entry.rkey = request.rkey;
    entry.remote_address = request.remote_address;
    entry.compare_add = request.compare_add;
    entry.swap = request.swap;
    entry.remote_qpn = request.remote_qpn;
    entry.remote_qkey = request.remote_qkey;
    entry.length_bytes = length_of(request);
    if (request.address != nullptr) {
        entry.address = *request.address;
    }
    entry.slices.assign(request.slices.begin(), request.slices.end());
    if ((request.flags & inline_data) != 0) {
        copy_inline(entry, request);
    }
    const std::uint64_t mtu = connection_.mtu();
    entry.packets = entry.is_atomic() ? 1
                                      : static_cast<std::uint32_t>(std::max<std::uint64_t>(
                                            1, (entry.length_bytes + mtu - 1) / mtu));
    entry.first = next_;
    next_ = next_ + entry.packets;
    sequence_ += messages_of(entry);
    entry.sequence = sequence_ & Psn::mask;
    return 0;
}

}  // namespace lanewise::verbs
