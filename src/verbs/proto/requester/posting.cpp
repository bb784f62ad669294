// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/requester/posting.hpp"

#include <cerrno>

#include "verbs/proto/queues/scatter.hpp"

namespace lanewise::verbs {
namespace {

bool supports(const Connection& connection, Operation operation) {
    switch (operation) {
        case Operation::send:
        case Operation::send_immediate: return true;
        case Operation::write:
        case Operation::write_immediate:
        case Operation::local_invalidate:
        case Operation::bind_window: return connection.connected();
        case Operation::send_invalidate:  // unreliable connections have no opcode for it
            return connection.reliable();
        case Operation::read:
        case Operation::compare_swap:
        case Operation::fetch_add:
            return connection.reliable() && connection.attributes.read_atomic_max > 0;
    }
    return false;
}

}  // namespace

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

int check_request(const Connection& connection, const SendRequest& request) {
    const State state = connection.state();
    if (state < State::ready_to_send || connection.init.role == Role::target ||
        !supports(connection, request.operation)) {
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
    if (is_local(request.operation) && (is_inline || length > 0)) {
        return EINVAL;
    }
    if (request.operation == Operation::bind_window && request.binding == nullptr) {
        return EINVAL;
    }
    const bool addressed = connection.connected() || request.address != nullptr;
    return addressed && (connection.connected() || length <= connection.mtu()) ? 0 : EINVAL;
}

}  // namespace lanewise::verbs
