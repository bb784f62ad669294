// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/requester/send_entry.hpp"

#include <algorithm>

#include "verbs/proto/requester/posting.hpp"

namespace lanewise::verbs {
namespace {

// Inline data may lie in memory that is not registered.
void copy_inline(std::vector<std::byte>& bytes, const SendRequest& request) {
    bytes.clear();
    for (const auto& run : request.inline_bytes) {
        bytes.insert(bytes.end(), run.begin(), run.end());
    }
    if (!request.inline_bytes.empty()) {
        return;
    }
    for (const Slice& slice : request.slices) {
        const auto *from = reinterpret_cast<const std::byte *>(slice.address);
        bytes.insert(bytes.end(), from, from + slice.length_bytes);
    }
}

std::uint32_t packets_of(const SendEntry& entry, std::uint64_t mtu) {
    if (entry.is_local() || entry.is_atomic()) {
        return entry.is_atomic() ? 1 : 0;
    }
    return static_cast<std::uint32_t>(
        std::max<std::uint64_t>(1, (entry.length_bytes + mtu - 1) / mtu));
}

}  // namespace

void SendEntry::take(const SendRequest& request, std::uint32_t mtu) {
    id = request.id;
    operation = request.operation;
    flags = request.flags;
    immediate = request.immediate;
    rkey = request.rkey;
    remote_address = request.remote_address;
    compare_add = request.compare_add;
    swap = request.swap;
    remote_qpn = request.remote_qpn;
    remote_qkey = request.remote_qkey;
    length_bytes = length_of(request);
    if (request.address != nullptr) {
        address = *request.address;
    }
    if (request.binding != nullptr) {
        binding = *request.binding;
    }
    invalidated_key = request.invalidated_key;
    remote_srqn = request.remote_srqn;
    is_done = false;
    slices.assign(request.slices.begin(), request.slices.end());
    if ((request.flags & inline_data) != 0) {
        copy_inline(inline_bytes, request);
    }
    packets = packets_of(*this, mtu);
}

PacketKind kind_of(Operation operation) {
    switch (operation) {
        case Operation::write:
        case Operation::write_immediate: return PacketKind::write;
        case Operation::read: return PacketKind::read_request;
        case Operation::compare_swap: return PacketKind::compare_swap;
        case Operation::fetch_add: return PacketKind::fetch_add;
        default: return PacketKind::send;
    }
}

Extra extra_of(Operation operation) {
    switch (operation) {
        case Operation::send_immediate:
        case Operation::write_immediate: return Extra::immediate;
        case Operation::send_invalidate: return Extra::invalidation;
        default: return Extra::nothing;
    }
}

CompletedWork completed_work(Operation operation) {
    switch (operation) {
        case Operation::write:
        case Operation::write_immediate: return CompletedWork::rdma_write;
        case Operation::read: return CompletedWork::rdma_read;
        case Operation::compare_swap: return CompletedWork::compare_swap;
        case Operation::fetch_add: return CompletedWork::fetch_add;
        case Operation::bind_window: return CompletedWork::bind_window;
        case Operation::local_invalidate: return CompletedWork::local_invalidate;
        default: return CompletedWork::send;
    }
}

}  // namespace lanewise::verbs
