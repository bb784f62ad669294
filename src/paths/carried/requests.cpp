// SPDX-License-Identifier: BSD-3-Clause

#include "paths/carried/requests.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

namespace lanewise::paths::carried {
namespace {

std::optional<Operation> operation_of(ibv_wr_opcode opcode) {
    switch (opcode) {
        case IBV_WR_SEND:
        case IBV_WR_SEND_WITH_IMM: return Operation::send;
        case IBV_WR_RDMA_WRITE: return Operation::write;
        case IBV_WR_RDMA_WRITE_WITH_IMM: return Operation::announced_write;
        case IBV_WR_RDMA_READ: return Operation::read;
        case IBV_WR_ATOMIC_CMP_AND_SWP: return Operation::compare_swap;
        case IBV_WR_ATOMIC_FETCH_AND_ADD: return Operation::fetch_add;
        default: return std::nullopt;
    }
}

ibv_wc_opcode completed(Operation operation) {
    switch (operation) {
        case Operation::write:
        case Operation::announced_write: return IBV_WC_RDMA_WRITE;
        case Operation::read: return IBV_WC_RDMA_READ;
        case Operation::compare_swap: return IBV_WC_COMP_SWAP;
        case Operation::fetch_add: return IBV_WC_FETCH_ADD;
        default: return IBV_WC_SEND;
    }
}

FrameKind kind_of(Operation operation) {
    switch (operation) {
        case Operation::announced_write: return FrameKind::announcement;
        case Operation::compare_swap: return FrameKind::compare_swap;
        case Operation::fetch_add: return FrameKind::fetch_add;
        case Operation::result: return FrameKind::result;
        default: return FrameKind::data;
    }
}

void name_remote(const ibv_send_wr& work, Request& made) {
    if (is_atomic(made.operation)) {
        made.remote_address = work.wr.atomic.remote_addr;
        made.remote_key = work.wr.atomic.rkey;
        made.compare_add = work.wr.atomic.compare_add;
        made.swap = work.wr.atomic.swap;
    } else {
        made.remote_address = work.wr.rdma.remote_addr;
        made.remote_key = work.wr.rdma.rkey;
    }
}

std::uint32_t local_key(const Piece& piece, const DeviceView& view) {
    if (piece.own) return view.own_key;
    if (view.device == 0) return piece.key;
    const Region *region = view.regions.find_local(piece.key);
    return region ? region->second->lkey : 0;
}

// The parts of a request's memory that a message carries.
void add_pieces(const Message& message, const DeviceView& view, std::vector<ibv_sge>& pieces) {
    const Request& request = *message.request;
    std::uint32_t skip = message.offset_bytes;
    std::uint32_t left = is_atomic(request.operation) ? 0 : message.length_bytes;
    for (const Piece& piece : request.pieces) {
        const std::uint32_t skipped = std::min(skip, piece.length_bytes);
        const std::uint32_t taken = std::min(piece.length_bytes - skipped, left);
        skip -= skipped;
        left -= taken;
        if (taken > 0) pieces.push_back({piece.address + skipped, taken, local_key(piece, view)});
    }
}

}  // namespace

bool accepts(const ibv_send_wr& work, const ibv_qp_cap& limits, std::uint32_t message_bytes_max) {
    if (work.num_sge < 0 || static_cast<std::uint32_t>(work.num_sge) > limits.max_send_sge) {
        return false;
    }
    std::uint64_t length_bytes = 0;
    for (int i = 0; i < work.num_sge; ++i) length_bytes += work.sg_list[i].length;
    if (length_bytes > message_bytes_max) return false;
    if ((work.send_flags & IBV_SEND_INLINE) && length_bytes > limits.max_inline_data) return false;
    const auto operation = operation_of(work.opcode);
    return operation && (!is_atomic(*operation) || length_bytes == sizeof(std::uint64_t));
}

Request request_of(const ibv_send_wr& work, Signaling signaling, std::byte *inline_slot) {
    Request made;
    made.id = work.wr_id;
    made.operation = *operation_of(work.opcode);
    made.signaled = signaling == Signaling::all || (work.send_flags & IBV_SEND_SIGNALED) != 0;
    made.solicited = (work.send_flags & IBV_SEND_SOLICITED) != 0;
    made.fenced = (work.send_flags & IBV_SEND_FENCE) != 0;
    made.has_immediate =
        work.opcode == IBV_WR_SEND_WITH_IMM || work.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    made.immediate = work.imm_data;
    name_remote(work, made);
    const bool is_inline = (work.send_flags & IBV_SEND_INLINE) != 0;
    for (int i = 0; i < work.num_sge; ++i) {
        const ibv_sge& piece = work.sg_list[i];
        if (is_inline) {
            std::memcpy(inline_slot + made.length_bytes,
                        reinterpret_cast<const void *>(static_cast<std::uintptr_t>(piece.addr)),
                        piece.length);
        } else {
            made.pieces.push_back({piece.addr, piece.length, piece.lkey});
        }
        made.length_bytes += piece.length;
    }
    if (is_inline) {
        made.pieces = {{reinterpret_cast<std::uintptr_t>(inline_slot), made.length_bytes, 0, true}};
    }
    return made;
}

ibv_wc completion_of(const Request& request, ibv_wc_status status, std::uint32_t qp_number) {
    ibv_wc done{};
    done.wr_id = request.id;
    done.status = status;
    done.opcode = completed(request.operation);
    done.byte_len = request.length_bytes;
    done.qp_num = qp_number;
    return done;
}

Frame frame_of(const Message& message) {
    const Request& request = *message.request;
    Frame frame;
    frame.kind = kind_of(request.operation);
    frame.flags = static_cast<std::uint8_t>(
        (message.is_last ? frame_is_last : 0) | (request.has_immediate ? frame_has_immediate : 0) |
        (request.solicited ? frame_is_solicited : 0) | request.refusal);
    frame.immediate = request.immediate;
    frame.number = message.number;
    frame.remote_address = request.remote_address;
    frame.remote_key = request.remote_key;
    frame.length_bytes = request.length_bytes;
    frame.compare_add = request.compare_add;
    frame.swap = request.swap;
    return frame;
}

ibv_send_wr work_of(const Message& message, const DeviceView& view, std::vector<ibv_sge>& pieces) {
    const Request& request = *message.request;
    ibv_send_wr work{};
    work.wr_id = send_mark;
    work.send_flags = IBV_SEND_SIGNALED;
    if (message.kind == Message::Kind::frame) {
        pieces.push_back(view.head);
        work.opcode = IBV_WR_SEND;
        if (request.solicited) work.send_flags |= IBV_SEND_SOLICITED;
    } else {
        work.opcode =
            message.kind == Message::Kind::read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE_WITH_IMM;
        work.imm_data = static_cast<std::uint32_t>(message.number);
        work.wr.rdma = {request.remote_address, view.remote_key};
        if (request.fenced) work.send_flags |= IBV_SEND_FENCE;
    }
    add_pieces(message, view, pieces);
    work.sg_list = pieces.data();
    work.num_sge = static_cast<int>(pieces.size());
    return work;
}

}  // namespace lanewise::paths::carried
